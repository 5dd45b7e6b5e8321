"""A program with an HGTLoader: `hgt.py STORE MODULE`, torch_geometric.loader or ramet.pyg. Answers ("load", workers,
batches), ("size") and ("peak")."""

import importlib
import sys
from pathlib import Path

import harness
from pyg_program import Program, make_hetero_data
from trainer_processes import peak

SAMPLES = [1024] * 4  # of PyG's example on ogbn-mag


def main() -> None:
    store, loaders = Path(sys.argv[1]), importlib.import_module(sys.argv[2])

    def new(data, num_neighbors, neighbor_sampler=None, **arguments):
        return loaders.HGTLoader(data, num_neighbors, is_sorted=True, **arguments)

    program = Program(new, *make_hetero_data(store, shuffled=False), SAMPLES)
    harness.serve({"load": program.load, "size": program.size, "peak": peak})


if __name__ == "__main__":
    main()
