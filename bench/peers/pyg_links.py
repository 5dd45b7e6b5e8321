"""A program with PyG's LinkNeighborLoader: `pyg_links.py STORE FANOUT,... [--small]`. Answers ("load", workers,
batches), ("size") and ("peak"), bytes."""

import sys
from pathlib import Path

import harness
from pyg_program import LinkProgram, make_data
from torch_geometric.loader import LinkNeighborLoader
from trainer_processes import peak


def main() -> None:
    data, _ = make_data(Path(sys.argv[1]), shuffled=True)
    program = LinkProgram(LinkNeighborLoader, data, [int(fanout) for fanout in sys.argv[2].split(",")])
    harness.serve({"load": program.load, "size": program.size, "peak": peak})


if __name__ == "__main__":
    main()
