"""Embeddings that learn, on one rank or several, and what their tests ask of a rank."""

import contextlib
import functools

import numpy as np
import pytest
import torch
import torch.distributed as dist

import ramet

ROWS, WIDTH, STEPS = 83, 19, 3  # a width that no vector register divides
DTYPES = ("float32", "float16", "bfloat16")
METHODS = {
    "SGD": {"lr": 0.1, "weight_decay": 0.01},
    "AdaGrad": {"lr": 0.1},
    "AdaGrad rowwise": {"lr": 0.1, "rowwise": True, "weight_decay": 0.01},
    "RMSProp": {"lr": 0.1, "weight_decay": 0.01},
    "Adam": {"lr": 0.1, "weight_decay": 0.01},
    "AdamW": {"lr": 0.1, "weight_decay": 0.1},
    "Adam steps": {"lr": 0.1, "steps": "all"},
}


def owners_of(ownership, size: int):
    """Of all rows; "vector": in no order."""
    return np.random.default_rng(5).integers(0, size, ROWS) if ownership == "vector" else ownership


def gradients_of(step: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(ids, gradients) of all ranks. Some ids repeat, some are missing."""
    generator = torch.Generator().manual_seed(step)
    return torch.randint(ROWS, (120,), generator=generator), torch.randn(120, WIDTH, generator=generator)


def share(step: int, rank: int, size: int) -> slice:
    """Of 120 pairs: what a rank gets, in the order of the ranks, and one of them nothing."""
    cuts = np.sort(np.random.default_rng(step).integers(0, 121, size - 1))
    if size > 1:
        nobody = step % size
        cuts[max(nobody - 1, 0)] = cuts[nobody] if 0 < nobody < size - 1 else 0 if nobody == 0 else 120
    cuts = [0, *cuts.tolist(), 120]
    return slice(cuts[rank], cuts[rank + 1])


def optimizer_of(method: str, embeddings, **options):
    return getattr(ramet.optim, method.split()[0])(embeddings, **METHODS[method], **options)


def roundings_of(method: str) -> tuple[str, ...]:
    """Those to try: what is stochastic is the same code for every method."""
    return ("nearest", "stochastic") if method in ("SGD", "Adam") else ("nearest",)


def sizes_and_methods(*others: int) -> list:
    """Three ranks with every method; other numbers of ranks, which divide the same work, with two."""
    few = [pytest.param(size, method, marks=pytest.mark.slow) for size in others for method in ("SGD", "Adam")]
    return [*((3, method) for method in METHODS), *few]


def learn(
    method: str, rounding: str, rank: int, size: int, *, cached=(), to=lambda tensor: tensor, **where
) -> dict[str, bytes]:
    """All rows and states after some steps, in which every rank has two calls. `cached`: the rows to cache, by step.
    `to`: puts ids and gradients on a device."""
    dtypes = DTYPES if rounding == "nearest" else DTYPES[1:]
    embeddings = {dtype: ramet.nn.Embedding(ROWS, WIDTH, dtype, seed=3, **where) for dtype in dtypes}
    optimizer = optimizer_of(method, embeddings.values(), rounding=rounding, seed=4, average=False)
    for step in range(STEPS):
        mine = share(step, rank, size)
        ids, gradients = (to(values[mine]) for values in gradients_of(step))
        for embedding in embeddings.values():
            if step in cached:
                embedding.table.cache(cached[step])
            calls = [embedding(part) for part in ids.tensor_split(2)]
            for rows, part in reversed(list(zip(calls, gradients.tensor_split(2)))):
                rows.backward(part.to(rows.dtype))
        optimizer.step()
        optimizer.zero_grad()
    result = {}
    for dtype, embedding in embeddings.items():
        tables = {"rows": embedding.table, **optimizer.state_of(embedding)}
        for table in tables.values():
            table.flush()
        result |= {f"{name} of {dtype}": table.gather(np.arange(ROWS)).tobytes() for name, table in tables.items()}
    return result


def refused(call) -> str:
    """How this rank's call is refused, or ends by Ctrl-C."""
    try:
        call()
    except (Exception, KeyboardInterrupt) as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


@contextlib.contextmanager
def recording():
    """The names of the collectives of torch that are called inside this context."""
    called = []

    def record(name, function, *arguments, **options):
        called.append(name)
        return function(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        for name, function in list(vars(dist).items()):
            if name.startswith(("all_", "barrier", "broadcast", "gather", "scatter")):
                patch.setattr(dist, name, functools.partial(record, name, function))
        yield called
