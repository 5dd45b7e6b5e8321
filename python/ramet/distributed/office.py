"""Office: where ranks that share tables meet. In each thread of a channel their collectives are in one order.

At a meeting every rank tells the others a head of a few numbers: what it does, and which memory is its arena. An error
of one rank is one on all: a rank that cannot come sends word that it has failed.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterable, Iterator
from enum import IntEnum
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple, NoReturn
from weakref import WeakKeyDictionary

import numpy as np
import torch
import torch.distributed as dist

from ramet import _core
from ramet._support import descriptor
from ramet.distributed.channel import in_channel
from ramet.distributed.group import Place, exchange, keep
from ramet.distributed.peers import naming_ended
from ramet.dtypes import bfloat16, bits, dtype_name
from ramet.tables.ranks import Ranks

if TYPE_CHECKING:
    from ramet.distributed.mail import Lists, Mail

UNIT = 64  # bytes; what is packed begins and ends at multiples of it


class Kind(IntEnum):
    """Of meetings."""

    FAILED = -1
    DONE = 0
    LEARN = 1
    GATHER = 2
    SCATTER = 3
    ADD = 4


class Head(NamedTuple):
    """What a rank tells the others before anything is read. Which memory is its arena: as a descriptor.Handle."""

    kind: int
    number: int
    digest: int = 0  # of what a Doing says
    pid: int = 0
    fd: int = 0
    device: int = 0
    inode: int = 0

    @property
    def doing(self) -> tuple:
        return self[:3]


class Doing(NamedTuple):
    """What a rank does at a meeting. tables: by number, in the order in which ranks made them. options: of what is done
    with rows, by name."""

    kind: Kind
    number: int
    step: int = 0
    tables: tuple[int, ...] = ()
    options: dict = {}  # noqa: RUF012 (nobody writes to it)

    def head(self, arena: Arena) -> Head:
        return Head(self.kind, self.number, zlib.crc32(repr(self).encode()), *arena.handle)

    def beside(self, other: Doing) -> str:
        """What it does that the other does not."""
        differs = [f"{k}={v!r}" for k, v in self.options.items() if repr(v) != repr(other.options.get(k, ...))]
        if self[:-1] == other[:-1] and differs:
            return f"at step {self.step} with {', '.join(differs)}"
        tables = f", step {self.step}, of tables {list(self.tables)}" if self.tables else ""
        return f"at meeting {self.number}, {self.kind.name.lower()}{tables}"


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
    """Of one set of ranks, in one thread."""

    def __init__(self, ranks: Ranks):
        # Not the group itself, whose channel would live as long as its office, and so for ever.
        self._members, self._rank = ranks.group.members, ranks.rank
        self._first_table = ranks.group.loader
        self._wire = ranks.group.channel.ids if in_channel() else ranks.group.channel.rows
        self._arena = Arena()
        self._mapped: dict[int, tuple[tuple, np.ndarray]] = {}  # by rank: (identity, bytes)
        self._number, self._is_open = 0, False

    def deliver(self, letters: list[tuple[Mail, Lists]], kind: Kind, threads: int, **what) -> list[Lists]:
        """What every rank gave for each of these tables, until done(). what: step and options of a Doing."""
        reached = letters[0][0].ranks.reached
        near = [k for k, is_near in enumerate(reached) if is_near and k != self._rank]
        far = [k for k, is_near in enumerate(reached) if not is_near]
        with self.telling():
            if self._is_open:
                raise RuntimeError(f"delivery {self._number} is not done: done(), or deliver_all() for several tables")
            packed = [(mail, _checked(mail, lists)) for mail, lists in letters]
            if near:
                self._arena.pack([lists for _, lists in packed], threads)
            messages = [_pushed(mail, lists, kind, threads) for mail, lists in packed] if far else []
        heads = self.meet(kind, [mail for mail, _ in letters], **what)
        self._is_open = True
        with self.telling():
            arrived = [self.exchange(message) for message in messages]
            packed_by = {k: self._letters_of(k, heads[k], len(letters)) for k in near}
            packed_by |= {k: [_of_rank(k, *message) for message in arrived] for k in far}
            return [
                self._received(mail, lists, {k: of_rank[i] for k, of_rank in packed_by.items()})
                for i, (mail, lists) in enumerate(letters)
            ]

    def done(self) -> None:
        with self.telling():
            if not self._is_open:
                raise RuntimeError("nothing was delivered")
        self._is_open = False
        self.meet(Kind.DONE)

    @contextlib.contextmanager
    def telling(self) -> Iterator[None]:
        """What fails inside is an error at the meeting that the others come to next."""
        try:
            yield
        except BaseException:
            self.fail()
            raise

    def fail(self) -> None:
        self._is_open, self._arena = False, Arena()  # others may still read what lies in the old one
        with contextlib.suppress(RuntimeError):  # where the connection is what failed
            keep(*self._gather(Head(Kind.FAILED, self._number), async_op=True))

    def meet(self, kind: Kind, mails: Iterable[Mail] = (), **what) -> list[Head]:
        """The heads of all ranks, which do the same. what: step and options of a Doing."""
        tables = tuple(mail.ranks.group.loader for mail in mails)
        mine = Doing(kind, self._number + 1, tables=tables, **what)
        heads = self._heads(mine)
        for rank, head in enumerate(heads):
            if head.kind == Kind.FAILED:
                raise RuntimeError(f"rank {self._members[rank]} failed: its own error says why")
        for rank, head in enumerate(heads):
            if head.doing != heads[0].doing:
                self._refuse(mine, rank)
        self._number += 1
        return heads

    def _heads(self, mine: Doing) -> list[Head]:
        try:
            with naming_ended(self._wire):
                _, gathered, *_ = self._gather(mine.head(self._arena), async_op=False)
        except RuntimeError as error:
            rank, kind = self._members[self._rank], mine.kind.name.lower()
            raise RuntimeError(f"rank {rank}, {kind}, step {mine.step}: ranks could not meet: {error}") from error
        return [Head(*numbers) for numbers in gathered.tolist()]

    def _refuse(self, mine: Doing, rank: int) -> NoReturn:
        """ValueError that says what the rank does and rank 0 does not. All ranks have the same heads, and come here."""
        said: list[Doing] = [mine] * len(self._members)
        dist.all_gather_object(said, mine, group=self._wire)
        first, other = said[0], said[rank]
        raise ValueError(
            f"rank {self._members[rank]} is {other.beside(first)}, but rank {self._members[0]} {first.beside(other)}: "
            "the ranks of tables do the same, in one order"
        )

    def exchange(self, message: tuple | None) -> tuple:
        """See group.exchange. Ranks have met before, and go on together."""
        return exchange(message, Place(self._first_table, 0, self._number), self._members, self._wire)

    def _gather(self, head: Head, async_op: bool) -> tuple:
        mine = torch.tensor(head)
        gathered = torch.empty(len(self._members), len(head), dtype=torch.int64)
        parts = list(gathered)
        work = dist.all_gather(parts, mine, group=self._wire, async_op=async_op)
        return work, gathered, mine, parts

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

    def _received(self, mail: Mail, own: Lists, packed: dict[int, np.ndarray]) -> Lists:
        """The lists of all ranks, in their order."""
        received: Lists = []
        for rank, member in enumerate(self._members):
            if rank == self._rank:
                received += own
            else:
                received += _core.unpack(packed[rank], like=mail.rows, sender=f"rank {member}")
        return received


_offices: WeakKeyDictionary = WeakKeyDictionary()  # by channel: those of its threads


def office_of(mails: Iterable[Mail]) -> Office | None:
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
    thread = in_channel()
    if thread not in offices:
        offices[thread] = Office(ranks[0])
    return offices[thread]


def _pushed(mail: Mail, lists: list, kind: Kind, threads: int) -> tuple:
    """What goes to ranks of other machines."""
    options = {"reached": mail.ranks.reached, "last": kind == Kind.SCATTER, "threads": threads}
    return _core.push(lists, places=mail.places, **options)


def _of_rank(rank: int, sizes: list[int], data: np.ndarray) -> np.ndarray:
    """A rank's part of a message."""
    begin = sum(sizes[:rank])
    return data[begin : begin + sizes[rank]]


def listed(lists: Lists) -> list[tuple[np.ndarray, np.ndarray, bool]]:
    """As _core takes them."""
    return [(places, bits(rows), rows.dtype == bfloat16) for places, rows in lists]


def _checked(mail: Mail, lists: Lists) -> list[tuple[np.ndarray, np.ndarray, bool]]:
    """As _core takes them. ValueError where they do not fit."""
    shape, dtype = mail.rows.shape, mail.rows.dtype
    for places, rows in lists:
        if rows.shape != (len(places), *shape[1:]) or dtype_name(rows.dtype) not in (dtype, "float32"):
            raise ValueError(
                f"rows are {rows.dtype}{list(rows.shape)}, which do not fit {len(places)} places of {dtype}{shape}"
            )
    return listed(lists)


def _starts(sizes: list[int]) -> list[int]:
    """Where each letter of these sizes begins in an arena, and the end."""
    head = -(-8 * len(sizes) // UNIT) * UNIT
    return list(accumulate(sizes, initial=head))


def _mapped(memory: _core.SharedMemory) -> np.ndarray:
    return _core.map_side_by_side([(memory, 0)], memory.bytes)
