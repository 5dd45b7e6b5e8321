"""DGL's NodeEmbedding and SparseAdam: `dgl_embeddings.py ROWS WIDTH DISTINCT`. Answers ("step", method, threads):
seconds."""

import os
import sys

import torch
from dgl.nn import NodeEmbedding
from dgl.optim import SparseAdagrad, SparseAdam
from embedding_data import gradients_of
from harness import seconds, serve

METHODS = {"AdaGrad": SparseAdagrad, "Adam": SparseAdam}


def main() -> None:
    rows, width, distinct = (int(number) for number in sys.argv[1:4])
    ids, gradients = map(torch.from_numpy, gradients_of(rows, width, distinct))
    made = {}

    def step(method: str, threads: int) -> float:
        torch.set_num_threads(threads)
        if method not in made:
            made.clear()
            embedding = NodeEmbedding(rows, width, f"bench-{os.getpid()}-{method}", init_func=torch.nn.init.normal_)
            made[method] = embedding, METHODS[method]([embedding], lr=0.01)
        embedding, optimizer = made[method]
        embedding(ids).backward(gradients)
        return seconds(optimizer.step)

    serve({"step": step})


if __name__ == "__main__":
    main()
