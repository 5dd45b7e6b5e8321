"""torch's optimizers of sparse gradients: `torch_optimizers.py ROWS WIDTH DISTINCT [--keep]`. Answers ("step", method,
threads): seconds.

--keep: what a step frees stays in the process, as ramet.keep_memory has it.
"""

import sys

import torch
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
    weight = torch.nn.Parameter(torch.randn(sizes[0], sizes[1]))
    optimizers = {}

    def step(method: str, threads: int) -> float:
        torch.set_num_threads(threads)
        if method not in optimizers:
            optimizers.clear()  # one method's state at a time
            optimizers[method] = METHODS[method]([weight])
        # As the backward of torch.nn.Embedding(sparse=True) leaves it.
        weight.grad = torch.sparse_coo_tensor(ids[None], gradients, weight.shape)
        return seconds(optimizers[method].step)

    serve({"step": step})


if __name__ == "__main__":
    main()
