"""Training on several types: `types_train_step.py STORE CASE THREADS MODULE`. Answers as runs.py says.

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

OURS = "ramet.pyg"


def data_of(store: str, module: str):
    """The data and its seeds; (node types, edge types)."""
    if module != OURS:
        data, seeds = make_hetero_data(Path(store), shuffled=False)
        return data, seeds, data.metadata()
    import ramet

    ramet.keep_memory()
    graph = ramet.open(store)
    return graph, ("paper", "train"), (graph.node_types, graph.edge_types)


def model_of(name: str, width: int, metadata, module: str) -> torch.nn.Module:
    torch.manual_seed(0)
    model = WholeTypes(metadata, OF_TYPES[name], width, trim=None if module == OURS else trim_to_layer)
    if module == OURS:
        import ramet.nn

        ramet.nn.from_pyg(model)
    return model


def main():
    store, case, _ = runs.arguments()
    name, module = sys.argv[2], sys.argv[4]
    data, seeds, metadata = data_of(store, module)
    options = {"input_nodes": seeds, "batch_size": BATCH, "shuffle": True, "is_sorted": True}

    def batches_of(loader):
        for batch in forever(loader):
            if module != OURS:
                count_hops_of_types(batch, len(case.fanouts))
            yield batch

    batches = batches_of(importlib.import_module(module).NeighborLoader(data, list(case.fanouts), **options))
    model = model_of(name, case.hidden, metadata, module)
    with torch.no_grad():
        model(next(batches))  # which makes lazy parameters
    run = runs.Run(model, lambda model, batch: (model(batch), labels(batch)), batches)
    runs.serve(lambda _: run)


if __name__ == "__main__":
    main()
