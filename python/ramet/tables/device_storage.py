"""DeviceStorage: rows on devices, for ids and rows of the host or of the device."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
import torch

from ramet import _core
from ramet._support import torch_devices as devices
from ramet._support.arguments import as_int
from ramet.arrays import INT32_MAX
from ramet.dtypes import dtype_name
from ramet.tables.arguments import as_row_ids, as_rows_of_ids
from ramet.tables.calls import call_together
from ramet.tables.shared_storage import SharedStorage
from ramet.tables.storage import Part, Storage

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


class OnDevice(Storage):
    """Rows in memory of a device. Work with its tensors runs on torch's current stream, or after that."""

    location = "device"
    host_rows = None

    @cached_property
    def _device(self) -> torch.device:
        return devices.as_device(self.rows.device)

    @cached_property
    def _table(self) -> _core.DeviceTable:
        return _core.DeviceTable(self.rows, self.positions)

    def numpy(self) -> np.ndarray:
        self.require_one_array()
        raise ValueError("the rows lie on a device, where numpy has no arrays: torch() views, gather() copies them")

    def tensor(self) -> torch.Tensor:
        self.require_one_array()
        return self.rows.tensor()

    view = tensor

    def saved(self) -> tuple[np.ndarray, None]:
        return self.gather(np.arange(len(self)), 1, None, None), None

    def spans(self) -> list[tuple[object, int, int]]:
        rows = self.rows.tensor()
        return [("device", rows.data_ptr(), rows.data_ptr() + rows.nbytes)]

    def gather(self, ids, threads: int, dtype, out):
        if not devices.is_on_device(ids):
            return super().gather(ids, threads, dtype, out)
        if self.group is not None:
            return self._gather_together(ids, threads, dtype, out)
        self.require_local()
        decode, wanted = self._wanted(dtype)
        if wanted is None:
            return self.gather_tensor(ids, decode, out)
        return self._moved(self.gather_tensor(ids, decode).to(getattr(torch, wanted)), out)

    def write(self, name: str, ids, rows, threads: int):
        if self.group is not None:
            return self._write_together(name, ids, rows, threads)
        if not devices.is_on_device(rows):
            return super().write(name, ids, rows, threads)
        self.require_local()
        array, shape = as_row_ids(devices.on_host(ids))
        rows = self._checked(rows, shape)
        threads = as_int(threads, "threads", 0, INT32_MAX)
        write = self.core.set_rows if name == "scatter" else self.core.sum_rows
        return write(array, self.as_engine(rows, len(array)), bfloat16=False, threads=threads)

    def gather_tensor(self, ids: torch.Tensor, decode: bool, out=None) -> torch.Tensor:
        """The rows [*ids.shape, ...] of ids on the device. IndexError names the first id out of range."""
        on = devices.as_stream(None, self._device)
        with devices.using(on):
            ids = self._ids(ids)
            is_encoded = decode and self.rows.is_encoded
            dtype = torch.float32 if is_encoded else getattr(torch, self.rows.dtype)
            shape = (*ids.shape, *self.shape[1:])
            if out is None:
                out = devices.empty(shape, dtype, self._device)
            devices.require(out, "out", shape, (dtype,), self._device)
            count = (ids.numel(), *self.shape[1:])
            there = devices.as_engine(ids, self._device, (ids.numel(),)), devices.as_engine(out, self._device, count)
            self._table.gather(*there, stream=devices.handle(on), decode=is_encoded)
        return out

    def look_up(self, ids):
        if not devices.is_on_device(ids):
            return super().look_up(ids)
        on = devices.as_stream(None, self._device)
        with devices.using(on):
            positions = devices.empty(ids.shape, torch.int64, self._device)
            there = (devices.as_engine(tensor, self._device) for tensor in (ids, positions))
            self._table.look_up(*there, stream=devices.handle(on))
        return positions

    def _gather_together(self, ids: torch.Tensor, threads: int, dtype, out):
        wanted = None

        def check() -> tuple:
            nonlocal wanted
            decode, wanted = self._wanted(dtype)
            given, direct = self._ids(ids), None
            if out is not None:
                name = dtype_name(self.dtype) if dtype is None else dtype_name(dtype)
                shape = (*ids.shape, *self.shape[1:])
                devices.require(out, "out", shape, (getattr(torch, name),), self._device)
                direct = out if wanted is None else None
            return given.reshape(-1), as_int(threads, "threads", 0, INT32_MAX), decode, direct

        rows = call_together(self, "gather", check).view(*ids.shape, *self.shape[1:])
        rows = rows if wanted is None else rows.to(getattr(torch, wanted))
        return self.completed(rows if out is None or wanted is None else out.copy_(rows))

    def _write_together(self, name: str, ids, rows, threads: int) -> None:
        def check() -> tuple:
            if devices.is_on_device(ids):
                given, shape = self._ids(ids).reshape(-1), tuple(ids.shape)
            else:
                given, shape = as_row_ids(ids)
            if devices.is_on_device(rows):
                values = self._checked(rows, shape).view(len(given), *self.shape[1:])
            else:
                values = as_rows_of_ids(rows, shape)
            return given, values, as_int(threads, "threads", 0, INT32_MAX)

        call_together(self, name, check)

    def completed(self, rows):
        """`rows`, when the current stream has made them."""
        devices.wait_for(devices.as_stream(None, self._device))
        return rows

    def as_engine(self, rows: torch.Tensor, count: int) -> _core.DeviceArray:
        """`rows` of `count` ids as the engine takes them. It keeps no memory alive."""
        return devices.as_engine(rows, self._device, (count, *self.shape[1:]))

    def _moved(self, rows: torch.Tensor, out=None) -> torch.Tensor:
        """Rows of the host, on the device."""
        if out is None:
            return devices.move(rows, self._device)
        devices.require(out, "out", tuple(rows.shape), (rows.dtype,), self._device)
        return out.copy_(rows)

    def _checked(self, rows: torch.Tensor, ids_shape: tuple[int, ...]) -> torch.Tensor:
        """`rows`, for ids of this shape, contiguous and complete."""
        stored = getattr(torch, self.rows.dtype)
        wide = (torch.float32,) if stored in (torch.float16, torch.bfloat16) else ()
        rows = rows.detach().contiguous()
        if self._holds(rows):
            rows = rows.clone()
        devices.require(rows, "rows", (*ids_shape, *self.shape[1:]), (stored, *wide), self._device)
        return self.completed(rows)

    def _holds(self, rows: torch.Tensor) -> bool:
        """Whether they lie in the table, which is to be written to."""
        own = self.rows.tensor()
        return own.data_ptr() <= rows.data_ptr() < own.data_ptr() + own.nbytes

    def _ids(self, ids: torch.Tensor) -> torch.Tensor:
        if ids.dtype not in INTEGERS:
            raise TypeError(f"ids are {dtype_name(ids.dtype)}, expected integers")
        if not devices.holds(self._device, ids):
            raise ValueError(f"ids lie on {ids.device}, but the table on {self._device}")
        return (ids if ids.dtype in (torch.int32, torch.int64) else ids.to(torch.int64)).contiguous()


