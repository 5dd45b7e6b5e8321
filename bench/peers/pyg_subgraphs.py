"""PyG's loaders of subgraphs on a store: `pyg_subgraphs.py STORE`. Answers ("rate", kind, workers) with batches a
second. Clusters are ours, since METIS would find others."""

import sys
import time
from pathlib import Path

import torch
from harness import serve
from pyg_program import make_data
from torch_geometric.loader import ClusterData, ClusterLoader, GraphSAINTNodeSampler, GraphSAINTRandomWalkSampler

PARTS, CLUSTERS, LENGTH, BATCHES = 1000, 10, 2, 20  # of bench/subgraphs.py


class Clusters(ClusterData):
    def _metis(self, edge_index, num_nodes):
        return torch.arange(num_nodes) * PARTS // num_nodes


def main() -> None:
    data, _ = make_data(Path(sys.argv[1]))
    clusters = Clusters(data, PARTS, log=False)

    def loader(kind: str, workers: int):
        options = {"num_workers": workers}
        samples = {"num_steps": BATCHES, "log": False} | options
        if kind == "clusters":
            return ClusterLoader(clusters, batch_size=CLUSTERS, **options)
        if kind == "node":
            return GraphSAINTNodeSampler(data, 4000, **samples)
        return GraphSAINTRandomWalkSampler(data, 1500, LENGTH, **samples)

    def rate(kind: str, workers: int) -> float:
        torch.set_num_threads(2)
        batches = loader(kind, workers)
        begin = time.perf_counter()
        for _ in zip(range(BATCHES), batches):
            pass
        return BATCHES / (time.perf_counter() - begin)

    serve({"rate": rate})


if __name__ == "__main__":
    main()
