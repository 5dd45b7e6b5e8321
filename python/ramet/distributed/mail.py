"""Mail: lists of rows from all ranks of tables to the ranks that own the rows.

On one machine every rank writes its lists once, into an arena of shared memory that the others have mapped, and owners
read them there. Only a head of a few numbers goes through a socket: what the rank is doing, and which memory is its
arena. Ranks of other machines get the rows that they own in messages.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterable
from itertools import accumulate, pairwise
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
import torch.distributed as dist

from ramet import _core, descriptor
from ramet.distributed.channel import in_channel
from ramet.dtypes import bfloat16, bits
from ramet.tables.ranks import Ranks
from ramet.tables.table import Table

Lists = list[tuple[np.ndarray, np.ndarray]]  # (places, int64 [k]; their rows, [k, ...])
UNIT = 64  # bytes; what is packed begins and ends at multiples of it


class Mail:
    """Of one table, for one rank: `deliver`, use what came, `done`. All ranks of the table call these together. Several
    tables of the same ranks go together by `deliver_all` and `done_all`.

    An error of one rank is one on every rank: RuntimeError on those where nothing failed. Where a rank ends, the others
    get an error too, at the latest after the timeout of their process group.
    """

    def __init__(self, ranks: Ranks, places: _core.RowPlaces | None, rows: _core.Table):
        self.ranks, self.places, self.rows = ranks, places, rows  # rows: by place

    @classmethod
    def of(cls, table: Table) -> Mail:
        """Not collective."""
        return cls(table._ranks, table._places, table._rows_by_place)  # noqa: SLF001 (what a table knows of its ranks)

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


def deliver_all(letters: list[tuple[Mail, Lists]], *, threads: int = 1, step: int = 0) -> list[Lists]:
    """Mail.deliver of several tables of the same ranks at once. ValueError, on every rank, unless these are the same
    tables on all ranks."""
    office = _office(mail for mail, _ in letters)
    return [lists for _, lists in letters] if office is None else office.deliver(letters, threads, step)


def done_all(mails: list[Mail]) -> None:
    """Mail.done for what deliver_all gave."""
    office = _office(mails)
    if office is not None:
        office.done()


def fail_all(mails: list[Mail]) -> None:
    """Mail.fail for deliver_all and done_all."""
    office = _office(mails)
    if office is not None:
        office.fail()


def listed(lists: Lists) -> list[tuple[np.ndarray, np.ndarray, bool]]:
    """As _core takes them."""
    return [(places, bits(rows), rows.dtype == bfloat16) for places, rows in lists]


class Head(NamedTuple):
    """What a rank tells the others before anything is read. Which memory is its arena: as a descriptor.Handle."""

    phase: int
    number: int
    step: int = 0
    tables: int = 0
    which: int = 0  # a digest of the tables' numbers
    pid: int = 0
    fd: int = 0
    device: int = 0
    inode: int = 0

    @property
    def doing(self) -> tuple:
        return self[:5]

    def __str__(self) -> str:
        if self.phase == DONE:
            return f"done with delivery {self.number}"
        return f"at delivery {self.number}, step {self.step}, of {self.tables} tables (digest {self.which:08x})"


FAILED, DELIVER, DONE = -1, 1, 2  # phases


class Arena:
    """Memory of this rank that others of the machine read."""

    def __init__(self):
        self.memory: _core.SharedMemory | None = None
        self.bytes = np.empty(0, np.uint8)

    def reserve(self, size: int) -> np.ndarray:
        """At least `size` bytes; what was there may be gone."""
        if size > len(self.bytes):
            size = max(size, 2 * len(self.bytes))
            self.memory, self.bytes = None, np.empty(0, np.uint8)
            memory = _core.SharedMemory.create(size)
            self.bytes, self.memory = _mapped(memory), memory
        return self.bytes

    def pack(self, letters: list[list], threads: int) -> None:
        """How many bytes each letter takes, and the letters."""
        sizes = [_core.packed_bytes(lists) for lists in letters]
        starts = _starts(sizes)
        room = self.reserve(starts[-1])
        room[: 8 * len(sizes)].view(np.int64)[:] = sizes
        for lists, begin, end in zip(letters, starts, starts[1:]):
            _core.pack(lists, room[begin:end], threads=threads)

    @property
    def handle(self) -> tuple[int, int, int, int]:
        return (0, 0, 0, 0) if self.memory is None else (os.getpid(), self.memory.fd, *self.memory.identity)


class Office:
    """The mail of the tables of one set of ranks, in one thread: its collectives are in one order."""

    def __init__(self, ranks: Ranks):
        group = ranks.group
        self._rank, self._reached = ranks.rank, ranks.reached
        self._members = group.members
        self._wire = group.channel.ids if in_channel() else group.channel.rows
        self._others = [k for k, reached in enumerate(ranks.reached) if reached and k != ranks.rank]
        self._arena = Arena()
        self._mapped: dict[int, tuple[tuple, np.ndarray]] = {}  # by rank: (identity, bytes)
        self._number, self._is_open = 0, False
        self._told: list[tuple] = []  # collectives that nobody waits for, and what they read

    def deliver(self, letters: list[tuple[Mail, Lists]], threads: int, step: int) -> list[Lists]:
        try:
            if self._is_open:
                raise RuntimeError(f"delivery {self._number} is not done: done(), or deliver_all() for several tables")
            for mail, lists in letters:
                _check(mail, lists)
            if self._others:
                self._arena.pack([listed(lists) for _, lists in letters], threads)
            head = self._head(letters, step)
        except BaseException:
            self.fail()
            raise
        heads = self._meet(head)
        self._number, self._is_open = self._number + 1, True
        try:
            packed = {k: self._letters_of(k, heads[k], len(letters)) for k in self._others}
            return [self._received(i, mail, lists, packed) for i, (mail, lists) in enumerate(letters)]
        except BaseException:
            self.fail()
            raise

    def done(self) -> None:
        if not self._is_open:
            self.fail()
            raise RuntimeError("nothing was delivered")
        self._is_open = False
        self._meet(Head(DONE, self._number))

    def fail(self) -> None:
        self._is_open = False
        self._told = [one for one in self._told if not one[0].is_completed()]
        with contextlib.suppress(RuntimeError):  # where the connection is what failed
            self._told.append(self._gather(Head(FAILED, self._number), async_op=True))

    def _head(self, letters: list[tuple[Mail, Lists]], step: int) -> Head:
        numbers = [mail.ranks.group.loader for mail, _ in letters]
        which = zlib.crc32(np.array(numbers, np.int64).tobytes())
        return Head(DELIVER, self._number + 1, step, len(numbers), which, *self._arena.handle)

    def _meet(self, mine: Head) -> list[Head]:
        """Those of all ranks, which do the same."""
        _, _, gathered = self._gather(mine, async_op=False)
        heads = [Head(*numbers) for numbers in gathered.tolist()]
        for rank, head in enumerate(heads):
            if head.phase == FAILED:
                raise RuntimeError(f"rank {self._members[rank]} failed: its own error says why")
        for rank, head in enumerate(heads):
            if head.doing != heads[0].doing:
                raise ValueError(
                    f"rank {self._members[rank]} is {head}, but rank {self._members[0]} is {heads[0]}: the ranks of "
                    "tables do the same, in one order"
                )
        return heads

    def _gather(self, head: Head, async_op: bool) -> tuple:
        mine = torch.tensor(head)
        gathered = torch.empty(len(self._members), len(head), dtype=torch.int64)
        work = dist.all_gather(list(gathered), mine, group=self._wire, async_op=async_op)
        return work, mine, gathered

    def _letters_of(self, rank: int, head: Head, count: int) -> list[np.ndarray]:
        """The bytes of each letter in a rank's arena."""
        identity = (head.device, head.inode)
        if rank not in self._mapped or self._mapped[rank][0] != identity:
            self._mapped.pop(rank, None)
            handle = descriptor.Handle(head.pid, head.fd, identity)
            memory = descriptor.opened(handle, "arena", _core.SharedMemory.open, os.O_RDWR)
            self._mapped[rank] = identity, _mapped(memory)
        arena = self._mapped[rank][1]
        starts = _starts(arena[: 8 * count].view(np.int64).tolist())
        return [arena[begin:end] for begin, end in pairwise(starts)]

    def _received(self, i: int, mail: Mail, own: Lists, packed: dict[int, list[np.ndarray]]) -> Lists:
        """Letter i of all ranks."""
        received: Lists = []
        for rank, member in enumerate(self._members):
            if rank == self._rank:
                received += own
            elif rank in packed:
                received += _core.unpack(packed[rank][i], like=mail.rows, sender=f"rank {member}")
        return received


