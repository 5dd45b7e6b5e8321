"""DGL's and GraphBolt's batches of edges of a store: `dgl_links.py STORE`. The graph is undirected."""

import sys
import time
from functools import partial
from itertools import islice
from pathlib import Path

import dgl
import dgl.graphbolt as graphbolt
import numpy as np
import torch
from dgl.dataloading import DataLoader, NeighborSampler, as_edge_prediction_sampler, negative_sampler
from harness import arrays, serve


def reverses_of(sources: np.ndarray, destinations: np.ndarray) -> np.ndarray:
    """The number of each edge's reverse."""
    reverses = np.empty(len(sources), np.int64)
    reverses[np.lexsort((sources, destinations))] = np.lexsort((destinations, sources))
    return reverses


def main() -> None:
    of_store = arrays(Path(sys.argv[1]))
    indptr, indices = (np.asarray(of_store[name]) for name in ("indptr", "indices"))
    destinations = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    rows = torch.from_numpy(indptr).long(), torch.from_numpy(indices).long()
    graph = dgl.graph(("csc", (*rows, rows[1].new_empty(0))), num_nodes=len(indptr) - 1)
    graph.create_formats_()
    reverses = torch.from_numpy(reverses_of(indices, destinations))
    bolt = graphbolt.fused_csc_sampling_graph(*rows)

    def of_dgl(chosen, pairs: int, fanouts: list, excludes: bool):
        sampler = as_edge_prediction_sampler(
            NeighborSampler(fanouts[::-1]),
            exclude="reverse_id" if excludes else None,
            reverse_eids=reverses if excludes else None,
            negative_sampler=negative_sampler.Uniform(1),
        )
        return DataLoader(graph, chosen, sampler, batch_size=pairs, use_uva=False, num_workers=0)

    def of_graphbolt(chosen, pairs: int, fanouts: list):
        seeds = torch.stack([rows[1][chosen], torch.from_numpy(destinations[chosen.numpy()])], 1)
        pipe = graphbolt.ItemSampler(graphbolt.ItemSet(seeds, names="seeds"), batch_size=pairs)
        pipe = pipe.sample_uniform_negative(bolt, 1).sample_neighbor(bolt, fanouts)
        return graphbolt.DataLoader(pipe, num_workers=0)

    made = {
        "DGL, negatives": partial(of_dgl, excludes=False),
        "DGL, edges and reverses excluded": partial(of_dgl, excludes=True),
        "GraphBolt, negatives": of_graphbolt,
    }

    def links(kind: str, threads: int, pairs: int, fanouts: list, count: int) -> float:
        torch.set_num_threads(threads)
        dgl.utils.set_num_threads(threads)
        chosen = torch.from_numpy(np.random.default_rng(0).integers(0, len(indices), pairs * (count + 4)))
        batches = iter(made[kind](chosen, pairs, fanouts))
        for _ in islice(batches, 2):
            pass
        begin = time.perf_counter()
        got = sum(1 for _ in islice(batches, count))
        assert got == count
        return got / (time.perf_counter() - begin)

    serve({"links": links})


if __name__ == "__main__":
    main()
