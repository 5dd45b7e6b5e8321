"""GraphBolt's temporal sampler on a store and random times: `dgl_temporal.py STORE [--small]`."""

import sys
from pathlib import Path

import dgl  # noqa: F401 (loads GraphBolt's operators)
import harness
import samplers
import torch
from dgl import graphbolt
from dgl.graphbolt.internal import compact_csc_format
from temporal_data import KINDS, random_times


def of_graphbolt(graph, seeds, times_of_seeds):
    """What TemporalNeighborSampler does in a data pipe; int64 ids alone work. Takes positions of training nodes."""
    names = {f"{kind}_timestamp_attr_name": "time" for kind in ("node", "edge") if has_times(graph, kind)}

    def sample(positions, fanouts):
        nodes, times, edges = seeds[positions], times_of_seeds[positions], 0
        for fanout in fanouts:
            hop = graph.temporal_sample_neighbors(nodes, times, torch.tensor([fanout]), **names)
            nodes, compacted, times = compact_csc_format(hop.sampled_csc, nodes, times)
            edges += len(compacted.indices)
        return nodes, edges

    return sample


def has_times(graph, kind: str) -> bool:
    return bool(getattr(graph, f"{kind}_attributes"))


def main() -> None:
    tensors, arrays = samplers.tensors(), harness.arrays(Path(sys.argv[1]))
    made, positions = {}, {}
    for kind in KINDS:
        times = random_times(arrays, kind)
        given = {f"{kind[:-1]}_attributes": {"time": torch.from_numpy(times.given)}}
        graph = graphbolt.fused_csc_sampling_graph(tensors["indptr", "int64"], tensors["indices", "int64"], **given)
        name = f"GraphBolt, times of {kind}"
        made[name] = of_graphbolt(graph, tensors["train", "int64"], torch.from_numpy(times.seeds))
        positions[name] = torch.arange(len(times.seeds))
    samplers.serve(made, positions, torch.set_num_threads)


if __name__ == "__main__":
    main()
