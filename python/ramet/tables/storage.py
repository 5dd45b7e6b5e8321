"""Storage: where the rows of a Table are, and how this process reads and writes them. Each kind is a class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ramet import _core
from ramet._support import torch_devices as devices
from ramet._support.arguments import as_int
from ramet._support.tensors import is_tensor, to_tensor
from ramet.arrays import INT32_MAX
from ramet.dtypes import Quantized, bfloat16, bits, dtype_name, to_bfloat16
from ramet.ranks.ranks import Ranks
from ramet.tables.arguments import as_buffer, as_dtype, as_row_ids, as_rows_of_ids, core_table
from ramet.tables.calls import call_together
from ramet.tables.layout import Layout
from ramet.tables.parts import Pieces

FLOATS = ("float32", "float16", "bfloat16", "float64")


class Storage:
    """Rows in an array of this process, in memory of the host. The base of the other kinds.

    `rows`: the engine's, by position. `core`: the same, by id. `layout`: None where there is one part. `cache`: the
    CachedRows in front, if any; `rows` and `core` have what it has changed, `stored` what was there before.
    """

    location, placement = "host", "continuous"
    ranks = Ranks.alone()
    own_parts: Sequence[int] = (0,)  # those that this process saves
    is_created = False  # by Table.create: copies have rows of their own
    kind: Any = None  # what makes pieces of memory beside it; None: of the host
    cache: Any = None

    def __init__(self, rows: _core.Table, layout: Layout | None = None):
        self.stored = self._by_id = rows
        self.shape = tuple(rows.shape)
        self.dtype = as_dtype(rows.dtype)
        if layout is None:
            return
        self.layout = layout
        self.shape = (layout.positions.num_rows, *self.shape[1:])
        if not layout.positions.is_dense:
            self._by_id = _core.WholeTable(rows, layout.positions)

    @property
    def rows(self) -> _core.Table:
        self.write_back()
        return self.stored

    @property
    def core(self):
        self.write_back()
        return self._by_id

    @property
    def cached(self) -> np.ndarray | None:
        """See Table.cached."""
        return None if self.cache is None else self.cache.ids

    @property
    def why_not_cached(self) -> str:
        """Why no device memory can be in front of the rows, as a sentence; "" where it can."""
        if self.placement != "continuous" or self.location != "host":
            return (
                f"the rows are {self.placement}, on the {self.location}; cached are continuous ones in host memory: "
                "Table.create(..., placement='continuous')"
            )
        unified = "ramet.cuda.UnifiedTensor(table, cached=ids) caches it"
        if self.scale is not None:
            return f"the rows of the table have a scale, and none that steps write: {unified}"
        return "" if self.stored.is_writable else f"the table is read-only: {unified}"

    def write_back(self) -> None:
        """Before this process uses the host's rows: ValueError where ranks must flush() together first."""
        if self.cache is not None:
            self.cache.copy_to_host()

    def flush(self) -> None:
        """See Table.flush."""
        if self.cache is not None:
            self.cache.flush_together()

    def refresh(self) -> None:
        """See Table.refresh."""
        if self.cache is None:
            return
        self.cache.require_flushed()
        try:
            self.cache.refresh_together()
        except BaseException:  # the host has all rows, the cache perhaps some
            self.cache = None
            raise

    def require_cache_in_process(self) -> None:
        """Before the host is written: RuntimeError where the cache could not be, which is in a forked child."""
        if self.cache is not None:
            self.cache.require_process()

    @cached_property
    def layout(self) -> Layout:
        return Layout(_core.Ownership.ranges(np.array([0, len(self)])))

    @property
    def positions(self) -> _core.RowPositions:
        return self.layout.positions

    def look_up(self, ids):
        """The positions of ids in one dimension. IndexError names the first id out of range."""
        return self.positions.look_up(ids)

    @property
    def owners(self) -> _core.Ownership:
        """Which rank owns which row."""
        return self.positions.owners

    def owned(self) -> np.ndarray:
        """The ids of this rank's rows."""
        return self.positions.owned(self.ranks.rank)

    @property
    def own(self) -> tuple[int, int]:
        """The positions of this rank's rows."""
        return self.positions.positions_of(self.ranks.rank)

    @property
    def group(self):
        """The group whose collectives are calls of this table; None where they are this process's alone."""
        return self.ranks.group if self.placement == "distributed" else None

    @property
    def scale(self) -> np.ndarray | None:
        return self.stored.scale

    @property
    def host_rows(self) -> np.ndarray | None:
        """Rows by position in addresses of the host; None where they have none."""
        return self.rows.numpy()

    @property
    def is_exported(self) -> bool:
        """Whether other libraries may have the rows: they do not heed that rows are read-only."""
        return self.stored.is_writable

    def part(self, number: int) -> Storage:
        """The rows of a rank or of a file, in the order of their ids: a view."""
        return self

    def rows_of(self, part: int) -> _core.Table:
        return self.rows.part(*self.positions.positions_of(part))

    def numpy(self) -> np.ndarray:
        self.require_one_array()
        return self.rows.numpy()

    def tensor(self):
        return to_tensor(self.private_rows())

    def view(self):
        """The rows as they are stored: numpy's array, or a tensor where numpy has none."""
        return self.numpy()

    def private_rows(self) -> np.ndarray:
        """The rows for those who may write to what they must not."""
        return self.numpy()

    def private_rows_of(self, part: int) -> np.ndarray:
        return self.rows_of(part).numpy()

    def gather(self, ids, threads: int, dtype, out):
        """See Table.gather."""
        if self.cache is not None and devices.is_on_device(ids):
            return self.cache.gather(ids, threads, dtype, out)
        shape, wanted, buffer = (), None, None

        def check() -> tuple:
            nonlocal shape, wanted, buffer
            decode, wanted = self._wanted(dtype)
            array, shape = as_row_ids(ids)
            if out is not None:
                buffer = self._buffer(out, array, shape, np.dtype(np.float32) if decode else self.dtype, wanted)
            return array, as_int(threads, "threads", 0, INT32_MAX), decode, buffer if wanted is None else None

        if self.group is None:
            self.require_local()
            array, threads, decode, direct = check()
            rows = self.core.gather(array, threads=threads, decode=decode, out=direct)
        else:
            rows = call_together(self, "gather", check)
        if wanted is not None:
            rows = _rounded(rows, wanted)
        if out is not None:
            if wanted is not None:
                buffer[...] = bits(rows).reshape(buffer.shape)
            return out
        rows = rows if len(shape) == 1 else rows.reshape(shape + rows.shape[1:])
        return to_tensor(rows) if is_tensor(ids) else rows

    def write(self, name: str, ids, rows, threads: int):
        """See Table.scatter and Table.add."""

        def check() -> tuple:
            array, shape = as_row_ids(devices.on_host(ids))
            given = as_rows_of_ids(devices.on_host(rows), shape)
            return self._apart(array), self._apart(given), as_int(threads, "threads", 0, INT32_MAX)

        if self.group is not None:
            return call_together(self, name, check)
        self.require_local()
        self.require_cache_in_process()
        if self.cache is not None:
            self.cache.require_alone(name)
        array, values, threads = check()
        write = self.core.set_rows if name == "scatter" else self.core.sum_rows
        try:
            write(array, bits(values), bfloat16=values.dtype == bfloat16, threads=threads)
            if self.cache is not None:
                self.cache.read_host(array)
        except (IndexError, TypeError, ValueError):  # nothing is written
            raise
        except BaseException:  # the host has the rows, the cache perhaps not
            self.cache = None
            raise

    def _wanted(self, dtype) -> tuple[bool, str | None]:
        """(whether the engine decodes to float32, the dtype that its rows are then rounded to)."""
        if dtype is None:
            return False, None
        name, stored, wanted = self.stored.name, dtype_name(self.dtype), dtype_name(dtype)
        if wanted not in FLOATS:
            raise ValueError(f"dtype is {dtype!r}; rows of {name} come as {stored} (None) or as one of {FLOATS}")
        if wanted == stored:
            return False, None
        is_decoded = stored != "float64"
        return is_decoded, None if is_decoded and wanted == "float32" else wanted

    def _buffer(self, out, ids: np.ndarray, ids_shape: tuple, dtype: np.dtype, wanted: str | None) -> np.ndarray:
        if wanted is not None:
            dtype = bfloat16 if wanted == "bfloat16" else np.dtype(wanted)
        name = self.stored.name
        read = {name: self.host_rows, f"the scale of {name}": self.stored.scale, "ids": ids}
        return as_buffer(out, dtype, ids_shape + self.shape[1:], read)

    def _apart(self, array: np.ndarray) -> np.ndarray:
        """A copy of what lies in the table's memory, which is being written to."""
        rows = self.host_rows
        return array if rows is None or not np.may_share_memory(array, rows) else array.copy()

    def pieces(self) -> Pieces:
        """What this process writes where the table is saved."""
        return Pieces(self.positions.owners, {part: self.part(part).saved() for part in self.own_parts})

    def saved(self) -> tuple[np.ndarray, np.ndarray | None]:
        return self.numpy(), self.scale

    def spans(self) -> list[tuple[object, int, int]]:
        """(in which range of addresses, from which byte, to which) rows are: in this process, and in shared memory."""
        rows = self.stored.numpy()
        return [("host", rows.ctypes.data, rows.ctypes.data + rows.nbytes)]

    def common_spans(self, other: Storage) -> Iterator[tuple[tuple, tuple]]:
        """The pairs of spans, of this one and of the other, that have bytes in common."""
        for span in self.spans():
            for theirs in other.spans():
                (space, begin, end), (other_space, other_begin, other_end) = span, theirs
                if space == other_space and begin < other_end and other_begin < end:
                    yield span, theirs

    def require_one_array(self) -> None:
        if self.placement != "continuous":
            raise ValueError(
                f"the rows of a {self.placement} table lie in several arrays: those of local() and chunks(); "
                "gather() copies rows of all"
            )

    def require_local(self) -> None:
        if not all(self.ranks.is_local):
            raise ValueError("ranks on other machines have rows of this table, and this is no rank: it was unpickled")

    def __len__(self) -> int:
        return self.shape[0]

    def __reduce__(self):
        return _of_array, (self.numpy() if self.scale is None else Quantized(self.numpy(), self.scale),)


