"""Mail: lists of rows from all ranks of tables to the ranks that own the rows.

On one machine every rank writes its lists once, into an arena of shared memory that the others have mapped, and owners
read them there. Only a head of a few numbers goes through a socket: what the rank is doing, and which memory is its
arena. Ranks of other machines get the rows that they own in messages.
"""

from __future__ import annotations

import numpy as np

from ramet import _core
from ramet.distributed.office import Kind, office_of
from ramet.tables.ranks import Ranks
from ramet.tables.table import Table

Lists = list[tuple[np.ndarray, np.ndarray]]  # (places, int64 [k]; their rows, [k, ...])


class Mail:
    """Of one table, for one rank: `deliver`, use what came, `done`. All ranks of the table call these together. Several
    tables of the same ranks go together by `deliver_all` and `done_all`.

    An error of one rank is one on every rank: RuntimeError on those where nothing failed. Where a rank ends, the others
    get an error too, at the latest after the timeout of their process group.
    """

    def __init__(self, ranks: Ranks, places: _core.RowPlaces | None, rows: _core.Table, own: tuple[int, int]):
        # rows: by place; own: the places of this rank's
        self.ranks, self.places, self.rows, self.own = ranks, places, rows, own

    @classmethod
    def of(cls, table: Table) -> Mail:
        """Not collective."""
        return cls(table._ranks, table._places, table._rows_by_place, table._own)  # noqa: SLF001 (the package's)

    def deliver(self, lists: Lists, *, threads: int = 1, step: int = 0) -> Lists:
        """The lists of all ranks, in the order of the ranks and of one rank in its order: views, to be read until
        done(). Those of ranks on this machine may hold rows of any owner.

        lists: places of the table, and rows of its dtype, or of float32. step: ValueError, on every rank, unless it is
        the same on all. Raises RuntimeError where what was delivered before is not done.
        """
        return deliver_all([(self, lists)], threads=threads, step=step)[0]

    def done(self) -> None:
        """Every rank has used what it got: returns when all have called it."""
        done_all([self])

    def fail(self) -> None:
        """Instead of deliver() or done(), in which the others then raise: where the program fails before or between
        these, not after an error of their own. Does not wait for the others."""
        fail_all([self])


def deliver_all(letters: list[tuple[Mail, Lists]], *, kind: Kind = Kind.LEARN, threads: int = 1, **what) -> list[Lists]:
    """Mail.deliver of several tables of the same ranks at once. what: `step`, and `options`, by name, of what is done
    with the rows. ValueError, on every rank, that names what differs, unless these and the tables are the same."""
    office = office_of(mail for mail, _ in letters)
    return [lists for _, lists in letters] if office is None else office.deliver(letters, kind, threads, **what)


def done_all(mails: list[Mail]) -> None:
    """Mail.done for what deliver_all gave."""
    office = office_of(mails)
    if office is not None:
        office.done()


def fail_all(mails: list[Mail]) -> None:
    """Mail.fail for deliver_all and done_all."""
    office = office_of(mails)
    if office is not None:
        office.fail()
