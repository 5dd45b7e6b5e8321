"""DGL's random walks on a store: `dgl_walks.py STORE STEPS`.

DGL walks from source to destination, and the graph is given to it reversed, so that its walks take the same rows.
Weighted walks have the weights in the edges' order.
"""

import sys
import time
from pathlib import Path

import dgl
import numpy as np
import torch
from harness import arrays, serve


def main() -> None:
    of_store, steps = arrays(Path(sys.argv[1])), int(sys.argv[2])
    indptr, indices = (torch.from_numpy(np.asarray(of_store[name])).long() for name in ("indptr", "indices"))
    graph = dgl.graph(("csr", (indptr, indices, indices.new_empty(0))), num_nodes=len(indptr) - 1)
    graph.create_formats_()
    graph.edata["w"] = torch.from_numpy(np.random.default_rng(1).random(len(indices), np.float32))

    def walk(kind: str, threads: int, count: int) -> float:
        torch.set_num_threads(threads)
        dgl.utils.set_num_threads(threads)
        starts = torch.from_numpy(np.random.default_rng(0).integers(0, graph.num_nodes(), count))
        begin = time.perf_counter()
        if kind == "node2vec":
            nodes = dgl.sampling.node2vec_random_walk(graph, starts, 0.5, 2.0, steps)
        else:
            nodes, _ = dgl.sampling.random_walk(graph, starts, length=steps, prob="w" if kind == "weighted" else None)
        took = time.perf_counter() - begin
        return (int((nodes >= 0).sum()) - count) / took / 1e6

    serve({"walk": walk})


if __name__ == "__main__":
    main()
