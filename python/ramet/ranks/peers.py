"""Finds the rank that has ended when a collective fails: torch names an address at most."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary

import torch.distributed as dist

from ramet.ranks.world import this_machine

_SECONDS = 1.0  # until a process is gone whose connections are
_of_groups: WeakKeyDictionary[dist.ProcessGroup, list[Peer]] = WeakKeyDictionary()


class Peer(NamedTuple):
    """A process of a group: its rank in the world, and where it runs."""

    rank: int
    machine: tuple
    pid: int

    @property
    def has_ended(self) -> bool:
        """Whether it is known to have ended: it ran on this machine."""
        if self.machine != this_machine():
            return False
        try:
            state = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        return state in "ZX"  # whose parent has not asked yet


def this_process() -> Peer:
    return Peer(dist.get_rank(), this_machine(), os.getpid())


def remember(groups, peers: list[Peer]) -> None:
    """Whose processes are the ranks of these groups."""
    for group in groups:
        _of_groups[group] = peers


@contextlib.contextmanager
def naming_ended(group: dist.ProcessGroup) -> Iterator[None]:
    """A RuntimeError of a collective of the group names the rank that has ended, if one has."""
    try:
        yield
    except RuntimeError as error:
        ended = _ended(_of_groups.get(group, []))
        if ended is None:
            raise
        raise RuntimeError(f"rank {ended.rank} (process {ended.pid}) has ended: {error}") from error


def _ended(peers: list[Peer]) -> Peer | None:
    deadline = time.monotonic() + _SECONDS
    while peers:
        ended = next((peer for peer in peers if peer.has_ended), None)
        if ended is not None or time.monotonic() > deadline:
            return ended
        time.sleep(0.02)
    return None
