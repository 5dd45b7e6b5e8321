"""Rows of a table on a device, for ids and rows that are tensors on that device."""

from __future__ import annotations

import torch

from ramet import _core
from ramet._support import torch_devices as devices
from ramet.dtypes import dtype_name

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


class DeviceRows:
    """Work runs on torch's current stream of the device, or after it."""

    def __init__(self, rows: _core.Table, places: _core.RowPlaces | None, shape: tuple[int, ...]):
        self._rows, self._shape = rows, shape
        self._index = rows.device
        self._device = devices.as_device(self._index)
        self._core = _core.DeviceTable(rows, places)

    def gather(self, ids: torch.Tensor, decode: bool, out=None) -> torch.Tensor:
        """The rows [*ids.shape, ...]. IndexError names the first id out of range."""
        on = devices.as_stream(None, self._device)
        with devices.using(on):
            ids = self._ids(ids)
            is_encoded = decode and self._rows.is_encoded
            dtype = torch.float32 if is_encoded else getattr(torch, self._rows.dtype)
            shape = (*ids.shape, *self._shape[1:])
            if out is None:
                out = devices.empty(shape, dtype, self._device)
            self._require(out, shape, (dtype,), "out")
            count = (ids.numel(), *self._shape[1:])
            self._core.gather(
                self._view(ids, (ids.numel(),)), self._view(out, count), stream=devices.handle(on), decode=is_encoded
            )
        return out

    def moved(self, rows: torch.Tensor, out=None) -> torch.Tensor:
        """Rows of the host, on the device."""
        if out is None:
            return devices.move(rows, self._device)
        self._require(out, tuple(rows.shape), (rows.dtype,), "out")
        return out.copy_(rows)

    def given(self, rows: torch.Tensor, ids_shape: tuple[int, ...]) -> torch.Tensor:
        """`rows`, for ids of this shape, contiguous and complete."""
        stored = getattr(torch, self._rows.dtype)
        wide = (torch.float32,) if stored in (torch.float16, torch.bfloat16) else ()
        rows = rows.detach().contiguous()
        if self._holds(rows):
            rows = rows.clone()
        self._require(rows, (*ids_shape, *self._shape[1:]), (stored, *wide), "rows")
        return self.completed(rows)

    def completed(self, rows: torch.Tensor) -> torch.Tensor:
        """`rows`, when the current stream has made them."""
        devices.wait_for(devices.as_stream(None, self._device))
        return rows

    def view(self, rows: torch.Tensor, count: int) -> _core.DeviceArray:
        """`rows` of `count` ids as the engine takes them. It keeps no memory alive."""
        return self._view(rows, (count, *self._shape[1:]))

    def _holds(self, rows: torch.Tensor) -> bool:
        """Whether they lie in the table, which is to be written to."""
        own = self._rows.tensor()
        return own.data_ptr() <= rows.data_ptr() < own.data_ptr() + own.nbytes

    def _ids(self, ids: torch.Tensor) -> torch.Tensor:
        if ids.dtype not in INTEGERS:
            raise TypeError(f"ids are {dtype_name(ids.dtype)}, expected integers")
        if not devices.holds(self._device, ids):
            raise ValueError(f"ids lie on {ids.device}, but the table on {self._device}")
        return (ids if ids.dtype in (torch.int32, torch.int64) else ids.to(torch.int64)).contiguous()

    def _require(self, tensor, shape: tuple[int, ...], dtypes: tuple, what: str) -> None:
        if not isinstance(tensor, torch.Tensor) or not devices.holds(self._device, tensor):
            where = tensor.device if isinstance(tensor, torch.Tensor) else f"the host, a {type(tensor).__name__}"
            raise ValueError(f"{what} lies on {where}, but the table on {self._device}")
        if tuple(tensor.shape) != shape or tensor.dtype not in dtypes:
            raise ValueError(
                f"{what} is {dtype_name(tensor.dtype)}{list(tensor.shape)}, but the rows are "
                f"{dtype_name(dtypes[0])}{list(shape)}"
            )
        if not tensor.is_contiguous():
            raise ValueError(f"{what} has strides {tensor.stride()}; it must be contiguous")

    def _view(self, tensor: torch.Tensor, shape: tuple[int, ...]) -> _core.DeviceArray:
        return _core.DeviceArray(tensor.data_ptr(), dtype=dtype_name(tensor.dtype), shape=shape, device=self._index)
