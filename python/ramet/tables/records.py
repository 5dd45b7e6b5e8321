"""RecordTable: the rows of an Embedding on a disk, each with its optimizer's state, and its columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ramet import _core
from ramet._support.arguments import UINT64_MAX, as_int, as_path
from ramet._support.tensors import is_tensor, to_tensor
from ramet.dtypes import bfloat16, bits, dtype_name
from ramet.ranks.ranks import OfRanks, Ranks
from ramet.storage.streamed import CHUNK_BYTES, StreamedRows
from ramet.tables.arguments import as_dtype, as_row_ids
from ramet.tables.init_rows import DISTRIBUTIONS, described
from ramet.tables.owners import digest_of, owners_of_rows
from ramet.tables.parts import Pieces

LEARNING = ("float32", "float16", "bfloat16")


class Wanted(NamedTuple):
    """Of records, checked."""

    shape: tuple[int, int]
    dtype: np.dtype
    path: str
    cache_rows: int
    init: str | float
    seed: int
    ownership: _core.Ownership

    def alike(self) -> dict:
        """What ranks have alike, by the names that Table.create has: another rank's rows may be in memory."""
        return {
            "placement": RecordTable.placement,
            "location": RecordTable.location,
            "shape": self.shape,
            "dtype": dtype_name(self.dtype),
            "ownership": digest_of(self.ownership),
            "init": str(self.init),
            "seed": self.seed,
        }


