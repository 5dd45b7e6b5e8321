"""The ranks of a loader: the user's argument, and warnings of words that mean something else in PyG or DGL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from ramet._support.log import warn_once
from ramet.ranks.world import rank_and_world


@dataclass(frozen=True, eq=False)
class Cooperate:
    """`ranks=` of a NeighborLoader or LinkLoader whose ranks make each batch together (docs/cooperative.md).

    group: the process group whose ranks do. Groups are data-parallel to each other. None: all ranks.
    ownership: the rank that owns a node: "range" (ranges of ids with about equally many in-edges and nodes), "hash", a
        vector of ranks [nodes], its .npy file, or a dict of these by node type; or the `ownership` of another loader or
        of a table. None: "range", and for a part of a graph the part's own.
    among: the process group of the ranks that share a global batch, in groups. None: all ranks.
    """

    group: object = None
    ownership: object = None
    among: object = None


class LoaderRanks(NamedTuple):
    """The ranks of a loader, as this one sees them. among: as of Cooperate, or False; rank, world: those inside it.
    group: the ramet.ranks.group.Group that makes batches together, pulling: the one whose ranks pull rows from
    each other; None for none."""

    among: Any
    rank: int
    world: int
    group: Any
    pulling: Any

    @property
    def together(self):
        """The Group whose ranks must have the same options."""
        return self.group or self.pulling


def cooperating_group(ranks: Cooperate):
    """The ramet.ranks.group.Group of a cooperative loader."""
    from ramet.ranks.group import Group  # imports torch

    return Group(ranks.group, ranks.among)


def warn_of_global_batch(batch_size: int, rank: int, world: int) -> None:
    """On rank 0: PyG's and DGL's batch size is that of a rank."""
    if rank == 0 and world > 1:
        warn_once(
            "batch_size=%d is the global batch, shared by %d ranks; ranks=False is for a loader of one rank",
            batch_size,
            world,
        )


def warn_if_made_early(ranks, world: int) -> None:
    """Where a loop begins: its loader was to find the ranks, which were not there yet."""
    found = 1 if ranks is not None or world > 1 else rank_and_world(None)[1]
    if found > 1:
        warn_once(
            "a loader was made before torch.distributed was initialized, so each of %d ranks has whole batches: "
            "make it afterwards, or pass ranks=False if that is meant",
            found,
        )
