"""Four trainers with PyG: `pyg_trainers.py STORE [--small]`. Answers ("measure", variant, count)."""

import sys
from pathlib import Path

import harness
import numpy as np
import torch
import torch.multiprocessing
import torch_sparse  # noqa: F401 (registers the operator)
from pyg_program import make_data
from torch_geometric.loader import NeighborLoader
from trainer_processes import Trainers, pss

FANOUTS = [15, 10, 5]
BATCH = 1024


def imports_only(_):
    return 0, None


def loader(data, is_sorted=False):
    data, train = data
    data.edge_index[0].sum()
    batches = NeighborLoader(data, FANOUTS, input_nodes=train, batch_size=BATCH, shuffle=True, is_sorted=is_sorted)
    batch = next(iter(batches))
    return batch.x.nbytes, (batches, batch)


def sorted_loader(data):
    return loader(data, is_sorted=True)


def operators(path):
    """One copy in the page cache, and no loader."""
    colptr, row, feat, train = torch.load(path, mmap=True)
    row.sum()
    seeds = train[torch.randperm(len(train))[:BATCH]]
    nodes, *edges = torch.ops.torch_sparse.neighbor_sample(colptr, row, seeds, FANOUTS, False, True)
    x = feat.index_select(0, nodes)
    return x.nbytes, (row, feat, nodes, edges, x)


def make_file(arrays, store):
    path = store.with_suffix(".pt")
    if not path.exists():
        tensors = [torch.from_numpy(np.array(arrays[name])) for name in ("indptr", "indices", "feat", "train")]
        torch.save([t if t.is_floating_point() else t.long() for t in tensors], path)
    return path


def main():
    store = Path(sys.argv[1])
    arrays = harness.arrays(store)
    prepare = {
        "imports only": (imports_only, lambda: None),
        "torch.load(mmap), operators": (operators, lambda: make_file(arrays, store)),
        "Data + NeighborLoader, is_sorted": (sorted_loader, lambda: make_data(store)),
        "Data + NeighborLoader": (loader, lambda: make_data(store)),
    }

    def measure(name, count):
        body, make = prepare[name]
        value = make()
        with Trainers(count, body, value) as trainers:
            return {
                "seconds": trainers.seconds,
                "pss": pss(trainers.pids),
                "batch bytes": max(trainers.reports),
            }

    harness.serve({"measure": measure})


if __name__ == "__main__":
    main()
