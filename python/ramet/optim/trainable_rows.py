"""TrainableRows: an embedding of an optimizer, with the state of its rows."""

from __future__ import annotations

from weakref import WeakSet

import torch

from ramet import _core
from ramet.nn.embedding import Embedding
from ramet.nn.embedding_rows import Gradients
from ramet.tables.overlap import share_rows
from ramet.tables.records import RecordTable

_trainables: WeakSet[TrainableRows] = WeakSet()  # of rows in memory


class TrainableRows:
    """An embedding with its `state`, tables by name. `row_ids`: of this rank's rows, unless positions say them."""

    _is_replaced = False

    def __init__(self, embedding: Embedding, forms: list[tuple], stochastic: bool):
        table = embedding.table
        self.embedding = embedding
        self.state = {name: table._beside(() if by_row else table.shape[1:], dtype) for name, dtype, by_row in forms}
        self._rows, *self._state_rows = (part._storage.rows for part in (table, *self.state.values()))
        self.restart(stochastic)

    def restart(self, stochastic: bool) -> None:
        """With rows that have made no step that has_made() may be asked for."""
        table = self.embedding.table
        self.row_ids = table.owned() if stochastic and table.placement != "continuous" else None
        self._last_step = 0

    def take_over(self) -> None:
        """From now on the rows learn from this one alone."""
        for other in list(_trainables):
            if share_rows(other.embedding.table, self.embedding.table):
                other._is_replaced = True
        _trainables.add(self)
        self.embedding.pending.await_step_of(self)

    def require_rows(self) -> None:
        """ValueError where another optimizer has taken the rows over."""
        if self._is_replaced:
            raise ValueError("another optimizer has taken the embedding over: its rows learn from one at a time")

    def has_made(self, number: int) -> bool:
        """Whether the last step was this one."""
        return self._last_step == number

    def channel(self):
        """Through which the gradients of this step go to other ranks; None where these have no part in it."""
        table = self.embedding.table
        return None if table.ranks == 1 or self.embedding.pending.stays_here else table._ranks.group.channel

    def gradients(self) -> list[tuple]:
        """(positions, gradients) of every backward."""
        positions = self.embedding.table._storage.positions
        return [(positions.look_up(kept.ids), self._given(kept)) for kept in self.embedding.pending.in_order()]

    def _given(self, kept: Gradients):
        """Gradients as the engine takes them."""
        if not isinstance(kept.gradients, torch.Tensor):
            return kept.gradients
        storage = self.embedding.table._storage
        return storage.as_engine(storage.completed(kept.gradients), len(kept.ids))

    def check(self, step: _core.OptimizerStep) -> None:
        """An error where apply() would be one, while all rows are as they were."""
        self._apply(step, [])

    def apply(self, step: _core.OptimizerStep, lists: list[tuple]) -> None:
        """Lists of (positions, gradients), to this rank's rows."""
        self._apply(step, lists)
        self._last_step = step.number

    def _apply(self, step: _core.OptimizerStep, lists: list[tuple]) -> None:
        self.require_rows()
        own, threads = self.embedding.table._storage.own, torch.get_num_threads()
        _core.apply_gradients(step, self._rows, self._state_rows, lists, own=own, threads=threads)


class TrainableRecords:
    """As TrainableRows, of an embedding on a disk, whose rows have their state beside them."""

    row_ids = None  # of the records themselves

    def __init__(self, embedding: Embedding, forms: list[tuple]):
        self.embedding = embedding
        self.state = embedding.table.set_state(self, forms)

    def take_over(self) -> None:
        """The rows have done that when they got their state."""
        self.embedding.pending.await_step_of(self)

    def require_rows(self) -> None:
        """ValueError where another optimizer has taken the rows over."""
        self.embedding.table.check_holder(self)

    def restart(self, stochastic: bool) -> None:
        """The rows know themselves."""

    def has_made(self, number: int) -> bool:
        """Whether the last step was this one."""
        return self.embedding.table.has_made(self, number)

    def channel(self) -> None:
        """None: other ranks have no part in it."""

    def gradients(self) -> list[tuple]:
        """(ids, gradients) of every backward."""
        return [(kept.ids, kept.gradients) for kept in self.embedding.pending.in_order()]

    def apply(self, step: _core.OptimizerStep, lists: list[tuple]) -> None:
        """Lists of (ids, gradients)."""
        self.embedding.table.apply_gradients(self, step, lists, threads=torch.get_num_threads())


def trainable_of(embedding: Embedding, forms: list[tuple], stochastic: bool) -> TrainableRows | TrainableRecords:
    if isinstance(embedding.table, RecordTable):
        return TrainableRecords(embedding, forms)
    return TrainableRows(embedding, forms, stochastic)
