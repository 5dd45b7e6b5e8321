"""DGL's NodeEmbedding and its sparse optimizers: `dgl_embeddings.py ROWS WIDTH DISTINCT`. See trained_rows.py."""

import os

import torch
from dgl.nn import NodeEmbedding
from dgl.optim import SparseAdagrad, SparseAdam
from trained_rows import ROWS, WIDTH, serve_methods

METHODS = {"AdaGrad": SparseAdagrad, "Adam": SparseAdam}


def make(method: str):
    embedding = NodeEmbedding(ROWS, WIDTH, f"bench-{os.getpid()}-{method}", init_func=torch.nn.init.normal_)
    return embedding, METHODS[method]([embedding], lr=0.01)


def step(made, ids, gradients) -> None:
    embedding, optimizer = made
    embedding(ids).backward(gradients)
    optimizer.step()


if __name__ == "__main__":
    serve_methods(make, step, lambda made, ids: made[0](ids))
