"""Rows in files without names, mapped. The disk gets their space back when nobody has the rows any more."""

from __future__ import annotations

import math
import mmap
import os
import tempfile
import weakref

import torch


class _Mapping(mmap.mmap):
    """Keeps the file open until it goes."""

    descriptor: int


_MAPPINGS: weakref.WeakValueDictionary[int, _Mapping] = weakref.WeakValueDictionary()  # by address


def map_new_rows(folder: str | os.PathLike, shape, dtype: torch.dtype) -> torch.Tensor:
    """Rows whose values are 0. Raises OSError where the disk is too small."""
    num_bytes = math.prod(shape) * dtype.itemsize
    with tempfile.TemporaryFile(dir=os.fspath(folder)) as file:
        try:
            os.posix_fallocate(file.fileno(), 0, num_bytes)  # or writing to the mapping would end the process
        except OSError as error:
            raise OSError(error.errno, f"{num_bytes:,} bytes of rows: {error.strerror}", os.fspath(folder)) from None
        mapping = _Mapping(file.fileno(), num_bytes)
        mapping.descriptor = os.dup(file.fileno())
    weakref.finalize(mapping, os.close, mapping.descriptor)
    rows = torch.frombuffer(mapping, dtype=dtype).view(shape)
    _MAPPINGS[rows.data_ptr()] = mapping
    return rows


def path_of(rows: torch.Tensor) -> str:
    """A path of the file whose first row is the first of `rows`; "" where map_new_rows() has not made them."""
    mapping = _MAPPINGS.get(rows.data_ptr())
    return "" if mapping is None else f"/proc/self/fd/{mapping.descriptor}"


def write_rows(out: torch.Tensor, begin: int, rows: torch.Tensor) -> None:
    """out[begin : begin + len(rows)] = rows, of the same dtype. To a file by one call: the kernel reads a page of a
    mapping before it is first written to."""
    mapping = _MAPPINGS.get(out.data_ptr())
    if mapping is None:
        out[begin : begin + len(rows)] = rows
        return
    rest = memoryview(rows.detach().contiguous().flatten().view(torch.uint8).numpy())
    at = begin * out.stride(0) * out.element_size()
    while rest:
        count = os.pwrite(mapping.descriptor, rest, at)
        rest, at = rest[count:], at + count
