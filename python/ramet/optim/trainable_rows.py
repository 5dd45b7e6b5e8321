"""TrainableRows: an embedding of an optimizer, with the state of its rows."""

from __future__ import annotations

from typing import Any, cast
from weakref import WeakSet

import numpy as np
import torch

from ramet import _core
from ramet._support import torch_devices as devices
from ramet.nn.embedding import Embedding
from ramet.tables.cached_rows import cache_as
from ramet.tables.device_exchange import Sorted
from ramet.tables.device_storage import OnDevice
from ramet.tables.overlap import share_rows
from ramet.tables.records import RecordTable
from ramet.tables.storage import Storage

_trainables: WeakSet[TrainableRows] = WeakSet()  # of rows in memory


class TrainableRows:
    """An embedding with its `state`, tables by name. `row_ids`: of this rank's rows, unless positions say them."""

    _is_replaced = False

    def __init__(self, embedding: Embedding, forms: list[tuple], stochastic: bool):
        table = embedding.table
        self.embedding = embedding
        self.state = {name: table._beside(() if by_row else table.shape[1:], dtype) for name, dtype, by_row in forms}
        self.restart(stochastic)

    def restart(self, stochastic: bool) -> None:
        """With rows that have made no step that has_made() may be asked for."""
        table = self.embedding.table
        self.row_ids = table.owned() if stochastic and table.placement != "continuous" else None
        self._stochastic, self._last_step = stochastic, 0
        self._rest: tuple | None = None  # of a step: its number, and the gradients of rows that have not made it

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
        storage: Any = self.embedding.table._storage
        goes_by_host = storage.location == "host" and self.channel() is not None
        return [
            (storage.positions.look_up(kept.ids), _on_host(kept.gradients) if goes_by_host else kept.gradients)
            for kept in self.embedding.pending.in_order()
        ]

    def check(self, step: _core.OptimizerStep) -> None:
        """An error where apply() would be one, while all rows are as they were."""
        self._apply(step, [])

    def apply(self, step: _core.OptimizerStep, lists: list[tuple] | Sorted) -> None:
        """Lists of (positions, gradients), to this rank's rows."""
        if self._rest is not None and self._rest[0] == step.number:
            lists = self._rest[1]
        if self.embedding.table.cached is not None:
            lists = self._apply_to_cached(step, cast(list, lists))  # a cached table is in host memory
            self._rest = step.number, lists
        self._apply(step, lists)
        self._last_step, self._rest = step.number, None

    def _apply(self, step: _core.OptimizerStep, lists: list[tuple] | Sorted) -> None:
        self.require_rows()
        weights, *_ = storages = self._storages()
        rows, *state_rows = (storage.stored for storage in storages)
        if isinstance(lists, Sorted):
            return _core.apply_sorted_gradients(step, rows, state_rows, lists.lists, own=weights.own)
        lists = [(positions, _as_engine(weights, gradients)) for positions, gradients in lists]
        _core.apply_gradients(step, rows, state_rows, lists, own=weights.own, threads=torch.get_num_threads())

    def _apply_to_cached(self, step: _core.OptimizerStep, lists: list[tuple]) -> list[tuple]:
        """Returns the gradients of the other rows."""
        self.require_rows()
        weights, *_ = caches = [storage.cache for storage in self._storages()]
        cached, others = weights.split(lists)
        lists = [(slots, _as_engine(weights, gradients)) for slots, gradients in cached]
        rows, *state_rows = (cache.rows_there for cache in caches)
        for cache in caches:
            cache.mark_changed()
        own = weights.own_slots
        step = step.of_rows(weights.ids[slice(*own)]) if self._stochastic else step
        _core.apply_gradients(step, rows, state_rows, lists, own=own, threads=torch.get_num_threads())
        return others

    @property
    def lacks_caches(self) -> bool:
        """Whether the state has other rows cached than the table."""
        return any(table.cached is not self.embedding.table.cached for table in self.state.values())

    def _storages(self) -> list[Storage]:
        """Of the rows and their state, with the same rows cached."""
        storages = [table._storage for table in (self.embedding.table, *self.state.values())]
        for of_state in storages[1:]:
            cache_as(of_state, storages[0])
        return storages


def _as_engine(weights: Storage, gradients):
    """Gradients of a list as the engine takes them, for rows that are there. It keeps no memory alive."""
    if not isinstance(gradients, torch.Tensor):
        return gradients
    if not isinstance(weights, OnDevice) or not devices.holds(weights._device, gradients):
        return _on_host(gradients)
    return weights.as_engine(weights.completed(gradients), len(gradients))


def _on_host(gradients) -> np.ndarray:
    return devices.on_host(gradients).numpy() if isinstance(gradients, torch.Tensor) else gradients


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
