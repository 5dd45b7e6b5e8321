"""DGL's mean over the edges of a block: `dgl_aggregate.py BLOCK.npz`. Answers ("forward", width, dtype, count) and
("backward", ...) with seconds."""

import sys
import time

import dgl
import dgl.function as fn
import harness
import numpy as np
import torch

THREADS = 2


def main():
    torch.set_num_threads(THREADS)
    dgl.utils.set_num_threads(THREADS)
    arrays = np.load(sys.argv[1])
    indptr, indices = torch.from_numpy(arrays["indptr"]), torch.from_numpy(arrays["indices"]).long()
    num_src, num_dst = int(arrays["num_src"]), len(indptr) - 1
    block = dgl.create_block(("csc", (indptr, indices, [])), num_src_nodes=num_src, num_dst_nodes=num_dst)
    block.create_formats_()

    def once(width, dtype, backward):
        x = torch.ones(num_src, width, dtype=getattr(torch, dtype), requires_grad=backward)
        begin = time.perf_counter()
        block.srcdata["x"] = x
        block.update_all(fn.copy_u("x", "m"), fn.mean("m", "out"))
        out = block.dstdata.pop("out")
        if backward:
            gradient = torch.ones_like(out)
            begin = time.perf_counter()
            out.backward(gradient)
        elapsed = time.perf_counter() - begin
        del block.srcdata["x"]
        return elapsed

    harness.serve(
        {
            "forward": lambda width, dtype, count: [once(width, dtype, False) for _ in range(count)],
            "backward": lambda width, dtype, count: [once(width, dtype, True) for _ in range(count)],
        }
    )


if __name__ == "__main__":
    main()
