"""CachedRows: rows of a table in host memory that lie in device memory as well, where kernels read and write them. Of
several ranks each device has a part of them, which the kernels of all read. docs/caches.md, "Rows in device memory".

Among ranks, each rank steps the cached rows that it owns, and writes these back. All ranks write back together: a rank
that did so alone could undo what another one writes to the host meanwhile."""

from __future__ import annotations

import os
import weakref
import zlib
from collections.abc import Callable
from functools import cached_property

import numpy as np
import torch

from ramet import _core
from ramet._support import torch_devices as devices
from ramet.arrays import INT32_MAX
from ramet.ranks.ranks import Digest
from ramet.tables.arguments import as_row_ids
from ramet.tables.copying import CHUNK_BYTES
from ramet.tables.create import on_devices
from ramet.tables.device_storage import OnDevice
from ramet.tables.storage import Storage


class CachedRows(OnDevice):
    """All rows of `storage` as kernels read them: the rows `ids`, int64 [k], in memory of torch's current device, of
    every rank, the others in the host's, which is page-locked. `slots`: by id, where a cached row is; -1 for the
    others. `own_slots`: where this rank's are. `rows_there`: the engine's cached rows, by slot. When it is dropped, or
    the process ends, this rank's changed rows are written back. To make one is collective, as are flush_together(),
    refresh_together(), lock() and require_flushed()."""

    def __init__(self, storage: Storage, ids: np.ndarray, slots: np.ndarray):
        super().__init__(storage.stored)
        self.ids, self.slots, self._shared_by = ids, slots, storage.ranks
        begin, end = np.searchsorted(ids, storage.own).tolist()
        self.own_slots = begin, end
        self._host = Storage(storage.stored)
        self._there = on_devices((len(ids), *self.shape[1:]), self.dtype, self._shared_by)
        self.rows_there = self._there.rows
        self._changes = _Changes(self._host, self._there, ids, np.arange(begin, end))
        weakref.finalize(self, self._changes.write_back_at_end)
        self.refresh_together()

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
        self._together(lambda: self._table)

    def require_alone(self, name: str) -> None:
        """ValueError where other ranks have the cached rows, too, and would not know that the host's change."""
        if self._shared_by.size > 1:
            raise ValueError(
                f"the table has rows cached on devices of {self._shared_by.size} ranks, where {name}() of one rank "
                "does not write: all ranks call flush(), write to local() or numpy(), and call refresh()"
            )

    def require_flushed(self) -> None:
        """ValueError where steps have changed cached rows that the host does not have; RuntimeError in a forked
        child."""
        self._together(self._require_flushed)

    def _require_flushed(self) -> None:
        if self.is_changed:
            raise ValueError("steps have changed cached rows since the last flush(), which comes before others write")
        self.require_process()

    def refresh_together(self) -> None:
        """Copies all of them from the host, each rank its own."""
        self._together(lambda: self.read_host(self.ids[slice(*self.own_slots)]))

    def read_host(self, ids: np.ndarray) -> None:
        """Copies those of the rows `ids` that are cached from the host."""
        slots = np.unique(self.slots[ids])
        for some in _chunks(self._host, slots[slots >= 0].astype(np.int64)):
            self._there.write("scatter", some, self._host.gather(self.ids[some], 0, None, None), 0)

    def copy_to_host(self) -> None:
        """Copies them to the host, if any has changed. ValueError where that takes other ranks."""
        if self.is_changed and self._shared_by.size > 1:
            raise ValueError(
                f"steps have changed rows cached on devices of {self._shared_by.size} ranks, and the host does not "
                "have them: all ranks call flush() of the table first, or ids are CUDA tensors"
            )
        self._changes.write_back()

    def flush_together(self) -> None:
        """Copies them to the host, if any has changed, each rank its own."""
        is_changed = self.is_changed
        try:
            self._together(self._changes.write_back)
        except BaseException:  # rows of others perhaps are not there
            self._changes.are_there = is_changed
            raise

    def _together(self, work: Callable[[], object]) -> None:
        """Returns when all ranks have done it. An error of one is one on all."""
        if self._shared_by.size > 1:
            self.require_process()
        self._shared_by.share(lambda: (work(), None))

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
    """Of cached rows, those at `slots`, that steps have changed: what outlives the CachedRows, until it has written
    these back."""

    def __init__(self, host: Storage, there: Storage, ids: np.ndarray, slots: np.ndarray):
        self._host, self._there, self._ids, self._slots = host, there, ids, slots
        self._process = os.getpid()
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
        for some in _chunks(self._host, self._slots):
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

    def check() -> tuple[tuple | None, dict]:
        found = None if ids is None else _found(storage, ids)
        if found is None:
            return None, {"ids": None}
        some = found[0]
        return found, {
            "ids": Digest(zlib.crc32(some.tobytes()), f"{len(some)} rows that begin with {some[:8].tolist()}")
        }

    if ids is None and storage.ranks.group is None and storage.cache is None:  # as of unpickled tables
        return
    found = storage.ranks.agree(check)
    storage.flush()
    storage.cache = None  # whose memory is free for what comes
    if found is not None:
        front = CachedRows(storage, *found)
        front.lock()
        storage.cache = front


def _found(storage: Storage, ids) -> tuple[np.ndarray, np.ndarray]:
    """The rows to be cached, and the slots of all."""
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
    return ids, slots


def cache_as(storage: Storage, other: Storage) -> None:
    """With the same cached rows as another table of as many rows, on the same devices. Collective."""
    if storage.cached is other.cached:
        return
    storage.flush()
    storage.cache = None  # whose memory is free for what comes
    if (front := other.cache) is None:
        return
    with devices.as_current(front.device):
        storage.cache = CachedRows(storage, front.ids, front.slots)
