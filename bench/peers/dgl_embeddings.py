"""DGL's NodeEmbedding and SparseAdam: `dgl_embeddings.py ROWS WIDTH DISTINCT`. Answers ("train", method, threads):
seconds of forward, backward and step."""

import os
import sys

import torch
from changes import SOME, changes
from dgl.nn import NodeEmbedding
from dgl.optim import SparseAdagrad, SparseAdam
from embedding_data import gradients_of
from harness import seconds, serve

METHODS = {"AdaGrad": SparseAdagrad, "Adam": SparseAdam}


def main() -> None:
    rows, width, distinct = (int(number) for number in sys.argv[1:4])
    ids, gradients = map(torch.from_numpy, gradients_of(rows, width, distinct))
    made = {}

    def step(embedding, optimizer) -> None:
        embedding(ids).backward(gradients)
        optimizer.step()

    def train(method: str, threads: int) -> float:
        torch.set_num_threads(threads)
        if method not in made:
            made.clear()
            embedding = NodeEmbedding(rows, width, f"bench-{os.getpid()}-{method}", init_func=torch.nn.init.normal_)
            made[method] = embedding, METHODS[method]([embedding], lr=0.01)
        with changes(lambda: made[method][0](ids[:SOME]), method):
            return seconds(step, *made[method])

    serve({"train": train})


if __name__ == "__main__":
    main()