class RecordTable(OfRanks):
    """Rows [num_rows, width] in a file without a name on the file system of the folder `path`, and in memory those of
    the batches under way and the ones used last, `cache_rows` in all. A row and its state are one record of the file;
    rows that never changed are not in it (docs/embeddings.md). Of several ranks, which make it together, each has the
    rows that it owns: another rank's id is an IndexError. Of this process alone: it cannot be pickled, nor used after a
    fork."""

    location, placement = "disk", "continuous"

    def __init__(self, core: _core.RecordTable, wanted: Wanted, ranks: Ranks):
        self.shape, self.dtype = wanted.shape, wanted.dtype
        self.path, self.ownership = wanted.path, wanted.ownership
        self._core, self._ranks = core, ranks
        self._state: dict[str, RecordColumn] = {}
        self._holder: object | None = None

    def __len__(self) -> int:
        return self.shape[0]

    def owned(self) -> np.ndarray:
        """The ids of this rank's rows, int64, ascending."""
        return self._core.owned(0, self._core.num_owned)

    def gather(self, ids, threads: int = 1):
        """The rows `ids`, integers of any shape, as an array [*ids.shape, width]: a tensor for a tensor of ids, else a
        numpy array. IndexError names the first id that is none of this rank's rows."""
        return _rows_like(ids, lambda array: self._core.gather(array, threads=as_int(threads, "threads", 0)))

    def announce(self, ids) -> None:
        """The ids of a batch to come: its rows are read ahead. IndexError as of gather."""
        self._core.announce(as_row_ids(ids)[0])

    def forget(self) -> None:
        """Announced batches that were not used will not come."""
        self._core.forget()

    def counts(self) -> dict[str, int]:
        """Since the table was made: `hits` and `misses` of ids of batches, batches read ahead, and the rows, requests
        and bytes that were read and written."""
        return self._core.counts()

    @property
    def how(self) -> str:
        """How records are read: "io_uring, direct, blocks of 512 bytes"."""
        return self._core.how

    @property
    def memory_bytes(self) -> int:
        """Of this process, taken so far by rows and by what finds them."""
        return self._core.memory_bytes

    @property
    def file_bytes(self) -> int:
        """Of the disk."""
        return self._core.file_bytes

    def numpy(self) -> np.ndarray:
        """ValueError: no array has all rows."""
        raise ValueError("the rows lie on a disk, and no array has all of them: gather(ids) copies some")

    torch = numpy

    def set_state(self, holder: object, forms: list[tuple[str, str, bool]]) -> dict[str, RecordColumn]:
        """Gives each row the state that `forms` say (name, dtype, whether a row has one value), of zeros, in place of
        what was there. From now on the gradients are those of `holder`. Of several ranks all call this; an error of
        one is one on every rank, and then the rows learn from nobody until it is called again."""
        rows = [np.empty((1,) if by_row else (1, self.shape[1]), dtype) for _, dtype, by_row in forms]

        def give() -> tuple[None, None]:
            before, self._holder = self._holder, None  # nobody's, should Ctrl-C end the call below
            try:
                self._core.set_state(rows)
            except Exception:
                if self.ranks == 1:  # others may have another state
                    self._holder = before
                raise
            self._core.last_step = 0
            return None, None

        self._ranks.share(give)
        self._holder = holder
        columns = enumerate(zip(forms, rows), start=1)
        self._state = {name: RecordColumn(self, number, row, self._ranks) for number, ((name, _, _), row) in columns}
        return self._state

    def check_holder(self, holder: object) -> None:
        """ValueError where `holder` is not the one whose state rows have."""
        if holder is not self._holder:
            raise ValueError("another optimizer has taken the embedding over: rows on a disk have the state of one")

    def apply_gradients(self, holder: object, step: _core.OptimizerStep, lists: list[tuple], threads: int) -> None:
        """Lists of (ids, gradients). ValueError where `holder` is not the one whose state rows have."""
        self.check_holder(holder)
        self._core.apply_gradients(step, lists, threads=threads)

    def has_made(self, holder: object, number: int) -> bool:
        """Whether the last step was this one of `holder`. It may have been where Ctrl-C ended the call."""
        return holder is self._holder and self._core.last_step == number

    def copy_columns(self, sources: dict[int, Any]) -> None:
        """Sets columns of this rank's rows to those of tables that every rank reads for itself, by number, a few
        megabytes at a time; the others stay. Of several ranks all call this; an error of one is one on every rank."""

        def copy() -> tuple[None, None]:
            for number, source in sources.items():
                expected = (self.shape, self.dtype) if number == 0 else self._column(number).form
                if (source.shape, source.dtype) != expected:
                    raise ValueError(f"the table is {expected}, but the other one {(source.shape, source.dtype)}")
            for ids in self._chunks_of_ids():
                columns = self.read(ids, threads=0)
                for number, source in sources.items():
                    columns[number] = source.gather(ids, threads=0)
                columns = [bits(np.ascontiguousarray(column)) for column in columns]
                self._core.write(ids, columns, bfloat16=self.dtype == bfloat16)
            self._core.last_step = 0
            return None, None

        self._ranks.share(copy)

    def chunks(self) -> Iterator[tuple[int, list[np.ndarray]]]:
        """(how many rows came before, a chunk of each column), of this rank's rows in order."""
        first = 0
        for ids in self._chunks_of_ids():
            yield first, self.read(ids, threads=0)
            first += len(ids)

    def _chunks_of_ids(self) -> Iterator[np.ndarray]:
        """Of this rank's rows, in order."""
        step, end = max(1, CHUNK_BYTES // max(1, self._core.record_bytes)), self._core.num_owned
        for first in range(0, end, step):
            yield self._core.owned(first, min(first + step, end))

    def read(self, ids: np.ndarray, threads: int = 1) -> list[np.ndarray]:
        """Each column of the rows `ids`, int64 [k], which the cache does not remember."""
        return self._core.read(ids, threads=threads)

    def _write_own(self, ids: np.ndarray, rows: np.ndarray) -> None:
        """Writes rows of this rank, int64 [k] and [k, width], before they have a state."""
        self._core.write(ids, [bits(rows)], bfloat16=self.dtype == bfloat16)

    def _column(self, number: int) -> RecordColumn:
        return next(column for column in self._state.values() if column.number == number)

    def _pieces(self) -> Pieces:
        row = np.empty((1, self.shape[1]), self.dtype)
        return self.pieces_of(row, 0)

    def pieces_of(self, row: np.ndarray, column: int) -> Pieces:
        """What this rank writes of a column where it is saved. row: [1, ...], its form."""
        rows = StreamedRows(row, self._core.num_owned, self.chunks, column)
        return Pieces(self.ownership, {self.rank: (rows, None)})

    def __reduce__(self):
        raise TypeError("rows on a disk are of one process: they are neither pickled nor copied; save() writes them")

    def __repr__(self) -> str:
        return f"<ramet rows {dtype_name(self.dtype)}{list(self.shape)} in {self.path}, {self._core.cache_rows} cached>"


class RecordColumn:
    """A part of the records: one array of the state of all rows. Read by gather(); steps alone change it."""

    def __init__(self, records: RecordTable, number: int, row: np.ndarray, ranks: Ranks):
        self.records, self.number = records, number
        self._row, self._ranks = row, ranks

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self.records), *self._row.shape[1:])

    @property
    def dtype(self) -> np.dtype:
        return self._row.dtype

    @property
    def form(self) -> tuple:
        return self.shape, self.dtype

    def owned(self) -> np.ndarray:
        return self.records.owned()

    def __len__(self) -> int:
        return len(self.records)

    def gather(self, ids, threads: int = 1):
        """The state of the rows `ids`, for looking at some, as of RecordTable.gather."""
        return _rows_like(ids, lambda array: self.records.read(array, threads)[self.number])

    def _pieces(self) -> Pieces:
        return self.records.pieces_of(self._row, self.number)


