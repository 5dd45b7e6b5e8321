"""Optimizers of embeddings for tests, and all that they have learned."""

import numpy as np

import ramet

OPTIMIZERS = {
    "SGD": lambda embeddings: ramet.optim.SGD(embeddings, lr=0.1),
    "AdaGrad": lambda embeddings: ramet.optim.AdaGrad(embeddings, lr=0.1),
    "row-wise AdaGrad": lambda embeddings: ramet.optim.AdaGrad(embeddings, lr=0.1, rowwise=True),
    "RMSProp": lambda embeddings: ramet.optim.RMSProp(embeddings, lr=0.1),
    "Adam": lambda embeddings: ramet.optim.Adam(embeddings, lr=0.1),
    "Adam of all steps": lambda embeddings: ramet.optim.Adam(embeddings, lr=0.1, steps="all"),
    "rounded Adam": lambda embeddings: ramet.optim.Adam(embeddings, lr=0.1, rounding="stochastic", seed=7),
}


def all_rows(optimizer) -> list[np.ndarray]:
    """Weights and state, as bytes."""
    tables = []
    for embedding in optimizer.embeddings:
        tables += [embedding.table, *optimizer.state_of(embedding).values()]
    return [table.gather(np.arange(len(table))).view(np.uint8) for table in tables]


def assert_same_rows(optimizer, other) -> None:
    for rows, others in zip(all_rows(optimizer), all_rows(other), strict=True):
        np.testing.assert_array_equal(rows, others)
