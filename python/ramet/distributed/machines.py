"""Process groups of the ranks of a machine, and of ranks across machines."""

from __future__ import annotations

from typing import NamedTuple

import torch.distributed as dist

from ramet.ranks.gathering import all_gather_object
from ramet.ranks.world import this_machine


class MachineGroups(NamedTuple):
    """`machine`: the ranks of this machine. `across`: on every machine the rank with this one's position among those
    of its machine; machines with fewer ranks have none."""

    machine: dist.ProcessGroup
    across: dist.ProcessGroup


def machine_groups() -> MachineGroups:
    """Groups for tables and loaders of one machine, or across machines. Collective: all ranks call it, each time makes
    new groups. Ranks are on one machine where they can share memory: same kernel, same process ids.

    ValueError where torch.distributed is not initialized.
    """
    if not (dist.is_available() and dist.is_initialized()):
        raise ValueError("machine_groups needs torch.distributed, which is not initialized")
    machines = [None] * dist.get_world_size()
    all_gather_object(machines, this_machine())
    ranks_of: dict = {machine: [] for machine in machines}
    for rank, machine in enumerate(machines):
        ranks_of[machine].append(rank)
    across = [
        [ranks[position] for ranks in ranks_of.values() if position < len(ranks)]
        for position in range(max(map(len, ranks_of.values())))
    ]
    return MachineGroups(_own_of(ranks_of.values()), _own_of(across))


def _own_of(members_of_groups) -> dist.ProcessGroup:
    """The group with this rank. Every rank makes all of them, in one order."""
    groups = [(members, dist.new_group(members)) for members in members_of_groups]
    return next(group for members, group in groups if dist.get_rank() in members)
