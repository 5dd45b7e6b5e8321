"""SharedStorage: rows in memory that processes share, of pieces that are mapped side by side into one range of
addresses."""

from __future__ import annotations

import os

from ramet import _core
from ramet._support import descriptor
from ramet.dtypes import dtype_name
from ramet.ranks.ranks import Ranks
from ramet.tables.arguments import core_table
from ramet.tables.layout import Form, Layout, opened, pack
from ramet.tables.storage import Part, Storage

MOST_ADDRESSES = 1 << 47


class SharedStorage(Storage):
    """Rows of one table, in the pieces of `ranks`; those of other machines are not there. `kind`: makes pieces, and
    maps them. `rows`: of all positions, writable, in this process's addresses. Those of holes must not be touched."""

    is_created = True

    def __init__(self, form: Form, placement: str, ranks: Ranks, layout: Layout, pieces: list, kind):
        spans = layout.spans(form, kind.unit)
        placed = [(piece, begin) for piece, (begin, _) in zip(pieces, spans) if piece is not None and piece.bytes > 0]
        super().__init__(kind.rows(placed, (layout.positions.num_positions, *form.shape[1:]), form), layout)
        self.placement, self.ranks, self.kind = placement, ranks, kind
        self.own_parts = (ranks.rank,)
        self._form, self._pieces = form, pieces

    def part(self, number: int) -> Storage:
        return Part(self, number)

    def spans(self) -> list[tuple[object, int, int]]:
        identity = next(piece.identity for piece in self._pieces if piece is not None)
        return [*super().spans(), (identity, 0, self.positions.num_positions * self._form.row_bytes)]

    def __reduce__(self):
        self.write_back()
        handles = [piece and self.kind.pack(piece) for piece in self._pieces]
        return _opened, (self._form, self.placement, self.ranks, self.layout, self.kind, handles)


class HostPieces:
    """Makes, hands over and maps pieces of shared memory."""

    unit, storage = None, SharedStorage
    create = staticmethod(_core.SharedMemory.create)
    pack, opened = staticmethod(pack), staticmethod(opened)  # handles for pickles

    @classmethod
    def here(cls, ranks: Ranks) -> HostPieces:
        return cls()

    @staticmethod
    def check(form: Form, ranks: Ranks) -> None:
        """MemoryError for what no machine can hold, before anything is done for each row. Pieces are compared with what
        is available when they are made."""
        most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if ranks.machines == 1 else MOST_ADDRESSES
        if form.bytes > most:
            what = "bytes of memory" if ranks.machines == 1 else "addresses"
            raise MemoryError(
                f"a table {dtype_name(form.dtype)}{list(form.shape)} takes {form.bytes:,} bytes, but this machine has "
                f"{most:,} {what}"
            )

    @staticmethod
    def share(piece: _core.SharedMemory) -> descriptor.Handle:
        """For ranks that open it before this process drops it."""
        return descriptor.Handle(os.getpid(), piece.fd, piece.identity)

    def forget(self, handle: descriptor.Handle) -> None:
        """Every rank has opened it."""

    def rows(self, placed: list[tuple], shape: tuple[int, ...], form: Form) -> _core.Table:
        mapped = _core.map_side_by_side(placed, shape[0] * form.row_bytes)
        return core_table(mapped.view(form.dtype).reshape(shape), None)


def _opened(form: Form, placement: str, ranks: Ranks, layout: Layout, kind, handles: list) -> SharedStorage:
    pieces = [handle and kind.opened(handle) for handle in handles]
    return kind.storage(form, placement, ranks, layout, pieces, kind)
