"""Notices epochs that some ranks of several looped over alone: they saw their slices, and nobody the rest.

All ranks run one program, so that a thread of it begins epochs in the same order on every rank. A rank counts itself in
the store of torch.distributed when it begins an epoch. When it has looped over epoch F, then begun epoch G, and every
rank has begun G, those that have not begun F never will. A rank that is late has not begun G either: no false alarm,
and nobody waits. So it takes a later epoch that all ranks begin; the last loop of a program is not noticed.
"""

from __future__ import annotations

import hashlib
import sys
import threading
import weakref
from dataclasses import dataclass

from ramet._support.log import log, warn_once

_monitors: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()  # by process group of all ranks


@dataclass(frozen=True)
class Epoch:
    key: str
    name: str  # for people
    order: int  # in which this rank began its epochs
    thread: int


class EpochMonitor:
    """The epochs of this rank, beside the epochs of the ranks `members`."""

    def __init__(self, store, members: list[int]):
        self._store = store
        self._prefix = f"ramet/epochs/{_digest(members)}"
        self._world = len(members)
        self._begun: dict[str, Epoch] = {}
        self._looped: list[Epoch] = []  # that not all ranks are known to have begun

    def begin(self, loader: str, name: str, number: int) -> None:
        key = f"{self._prefix}/{loader}/{number}"
        if key in self._begun:
            return
        self._begun[key] = Epoch(key, f"epoch {number} of {name}", len(self._begun), threading.get_ident())
        self._store.add(key, 1)
        self._compare(self._begun[key])

    def finish(self, loader: str, number: int) -> None:
        epoch = self._begun[f"{self._prefix}/{loader}/{number}"]
        self._compare(epoch)
        if self._num_ranks(epoch) < self._world:
            self._looped.append(epoch)

    def _compare(self, latest: Epoch) -> None:
        """Warns of epochs, looped over before `latest`, that other ranks skipped."""
        late = [(epoch, self._num_ranks(epoch)) for epoch in self._looped]
        late = [(epoch, count) for epoch, count in late if count < self._world]
        self._looped = [epoch for epoch, _ in late]
        left_out = [(e, n) for e, n in late if e.thread == latest.thread and e.order < latest.order]
        if left_out and self._num_ranks(latest) >= self._world:
            epoch, count = left_out[0]
            warn_once(
                "%d of %d ranks looped over %s: each saw its slice of the seeds, and nobody the others'. "
                "Pass ranks=False to the loader of one rank alone",
                count,
                self._world,
                epoch.name,
            )
            self._looped.clear()

    def _num_ranks(self, epoch: Epoch) -> int:
        """Ranks that have begun it so far."""
        return self._store.add(epoch.key, 0)


class LoaderEpochs:
    """One loader's epochs. `what`: options and input nodes, by which ranks identify a loader."""

    def __init__(self, group, what, name: str):
        self._group = group
        self._loader, self._name = _digest(what), name

    def begin(self, number: int) -> None:
        self._call(lambda monitor: monitor.begin(self._loader, self._name, number))

    def finish(self, number: int) -> None:
        self._call(lambda monitor: monitor.finish(self._loader, number))

    def _call(self, function) -> None:
        """A call of the store; without a store, a warning is skipped, since it is no reason to fail."""
        dist = sys.modules["torch.distributed"]
        if not dist.is_initialized():
            return
        try:
            function(_monitor_of(dist, self._group))
        except Exception:
            log.debug("epochs are not compared with those of other ranks", exc_info=True)


def _monitor_of(dist, group) -> EpochMonitor:
    everyone = dist.group.WORLD
    by_members = _monitors.setdefault(everyone, {})
    members = dist.get_process_group_ranks(everyone if group is None else group)
    monitor = by_members.get(tuple(members))
    if monitor is None:
        store = dist.distributed_c10d._get_default_store()  # noqa: SLF001 (torch's)
        monitor = by_members[tuple(members)] = EpochMonitor(store, members)
    return monitor


def _digest(value) -> str:
    return hashlib.blake2b(repr(value).encode(), digest_size=8).hexdigest()
