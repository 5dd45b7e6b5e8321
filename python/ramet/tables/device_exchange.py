"""Rows of a table on devices that travel between its ranks: looked for, sorted by owner and answered by kernels. From
one device to the other by NCCL, through host memory without it (ranks/group.py). The host learns how many there are."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from ramet._core import SortedLists
from ramet._support import torch_devices as devices
from ramet.arrays import INT32_MAX
from ramet.dtypes import bits, dtype_name

if TYPE_CHECKING:
    from ramet.tables.device_storage import DeviceStorage

Message = tuple[list[int], torch.Tensor]  # bytes for each rank, or from each; uint8 on the device
WORD = 8  # bytes of a position


class Pull:
    """Rows that this rank gathers. Each distinct row is requested once from ranks of other machines."""

    def __init__(self, table: DeviceStorage, positions: np.ndarray | torch.Tensor, decode: bool, out):
        self._table, self._decode, self._out = table, decode, out
        self._is_for_host = isinstance(positions, np.ndarray)
        self._positions = on_device(table, positions)
        is_local = on_device(table, np.array(table.ranks.is_local))
        owners = torch.searchsorted(table.begins, self._positions, right=True) - 1
        self._is_here = is_local[owners]
        self._asked = torch.unique(self._positions[~self._is_here])

    def requests(self) -> Message:
        """int64 positions, ascending, for each rank."""
        return _message(_counts(self._table, self._asked), self._asked)

    def answer(self, requests: Message) -> Message:
        """The rows that every rank requested from this one."""
        counts, wanted = _positions_from(self._table, requests)
        rows = self._table.empty_rows(len(wanted))
        self._table.take(self._table.all_rows, wanted, rows)
        return _message(counts, rows)

    def finish(self, answers: Message | None):
        """The rows, None where `out` has them: as ids came, of the host or the device. They do not change any more."""
        table = self._table
        shape = len(self._positions), *table.shape[1:]
        is_direct = self._out is not None and not self._is_for_host
        rows = self._out.view(shape) if is_direct else table.empty_rows(shape[0], self._decode)
        table.take(table.all_rows, self._positions.masked_fill(~self._is_here, -1), rows, self._decode)
        if answers is not None:
            expected = [count * table.row_bytes for count in _counts(table, self._asked)]
            if answers[0] != expected:
                raise RuntimeError(f"ranks answered requests by {answers[0]} bytes, expected {expected}")
            there = torch.searchsorted(self._asked, self._positions).masked_fill(self._is_here, -1)
            table.take(table.as_rows(answers[1], len(self._asked)), there, rows, self._decode)
        table.completed(rows)
        return self._to_host(rows, shape) if self._is_for_host else rows

    def _to_host(self, rows: torch.Tensor, shape: tuple[int, ...]) -> np.ndarray | None:
        dtype = np.dtype(np.float32) if self._decode else self._table.dtype
        array = devices.on_host(rows).reshape(-1).view(torch.uint8).numpy().view(dtype).reshape(shape)
        if self._out is None:
            return array
        self._out[...] = bits(array).reshape(self._out.shape)
        return None


class Push:
    """Rows of lists, with their positions, for their owners. last: of a row that is named twice the last one alone."""

    def __init__(self, table: DeviceStorage, lists: list[tuple], last: bool):
        positions, rows, self._dtype = _joined(table, lists)
        ordered, order = torch.sort(positions, stable=True)
        if last and len(ordered) > 1:
            is_last = torch.cat([ordered[1:] != ordered[:-1], ordered[:1] == ordered[:1]])
            ordered, order = ordered[is_last], order[is_last]
        counts = _counts(table, ordered)
        self._rows = table.empty_rows(len(ordered), dtype=self._dtype)
        table.take(table.as_rows(rows, len(positions), self._dtype), order, self._rows)
        self.positions, self.rows = _message(counts, ordered), _message(counts, self._rows)


class Sorted(NamedTuple):
    """What all ranks gave for rows of this one, as the engine takes it, and the tensors of its memory."""

    lists: SortedLists
    kept: tuple


def received(table: DeviceStorage, positions: Message, rows: Message) -> Sorted:
    """What came of every rank's Push: in the order (rank, position)."""
    counts, wanted = _positions_from(table, positions)
    if len(wanted) > INT32_MAX:
        raise ValueError(f"ranks gave {len(wanted):,} rows for this one's at once, expected {INT32_MAX:,} at most")
    parts = []
    for count, size, end in zip(counts, rows[0], accumulate(rows[0])):
        if count == 0:  # whose dtype nobody knows
            continue
        dtype = _dtype_of(table, count, size)
        part = rows[1][end - size : end]
        # Behind an odd number of float16, float32 would lie across words.
        parts.append((part.clone() if dtype != table.rows.dtype else part, count, dtype))
    ordered, order = torch.sort(wanted, stable=True)
    distinct, repeats = torch.unique_consecutive(ordered, return_counts=True)
    starts = torch.cat([ordered.new_zeros(1), repeats.cumsum(0)]).int()
    order = order.int()
    kept = distinct, starts, order, *(part for part, *_ in parts)
    table.completed(kept)
    as_engine = [devices.as_engine(tensor, table.device) for tensor in kept[:3]]
    lists = [table.as_rows(*part) for part in parts]
    return Sorted(SortedLists(*as_engine, lists), kept)