class DevicePart(OnDevice, Part):
    """The rows of a rank."""


class DeviceStorage(OnDevice, SharedStorage):
    """In pieces of ranks on their devices."""

    @cached_property
    def row_bytes(self) -> int:
        return math.prod(self.shape[1:]) * self.dtype.itemsize

    @property
    def device(self) -> torch.device:
        return self._device

    @cached_property
    def begins(self) -> torch.Tensor:
        """int64 [ranks], on the device: the first position of each rank."""
        return devices.move(
            torch.tensor([self.positions.positions_of(k)[0] for k in range(self.ranks.size)]), self._device
        )

    @cached_property
    def all_rows(self) -> _core.DeviceArray:
        """By position."""
        rows = self.rows.tensor()
        return self.as_rows(rows, len(rows))

    def as_rows(self, memory: torch.Tensor, count: int, dtype: str | None = None) -> _core.DeviceArray:
        """`count` rows in the memory of a tensor as the engine takes them, of the table's dtype or another. Keeps no
        memory alive."""
        shape = (count, *self.shape[1:])
        return _core.DeviceArray(
            memory.data_ptr(), dtype=dtype or self.rows.dtype, shape=shape, device=self._device.index
        )

    def empty_rows(self, count: int, decode: bool = False, dtype: str | None = None) -> torch.Tensor:
        """Memory for rows, of the dtype that torch calls theirs."""
        name = "float32" if decode and self.rows.is_encoded else dtype or self.rows.dtype
        return devices.empty((count, *self.shape[1:]), getattr(torch, name), self._device)

    def take(self, rows: _core.DeviceArray, ids: torch.Tensor, out: torch.Tensor, decode: bool = False) -> None:
        """Writes row ids[i] of `rows` to row i of `out`, decoded or as it is, but for ids below 0."""
        on = devices.as_stream(None, self._device)
        with devices.using(on):
            into = devices.as_engine(out, self._device)
            _core.gather_device_rows(rows, devices.as_engine(ids, self._device), into, stream=devices.handle(on))

    def part(self, number: int) -> DevicePart:
        return DevicePart(self, number)
