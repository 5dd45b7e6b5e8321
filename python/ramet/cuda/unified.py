"""UnifiedTensor: rows in host memory that a GPU reads in place."""

from __future__ import annotations

import os
import warnings

import numpy as np
import torch

from ramet import _core
from ramet._support import torch_devices as devices
from ramet._support.arguments import ROW_ORDERS, as_int, check_word
from ramet._support.progress import locking_progress
from ramet.arrays import INT32_MAX, as_rows
from ramet.cuda.index import as_ids, rows_of
from ramet.dtypes import Quantized, dtype_name
from ramet.graph import Graph
from ramet.graph import open as open_store
from ramet.tables.table import Table


class UnifiedTensor:
    """A table in host memory that a GPU gathers rows from: `unified[ids]` is a CUDA tensor of these rows.

    The GPU reads the rows in place, over PCIe; nothing is staged, and no CPU core works. Work runs on torch's current
    stream of the device, and the host does not wait. Keeps the source alive; safe in threads. After a fork:
    RuntimeError. It pickles as its source does (a table of a store as its store, never its data), and is registered
    again in the other process, with the same physical pages.

    `unified[ids] = rows` writes to the source's memory, or to the copy if there is one. It is refused if the source is
    read-only, cached or decoded.

    source: a ramet.Table, a contiguous CPU tensor, a numpy array, or the result of `ramet.quantize`.
    device: "cuda:1", 1, or a torch.device; None is torch's current one.
    placement: "in_place" reads the source's own memory and page-locks it, which reads a whole file into memory, once
        for all processes. "device" copies it to the device; requests for the same table of a store share the copy.
        "pinned_copy" copies it to page-locked memory of this process.
    cached: ids of rows to keep in device memory as well. Takes those rows and 4 bytes per row of the table.
    decode: float16, bfloat16 and int8 with a scale become float32.
    copy_where_refused: if the memory cannot be page-locked, warn, and make a "pinned_copy" if memory allows. False:
        raise RuntimeError instead.
    max_sms: a gather uses at most this many multiprocessors, 0: all. None: as many as keep the bus busy where rows are
        read from the host, else all.
    order: in which a gather reads rows. "sorted": by the part of the table that they are in, which is faster for many
        rows of a large table in host memory; "as_given"; "auto" sorts those. The result is the same.

    Raises RuntimeError where there is no CUDA, no GPU, or registration is refused, and MemoryError where memory is
    short. Raises TypeError and ValueError for sources and options that do not fit, and IndexError for cached rows out
    of range.
    """

    def __init__(
        self,
        source,
        device=None,
        *,
        placement: str = "in_place",
        cached=None,
        decode: bool = False,
        copy_where_refused: bool = True,
        max_sms: int | None = None,
        order: str = "auto",
    ):
        _core.cuda_num_devices()  # raises where there is none
        self._device = devices.as_device(device)
        self._source = source
        self._options = {
            "placement": placement,
            "cached": cached,
            "decode": decode,
            "copy_where_refused": copy_where_refused,
            "max_sms": max_sms,
            "order": order,
        }
        self._table = source if isinstance(source, Table) else Table(_memory_of(source))
        if self._table.location == "device":
            raise ValueError(f"source is {source!r}, whose rows lie on a device already: its gather() reads them there")
        self._decode = bool(decode)
        self._max_sms = _as_limit(max_sms)
        self._order = check_word(order, "order", ROW_ORDERS)
        self._dtype = _result_dtype(self._table, self._decode)
        self._process = os.getpid()
        with locking_progress() as report:
            self._core = _core.CudaTable(
                self._table._core,
                device=self._device.index,
                placement=placement,
                copy_where_refused=bool(copy_where_refused),
                cached=None if cached is None else _host_ids(cached, len(self._table)),
                progress=report,
            )
        if self._core.refusal:
            warnings.warn(
                f"{self._table!r} is read from a copy of {self.nbytes:,} bytes in this process's memory: "
                f"{self._core.refusal}",
                RuntimeWarning,
                stacklevel=2,
            )

    @classmethod
    def from_store(cls, store, name: str, node_type=None, device=None, **options) -> UnifiedTensor:
        """The table `name` of a store: a graph, or a folder. `node_type` is as in Graph.table (it may be an edge type),
        and options are as in UnifiedTensor. Raises also what `ramet.open` and Graph.table raise.
        """
        graph = store if isinstance(store, Graph) else open_store(store)
        return cls(graph.table(name, node_type), device, **options)

    @property
    def source(self):
        """The source it was constructed from."""
        return self._source

    @property
    def shape(self) -> torch.Size:
        return torch.Size(self._table.shape)

    @property
    def ndim(self) -> int:
        return len(self._table.shape)

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of gathered rows."""
        return self._dtype

    @property
    def device(self) -> torch.device:
        """The device of gathered rows."""
        return self._device

    @property
    def placement(self) -> str:
        """Where rows are read: "in_place", "device" or "pinned_copy"."""
        return self._core.placement

    @property
    def nbytes(self) -> int:
        """The bytes of all rows as they are stored."""
        return self._table.numpy().nbytes

    @property
    def device_bytes(self) -> int:
        """The bytes of device memory in use: the copy (also where it is shared), or the cache with its map."""
        return self._core.device_bytes

    @property
    def num_cached(self) -> int:
        """The number of rows in the cache."""
        return self._core.num_cached

    @property
    def cache_hits(self) -> int:
        """Ids found in the cache by finished gathers: synchronize first to count all."""
        return self._core.num_hits()

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, index) -> torch.Tensor:
        """Rows on the device: of an integer, a slice, integers of any dtype and shape (torch, numpy, lists), or a bool
        mask of all rows. Ids on the host are checked, and count from the end below 0. Ids on the device below 0 do so
        as well; nobody looks whether they are in range: rows of those that are not have any contents. A mask on the
        device makes the host wait for it, since the number of its rows must be known."""
        self._check_process()
        on = devices.as_stream(None, self._device)
        with devices.using(on):
            ids, dimensions = rows_of(index, len(self), self._device)
            return self._gather(ids, None, on).reshape((*dimensions, *self.shape[1:]))

    def __setitem__(self, index, values) -> None:
        """Writes rows, the indices being those of `unified[index]`; `values` is broadcast to them. Where an index
        repeats, the last row of it stays. The memory of the host holds them when the stream has done it."""
        self._check_process()
        on = devices.as_stream(None, self._device)
        with devices.using(on):
            ids, dimensions = rows_of(index, len(self), self._device)
            values = torch.as_tensor(values, dtype=self._dtype)
            rows = devices.move(values, self._device).expand((*dimensions, *self.shape[1:])).contiguous()
            self._scatter(ids, rows, on, self._max_sms, False)

    def gather(
        self,
        ids,
        out=None,
        stream=None,
        max_sms: int | None = None,
        check: bool = False,
        order: str | None = None,
    ) -> torch.Tensor:
        """The rows `ids`, of shape [*ids.shape, ...]: the fastest way to get them.

        ids: integers as in `unified[ids]`, none below 0. Ids on the host are checked.
        out: a contiguous tensor of that shape on the device, which is written and returned.
        stream: a torch.cuda.Stream or a cudaStream_t as an int, in place of the current stream. You must synchronize
            that stream with the producers of `ids` and the consumers of the result.
        max_sms: replaces the constructor's.
        check: waits for the stream, and raises IndexError naming the first id out of range. Without it such ids leave
            their rows unwritten.
        order: replaces the constructor's.
        """
        self._check_process()
        limit = self._max_sms if max_sms is None else _as_limit(max_sms)
        order = self._order if order is None else check_word(order, "order", ROW_ORDERS)
        on = devices.as_stream(stream, self._device)
        with devices.using(on):
            given, ids = ids, as_ids(ids, len(self), self._device, wrap=False)
            if out is not None:
                devices.require(out, "out", (*ids.shape, *self.shape[1:]), (self._dtype,), self._device)
            rows = self._gather(ids, out, on, max_sms=limit, check=check, order=order)
        if stream is not None:
            current = devices.as_stream(None, self._device)
            devices.mark_use(rows, current if out is None else on)
            self._mark_given(given, on)
        return rows

    def scatter(self, ids, rows, stream=None, max_sms: int | None = None, check: bool = False) -> None:
        """Writes row i of `rows`, a contiguous tensor of the device, to row ids[i]. Where an id repeats, the last row
        wins. Ids out of range write nothing. The other arguments are those of `gather`.
        """
        self._check_process()
        limit = self._max_sms if max_sms is None else _as_limit(max_sms)
        on = devices.as_stream(stream, self._device)
        with devices.using(on):
            given, ids = ids, as_ids(ids, len(self), self._device, wrap=False)
            devices.require(rows, "rows", (*ids.shape, *self.shape[1:]), (self._dtype,), self._device)
            self._scatter(ids, rows, on, limit, check)
        if stream is not None:
            devices.mark_use(rows, on)
            self._mark_given(given, on)

    def __repr__(self) -> str:
        cache = f", {self.num_cached} rows cached" if self.num_cached else ""
        stored = dtype_name(self._table.dtype)
        decoded = "" if stored == dtype_name(self._dtype) else f" as {dtype_name(self._dtype)}"
        return (
            f"<ramet.cuda.UnifiedTensor {stored}{list(self.shape)}{decoded} {self.placement} for {self._device}{cache}>"
        )

    def __reduce__(self):
        return _rebuild, (self._source, self._device, self._options)

    def _gather(self, ids, out, stream, **options) -> torch.Tensor:
        options = {"max_sms": self._max_sms, "check": False, "order": self._order} | options
        if out is None:
            out = devices.empty((*ids.shape, *self.shape[1:]), self._dtype, self._device)
        self._core.gather(
            ids.data_ptr(),
            ids.dtype == torch.int64,
            ids.numel(),
            out.data_ptr(),
            stream=devices.handle(stream),
            decode=self._decode,
            **options,
        )
        return out

    def _scatter(self, ids, rows, stream, max_sms: int | None, check: bool) -> None:
        if self._decode and self._table.is_encoded:
            raise ValueError(f"{self!r} decodes, and nothing encodes what would be written")
        scratch = devices.empty((_core.scatter_scratch_bytes(ids.numel()),), torch.uint8, self._device)
        self._core.scatter(
            ids.data_ptr(),
            ids.dtype == torch.int64,
            ids.numel(),
            rows.data_ptr(),
            scratch=scratch.data_ptr(),
            scratch_bytes=scratch.numel(),
            stream=devices.handle(stream),
            check=check,
            max_sms=max_sms,
        )

    def _mark_given(self, ids, stream) -> None:
        """Marks that `stream` uses the caller's ids, to read them or to derive others."""
        if isinstance(ids, torch.Tensor) and devices.holds(self._device, ids):
            devices.mark_use(ids, stream)

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError(
                f"this UnifiedTensor was made in process {self._process}, of which {os.getpid()} is a fork: CUDA does "
                f"not survive a fork; start processes by spawn, or make it after the fork"
            )


