"""The twin's choice by time, written from docs/semantics.md, section 16, alone."""

import math

Span = tuple[float, float]  # the first and the last time that is allowed; whole numbers, or infinite
ANY = (-math.inf, math.inf)


def span(now, window: int | None, comparison: str) -> Span:
    """What a seed of time `now` allows; two times are the ends."""
    if hasattr(now, "__len__"):
        return int(now[0]), int(now[1])
    now = int(now)
    far = math.inf if window is None else window
    return {
        "<=": (now - far, now),
        "<": (now - far, now - 1),
        ">=": (now, now + far),
        ">": (now + 1, now + far),
    }[comparison]


def common(one: Span, other: Span) -> Span:
    return max(one[0], other[0]), min(one[1], other[1])


def allowed(times: list[int], ends: Span) -> list[int]:
    """The numbers of a row's edges whose times are in the span."""
    return [x for x, u in enumerate(times) if ends[0] <= u <= ends[1]]


def latest(times: list[int], numbers: list[int], k: int) -> list[int]:
    """The k of `numbers` with the largest (time, number), ascending."""
    by_time = sorted(numbers, key=lambda x: (times[x], x), reverse=True)
    return sorted(by_time if k == -1 else by_time[:k])
