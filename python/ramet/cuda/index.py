"""What an index of a UnifiedTensor names: ids of rows, and the shape that they come in.

Ids that are on the host are looked at there: they wrap around as torch's do, and IndexError names one that is out of
range. Ids that are on the device are not, since that would make the host wait for the device.
"""

from __future__ import annotations

import operator

import numpy as np
import torch

from ramet._support import torch_devices as devices
from ramet._support.old_torch import WIDE_UNSIGNED
from ramet._support.tensors import to_tensor

INTEGERS = {torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}


def rows_of(index, num_rows: int, device) -> tuple[torch.Tensor, tuple[int, ...]]:
    """(ids on the device: int32 or int64 [n], the dimensions that they come in) of `tensor[index]`."""
    if isinstance(index, tuple):
        if len(index) == 1:
            return rows_of(index[0], num_rows, device)
        raise TypeError(f"the index is a tuple of {len(index)}: only rows are indexed, index what comes for the rest")
    if index is Ellipsis:
        index = slice(None)
    if isinstance(index, slice):
        named = range(*index.indices(num_rows))
        stop = named.start + len(named) * named.step  # torch refuses one that lies behind
        return devices.arange(named.start, stop, named.step, device), (len(named),)
    if isinstance(index, bool):
        raise TypeError("the index is a bool; a mask has one for each row")
    if isinstance(index, (int, np.integer)):
        ids = _checked(torch.tensor([int(index)]), num_rows, wrap=True)
        return devices.move(ids, device), ()
    ids = as_ids(index, num_rows, device, wrap=True)
    return ids.reshape(-1), tuple(ids.shape)


def as_ids(value, num_rows: int, device, *, wrap: bool) -> torch.Tensor:
    """Ids of rows, or a bool mask of them, on the device: int32 or int64 of any shape. `wrap`: negative ones count
    from the end."""
    ids = _as_tensor(value)
    if ids.dtype == torch.bool:
        if ids.shape != (num_rows,):
            raise IndexError(f"the mask has shape {list(ids.shape)}, but there are {num_rows} rows")
        ids, wrap = ids.nonzero().reshape(-1), False
    elif ids.dtype not in INTEGERS:
        raise TypeError(f"ids are of {ids.dtype}, expected integers or a mask of torch.bool")
    if ids.dtype != torch.int64 and (ids.dtype != torch.int32 or num_rows > torch.iinfo(torch.int32).max):
        wrap = wrap and ids.dtype != torch.uint8
        ids = ids.to(torch.int64)
    if devices.holds(device, ids):
        return (torch.where(ids < 0, ids + num_rows, ids) if wrap else ids).contiguous()
    if ids.device.type != "cpu":
        raise ValueError(f"ids lie on {ids.device}, but the tensor is read on {device}")
    return devices.move(_checked(ids, num_rows, wrap), device).contiguous()


def _as_tensor(value) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return value.to(torch.int64) if value.dtype in WIDE_UNSIGNED else value
    if isinstance(value, (list, range)) and len(value) == 0:
        return torch.empty(0, dtype=torch.int64)
    if not isinstance(value, np.ndarray):
        try:
            value = np.asarray(value if isinstance(value, (list, range)) else operator.index(value))
        except (TypeError, ValueError) as error:
            raise TypeError(f"the index is a {type(value).__name__}: {error}") from None
    if value.dtype.kind not in "iub":
        raise TypeError(f"ids are of {value.dtype}, expected integers or a mask of bool")
    if value.dtype == np.uint64 and value.size and value.max() > np.iinfo(np.int64).max:
        raise IndexError(f"ids hold {value.max()}, which is beyond int64")
    known = value.dtype.kind == "b" or value.dtype in (np.uint8, np.int32, np.int64)
    value = value if known else value.astype(np.int64)
    return to_tensor(value if value.flags.writeable and value.flags.c_contiguous else value.copy())


def _checked(ids: torch.Tensor, num_rows: int, wrap: bool) -> torch.Tensor:
    """Ids of the host within range, those below 0 counted from the end."""
    if ids.numel() == 0:
        return ids
    lowest = -num_rows if wrap else 0
    if int(ids.min()) < lowest or int(ids.max()) >= num_rows:
        flat = ids.reshape(-1)
        position = int(((flat < lowest) | (flat >= num_rows)).nonzero()[0])
        raise IndexError(f"ids[{position}] is {int(flat[position])}, but there are {num_rows} rows")
    return torch.where(ids < 0, ids + num_rows, ids) if wrap and int(ids.min()) < 0 else ids
