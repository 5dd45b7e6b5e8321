"""One Data with PyG's NeighborLoader: `pyg_data.py STORE [--small]`. Answers what DataProgram does."""

import sys
from pathlib import Path

import harness
from pyg_data_program import DataProgram
from torch_geometric.loader import NeighborLoader


def main() -> None:
    program = DataProgram(NeighborLoader, Path(sys.argv[1]))
    names = ("first_loader", "inference", "training", "ranks")
    harness.serve({name: getattr(program, name) for name in names})


if __name__ == "__main__":
    main()
