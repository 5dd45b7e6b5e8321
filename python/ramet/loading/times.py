"""Time: neighbors from before or after the seed's time. docs/semantics.md, section 16."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ramet._support.arguments import as_flag, as_int, as_name, shortened

STRATEGIES = ("uniform", "last")
COMPARISONS = ("<=", "<", ">=", ">")
COUNT_UNITS = "times count units, such as seconds or milliseconds, (times / unit).round() as int64"


@dataclass(frozen=True)
class Time:
    """Draws only neighbors that were there at the time of the tree's seed, or that came after it
    (docs/semantics.md, section 16).

    table: the name of int64 tables of edges or of nodes, one time each, in any unit. An edge has its own time, or that
        of its source. Edge types with neither are sampled as without time.
    strategy: of the neighbors that the time allows, "uniform" draws as the sampler does; "last" takes the latest.
    window: only neighbors at most so far from the seed's time, in the unit of the times. None: however far. Windows of
        their own are given to seeds by `input_time`.
    comparison: "<=": a neighbor may be as late as the seed; "<": it is earlier; ">=", ">": it may be as early, or is
        later.
    monotonic: the comparison also holds between an edge and each edge that led to its destination.
    """

    table: str
    strategy: str = "uniform"
    window: int | None = None
    comparison: str = "<="
    monotonic: bool = False

    def __post_init__(self):
        as_name(self.table, "table")
        _require(self.strategy, "strategy", STRATEGIES)
        _require(self.comparison, "comparison", COMPARISONS)
        object.__setattr__(self, "monotonic", as_flag(self.monotonic, "monotonic"))
        if self.window is not None:
            object.__setattr__(self, "window", as_int(self.window, "window", 0))

    def plain(self) -> dict:
        """The options as numbers and strings, for states and the engine."""
        return {**vars(self), "window": -1 if self.window is None else self.window}


def as_time(time) -> Time | None:
    """A time from a Time, the name of its table, the result of `plain`, or None."""
    if time is None or isinstance(time, Time):
        return time
    if isinstance(time, str):
        return Time(time)
    if isinstance(time, Mapping) and "table" in time:
        window = time.get("window")
        return Time(**{**time, "window": None if window == -1 else window})
    raise TypeError(f"time is {shortened(time)}, expected a ramet.Time or the name of a table of times")


def _require(value, what: str, words: tuple[str, ...]) -> None:
    if isinstance(value, str) and value in words:
        return
    error = ValueError if isinstance(value, str) else TypeError
    raise error(f"{what} is {shortened(value)}, expected {' or '.join(map(repr, words))}")
