"""Makes the memory of a new table, together with the ranks that share it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ramet import _core
from ramet._support.arguments import UINT64_MAX, as_int, shortened
from ramet.arrays import MAX_DIMENSIONS
from ramet.dtypes import dtype_name
from ramet.ranks.ranks import Ranks
from ramet.tables.arguments import as_dtype
from ramet.tables.device_memory import DevicePieces
from ramet.tables.init_rows import described
from ramet.tables.layout import Form, Layout, map_array, opened
from ramet.tables.owners import digest_of, owners_of_rows
from ramet.tables.shared_storage import HostPieces
from ramet.tables.storage import Storage

PLACEMENTS = ("continuous", "chunked", "distributed")
PIECES: dict[str, Any] = {"host": HostPieces, "device": DevicePieces}  # what makes them, by location

Fill = Callable[[Storage], None]


class Wanted(NamedTuple):
    form: Form
    placement: str
    owners: _core.Ownership


def create(shape, dtype, fill: Fill, *, placement: str, location: str, ranks, ownership, init, seed) -> Storage:
    """See Table.create. `fill` writes the rows of this rank. Collective; once it returns all rows are there."""
    shared_by = Ranks.of(ranks)

    def check() -> tuple[Wanted, dict]:
        form = Form(_as_shape(shape), as_dtype(dtype))
        if location not in PIECES:
            raise ValueError(f"location is {location!r}, expected one of {tuple(PIECES)}")
        PIECES[location].check(form, shared_by)
        wanted = Wanted(form, placement, _checked_owners(placement, ownership, form.shape[0], shared_by))
        return wanted, {
            "shape": form.shape,
            "dtype": dtype_name(form.dtype),
            "placement": placement,
            "location": location,
            "ownership": digest_of(wanted.owners),
            "init": described(init, form.dtype),
            "seed": as_int(seed, "seed", 0, UINT64_MAX),
        }

    form, placement, owners = shared_by.agree(check)
    layout = layout_of(owners, 0 if placement == "continuous" else _core.stride_of(owners, form.row_bytes), shared_by)
    return _build(form, placement, shared_by, layout, PIECES[location].here(shared_by), fill)


def beside(storage: Storage, row_shape: tuple[int, ...], dtype) -> Storage:
    """Zeros with the positions, owners and ranks of a table. Collective."""
    form, kind = Form((len(storage), *row_shape), as_dtype(dtype)), storage.kind or HostPieces()
    return _build(form, storage.placement, storage.ranks, storage.layout, kind, lambda _: None)


def on_devices(shape: tuple[int, ...], dtype: np.dtype, ranks: Ranks) -> Storage:
    """Rows that nobody has written yet, in pieces of about equal size on the ranks' devices, each of which reads all.
    Collective."""
    layout = Layout(owners_of_rows(None, shape[0], ranks.size))
    return _build(Form(shape, dtype), "continuous", ranks, layout, PIECES["device"].here(ranks), lambda _: None)


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
    return owners_of_rows(None, num_rows, 1) if ranks.size == 1 else owners


def layout_of(owners: _core.Ownership, stride: int, ranks: Ranks) -> Layout:
    """`stride`: 0 where a row's position is its id. Collective: the first rank of a machine makes the map for all."""
    if stride == 0 or owners.is_ranges:
        return Layout(owners, stride)

    def make():
        if not ranks.is_first:
            return None, None
        map = _core.SharedMemory.create(owners.num_nodes * _core.map_itemsize(owners, stride))
        _core.write_map(owners, stride, map_array(owners, stride, map))
        return map, HostPieces.share(map)

    map, handles = ranks.share(make)

    def take():
        return Layout(owners, stride, map or opened(handles[ranks.is_local.index(True)])), None

    return ranks.share(take)[0]


def _build(form: Form, placement: str, ranks: Ranks, layout: Layout, kind, fill: Fill) -> Storage:
    handed_out = []

    def make():
        begin, end = layout.spans(form, kind.unit)[ranks.rank]
        own = kind.create(end - begin)
        handed_out.append(kind.share(own))
        return own, handed_out[0]

    def take(own, handles):
        others = [
            None if k == ranks.rank or not is_local else kind.opened(handle)
            for k, (handle, is_local) in enumerate(zip(handles, ranks.is_local))
        ]
        pieces = [own if k == ranks.rank else piece for k, piece in enumerate(others)]
        storage = kind.storage(form, placement, ranks, layout, pieces, kind)
        fill(storage)
        return storage, None

    try:
        own, handles = ranks.share(make)
        return ranks.share(lambda: take(own, handles))[0]
    finally:  # also where another rank has no memory
        for handle in handed_out:
            kind.forget(handle)


def _as_shape(shape) -> tuple[int, ...]:
    if hasattr(shape, "__index__"):
        shape = (shape,)
    if not isinstance(shape, (tuple, list)) or not 1 <= len(shape) <= MAX_DIMENSIONS:
        raise TypeError(f"shape is {shortened(shape)}, expected 1 to {MAX_DIMENSIONS} numbers, rows first")
    return tuple(as_int(size, f"shape[{i}]", 0) for i, size in enumerate(shape))
