"""torch-sparse's neighbor_sample on a store: `sampling.py STORE [--small]`."""

import sys
import time
from pathlib import Path

import harness
import torch
import torch_sparse  # noqa: F401 (registers the operator)

BATCH = 1024


def main() -> None:
    arrays = harness.arrays(Path(sys.argv[1]))
    colptr, row, train = (torch.from_numpy(arrays[name].astype("int64")) for name in ("indptr", "indices", "train"))
    anchor = harness.Anchor("--small" in sys.argv)
    torch.manual_seed(0)

    def sample(fanouts, batches):
        """M edges/s, and nodes and edges of the last batch."""
        elapsed, edges = 0.0, 0
        for _ in range(batches):
            seeds = train[torch.randperm(len(train))[:BATCH]]
            begin = time.perf_counter()
            out = torch.ops.torch_sparse.neighbor_sample(colptr, row, seeds, fanouts, False, True)
            elapsed += time.perf_counter() - begin
            edges += len(out[1])
        return edges / elapsed / 1e6, len(out[0]), len(out[1])

    harness.serve({"sample": sample, "anchor": anchor})


if __name__ == "__main__":
    main()
