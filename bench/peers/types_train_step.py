"""Training on several types: `types_train_step.py STORE CASE THREADS MODULE`. Answers as runs.py says; one variant.

MODULE is torch_geometric.loader, with PyG's trim_to_layer, or ramet.pyg: the same model after `ramet.nn.from_pyg`.
"""

import importlib
import sys
from pathlib import Path

import runs
import torch
from harness import forever
from pyg_program import OF_TYPES, WholeTypes, count_hops_of_types, labels, make_hetero_data
from torch_geometric.utils import trim_to_layer
from train_cases import BATCH


def main():
    store, case, _ = runs.arguments()
    name, module = sys.argv[2], sys.argv[4]
    ours = module == "ramet.pyg"
    torch.manual_seed(0)
    if ours:
        import ramet.nn

        ramet.keep_memory()
        data, seeds = ramet.open(store), ("paper", "train")
        model = WholeTypes((data.node_types, data.edge_types), OF_TYPES[name], case.hidden)
        ramet.nn.from_pyg(model)
    else:
        data, seeds = make_hetero_data(Path(store), shuffled=False)
        model = WholeTypes(data.metadata(), OF_TYPES[name], case.hidden, trim_to_layer)
    options = {"input_nodes": seeds, "batch_size": BATCH, "shuffle": True, "is_sorted": True}

    def batches_of(loader):
        for batch in forever(loader):
            if not ours:
                count_hops_of_types(batch, len(case.fanouts))
            yield batch

    batches = batches_of(importlib.import_module(module).NeighborLoader(data, list(case.fanouts), **options))
    with torch.no_grad():
        model(next(batches))  # which makes lazy parameters
    run = runs.Run(model, lambda model, batch: (model(batch), labels(batch)), batches)
    runs.serve(lambda _: run)


if __name__ == "__main__":
    main()
