"""The twin's choice by time, written from docs/semantics.md, section 16, alone."""


def allowed(times: list[int], now: int, window: int | None, comparison: str) -> list[int]:
    """The numbers of a row's edges that a tree whose seed has time `now` may have."""
    is_past = {"<=": lambda u: u <= now, "<": lambda u: u < now}[comparison]
    return [x for x, u in enumerate(times) if is_past(u) and (window is None or u >= now - window)]


def latest(times: list[int], numbers: list[int], k: int) -> list[int]:
    """The k of `numbers` with the largest (time, number), ascending."""
    by_time = sorted(numbers, key=lambda x: (times[x], x), reverse=True)
    return sorted(by_time if k == -1 else by_time[:k])
