"""Makes the memory of a new table, together with the ranks that share it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ramet import _core
from ramet._support.arguments import UINT64_MAX, as_int, shortened
from ramet._support.descriptor import Handle
from ramet.arrays import MAX_DIMENSIONS, as_array, as_count
from ramet.dtypes import bfloat16, dtype_name
from ramet.ranks.ranks import Ranks
from ramet.tables.device_memory import DevicePieces
from ramet.tables.init_rows import described
from ramet.tables.memory import Form, HostPieces, Layout, TableMemory, map_array, opened
from ramet.tables.owners import digest_of, owners_of_rows

PLACEMENTS = ("continuous", "chunked", "distributed")
LOCATIONS = ("host", "device")

MOST_ADDRESSES = 1 << 47

Fill = Callable[[TableMemory], None]


class Wanted(NamedTuple):
    form: Form
    placement: str
    owners: _core.Ownership


def create(shape, dtype, fill: Fill, *, placement: str, location: str, ranks, ownership, init, seed) -> TableMemory:
    """See Table.create. `fill` writes the rows of this rank. Collective; once it returns all rows are there."""
    shared_by = Ranks.of(ranks)

    def check() -> tuple[Wanted, dict]:
        form = Form(_as_shape(shape), as_dtype(dtype))
        _check_location(location)
        if location == "host":
            _require_memory(form, shared_by)
        wanted = Wanted(form, placement, _checked_owners(placement, ownership, form.shape[0], shared_by))
        return wanted, {
            "shape": form.shape,
            "dtype": dtype_name(form.dtype),
            "placement": placement,
            "location": location,
            "ownership": digest_of(wanted.owners),
            "init": described(init),
            "seed": as_int(seed, "seed", 0, UINT64_MAX),
        }

    form, placement, owners = shared_by.agree(check)
    layout = layout_of(owners, 0 if placement == "continuous" else _core.stride_of(owners, form.row_bytes), shared_by)
    return _build(form, placement, shared_by, layout, _pieces_at(location, shared_by), fill)


def beside(memory: TableMemory, row_shape: tuple[int, ...], dtype) -> TableMemory:
    """Zeros with the places, owners and ranks of a table. Collective."""
    form = Form((memory.form.shape[0], *row_shape), as_dtype(dtype))
    return _build(form, memory.placement, memory.ranks, memory.layout, memory.kind, lambda memory: None)


def _require_memory(form: Form, ranks: Ranks) -> None:
    """MemoryError for what no machine can hold, before anything is done for each row. Pieces are compared with what is
    available when they are made."""
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if ranks.machines == 1 else MOST_ADDRESSES
    if form.bytes > most:
        what = "bytes of memory" if ranks.machines == 1 else "addresses"
        raise MemoryError(
            f"a table {dtype_name(form.dtype)}{list(form.shape)} takes {form.bytes:,} bytes, but this machine has "
            f"{most:,} {what}"
        )


def _check_location(location: str) -> None:
    if location not in LOCATIONS:
        raise ValueError(f"location is {location!r}, expected one of {LOCATIONS}")


def _pieces_at(location: str, ranks: Ranks):
    """What makes the pieces of a table. Collective."""
    if location == "host":
        return HostPieces()
    pieces = ranks.share(lambda: (DevicePieces.here(), None))[0]
    pieces.require_peers(ranks)
    return pieces


def _checked_owners(placement: str, ownership, num_rows: int, ranks: Ranks) -> _core.Ownership:
    if placement not in PLACEMENTS:
        raise ValueError(f"placement is {placement!r}, expected one of {PLACEMENTS}")
    if placement != "distributed" and ranks.machines > 1:
        raise ValueError(
            f"placement is {placement!r}, but the ranks are on {ranks.machines} machines, which share no memory: "
            "'distributed' can be used there"
        )
    owners = owners_of_rows(ownership, num_rows, ranks.size)
    if placement == "continuous" and not owners.is_ranges:
        raise ValueError("placement is 'continuous', whose owners are ranges of ids: 'chunked' takes any ownership")
    return owners


def layout_of(owners: _core.Ownership, stride: int, ranks: Ranks) -> Layout:
    """`stride`: 0 where a row's place is its id. Collective: the first rank of a machine makes the map for all."""
    if stride == 0 or owners.is_ranges:
        return Layout(owners, stride)

    def make():
        if not ranks.is_first:
            return None, None
        map = _core.SharedMemory.create(owners.num_nodes * _core.map_itemsize(owners, stride))
        _core.write_map(owners, stride, map_array(owners, stride, map))
        return map, _handle(map)

    map, handles = ranks.share(make)

    def take():
        return Layout(owners, stride, map or opened(handles[ranks.reached.index(True)])), None

    return ranks.share(take)[0]


def _build(form: Form, placement: str, ranks: Ranks, layout: Layout, kind, fill: Fill) -> TableMemory:
    handed_out = []

    def make():
        begin, end = layout.spans(form, kind.unit)[ranks.rank]
        own = kind.create(end - begin)
        handed_out.append(kind.share(own))
        return own, handed_out[0]

    def take(own, handles):
        others = [
            None if k == ranks.rank or not is_near else kind.opened(handle)
            for k, (handle, is_near) in enumerate(zip(handles, ranks.reached))
        ]
        pieces = [own if k == ranks.rank else piece for k, piece in enumerate(others)]
        memory = TableMemory(form, placement, ranks, layout, pieces, kind)
        fill(memory)
        return memory, None

    try:
        own, handles = ranks.share(make)
        return ranks.share(lambda: take(own, handles))[0]
    finally:  # also where another rank has no memory
        for handle in handed_out:
            kind.forget(handle)


def _handle(memory: _core.SharedMemory) -> Handle:
    """For ranks that open it before this process drops it."""
    return Handle(os.getpid(), memory.fd, memory.identity)


def _as_shape(shape) -> tuple[int, ...]:
    if hasattr(shape, "__index__"):
        shape = (shape,)
    if not isinstance(shape, (tuple, list)) or not 1 <= len(shape) <= MAX_DIMENSIONS:
        raise TypeError(f"shape is {shortened(shape)}, expected 1 to {MAX_DIMENSIONS} numbers, rows first")
    return tuple(as_count(size, f"shape[{i}]") for i, size in enumerate(shape))


def as_dtype(dtype) -> np.dtype:
    if isinstance(dtype, (int, np.integer)):
        raise TypeError(f"dtype is {dtype!r}, expected a name, numpy's or torch's; a shape is one argument")
    name = dtype_name(dtype)
    return bfloat16 if name == "bfloat16" else as_array(np.empty(1, name), "dtype").dtype
