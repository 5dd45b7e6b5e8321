"""What the peers' sampling programs share: their data, and rates of their samplers."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import harness
import torch

BATCH = 1024


def tensors(dtypes=("int64",)) -> dict:
    """The store named on the command line in torch's own memory: {"indptr", "indices", "train"}, ids once per
    dtype, as {("indptr", dtype): tensor}, and "feat" and "label" where the store has them."""
    arrays = harness.arrays(Path(sys.argv[1]))
    result = {}
    for dtype in dtypes:
        for name in ("indptr", "indices", "train"):
            result[name, dtype] = torch.from_numpy(arrays[name]).to(getattr(torch, dtype), copy=True)
    for name in arrays.keys() & {"feat", "label"}:
        result[name] = torch.from_numpy(arrays[name]).clone()
    return result


def serve(samplers: dict[str, Callable], train: dict[str, torch.Tensor], set_threads: Callable) -> None:
    """Answers requests. A sampler takes (seeds, fanouts, the seeds' hop first) and returns (ids of all nodes,
    number of edges); `train` has its seeds by its name, in the dtype that it wants."""
    anchor = harness.Anchor("--small" in sys.argv)
    torch.manual_seed(0)

    def batches(name, count):
        seeds = train[name]
        for _ in range(count):
            yield seeds[torch.randperm(len(seeds))[:BATCH]]

    def sample(name, fanouts, threads, count):
        """M edges/s, and nodes and edges of the last batch."""
        set_threads(threads)
        elapsed, edges = 0.0, 0
        for seeds in batches(name, count):
            begin = time.perf_counter()
            nodes, found = samplers[name](seeds, fanouts)
            elapsed += time.perf_counter() - begin
            edges += found
        return edges / elapsed / 1e6, len(nodes), found

    harness.serve({"sample": sample, "anchor": anchor})