def on_device(table: DeviceStorage, array: np.ndarray | torch.Tensor) -> torch.Tensor:
    if isinstance(array, np.ndarray):
        array = torch.from_numpy(array if array.flags.writeable else array.copy())
    return devices.move(array, table.device)


def _joined(table: DeviceStorage, lists: list[tuple]) -> tuple[torch.Tensor, torch.Tensor, str]:
    """(positions, bytes of their rows, dtype of these) of all lists, which have one dtype. ValueError where rows do not
    fit the table."""
    stored = table.rows.dtype
    accepted = (stored, "float32") if stored in ("float16", "bfloat16") else (stored,)
    for positions, rows in lists:
        name = dtype_name(rows.dtype)
        if tuple(rows.shape) != (len(positions), *table.shape[1:]) or name not in accepted:
            raise ValueError(
                f"rows are {name}{list(rows.shape)}, which do not fit {len(positions)} positions of "
                f"{stored}{list(table.shape)}"
            )
    if sum(len(positions) for positions, _ in lists) > INT32_MAX:
        raise ValueError(f"more than {INT32_MAX:,} rows at once")
    if not lists:
        lists = [(np.empty(0, np.int64), np.empty((0, *table.shape[1:]), table.dtype))]
    positions = torch.cat([on_device(table, positions) for positions, _ in lists])
    rows = torch.cat([_bytes(on_device(table, _plain(rows))) for _, rows in lists])
    return positions, rows, dtype_name(lists[0][1].dtype)


def _plain(rows):
    """Rows of the host as bytes, whatever dtypes torch knows."""
    return np.ascontiguousarray(bits(rows)).reshape(-1).view(np.uint8) if isinstance(rows, np.ndarray) else rows


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)


def _counts(table: DeviceStorage, ordered: torch.Tensor) -> list[int]:
    """How many of ascending positions are each rank's."""
    firsts = torch.searchsorted(ordered, table.begins).tolist()
    return [end - begin for begin, end in pairwise([*firsts, len(ordered)])]


def _message(counts: list[int], rows: torch.Tensor) -> Message:
    width = rows.shape[1:].numel() * rows.element_size()
    return [count * width for count in counts], _bytes(rows)


def _positions_from(table: DeviceStorage, message: Message) -> tuple[list[int], torch.Tensor]:
    """(how many came from each rank, all of them). RuntimeError unless they are this rank's."""
    sizes, data = message
    if any(size % WORD for size in sizes):
        raise RuntimeError(f"ranks sent {sizes} bytes that are no positions")
    positions, (begin, end) = data.view(torch.int64), table.own
    if len(positions) and bool(((positions < begin) | (positions >= end)).any()):
        raise RuntimeError(f"another rank named positions outside [{begin}, {end}), which are this rank's")
    return [size // WORD for size in sizes], positions


def _dtype_of(table: DeviceStorage, count: int, size: int) -> str:
    """Of `count` rows in `size` bytes: the table's, or float32. RuntimeError where it is neither."""
    stored = table.rows.dtype
    if size == count * table.row_bytes:
        return stored
    if stored in ("float16", "bfloat16") and size == 2 * count * table.row_bytes:
        return "float32"
    raise RuntimeError(f"another rank sent {size} bytes for {count} rows of {stored}{list(table.shape[1:])}")
