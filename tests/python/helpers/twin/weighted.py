"""The twin's weighted picks, written from docs/semantics.md, section 13, alone."""

import itertools
import math
from fractions import Fraction


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


def average_tries(weights: list[float]) -> int:
    scale = 2.0**31 / max(weights)
    return math.ceil(Fraction(len(weights) << 31, sum(min(math.floor(w * scale), 1 << 31) for w in weights)))


def pick_by_tries(weights: list[float], k: int, replace: bool, r) -> list[int]:
    """The first positions that a whole row gives, in the order of tries: k or fewer."""
    d, picked = len(weights), []
    if k <= 0 or not any(weights) or (not replace and d // 2 <= k):
        return []
    q = average_tries(weights)
    if q > 8 + d // (4 * k):
        return []
    for t in range(8 * (2 * k * q // 8 + 1)):
        position, rest = divmod(r(2**32 + t) * d, 2**64)
        if (
            len(picked) < k
            and fraction(rest) * max(weights) < weights[position]
            and (replace or position not in picked)
        ):
            picked.append(position)
    return picked


def pick_weighted(weights: list[float], k: int, replace: bool, r, by_tries: bool) -> list[int]:
    """The positions that a row of `weights` gives, `r(t)` being draw t of the node."""
    positive = {x: w for x, w in enumerate(weights) if w > 0}
    if k == -1:
        return list(positive)
    picked = pick_by_tries(weights, k, replace, r) if by_tries else []
    if not replace:
        left = {x: exponential(r(x)) / w for x, w in positive.items() if x not in picked}
        return sorted(picked + smallest(left, k - len(picked)))
    if not positive:
        return []
    sums = list(itertools.accumulate(weights))
    thresholds = (fraction(r(t)) * sums[-1] for t in range(len(picked), k))
    return sorted(picked + [next(x for x, c in enumerate(sums) if c > threshold) for threshold in thresholds])
