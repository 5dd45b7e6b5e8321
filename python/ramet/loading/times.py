"""Time: neighbors from before or after the seed's time. docs/semantics.md, section 16."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ramet._support.arguments import as_flag, as_int, as_name, shortened
from ramet.arrays import as_array, to_integers
from ramet.dtypes import dtype_name

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


def by_type(value, types: Mapping, kind: str, what: str, of: str) -> Mapping:
    """`value`, a dict by `kind` of some of the types that `of` names; None is one of none. TypeError, ValueError."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise TypeError(f"{what} is {shortened(value)}, expected a dict by {kind}, as {of} is")
    unknown = [t for t in value if t not in types]
    if unknown:
        raise ValueError(f"{what} names the {kind}s {unknown}, but {of} names {list(types)}")
    return value


def require_time(value, what: str) -> None:
    """ValueError where times are given without a `time`."""
    if value is not None:
        raise ValueError(f"{what} is {shortened(value)}, but there is no `time` to compare it with")


def as_integers(value, what: str, shapes: tuple, expected: str) -> np.ndarray:
    """Times as int64 of one of these shapes. ValueError for another shape, TypeError for what are no integers."""
    times = as_array(value, what)
    if times.shape not in shapes:
        raise ValueError(f"{what} has shape {list(times.shape)}, expected {expected}")
    if times.size > 0 and times.dtype.kind not in "iu":
        raise TypeError(f"{what} has dtype {dtype_name(times.dtype)}, expected int64: {COUNT_UNITS}")
    return to_integers(times, what, empty_list=True).astype(np.int64, copy=False)


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
