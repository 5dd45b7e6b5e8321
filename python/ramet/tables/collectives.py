"""Gather, scatter and add of a distributed table, which its ranks call together. Rows of ranks on this machine are read
and written where they are; only the others travel."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ramet import _core
from ramet.tables.communicator import Communicator, Op, all_to_all, communicator_of, in_engine, release
from ramet.tables.storage import Storage


class Wanted(NamedTuple):
    """Of a gather, checked."""

    positions: np.ndarray
    threads: int
    decode: bool
    out: np.ndarray | None


class RowList(NamedTuple):
    """Of a scatter or an add, checked."""

    positions: np.ndarray
    rows: np.ndarray
    threads: int


def gather(table: Storage, check: Callable[[], Wanted]) -> np.ndarray | None:
    """The rows; None where `out` has them. What check() raises is an error on every rank, as is another call."""
    communicator = communicator_of([table])
    with communicator.propagate_errors():
        positions, threads, decode, out = check()
        pull = None
        if not all(table.ranks.is_local):
            pull = _core.RowPull(positions, positions=table.positions, is_local=table.ranks.is_local, like=table.rows)
    communicator.begin_round(Op.GATHER, [table])
    if pull is None:
        return table.rows.gather(positions, threads=threads, decode=decode, out=out)
    requests = communicator.exchange(pull.requests())
    answers = communicator.exchange(_answer(communicator, table, requests, threads))
    return pull.finish(*answers, rows=table.rows, count=len(positions), decode=decode, out=out, threads=threads)


def _answer(communicator: Communicator, table: Storage, requests: tuple, threads: int) -> tuple:
    try:
        return _core.RowPull.answer(*requests, rows=table.rows, own=table.own, threads=threads)
    except BaseException:
        with contextlib.suppress(RuntimeError):  # that this rank has failed
            communicator.exchange(None)
        raise


def scatter(table: Storage, check: Callable[[], RowList]) -> None:
    """Every owner writes what all ranks gave for its rows, the last in the order (rank, position). What check() raises
    is an error on every rank before anything is written, as is another call."""
    _write(table, check, Op.SCATTER, _core.set_rows)


def add(table: Storage, check: Callable[[], RowList]) -> None:
    """As scatter; what is given for a row is summed in that order, and the sum added once."""
    _write(table, check, Op.ADD, _core.sum_rows)


def _write(table: Storage, check: Callable[[], RowList], op: Op, write) -> None:
    communicator = communicator_of([table])
    with communicator.propagate_errors():
        positions, rows, threads = check()
    [lists] = all_to_all([(table, [(positions, rows)])], op=op, threads=threads)
    with communicator.propagate_errors():
        write(table.rows, in_engine(lists), own=table.own, threads=threads)
    release([table])
