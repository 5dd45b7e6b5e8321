"""Communicator: the collectives of the ranks that share tables.

A collective begins with an all-gather of headers, each a few numbers: which operation the rank begins, and where its
shared buffer is. Ranks of one machine write their lists of rows once, into shared buffers that the others have mapped,
and owners read them there. Ranks of other machines get the rows that they own in messages.
Rows of tables on devices go to their owners, also on this machine, from device to device (device_exchange.py).

An error of one rank is an error on every rank: a rank that cannot take part sends a header that says so. Where a rank
ends, the others get an error at the latest after the timeout of their process group.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Any, NamedTuple, NoReturn
from weakref import WeakKeyDictionary

import numpy as np
import torch
import torch.distributed as dist

from ramet import _core
from ramet._support.training import for_training
from ramet.dtypes import bfloat16, bits, dtype_name
from ramet.ranks.channel import in_channel
from ramet.ranks.gathering import all_gather_object
from ramet.ranks.group import Progress, exchange, keep
from ramet.ranks.peers import naming_ended
from ramet.ranks.ranks import Ranks
from ramet.tables.device_exchange import Push, Sorted, received
from ramet.tables.shared_buffer import MappedBuffers, SharedBuffer
from ramet.tables.storage import Storage

Lists = list[tuple[np.ndarray, np.ndarray]]  # (positions, int64 [k]; their rows, [k, ...])


class Op(IntEnum):
    """What ranks do in a round."""

    ABORT = -1
    RELEASE = 0
    UPDATE = 1
    GATHER = 2
    SCATTER = 3
    ADD = 4
    CACHE = 5


class Header(NamedTuple):
    """What a rank tells the others before it reads their memory."""

    op: int
    round: int
    digest: int = 0  # of a Collective
    pid: int = 0  # from here on the handle of the shared buffer
    fd: int = 0
    device: int = 0
    inode: int = 0


class Collective(NamedTuple):
    """What a rank begins. tables: by number, in the order in which ranks made them. options: of the operation, by
    name."""

    op: Op
    round: int
    step: int = 0
    tables: tuple[int, ...] = ()
    options: dict = {}  # noqa: RUF012 (nobody writes to it)

    def header(self, buffer: SharedBuffer) -> Header:
        return Header(self.op, self.round, zlib.crc32(repr(self).encode()), *buffer.handle)

    def difference_from(self, other: Collective) -> str:
        """What it does that the other does not."""
        differs = [f"{k}={v!r}" for k, v in self.options.items() if repr(v) != repr(other.options.get(k, ...))]
        if self[:-1] == other[:-1] and differs:
            return f"at step {self.step} with {', '.join(differs)}"
        tables = f", step {self.step}, of tables {list(self.tables)}" if self.tables else ""
        return f"in round {self.round}, {self.op.name.lower()}{tables}"


class Communicator:
    """Of one set of ranks, in one thread. There, all ranks begin the same rounds in the same order."""

    def __init__(self, ranks: Ranks):
        # Not the group itself: its channel would live as long as the communicator, which the channel keeps alive.
        self._members, self._rank = ranks.group.members, ranks.rank
        self._first_table = ranks.group.loader
        # In the channel's thread NCCL would share the program's stream, where ranks begin in different orders.
        self._on_devices = not in_channel()
        self._process_group = ranks.group.channel.rows if self._on_devices else ranks.group.channel.ids
        self._buffer, self._mapped = SharedBuffer(), MappedBuffers()
        self._round, self._is_open = 0, False

    def all_to_all(self, inputs: list[tuple[Storage, Lists]], op: Op, threads: int, **what) -> list[Lists | Sorted]:
        """The lists that every rank has for each table, until release(). what: step and options of a Collective."""
        is_local = inputs[0][0].ranks.is_local
        local = [k for k, here in enumerate(is_local) if here and k != self._rank]
        remote = [k for k, here in enumerate(is_local) if not here]
        with self.propagate_errors():
            if self._is_open:
                raise RuntimeError(f"round {self._round} is not released: several tables go into one all_to_all")
            on_devices: dict[int, Any] = {i: one for i, one in enumerate(inputs) if one[0].location == "device"}
            pushes = {i: Push(table, lists, op == Op.SCATTER) for i, (table, lists) in on_devices.items()}
            checked = [(table, _checked(table, lists)) for i, (table, lists) in enumerate(inputs) if i not in pushes]
            if local and checked:
                self._buffer.pack([lists for _, lists in checked], threads)
            messages = [_message(table, lists, op, threads) for table, lists in checked] if remote else []
        headers = self.begin_round(op, [table for table, _ in inputs], **what)
        self._is_open = True
        with self.propagate_errors():
            arrived = [self.exchange(message) for message in messages]  # all, before work that may fail
            pushed = {i: (self.exchange(push.positions), self.exchange(push.rows)) for i, push in pushes.items()}
            packed_by = {k: self._packed_by(k, headers[k], len(checked)) for k in local if checked}
            packed_by |= {k: [_of_rank(k, *message) for message in arrived] for k in remote}
            packed = iter([{k: of_rank[i] for k, of_rank in packed_by.items()} for i in range(len(checked))])
            return [
                received(on_devices[i][0], *pushed[i]) if i in pushed else self._received(table, lists, next(packed))
                for i, (table, lists) in enumerate(inputs)
            ]

    def release(self) -> None:
        """Ends a round of all_to_all: returns when every rank has used what it got."""
        with self.propagate_errors():
            if not self._is_open:
                raise RuntimeError("there is no all_to_all to release")
        self._is_open = False
        self.begin_round(Op.RELEASE)

    @contextlib.contextmanager
    def propagate_errors(self) -> Iterator[None]:
        """An error inside is an error of the other ranks, in the next round that they begin."""
        try:
            yield
        except BaseException:
            self.abort()
            raise

    def abort(self) -> None:
        """The next round that the other ranks begin is an error there. Does not wait for them."""
        self._is_open, self._buffer = False, SharedBuffer()  # others may still read the old buffer
        with contextlib.suppress(RuntimeError):  # the connection is what failed
            keep(*self._all_gather(Header(Op.ABORT, self._round), async_op=True))

    def begin_round(self, op: Op, tables: Iterable[Storage] = (), **what) -> list[Header]:
        """The headers of all ranks, which begin the same. what: step and options of a Collective."""
        numbers = tuple(table.ranks.group.loader for table in tables)
        mine = Collective(op, self._round + 1, tables=numbers, **what)
        headers = self._headers(mine)
        for rank, header in enumerate(headers):
            if header.op == Op.ABORT:
                raise RuntimeError(f"rank {self._members[rank]} failed: its own error says why")
        for rank, header in enumerate(headers):
            if header[:3] != headers[0][:3]:
                self._refuse(mine, rank)
        self._round += 1
        return headers

    def exchange(self, message: tuple | None) -> tuple:
        """See group.exchange. Only within a round."""
        progress = Progress(self._first_table, 0, self._round)
        return exchange(message, progress, self._members, self._process_group, on_devices=self._on_devices)

    def _headers(self, mine: Collective) -> list[Header]:
        try:
            with naming_ended(self._process_group):
                _, gathered, *_ = self._all_gather(mine.header(self._buffer), async_op=False)
        except RuntimeError as error:
            rank, op = self._members[self._rank], mine.op.name.lower()
            raise RuntimeError(
                f"rank {rank}, {op}, step {mine.step}: ranks could not begin a round: {error}"
            ) from error
        return [Header(*numbers) for numbers in gathered.tolist()]

    def _refuse(self, mine: Collective, rank: int) -> NoReturn:
        """ValueError that names the difference between the rank and rank 0. Every rank has the same headers, so every
        rank comes here."""
        all_ranks: list[Collective] = [mine] * len(self._members)
        all_gather_object(all_ranks, mine, group=self._process_group)
        first, other = all_ranks[0], all_ranks[rank]
        raise ValueError(
            f"rank {self._members[rank]} is {other.difference_from(first)}, but rank {self._members[0]} "
            f"{first.difference_from(other)}: the ranks of tables do the same, in one order"
        )

    @for_training  # torch 2.2 gathers into no tensors of inference mode
    def _all_gather(self, header: Header, async_op: bool) -> tuple:
        mine = torch.tensor(header)
        gathered = torch.empty(len(self._members), len(header), dtype=torch.int64)
        parts = list(gathered)
        work = dist.all_gather(parts, mine, group=self._process_group, async_op=async_op)
        return work, gathered, mine, parts

    def _packed_by(self, rank: int, header: Header, count: int) -> list[np.ndarray]:
        """What a rank of this machine has packed, for each of `count` tables."""
        return self._mapped.parts_of(rank, header.pid, header.fd, (header.device, header.inode), count)

    def _received(self, table: Storage, own: Lists, packed: dict[int, np.ndarray]) -> Lists:
        """The lists of all ranks, in the order of the ranks."""
        received: Lists = []
        for rank, member in enumerate(self._members):
            if rank == self._rank:
                received += own
            else:
                received += _core.unpack(packed[rank], like=table.stored, sender=f"rank {member}")
        return received


def all_to_all(
    inputs: list[tuple[Storage, Lists]], *, op: Op = Op.UPDATE, threads: int = 1, **what
) -> list[Lists | Sorted]:
    """For each table the lists of all ranks, in the order of the ranks: views, to be read until release(). All ranks of
    the tables call this together. Those of ranks on this machine may hold rows of any owner. Of a table on devices what
    all ranks have for this one's rows, sorted there.

    inputs: of each table positions, and rows of its dtype or of float32. what: `step`, and `options`, by name, of what
    is done with the rows. ValueError, on every rank, that names the difference, unless these and the tables are
    the same. RuntimeError where the all_to_all before is not released.
    """
    communicator = communicator_of(table for table, _ in inputs)
    if communicator is None:
        return [lists for _, lists in inputs]
    return communicator.all_to_all(inputs, op, threads, **what)


def begin(tables: list[Storage], op: Op, **what) -> None:
    """Returns when all ranks begin the same: an error of one is one on all."""
    communicator = communicator_of(tables)
    if communicator is not None:
        communicator.begin_round(op, tables, **what)


def release(tables: list[Storage]) -> None:
    """After all_to_all(): returns when every rank has used what it got."""
    communicator = communicator_of(tables)
    if communicator is not None:
        communicator.release()


def abort(tables: list[Storage]) -> None:
    """Instead of all_to_all() or release(), which then raise on the other ranks: where the program fails before or
    between these, not after an error of their own. Does not wait for the others."""
    communicator = communicator_of(tables)
    if communicator is not None:
        communicator.abort()


_communicators: WeakKeyDictionary = WeakKeyDictionary()  # by channel: those of its threads


def communicator_of(tables: Iterable[Storage]) -> Communicator | None:
    """None for a rank alone."""
    ranks = [table.ranks for table in tables]
    if not ranks or ranks[0].size == 1:
        return None
    if any(one.group is None for one in ranks):
        raise ValueError("the table was unpickled: its ranks exchange no rows here, only where it was created")
    channel = ranks[0].group.channel
    if any(one.group.channel is not channel for one in ranks):
        raise ValueError("the tables are of different ranks, whose rows do not go together")
    channel.check_process()
    by_thread = _communicators.setdefault(channel, {})
    thread = in_channel()
    if thread not in by_thread:
        by_thread[thread] = Communicator(ranks[0])
    return by_thread[thread]


def in_engine(lists: Lists) -> list[tuple[np.ndarray, np.ndarray, bool]]:
    """Lists as _core takes them."""
    return [(positions, bits(rows), rows.dtype == bfloat16) for positions, rows in lists]


def _checked(table: Storage, lists: Lists) -> list[tuple[np.ndarray, np.ndarray, bool]]:
    """As in_engine(). ValueError where the rows do not fit the table."""
    shape, dtype = table.stored.shape, table.stored.dtype
    for positions, rows in lists:
        if rows.shape != (len(positions), *shape[1:]) or dtype_name(rows.dtype) not in (dtype, "float32"):
            raise ValueError(
                f"rows are {rows.dtype}{list(rows.shape)}, which do not fit {len(positions)} positions of "
                f"{dtype}{shape}"
            )
    return in_engine(lists)


def _message(table: Storage, lists: list, op: Op, threads: int) -> tuple:
    """What goes to ranks of other machines."""
    options = {"is_local": table.ranks.is_local, "last": op == Op.SCATTER, "threads": threads}
    return _core.push(lists, positions=table.positions, **options)


def _of_rank(rank: int, sizes: list[int], data: np.ndarray) -> np.ndarray:
    """A rank's part of a message."""
    begin = sum(sizes[:rank])
    return data[begin : begin + sizes[rank]]
