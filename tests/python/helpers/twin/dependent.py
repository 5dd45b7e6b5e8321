"""The twin's arithmetic of dependent minibatches, written from docs/semantics.md, section 9, alone.

Python's floats are IEEE doubles, and + - * / are theirs.
"""

import functools
import math

MASK = 2**64 - 1


def rounded(value: float) -> float:
    """To 32 significant bits."""
    digits, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(digits, 32)), exponent - 32)


def density(z: float) -> float:
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def upper_tail(z: float) -> float:
    return math.erfc(z / math.sqrt(2)) / 2


@functools.cache
def quantile(p: float) -> float:
    """By bisection, and Newton's method for the last digits."""
    if p == 0.5:
        return 0.0
    low, high = 0.0, 12.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if upper_tail(middle) > p else (low, middle)
    return low + (upper_tail(low) - p) / density(low)


def cubic(value0: float, value1: float, slope0: float, slope1: float, x: float) -> float:
    value0, value1, slope0, slope1 = map(rounded, (value0, value1, slope0, slope1))
    rise = value1 - value0
    c2, c3 = 3 * rise - 2 * slope0 - slope1, slope0 + slope1 - 2 * rise
    return ((c3 * x + c2) * x + slope0) * x + value0


def normal_of_word(w: int) -> float:
    if w >= 2**63:
        return -normal_of_word(w ^ MASK)
    p = (w >> 11) + 0.5  # exact, in units of 2^-53
    octave = math.frexp(p)[1] - 1
    width = 2.0 ** (octave - 5)
    i, x = divmod(p / width, 1.0)
    z0, z1 = (quantile((i + k) * width * 2.0**-53) for k in range(2))
    d0, d1 = (-width * 2.0**-53 / density(z) for z in (z0, z1))
    return cubic(z0, z1, d0, d1, x)


def word_of_normal(z: float) -> int:
    if math.copysign(1, z) < 0:
        return word_of_normal(-z) ^ MASK
    i, x = divmod((z + 16 - 16) * 128, 1.0)
    z0, z1 = i / 128, (i + 1) / 128
    q0, q1 = (2.0**52 * upper_tail(z) for z in (z0, z1))
    d0, d1 = (-(2.0**45) * density(z) for z in (z0, z1))
    return round(cubic(q0, q1, d0, d1, x)) << 12


def weights(j: int, kappa: int) -> tuple[float, float]:
    """Cosine and sine of pi j / 2 kappa."""
    if 2 * j > kappa:
        return weights(kappa - j, kappa)[::-1]
    x = math.pi / 2 * j / kappa
    cos = sin = 1.0
    for n in range(18, 1, -2):
        cos = 1 - x * x / ((n - 1) * n) * cos
    for n in range(19, 2, -2):
        sin = 1 - x * x / ((n - 1) * n) * sin
    return cos, x * sin


def dependent_word(now: int, then: int, j: int, kappa: int) -> int:
    cos, sin = weights(j, kappa)
    return word_of_normal(normal_of_word(now) * cos + normal_of_word(then) * sin)