def _rows_like(ids, read: Callable[[np.ndarray], np.ndarray]):
    """What `read` gives for ids of one dimension, in the form of `ids`."""
    array, shape = as_row_ids(ids)
    rows = read(array)
    rows = rows.reshape(*shape, *rows.shape[1:])
    return to_tensor(rows) if is_tensor(ids) else rows


def create_records(shape: tuple, dtype, *, location, ranks, **options) -> RecordTable:
    """A RecordTable for Embedding(..., location="disk"), made by all ranks together; where its file lies, and how much
    is in memory, may be each rank's own."""
    shared_by = Ranks.of(ranks)

    def check() -> tuple[Wanted, dict]:
        wanted = _checked(shape, dtype, shared_by.size, **options)
        return wanted, wanted.alike()

    wanted = shared_by.agree(check)
    core, _ = shared_by.share(lambda: (_make(wanted, shared_by.rank), None))
    return RecordTable(core, wanted, shared_by)


def _checked(shape: tuple, dtype, size: int, *, path, cache_rows, placement, ownership, init, seed) -> Wanted:
    if path is None:
        raise ValueError("path is missing: the folder on whose file system the rows are to lie")
    if cache_rows is None:
        raise ValueError("cache_rows is missing: how many rows are to be in memory")
    if placement != "continuous":
        raise ValueError(f"location is 'disk', but placement is {placement!r}, which is of rows in memory")
    form = as_dtype(dtype)
    if dtype_name(form) not in LEARNING:
        raise ValueError(f"the rows are {dtype_name(form)}; those of {LEARNING} learn")
    described(init, form)
    if callable(init):
        raise ValueError(f"init is a function; of rows on a disk it is a number or one of {DISTRIBUTIONS}")
    shape = as_int(shape[0], "num_embeddings", 0), as_int(shape[1], "embedding_dim", 0)
    return Wanted(
        shape,
        form,
        os.path.abspath(as_path(path)),
        as_int(cache_rows, "cache_rows", 0),
        init if isinstance(init, str) else float(init),
        as_int(seed, "seed", 0, UINT64_MAX),
        owners_of_rows(ownership, shape[0], size),
    )


def _make(wanted: Wanted, rank: int) -> _core.RecordTable:
    distribution = getattr(_core.Distribution, wanted.init) if isinstance(wanted.init, str) else None
    return _core.RecordTable(
        wanted.shape[0],
        bits(np.empty(wanted.shape[1], wanted.dtype)),
        bfloat16=wanted.dtype == bfloat16,
        folder=os.fsencode(wanted.path),
        cache_rows=wanted.cache_rows,
        distribution=distribution,
        value=wanted.init if distribution is None else 0.0,
        seed=wanted.seed,
        io_uring=True,
        owners=wanted.ownership,
        rank=rank,
    )


def copy_tables(tables: dict[str, Any], sources: dict[str, Any]) -> None:
    """Copies all rows of `sources` to the tables of the same names, columns of records in one pass."""
    by_records: dict[int, tuple[RecordTable, dict[int, Any]]] = {}
    for name, table in tables.items():
        if not isinstance(table, (RecordTable, RecordColumn)):
            table.copy_from(sources[name])
            continue
        records, number = (table, 0) if isinstance(table, RecordTable) else (table.records, table.number)
        by_records.setdefault(id(records), (records, {}))[1][number] = sources[name]
    for records, columns in by_records.values():
        records.copy_columns(columns)
