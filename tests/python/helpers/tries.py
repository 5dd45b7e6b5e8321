"""Measurements that other programs on the machine disturb."""

from collections.abc import Callable


def least(measure: Callable[[], float], enough: float, tries: int = 4) -> float:
    """The least of several measurements, for what others can only add to; the first below `enough` ends them."""
    found = measure()
    for _ in range(tries - 1):
        if found < enough:
            break
        found = min(found, measure())
    return found
