"""DGL's and GraphBolt's samplers on a store: `dgl_sampling.py STORE [--small]`.

DGL's NeighborSampler, GraphBolt's sample_neighbors and sample_layer_neighbors (LABOR), as their own loaders call
them, with int64 and int32 ids.
"""

from functools import partial

import dgl
import dgl.graphbolt as graphbolt
import samplers
import torch
from dgl.dataloading import NeighborSampler


def of_dgl(indptr, indices):
    """Blocks with edge ids. DGL wants the fanout of the seeds' hop last.

    With int32 ids and more than one thread, a NeighborSampler of DGL 2.1 forgets to clear its table: from the second
    batch on it returns fewer and fewer edges. There every batch gets a sampler of its own, which makes a new table.
    """
    graph = dgl.graph(("csc", (indptr, indices, indices.new_empty(0))), num_nodes=len(indptr) - 1)
    graph.create_formats_()
    made = {}

    def sample(seeds, fanouts):
        if seeds.dtype == torch.int32 and torch.get_num_threads() > 1:
            made.clear()
        if tuple(fanouts) not in made:
            made[tuple(fanouts)] = NeighborSampler(fanouts[::-1])
        sampler = made[tuple(fanouts)]
        nodes, _, blocks = sampler.sample_blocks(graph, seeds)
        return nodes, sum(block.num_edges() for block in blocks)

    return sample


def of_graphbolt(indptr, indices, labor=False):
    """Without edge ids, GraphBolt's default. `labor`: LABOR-0."""
    graph = graphbolt.fused_csc_sampling_graph(indptr, indices)
    pick = graph.sample_layer_neighbors if labor else graph.sample_neighbors

    def sample(seeds, fanouts):
        nodes, edges = seeds, 0
        for fanout in fanouts:
            hop = pick(nodes, torch.tensor([fanout]))
            nodes, compacted = graphbolt.unique_and_compact_csc_formats(hop.sampled_csc, nodes)
            edges += len(compacted.indices)
        return nodes, edges

    return sample


def set_threads(count: int) -> None:
    torch.set_num_threads(count)
    dgl.utils.set_num_threads(count)


def main() -> None:
    tensors = samplers.tensors(("int64", "int32"))
    made, train = {}, {}
    for dtype in ("int64", "int32"):
        indptr, indices = tensors["indptr", dtype], tensors["indices", dtype]
        labor = partial(of_graphbolt, labor=True)
        for name, make in (("DGL", of_dgl), ("GraphBolt", of_graphbolt), ("GraphBolt LABOR", labor)):
            made[f"{name} {dtype}"] = make(indptr, indices)
            train[f"{name} {dtype}"] = tensors["train", dtype]
    samplers.serve(made, train, set_threads)


if __name__ == "__main__":
    main()