_offices: WeakKeyDictionary = WeakKeyDictionary()  # by channel: those of its threads


def _office(mails: Iterable[Mail]) -> Office | None:
    """None for a rank alone."""
    ranks = [mail.ranks for mail in mails]
    if not ranks or ranks[0].size == 1:
        return None
    if any(one.group is None for one in ranks):
        raise ValueError("the table was unpickled: its ranks exchange no rows here, only where it was created")
    channel = ranks[0].group.channel
    if any(one.group.channel is not channel for one in ranks):
        raise ValueError("the tables are of different ranks, whose rows do not go together")
    channel.check_process()
    offices = _offices.setdefault(channel, {})
    key = in_channel(), ranks[0].reached
    if key not in offices:
        offices[key] = Office(ranks[0])
    return offices[key]


def _check(mail: Mail, lists: Lists) -> None:
    form = mail.rows.numpy()
    for places, rows in lists:
        if rows.shape != (len(places), *form.shape[1:]) or rows.dtype not in (form.dtype, np.float32):
            raise ValueError(
                f"rows are {rows.dtype}{list(rows.shape)}, which do not fit {len(places)} places of "
                f"{form.dtype}{list(form.shape)}"
            )


def _starts(sizes: list[int]) -> list[int]:
    """Where each letter of these sizes begins in an arena, and the end."""
    head = -(-8 * len(sizes) // UNIT) * UNIT
    return list(accumulate(sizes, initial=head))


def _mapped(memory: _core.SharedMemory) -> np.ndarray:
    return _core.map_side_by_side([(memory, 0)], memory.bytes)
