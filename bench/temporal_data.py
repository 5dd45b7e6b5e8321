"""Random times for a store's graph, the same in every environment. Needs numpy alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

KINDS = ("nodes", "edges")  # whose times
SPAN = 10 * 365 * 86_400  # times are seconds of ten years


@dataclass
class Times:
    """int64. given: of each node or edge. seeds: of each training node, its own or that of a random moment."""

    given: np.ndarray
    seeds: np.ndarray


def random_times(arrays: dict[str, np.ndarray], kind: str) -> Times:
    """arrays: what harness.arrays has of a store."""
    random = np.random.default_rng(0)
    train = arrays["train"]
    if kind == "nodes":
        given = random.integers(0, SPAN, len(arrays["indptr"]) - 1)
        return Times(given, given[train])
    return Times(random.integers(0, SPAN, len(arrays["indices"])), random.integers(0, SPAN, len(train)))