def _as_limit(max_sms) -> int | None:
    return None if max_sms is None else as_int(max_sms, "max_sms", 0, INT32_MAX)


def _rebuild(source, device, options: dict) -> UnifiedTensor:
    return UnifiedTensor(source, device, **options)


def _memory_of(source):
    """`source` in a form that Table takes without a copy."""
    if isinstance(source, torch.Tensor):
        if source.device.type != "cpu":
            raise ValueError(f"source lies on {source.device} already; it is to be memory of the host")
        if not source.is_contiguous():
            raise ValueError(f"source has strides {source.stride()}; it must be contiguous, or it would be a copy")
        source = source.detach()
    elif isinstance(source, np.ndarray):
        if not source.flags.c_contiguous:
            raise ValueError("source is not C-contiguous, and would be a copy; make it so first")
    elif not isinstance(source, Quantized):
        raise TypeError(f"source is a {type(source).__name__}, expected a ramet.Table, a tensor or a numpy array")
    return as_rows(source, "source")


def _result_dtype(table: Table, decode: bool) -> torch.dtype:
    stored = dtype_name(table.dtype)
    if not decode:
        return getattr(torch, stored)
    if stored != "float32" and not table.is_encoded:
        scale = " without a scale" if stored == "int8" else ""
        raise ValueError(f"decode is True, but rows of {stored}{scale} have no float32 form")
    return torch.float32


def _host_ids(cached, num_rows: int) -> np.ndarray:
    """Ids, or a mask, of the rows to cache."""
    array = np.asarray(cached.cpu() if isinstance(cached, torch.Tensor) else cached)
    if array.dtype == np.bool_ and array.shape == (num_rows,):
        return np.flatnonzero(array)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise TypeError(f"cached is {array.dtype}{list(array.shape)}, expected ids of rows or a mask of {num_rows}")
    return np.ascontiguousarray(array, dtype=np.int64)
