"""What the ranks of a distributed table do together: gather, scatter and add. Rows of ranks on this machine are read
and written where they lie; only the others travel."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ramet import _core
from ramet.distributed.mail import Mail, deliver_all
from ramet.distributed.office import Kind, Office, listed, office_of


class Wanted(NamedTuple):
    """Of a gather, checked."""

    places: np.ndarray
    threads: int
    decode: bool
    out: np.ndarray | None


class Given(NamedTuple):
    """Of a scatter or an add, checked."""

    places: np.ndarray
    rows: np.ndarray
    threads: int


def gather(mail: Mail, check: Callable[[], Wanted]) -> np.ndarray | None:
    """The rows; None where `out` has them. What check() raises is an error on every rank, as is another call."""
    office = office_of([mail])
    with office.telling():
        places, threads, decode, out = check()
        pull = None
        if not all(mail.ranks.reached):
            pull = _core.RowPull(places, places=mail.places, reached=mail.ranks.reached, like=mail.rows)
    office.meet(Kind.GATHER, [mail])
    if pull is None:
        return mail.rows.gather(places, threads=threads, decode=decode, out=out)
    requests = office.exchange(pull.requests())
    answers = office.exchange(_answer(office, mail, requests, threads))
    return pull.finish(*answers, rows=mail.rows, count=len(places), decode=decode, out=out, threads=threads)


def _answer(office: Office, mail: Mail, requests: tuple, threads: int) -> tuple:
    try:
        return _core.RowPull.answer(*requests, rows=mail.rows, own=mail.own, threads=threads)
    except BaseException:
        with contextlib.suppress(RuntimeError):  # that this rank has failed
            office.exchange(None)
        raise


def scatter(mail: Mail, check: Callable[[], Given]) -> None:
    """Every owner writes what all ranks gave for its rows, the last in the order (rank, position). What check() raises
    is an error on every rank before anything is written, as is another call."""
    _write(mail, check, Kind.SCATTER, _core.set_rows)


def add(mail: Mail, check: Callable[[], Given]) -> None:
    """As scatter; what is given for a row is summed in that order, and the sum added once."""
    _write(mail, check, Kind.ADD, _core.sum_rows)


def _write(mail: Mail, check: Callable[[], Given], kind: Kind, write) -> None:
    office = office_of([mail])
    with office.telling():
        places, rows, threads = check()
    [lists] = deliver_all([(mail, [(places, rows)])], kind=kind, threads=threads)
    with office.telling():
        write(mail.rows, listed(lists), own=mail.own, threads=threads)
    mail.done()