class Part(Storage):
    """A part of another storage."""

    def __init__(self, whole: Storage, number: int):
        super().__init__(whole.rows_of(number))
        self.whole, self.number, self.kind = whole, number, whole.kind

    def private_rows(self) -> np.ndarray:
        return self.whole.private_rows_of(self.number)

    def spans(self) -> list[tuple[object, int, int]]:
        [(_, begin, end)], whole = super().spans(), self.whole.spans()
        return [(space, first + begin - whole[0][1], first + end - whole[0][1]) for space, first, _ in whole]

    def __reduce__(self):
        return type(self), (self.whole, self.number)


class GraphStorage(Storage):
    """Rows of a graph."""

    is_exported = True  # as a private mapping

    def __init__(self, rows: _core.Table, graph, name: str, of):
        super().__init__(rows)
        self._source = graph, name, of

    def private_rows(self) -> np.ndarray:
        graph, name, of = self._source
        return graph._private_rows(name, of)  # noqa: SLF001 (one mapping for all tables of the name)

    def __reduce__(self):
        return _of_graph, self._source


def _of_array(rows: np.ndarray | Quantized) -> Storage:
    return Storage(core_table(rows, None))


def _of_graph(graph, name: str, of) -> GraphStorage:
    return graph.table(name, of)._storage  # noqa: SLF001 (the package's)


def _rounded(rows: np.ndarray, dtype: str) -> np.ndarray:
    with np.errstate(over="ignore"):
        return to_bfloat16(rows.astype(np.float32, copy=False)) if dtype == "bfloat16" else rows.astype(dtype)
