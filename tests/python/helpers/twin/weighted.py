"""The twin's weighted picks, written from docs/semantics.md, section 13, alone."""

import itertools
import math


def fraction(r: int) -> float:
    return ((r >> 12) + 0.5) * 2.0**-52


def exponential(r: int) -> float:
    m, e = math.frexp(fraction(r))
    root = float.fromhex("0x1.6a09e667f3bcdp-1")
    if m < root:
        m, e = 2 * m, e - 1
    f = (m - 1) / (m + 1)
    s = 0.0
    for n in range(21, 0, -2):
        s = s * (f * f) + 1 / n
    return -e * float.fromhex("0x1.62e42fefa39efp-1") - 2 * f * s


def smallest(numbers: dict[int, float], k: int) -> list[int]:
    """The k positions with the smallest numbers."""
    return sorted(sorted(numbers, key=lambda x: (numbers[x], x))[:k])


def pick_weighted(weights: list[float], k: int, replace: bool, r) -> list[int]:
    """The positions that a row of `weights` gives, `r(t)` being draw t of the node."""
    positive = {x: w for x, w in enumerate(weights) if w > 0}
    if k == -1:
        return list(positive)
    if not replace:
        return smallest({x: exponential(r(x)) / w for x, w in positive.items()}, k)
    if not positive:
        return []
    sums = list(itertools.accumulate(weights))
    thresholds = (fraction(r(t)) * sums[-1] for t in range(k))
    return sorted(next(x for x, c in enumerate(sums) if c > threshold) for threshold in thresholds)
