"""Position: at which step an optimizer is."""

from __future__ import annotations

from typing import NamedTuple

from ramet.optim.trainable_rows import TrainableRecords, TrainableRows
from ramet.ranks.channel import Channel
from ramet.tables.communicator import abort
from ramet.tables.storage import Storage


class Begun:
    """A step, from when it is begun until it is made or given up. `changes`: Pending.changes of each embedding, whose
    gradients these are; `is_spent`: an earlier step was made of them. `loss`: of the closure that computed them."""

    def __init__(self, changes: tuple[int, ...], loss, *, is_spent: bool):
        self.changes, self.loss, self.is_spent = changes, loss, is_spent
        self.ended: set[Channel] = set()  # whose ranks have all made it
        self.awaited: dict[Channel, list[Storage]] = {}  # in which other ranks wait for this one

    def gradients_of(self, trainable: TrainableRows | TrainableRecords) -> list[tuple]:
        return [] if self.is_spent else trainable.gradients()

    def abort(self) -> None:
        """Where other ranks wait, they get an error."""
        while self.awaited:
            abort(self.awaited.popitem()[1])


class Position(NamedTuple):
    """A step is begun, and then made or given up. Either way it counts, and the gradients that there were are spent: no
    other step is made of them."""

    number: int = 0  # of steps that were made, or given up
    spent: tuple[int, ...] = ()  # Pending.changes of each embedding, when the last one ended
    begun: Begun | None = None  # the next one
    is_mixed: bool = False  # a load has failed in the middle: some rows are those of before
