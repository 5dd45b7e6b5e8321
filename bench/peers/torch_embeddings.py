"""torch.nn.Embedding with torch's optimizers of sparse gradients: `torch_embeddings.py ROWS WIDTH DISTINCT [--keep]`.
Answers ("train", method, threads): seconds of forward, backward and step.

--keep: what a step frees stays in the process, as ramet.keep_memory has it.
"""

import sys

import torch
from changes import SOME, changes
from embedding_data import gradients_of
from harness import seconds, serve

import ramet

METHODS = {
    "SGD": lambda weights: torch.optim.SGD(weights, lr=0.01),
    "AdaGrad": lambda weights: torch.optim.Adagrad(weights, lr=0.01),
    "Adam": lambda weights: torch.optim.SparseAdam(weights, lr=0.01),
}


def main() -> None:
    sizes = [int(number) for number in sys.argv[1:4]]
    if "--keep" in sys.argv:
        ramet.keep_memory()
    ids, gradients = map(torch.from_numpy, gradients_of(*sizes))
    embedding = torch.nn.Embedding(sizes[0], sizes[1], sparse=True)
    optimizers = {}

    def step(optimizer) -> None:
        optimizer.zero_grad()
        embedding(ids).backward(gradients)
        optimizer.step()

    def train(method: str, threads: int) -> float:
        torch.set_num_threads(threads)
        if method not in optimizers:
            optimizers.clear()  # one method's state at a time
            optimizers[method] = METHODS[method](embedding.parameters())
        with changes(lambda: embedding(ids[:SOME]), method):
            return seconds(step, optimizers[method])

    serve({"train": train})


if __name__ == "__main__":
    main()
