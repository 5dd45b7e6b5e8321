"""Channel: what the cooperative loaders of one set of ranks share: two process groups and a thread.

`ids` belongs to the thread, which makes batches in the order in which the program asked for them, and `rows` to the
program's own thread: so each is entered in the same order on every rank, however many loaders there are, and neither
waits for DistributedDataParallel's. Process groups cost threads and descriptors and cannot be closed safely one by one,
hence one channel for all loaders; it ends with `torch.distributed.destroy_process_group`.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import torch
import torch.distributed as dist

from ramet._support import torch_devices as devices
from ramet.ranks import peers
from ramet.ranks.gathering import all_gather_object

# By the world that its groups belong to: whoever kept a group would keep torch's threads, beyond destroy_process_group.
_channels: weakref.WeakKeyDictionary[dist.ProcessGroup, dict[tuple, Channel]] = weakref.WeakKeyDictionary()
_this_thread = threading.local()


def _begin_thread() -> None:
    _this_thread.is_a_channel = True


def in_channel() -> bool:
    """Whether the caller runs in the thread of a channel, where waiting for it would never end."""
    return getattr(_this_thread, "is_a_channel", False)


class Channel:
    """`ids`, `rows`: process groups, None for a rank alone. After a `failure` ranks have lost step: nothing is made any
    more, and loaders that come later get another channel."""

    def __init__(self, ids=None, rows=None):
        self.ids, self.rows = ids, rows
        self.failure: BaseException | None = None
        self.loaders = 0  # that were made, all of them on every rank
        self._pid = os.getpid()
        self._thread: ThreadPoolExecutor | None = None
        self._streams: dict[torch.device, object] = {}

    def submit(self, function: Callable, *arguments) -> Future:
        """Calls the function in the thread, after those that were submitted before."""
        self.check_process()
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "ramet-cooperative", _begin_thread)
        return self._thread.submit(function, *arguments)

    def stream(self, device: torch.device):
        """Of the channel's thread, for what `ids` moves between devices."""
        if device not in self._streams:
            self._streams[device] = devices.new_stream(device)
        return self._streams[device]

    def check_process(self) -> None:
        """ValueError in a forked process, whose connections are its parent's."""
        if self._pid != os.getpid():
            raise ValueError(f"this loader works with its group in process {self._pid}; ranks cannot be forked")


def channel_of(members: list[int], group) -> Channel:
    """The channel of `members`, ranks of the world, which all call this together. `group`: the user's, of the same
    ranks; its timeout and backend are the channel's."""
    timeout, backend = _timeout(group), _backend(group)
    key = (tuple(members), timeout, backend)
    channels = _channels.setdefault(dist.group.WORLD, {})
    channel = channels.get(key)
    # A rank may not know yet what has failed on another.
    by_rank = [None] * len(members)
    all_gather_object(by_rank, (channel is not None and channel.failure is None, peers.this_process()), group=group)
    are_open, processes = zip(*by_rank)
    if not all(are_open):
        channel = channels[key] = Channel(*_new_groups(members, group, timeout, backend))
        peers.remember((channel.ids, channel.rows), list(processes))
    channel.check_process()
    return channel


def _new_groups(members: list[int], group, timeout, backend: str) -> tuple:
    """Two groups of `members`. torch names such a group after how many groups a process is in, and ranks that are in
    different numbers of them would wait for each other under different names: until the two are made, groups of one
    rank make up for the difference."""
    made = len(dist.distributed_c10d._world.pg_names)  # noqa: SLF001 (torch's)
    counts = [0] * len(members)
    all_gather_object(counts, made, group=group)
    alone = [
        dist.new_group([dist.get_rank()], backend="gloo", use_local_synchronization=True)
        for _ in range(max(counts) - made)
    ]
    options = {"timeout": timeout, "use_local_synchronization": True}
    groups = tuple(dist.new_group(members, backend=backend, **options) for _ in range(2))
    for one in alone:
        dist.destroy_process_group(one)
    return groups


def _backend(group) -> str:
    """gloo for what is on the CPU; for what is on a GPU the backend of the user's group."""
    return "cpu:gloo,cuda:nccl" if has_nccl(group) else "gloo"


def has_nccl(group) -> bool:
    """Whether NCCL moves a group's tensors on GPUs. Of a group made without a backend, torch's name for it is none."""
    try:
        return group._get_backend(torch.device("cuda")).name() == "nccl"  # noqa: SLF001 (torch's)
    except RuntimeError:  # it has none for GPUs
        return False


def _timeout(group):
    """The timeout of the user's group; None (torch's default) if it has none."""
    try:
        return group._get_backend(torch.device("cpu")).options._timeout  # noqa: SLF001 (torch's)
    except (RuntimeError, AttributeError):
        return None
