"""A program with PyG's NeighborLoader: `pyg_loader.py STORE data|hetero FANOUT,... [--small]`. Answers ("load",
workers, batches), ("train", model, workers, batches) and ("size")."""

import sys
from pathlib import Path

import harness
from pyg_program import Program, make_data, make_hetero_data
from torch_geometric.loader import NeighborLoader


def main() -> None:
    store, kind, fanouts = Path(sys.argv[1]), sys.argv[2], [int(fanout) for fanout in sys.argv[3].split(",")]
    data, seeds = make_data(store, shuffled=True) if kind == "data" else make_hetero_data(store)
    program = Program(NeighborLoader, data, seeds, fanouts)
    harness.serve({"load": program.load, "train": program.train, "size": program.size})


if __name__ == "__main__":
    main()
