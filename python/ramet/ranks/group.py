"""Group: the ranks that make batches together, and their collectives, which are torch.distributed's."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch
import torch.distributed as dist

from ramet._support import torch_devices as devices
from ramet._support.arguments import shortened
from ramet.ranks.channel import Channel, channel_of, has_nccl, in_channel
from ramet.ranks.gathering import all_gather_object
from ramet.ranks.peers import naming_ended
from ramet.ranks.world import is_group

FAILED = -1  # instead of a number of bytes: this rank has failed
_under_way: list[tuple] = []  # collectives that nobody waits for, with their tensors


class Progress(NamedTuple):
    """The position of a rank: its loader, epoch and step. Loaders are counted from 1, in the order in which the group's
    ranks made them."""

    loader: int
    epoch: int
    step: int

    def __str__(self) -> str:
        return f"epoch {self.epoch}, step {self.step} of loader {self.loader}"


class Group:
    """One rank's view of the ranks that cooperate.

    group, among: as of ramet.Cooperate. Every rank has to make its Group, in the same order as others.
    `rank` and `size` are those inside the group, `index` and `count` those of the group among groups; `channel` has
    its process groups; `loader` is the number of the one that was compared.
    """

    def __init__(self, group=None, among=None):
        is_initialized = dist.is_available() and dist.is_initialized()
        for name, value in (("group", group), ("among", among)):
            if value is not None and not is_group(value, dist):
                raise TypeError(f"ranks.{name} is {shortened(value)}, expected None or a process group")
            if value is not None and not is_initialized:
                raise ValueError(f"ranks.{name} is {value!r}, but torch.distributed is not initialized")
            if is_initialized and dist.get_rank(value) < 0:
                raise ValueError(f"ranks.{name} is a process group that rank {dist.get_rank()} is not in")
        if not is_initialized:
            self._alone()
            return
        everyone = dist.group.WORLD if among is None else among
        inner = everyone if group is None else group
        members = sorted(dist.get_process_group_ranks(inner))
        if len(members) == 1 and dist.get_world_size(everyone) == 1:
            self._alone()
            return
        self.members = members  # ranks of the world
        self.rank, self.size = members.index(dist.get_rank()), len(members)
        self.channel = channel_of(members, inner)
        self.index, self.count = _rank_of(members, everyone)
        self._is_aborted = False

    def _alone(self) -> None:
        self.members, self.rank, self.size = [0], 0, 1
        self.channel = Channel()
        self.index, self.count = 0, 1
        self._is_aborted = False

    def gather(self, make: Callable[[], object]) -> list:
        """What make() returned on every rank. ValueError, on every rank, where it failed on one: others would wait for
        it. There its own exception is raised, also KeyboardInterrupt."""
        value, problem, failure = None, None, None
        try:
            value = make()
        except BaseException as error:
            problem, failure = f"{type(error).__name__}: {error}", error
        gathered = [(value, problem)] * self.size
        if self.size > 1:
            all_gather_object(gathered, (value, problem), group=self.channel.rows)
        if failure is not None:
            try:
                raise failure
            finally:
                failure = None  # its traceback has this frame, and a cycle would keep all that the frames use
        for rank, (_, other) in enumerate(gathered):
            if other is not None:
                raise ValueError(f"rank {self.members[rank]} cannot cooperate: {other}")
        return [value for value, _ in gathered]

    def compare(self, prepare: Callable[[], dict]) -> None:
        """ValueError, on every rank, where what a rank prepared differs from what rank 0 of the group did, and where
        prepare() failed on one."""
        prepared = self.gather(prepare)
        for rank, other in enumerate(prepared):
            for name, value in prepared[0].items():
                if other[name] != value:
                    raise ValueError(
                        f"rank {self.members[rank]} has {name}={other[name]!r}, but rank {self.members[0]} of its "
                        f"group has {value!r}: ranks that cooperate need the same"
                    )
        self.channel.loaders += 1
        self.loader = self.channel.loaders

    def progress(self, epoch: int, step: int) -> Progress:
        return Progress(self.loader, epoch, step)

    def exchange(self, message: tuple | None, progress: Progress) -> tuple:
        """See exchange() below; in the channel's thread. A tensor of a device is complete, also the one that is
        returned: it travels on a stream of the channel, beside training."""
        if self.size == 1:
            return message
        if message is None or isinstance(message[1], np.ndarray):
            return exchange(message, progress, self.members, self.channel.ids)
        stream = self.channel.stream(devices.as_device(message[1].device))
        with devices.using(stream):
            received = exchange(message, progress, self.members, self.channel.ids)
            devices.wait_for(stream)
        return received

    @staticmethod
    def in_channel() -> bool:
        """Whether the caller is the thread of a channel, which cannot wait for itself."""
        return in_channel()

    def abort(self) -> None:
        """Lets the other ranks' next exchange fail. Does not wait for them: they may never come."""
        if self.size == 1 or self._is_aborted:
            return
        heads = torch.full((self.size, 2 + len(Progress._fields)), FAILED)
        incoming = torch.empty_like(heads)
        try:
            work = dist.all_to_all_single(incoming, heads, group=self.channel.ids, async_op=True)
        except RuntimeError:
            return  # the connection is what failed
        self._is_aborted = True
        keep(work, heads, incoming)


