"""Gather, scatter and add of a distributed table, which its ranks call together. Rows of ranks on this machine are read
and written where they are; only the others travel."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ramet import _core
from ramet.tables.communicator import Communicator, Op, all_to_all, communicator_of, in_engine, release
from ramet.tables.device_exchange import Pull, Sorted
from ramet.tables.storage import Storage


class Wanted(NamedTuple):
    """Of a gather, checked."""

    positions: np.ndarray  # or a tensor of the table's device, as `out` then
    threads: int
    decode: bool
    out: np.ndarray | None


class RowList(NamedTuple):
    """Of a scatter or an add, checked."""

    positions: np.ndarray  # or tensors of the table's device
    rows: np.ndarray
    threads: int


def gather(table, check: Callable[[], Wanted]) -> np.ndarray | None:
    """The rows; None where `out` has them. What check() raises is an error on every rank, as is another call."""
    communicator = communicator_of([table])
    with communicator.propagate_errors():
        wanted = Wanted(*check())
        if table.location == "device":
            pull: Any = Pull(table, wanted.positions, wanted.decode, wanted.out)
        else:
            pull = HostPull(table, wanted)
        requests = None if all(table.ranks.is_local) else pull.requests()
    communicator.begin_round(Op.GATHER, [table])
    if requests is None:
        return pull.finish(None)
    requests = communicator.exchange(requests)
    return pull.finish(communicator.exchange(_answer(communicator, pull, requests)))


class HostPull:
    """Rows in memory of the host that this rank gathers."""

    def __init__(self, table: Storage, wanted: Wanted):
        self._table, self._wanted, self._pull = table, wanted, None
        if not all(table.ranks.is_local):
            like = {"positions": table.positions, "is_local": table.ranks.is_local, "like": table.rows}
            self._pull = _core.RowPull(wanted.positions, **like)

    def requests(self) -> tuple:
        return self._pull.requests()

    def answer(self, requests: tuple) -> tuple:
        rows, threads = self._table.rows, self._wanted.threads
        return _core.RowPull.answer(*requests, rows=rows, own=self._table.own, threads=threads)

    def finish(self, answers: tuple | None) -> np.ndarray | None:
        positions, threads, decode, out = self._wanted
        rows, how = self._table.rows, {"threads": threads, "decode": decode, "out": out}
        if answers is None:
            return rows.gather(positions, **how)
        return self._pull.finish(*answers, rows=rows, count=len(positions), **how)


def _answer(communicator: Communicator, pull, requests: tuple) -> tuple:
    try:
        return pull.answer(requests)
    except BaseException:
        with contextlib.suppress(RuntimeError):  # that this rank has failed
            communicator.exchange(None)
        raise


def scatter(table: Storage, check: Callable[[], RowList]) -> None:
    """Every owner writes what all ranks gave for its rows, the last in the order (rank, position). What check() raises
    is an error on every rank before anything is written, as is another call."""
    _write(table, check, Op.SCATTER, _core.set_rows, _core.set_sorted_rows)


def add(table: Storage, check: Callable[[], RowList]) -> None:
    """As scatter; what is given for a row is summed in that order, and the sum added once."""
    _write(table, check, Op.ADD, _core.sum_rows, _core.sum_sorted_rows)


def _write(table: Storage, check: Callable[[], RowList], op: Op, write, write_sorted) -> None:
    communicator = communicator_of([table])
    with communicator.propagate_errors():
        positions, rows, threads = check()
    [lists] = all_to_all([(table, [(positions, rows)])], op=op, threads=threads)
    with communicator.propagate_errors():
        if isinstance(lists, Sorted):
            write_sorted(table.rows, lists.lists)
        else:
            write(table.rows, in_engine(lists), own=table.own, threads=threads)
    release([table])
