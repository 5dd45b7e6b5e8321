"""CachedRows: rows of a table in host memory that lie in device memory as well, where kernels read and write them.
docs/caches.md, "Rows in device memory"."""

from __future__ import annotations

import os
import weakref
from functools import cached_property

import numpy as np
import torch

from ramet import _core
from ramet._support import torch_devices as devices
from ramet.arrays import INT32_MAX
from ramet.tables.arguments import as_row_ids
from ramet.tables.copying import CHUNK_BYTES
from ramet.tables.create import create
from ramet.tables.device_storage import OnDevice
from ramet.tables.storage import Storage


class CachedRows(OnDevice):
    """All rows of a table as kernels read them: the rows `ids`, int64 [k], in memory of torch's current device, the
    others in the host's, which is page-locked. `slots`: by id, where a cached row is; -1 for the others. `rows_there`:
    the engine's cached rows, by slot. When it is dropped, or the process ends, changed rows are written back."""

    def __init__(self, on_host: _core.Table, ids: np.ndarray, slots: np.ndarray):
        super().__init__(on_host)
        self.ids, self.slots = ids, slots
        self._host = Storage(on_host)
        shape = len(ids), *self.shape[1:]
        where: dict = {"placement": "continuous", "location": "device", "ranks": False, "ownership": None}
        self._there = create(shape, self.dtype, lambda _: None, init=0, seed=0, **where)
        self.rows_there = self._there.rows
        self._changes = _Changes(self._host, self._there, ids)
        weakref.finalize(self, self._changes.write_back_at_end)
        self.read_host(ids)

    @cached_property
    def device(self) -> torch.device:
        return devices.as_device(self.rows_there.device)

    @property
    def _device(self) -> torch.device:
        return self.device

    @property
    def is_changed(self) -> bool:
        """Whether some of them are newer than the host's."""
        return self._changes.are_there

    def mark_changed(self) -> None:
        self._changes.are_there = True

    def require_process(self) -> None:
        """RuntimeError in a forked child, which cannot write to both."""
        self._changes.require_process()

    @cached_property
    def _table(self) -> _core.DeviceTable:
        return _core.DeviceTable(self.rows, self.ids, self.rows_there)

    def lock(self) -> None:
        """Page-locks the host's rows, where kernels are to read them."""
        _ = self._table

    def read_host(self, ids: np.ndarray) -> None:
        """Copies those of the rows `ids` that are cached from the host."""
        slots = np.unique(self.slots[ids])
        for some in _chunks(self._host, slots[slots >= 0].astype(np.int64)):
            self._there.write("scatter", some, self._host.gather(self.ids[some], 0, None, None), 0)

    def write_back(self) -> None:
        """Copies all of them to the host, if any has changed."""
        self._changes.write_back()

    def split(self, lists: list[tuple]) -> tuple[list[tuple], list[tuple]]:
        """Lists of (ids, gradients) in two: of cached rows, with slots for ids, and of the host's."""
        there, here = [], []
        for ids, gradients in lists:
            slots = self.slots[ids]
            cached, others = (slots >= 0).nonzero()[0], (slots < 0).nonzero()[0]
            there.append((slots[cached].astype(np.int64), _some(gradients, cached)))
            here.append((ids[others], _some(gradients, others)))
        return there, here


class _Changes:
    """Of cached rows that steps have changed: what outlives the CachedRows, until it has written these back."""

    def __init__(self, host: Storage, there: Storage, ids: np.ndarray):
        self._host, self._there, self._ids, self._process = host, there, ids, os.getpid()
        self.are_there = False

    def require_process(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError(
                f"the table has rows cached on a device by process {self._process}, of which {os.getpid()} is a fork: "
                "CUDA does not survive a fork; flush() and cache(None) before it, or start processes by spawn"
            )

    def write_back(self) -> None:
        if not self.are_there:
            return
        self.require_process()
        for some in _chunks(self._host, np.arange(len(self._ids))):
            self._host.write("scatter", self._ids[some], self._there.gather(some, 0, None, None), 0)
        self.are_there = False

    def write_back_at_end(self) -> None:
        if os.getpid() == self._process:
            self.write_back()


def _chunks(host: Storage, slots: np.ndarray) -> list[np.ndarray]:
    """Of rows that are copied at a time."""
    step = max(1, CHUNK_BYTES // max(1, host.rows.numpy()[:1].nbytes))
    return [slots[begin : begin + step] for begin in range(0, len(slots), step)]


def _some(gradients, positions: np.ndarray):
    if isinstance(gradients, torch.Tensor):
        return gradients[devices.move(torch.from_numpy(positions), gradients.device)]
    return gradients[positions]


def cache_rows(storage: Storage, ids) -> None:
    """See Table.cache."""
    if storage.why_not_cached:
        raise ValueError(storage.why_not_cached)
    given = as_row_ids(devices.on_host(ids))[0]
    outside = (given < 0) | (given >= len(storage))
    if outside.any():
        first = int(outside.argmax())
        raise IndexError(f"ids[{first}] = {given[first]} is outside the {len(storage)} rows")
    ids = np.unique(given)
    ids.flags.writeable = False  # users have them, too
    if len(ids) > INT32_MAX:
        raise ValueError(f"{len(ids):,} rows are to be cached, at most {INT32_MAX:,} can be")
    slots = np.full(len(storage), -1, np.int32)
    slots[ids] = np.arange(len(ids))
    storage.flush()
    storage.cache = None  # whose memory is free for what comes
    front = CachedRows(storage.stored, ids, slots)
    front.lock()
    storage.cache = front


def cache_as(storage: Storage, other: Storage) -> None:
    """With the same cached rows as another table of as many rows, on the same device."""
    if storage.cached is other.cached:
        return
    storage.flush()
    storage.cache = None  # whose memory is free for what comes
    if (front := other.cache) is None:
        return
    with devices.as_current(front.device):
        storage.cache = CachedRows(storage.stored, front.ids, front.slots)
