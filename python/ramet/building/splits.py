"""Splits of rows: by a column of names, by shares, by times, or by ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ramet import _core
from ramet._support.arguments import UINT64_MAX, as_int, as_name, as_real, shortened
from ramet.building.scratch import Scratch
from ramet.inputs.tables import Column

SAME = {"valid": "val", "validation": "val", "dev": "val"}  # names that files have for one split
NONE = 255  # in no split


class Splitter:
    """The splits that a NodeTable or an EdgeTable asks for. A reader of rows, where a column says it.

    times: the Times of the column of a split by time.
    """

    columns: tuple[Column, ...] = ()

    def __init__(self, split, seed: int, what: str, location, scratch: Scratch, times=None):
        self._split, self._what, self._location = split, f"{what}: split", location
        self._seed = as_int(seed, f"{what}: seed", 0, UINT64_MAX)
        self._names: list[str] = []
        self._codes = scratch.column(np.uint8)
        self._times = times
        column = split_column(split)
        if column is not None:
            self.columns = (column,)
        if times is not None:
            _, first_val, first_test = split
            what = f"{self._what}: t_val", f"{self._what}: t_test"
            self._bounds = times.bound(first_val, what[0]), times.bound(first_test, what[1])
            if self._bounds[0] > self._bounds[1]:
                raise ValueError(f"{self._what}: t_val is {first_val}, after t_test, {first_test}")
            self._names = ["train", "val", "test"]

    def take(self, first: int, arrays: Sequence[Any]) -> None:
        if self._times is not None:
            self._codes.append(np.digitize(self._times.rows(first, arrays), self._bounds).astype(np.uint8))
        else:
            self._codes.append(self._codes_of(first, arrays[0]))

    def finish(self, count: int, kept: np.ndarray | None, find) -> dict[str, np.ndarray]:
        """The numbers of rows, or of those that are `kept`, by the name of a split. count: of these. find(ids): their
        numbers."""
        if self.columns:
            codes = self._codes.array() if kept is None else self._codes.array()[kept]
            return {name: np.flatnonzero(codes == code) for code, name in enumerate(self._names)}
        if self._split is None:
            return {}
        named = _merged((_split_name(name), value) for name, value in self._split.items())
        are_shares = {np.ndim(value) == 0 for value in named.values()}
        if len(are_shares) == 2:
            raise ValueError(f"{self._what} {shortened(self._split)} has shares and ids, expected one of them")
        if are_shares != {False}:
            return self._by_share(named, count)
        return {name: find(value, f"{self._what} {name!r}") for name, value in named.items()}

    def _codes_of(self, first: int, array) -> np.ndarray:
        import pyarrow.compute as pc

        coded = pc.dictionary_encode(array)
        names = coded.dictionary.to_pylist()
        if "" in names:
            row = first + pc.index(coded.indices, names.index("")).as_py()
            raise ValueError(
                f"{self._location(row)}: column {self.columns[0]!r} is '', and a split needs a name: null, in CSV an "
                "empty field without quotes, is no split"
            )
        numbers = [self._number(name) for name in names]
        table = np.array([*numbers, NONE], np.uint8)
        return table[pc.fill_null(coded.indices, len(numbers)).to_numpy(zero_copy_only=False)]

    def _number(self, name) -> int:
        name = _split_name(str(name))
        if name not in self._names:
            if len(self._names) == NONE:
                raise ValueError(f"{self._what}: column {self.columns[0]!r} has more than {NONE} names of splits")
            self._names.append(name)
        return self._names.index(name)

    def _by_share(self, shares: Mapping[str, Any], count: int) -> dict[str, np.ndarray]:
        parts = {name: as_real(share, f"{self._what} {name!r}") for name, share in shares.items()}
        if sum(parts.values()) > 1 + 1e-9:
            raise ValueError(f"{self._what}: shares add up to {sum(parts.values())}, more than 1")
        order = np.argsort(_core.split_words(self._seed, count), kind="stable")
        ends = np.round(np.cumsum([0, *parts.values()]) * count).astype(np.int64)
        return {name: np.sort(order[a:b]) for name, a, b in zip(parts, ends, ends[1:], strict=False)}


def split_column(split) -> Column | None:
    """The column that a split is read from."""
    if isinstance(split, (str, int)):
        return split
    return split[0] if is_by_time(split) else None


def is_by_time(split) -> bool:
    return isinstance(split, tuple) and len(split) == 3


def check_split(split, what: str) -> None:
    if not (split is None or isinstance(split, (str, int, Mapping)) or is_by_time(split)):
        raise TypeError(
            f"{what}: split is {shortened(split)}, expected a column, a dict of shares or of ids, or "
            "(column, t_val, t_test)"
        )


def _split_name(name) -> str:
    name = as_name(name, "the name of a split")
    return SAME.get(name, name)


def _merged(items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for name, value in items:
        if name in named:
            raise ValueError(f"split names {name!r} twice")
        named[name] = value
    return named
