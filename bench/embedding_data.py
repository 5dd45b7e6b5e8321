"""The rows and gradients of embedding benchmarks, for peers as well."""

from __future__ import annotations

import numpy as np


def gradients_of(rows: int, width: int, distinct: int) -> tuple[np.ndarray, np.ndarray]:
    """`distinct` ids in random order, and a gradient for each."""
    random = np.random.default_rng(0)
    ids = random.permutation(rows)[:distinct].astype(np.int64)
    return ids, random.standard_normal((distinct, width), np.float32)
