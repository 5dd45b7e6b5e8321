"""Relays: a row that several ranks of a machine need crosses the network once, to one of them, which passes it on.

Its owner chooses who takes it: the first rank of the machine that needs it, counted from another rank for each owner,
so that all relay alike. A rank on the owner's machine gets the row from the owner. What is passed on is what the
network saves.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch

from ramet._support.tensors import to_tensor
from ramet.ranks import peers
from ramet.ranks.group import all_to_all

MOST_RANKS = 256  # of a machine: a taker is a byte


class Leg(NamedTuple):
    """One all-to-all: `send_rows` of what is there, `send_counts[r]` of them to rank r, `receive_counts[r]` from it."""

    send_rows: np.ndarray | torch.Tensor
    send_counts: list[int]
    receive_counts: list[int]


class Route(NamedTuple):
    """How the rows of a plan travel: `first` from their owners, `second` between ranks of a machine, of the rows that
    arrived first. `order`: where the plan's rows are among those of the first leg, then those of the second; `places`:
    its inverse. Without a second leg, rows arrive in the plan's order."""

    first: Leg
    second: Leg | None = None
    order: np.ndarray | torch.Tensor | None = None
    places: np.ndarray | torch.Tensor | None = None

    @property
    def num_first(self) -> int:
        """Rows that arrive in the first leg."""
        return sum(self.first.receive_counts)


_of_batches: WeakKeyDictionary = WeakKeyDictionary()  # by block and type


def routes_of(block, plans) -> list[Route]:
    """The routes of the plans of a block, for each node type. Ranks ask each other in the first exchange of a block."""
    machines = _machines(block.group)
    if machines is None:
        return [Route(plan) for plan in plans]
    routes = _of_batches.setdefault(block.batch, {})
    key = block.index, getattr(block, "edge_type", None)
    if key not in routes:
        routes[key] = _agreed(plans, machines, block.group)
    return routes[key]


def _machines(group) -> list[list[int]] | None:
    """The machine of each rank, as the ranks on it. None where nothing would be relayed, on every rank alike."""
    by_rank = [] if group is None else peers.machines_of(group)
    ranks_of: dict = {}
    for rank, machine in enumerate(by_rank):
        ranks_of.setdefault(machine, []).append(rank)
    largest = max(map(len, ranks_of.values()), default=0)
    if len(ranks_of) < 2 or not 2 <= largest <= MOST_RANKS:
        return None
    return [ranks_of[machine] for machine in by_rank]


def _agreed(plans, machines, group) -> list[Route]:
    rank = group.rank()
    choices = [_Choice(plan, machines, rank) for plan in plans]
    outgoing = [b"".join(choice.messages[r] for choice in choices) for r in range(len(machines))]
    lengths = torch.tensor([len(message) for message in outgoing])
    incoming = torch.empty_like(lengths)
    all_to_all(incoming, lengths, [1] * len(machines), [1] * len(machines), group)
    received = torch.empty(int(incoming.sum()), dtype=torch.uint8)
    sent = torch.frombuffer(bytearray(b"".join(outgoing)), dtype=torch.uint8) if any(outgoing) else received[:0]
    all_to_all(received, sent, incoming.tolist(), lengths.tolist(), group)
    readers = [_Reader(part.numpy()) for part in received.split(incoming.tolist())]
    return [_route(choice, readers, machines, rank) for choice in choices]


class _Choice:
    """Who takes the rows that ranks asked this one for. `direct[r]`: those that rank r takes. `messages[r]`: which of
    them it passes on to each rank of its machine, and who takes those that it asked for."""

    def __init__(self, plan, machines, rank: int):
        self.plan = plan
        rows = np.asarray(to_tensor(plan.send_rows).cpu())
        self.asked = np.split(rows, np.cumsum(plan.send_counts)[:-1])  # by rank
        self.direct, self.messages = list(self.asked), [b""] * len(machines)
        taker, position = np.empty(plan.num_owned, np.uint8), np.empty(plan.num_owned, np.int32)
        for machine in {id(ranks): ranks for ranks in machines}.values():
            if rank not in machine:
                self._choose(machine, taker, position, rank)

    def _choose(self, machine: list[int], taker, position, rank: int) -> None:
        for k in reversed(range(len(machine))):  # the last to write is the first to take
            k = (k + rank) % len(machine)
            taker[self.asked[machine[k]]] = k
        takers = [taker[self.asked[r]] for r in machine]
        for k, r in enumerate(machine):
            self.direct[r] = self.asked[r][takers[k] == k]
            position[self.direct[r]] = np.arange(len(self.direct[r]), dtype=np.int32)
        for k, r in enumerate(machine):
            relayed = [
                position[self.asked[to][takers[j] == k]] if j != k else np.empty(0, np.int32)
                for j, to in enumerate(machine)
            ]
            counts = np.array([len(rows) for rows in relayed], np.int32)
            self.messages[r] = b"".join(array.tobytes() for array in (counts, *relayed, takers[k]))


class _Reader:
    """Of what one rank said, the arrays one after the other."""

    def __init__(self, data: np.ndarray):
        self._data, self._at = data, 0

    def next(self, count: int, dtype) -> np.ndarray:
        begin, self._at = self._at, self._at + count * np.dtype(dtype).itemsize
        return self._data[begin : self._at].copy().view(dtype)


def _route(choice: _Choice, readers: list[_Reader], machines, rank: int) -> Route:
    plan, machine = choice.plan, machines[rank]
    me, base = machine.index(rank), np.cumsum([0, *plan.receive_counts])
    places: list[list[np.ndarray]] = [[] for _ in machine]  # of the rows that each rank of the machine takes
    relayed: list[list[np.ndarray]] = [[] for _ in machine]  # among those that arrive first, for each rank
    first_counts, arrived = [], 0
    for owner, count in enumerate(plan.receive_counts):
        takers = np.full(count, me, np.uint8)
        if owner not in machine:
            counts = readers[owner].next(len(machine), np.int32)
            for k, number in enumerate(counts):
                relayed[k].append(arrived + readers[owner].next(number, np.int32))
            takers = readers[owner].next(count, np.uint8)
        for k in range(len(machine)):
            places[k].append(base[owner] + np.flatnonzero(takers == k))
        first_counts.append(len(places[me][-1]))
        arrived += first_counts[-1]
    sends, receives = [0] * len(machines), [0] * len(machines)
    for k, r in enumerate(machine):
        sends[r] = sum(map(len, relayed[k]))
        receives[r] = sum(map(len, places[k])) if k != me else 0
    others = [part for k, parts in enumerate(places) if k != me for part in parts]
    all_places = np.concatenate([*places[me], *others]).astype(np.int32)
    order = np.empty_like(all_places)
    order[all_places] = np.arange(len(all_places), dtype=np.int32)
    direct, passed_on = np.concatenate(choice.direct), np.concatenate([p for parts in relayed for p in parts])
    of_device = _device_of(plan)
    return Route(
        Leg(of_device(direct), [len(rows) for rows in choice.direct], first_counts),
        Leg(of_device(passed_on.astype(np.int32)), sends, receives),
        of_device(order),
        of_device(all_places),
    )


def _device_of(plan):
    """Puts numbers of rows where the plan has them."""
    rows = plan.send_rows
    return (lambda array: array) if isinstance(rows, np.ndarray) else lambda a: torch.from_numpy(a).to(rows.device)
