"""torch.nn.Embedding with torch's optimizers of sparse gradients: `torch_embeddings.py ROWS WIDTH DISTINCT [--keep]`.
See trained_rows.py. --keep: what a step frees stays in the process, as ramet.keep_memory has it."""

import sys

import torch
from trained_rows import ROWS, WIDTH, serve_methods

import ramet

METHODS = {"SGD": torch.optim.SGD, "AdaGrad": torch.optim.Adagrad, "Adam": torch.optim.SparseAdam}


def main() -> None:
    if "--keep" in sys.argv:
        ramet.keep_memory()
    embedding = torch.nn.Embedding(ROWS, WIDTH, sparse=True)

    def step(optimizer, ids, gradients) -> None:
        optimizer.zero_grad()
        embedding(ids).backward(gradients)
        optimizer.step()

    serve_methods(lambda method: METHODS[method](embedding.parameters(), lr=0.01), step, lambda _, ids: embedding(ids))


if __name__ == "__main__":
    main()