def keep(work, *tensors) -> None:
    """Until the collective has ended, also where its group ends before: a thread of the group may read the tensors, and
    before torch 2.8 could not free them while the interpreter waits for the thread."""
    _under_way[:] = [one for one in _under_way if not one[0].is_completed()]
    _under_way.append((work, *tensors))


def exchange(
    message: tuple | None,
    progress: Progress,
    members: list[int],
    process_group: dist.ProcessGroup,
    *,
    on_devices: bool = True,
) -> tuple:
    """Sends (bytes for each rank, uint8 array, or tensor of a device) and returns what came from each, in the same
    form. ValueError, on every rank, where another one is at another step: their messages would fit together by
    chance at most. RuntimeError, on every rank, where one has no message: it has failed. NCCL moves tensors of devices
    if all ranks have one, and want that: on_devices. process_group: that of `members`, ranks of the world."""
    bytes_out, data = message or ([FAILED] * len(members), None)
    heads = torch.tensor([[count, on_devices and isinstance(data, torch.Tensor), *progress] for count in bytes_out])
    incoming = torch.empty_like(heads)
    with naming_ended(process_group):
        dist.all_to_all_single(incoming, heads, group=process_group)
    bytes_in = incoming[:, 0].tolist()
    if FAILED in bytes_in:
        raise RuntimeError(f"rank {members[bytes_in.index(FAILED)]} failed")
    _compare_progress([Progress(*numbers) for numbers in incoming[:, 2:].tolist()], members)
    sent = torch.from_numpy(data) if isinstance(data, np.ndarray) else data
    received = sent.new_empty(sum(bytes_in))
    with naming_ended(process_group):
        all_to_all(received, sent, bytes_in, bytes_out, process_group, on_devices=bool(incoming[:, 1].all()))
    return bytes_in, received.numpy() if sent is not data else received


def all_to_all(into, data, bytes_in: list[int], bytes_out: list[int], process_group, on_devices: bool = True) -> None:
    """dist.all_to_all_single of uint8 tensors on the CPU or on a device. on_devices: all ranks have theirs on one."""
    sent = as_sent(data, process_group, on_devices)
    received = into if sent is data else devices.page_locked(into.shape, into.dtype)
    dist.all_to_all_single(received, sent, bytes_in, bytes_out, group=process_group)
    if sent is not data:
        into.copy_(received, non_blocking=True)


def as_sent(tensor, process_group, on_devices: bool = True):
    """A tensor where the group's backend takes it: that of a device, unless it is NCCL, in page-locked host memory."""
    if not devices.is_on_device(tensor) or (on_devices and has_nccl(process_group)):
        return tensor
    return devices.staged(tensor)


def _compare_progress(all_progress: list[Progress], members: list[int]) -> None:
    """Every rank has the same list, and so the same error."""
    for rank, progress in enumerate(all_progress):
        if progress != all_progress[0]:
            raise ValueError(
                f"rank {members[rank]} is at {progress}, but rank {members[0]} of its group at {all_progress[0]}: "
                "ranks that cooperate load the same state, name the same epoch, and loop over loaders in one order"
            )


def _rank_of(members: list[int], everyone) -> tuple[int, int]:
    """(position, number) of the groups that the ranks of `everyone` form. ValueError where these are not disjoint."""
    if len(members) == dist.get_world_size(everyone):
        return 0, 1
    by_rank: list = [None] * dist.get_world_size(everyone)
    all_gather_object(by_rank, members, group=everyone)
    groups = sorted({tuple(group) for group in by_rank})
    if sorted(rank for group in groups for rank in group) != sorted(dist.get_process_group_ranks(everyone)):
        raise ValueError(f"the cooperating groups {groups} are not a partition of the ranks that share a batch")
    return groups.index(tuple(members)), len(groups)
