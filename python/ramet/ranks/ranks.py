"""Ranks: the processes that share a table, as one of them sees them. Imports torch only where there are several."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from ramet.ranks.world import rank_and_world, this_machine

Kept = TypeVar("Kept")
Sent = TypeVar("Sent")


@dataclass(frozen=True)
class Digest:
    """A digest of the values that all ranks must share. `words` name it in errors."""

    digest: int
    words: str = field(compare=False)

    def __repr__(self) -> str:
        return self.words


class Ranks:
    """`rank` of `size`, on `machines` machines; `is_local[k]`: rank k is on this machine. `group`: the group's
    collectives; None for a rank alone, and where a table was unpickled."""

    def __init__(self, rank: int, is_local: tuple[bool, ...], machines: int, group=None):
        self.rank, self.size = rank, len(is_local)
        self.is_local, self.machines, self.group = is_local, machines, group

    @classmethod
    def alone(cls) -> Ranks:
        return cls(0, (True,), 1)

    @classmethod
    def of(cls, ranks) -> Ranks:
        """The Ranks of `ranks`: None, False or a process group. Collective: every rank calls it."""
        if rank_and_world(ranks)[1] == 1:
            return cls.alone()
        from ramet.ranks.group import Group

        group = Group(among=ranks)
        machines = group.gather(this_machine)
        is_local = tuple(machine == machines[group.rank] for machine in machines)
        return cls(group.rank, is_local, len(set(machines)), group)

    @property
    def is_first(self) -> bool:
        """Whether this is the first rank of its machine."""
        return self.is_local.index(True) == self.rank

    def agree(self, make: Callable[[], tuple[Kept, dict]]) -> Kept:
        """What make() returns besides its options. ValueError, on every rank, where these differ."""
        kept, options = _keeping(make)
        self.require_group()
        if self.group is None:
            options()
        else:
            self.group.compare(options)
        return kept[0]

    def share(self, make: Callable[[], tuple[Kept, Sent]]) -> tuple[Kept, list[Sent]]:
        """make() returns what this rank keeps, and what it sends. Returns the former, and what all ranks have sent.
        Where make() fails on one rank, every rank raises an error."""
        kept, send = _keeping(make)
        self.require_group()
        gathered = [send()] if self.group is None else self.group.gather(send)
        return kept[0], gathered

    def require_group(self) -> None:
        """ValueError where there are other ranks that cannot be asked."""
        if self.group is None and self.size > 1:
            raise ValueError(
                f"the table was unpickled: its {self.size} ranks do nothing together here, only where it was created"
            )

    def __reduce__(self):
        return Ranks, (self.rank, self.is_local, self.machines)


def _keeping(make: Callable[[], tuple[Kept, Sent]]) -> tuple[list[Kept], Callable[[], Sent]]:
    """A list that gets what make() keeps, and a call that gives the rest."""
    kept: list[Kept] = []

    def call() -> Sent:
        value, sent = make()
        kept.append(value)
        return sent

    return kept, call


class OfRanks:
    """What is shared by `ranks`."""

    _ranks: Ranks

    @property
    def rank(self) -> int:
        """This process's, of `ranks`."""
        return self._ranks.rank

    @property
    def ranks(self) -> int:
        return self._ranks.size
