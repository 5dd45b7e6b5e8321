"""RecordTable: the rows of an Embedding on a disk, each with its optimizer's state, and its columns."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from ramet import _core
from ramet.arguments import UINT64_MAX, as_int, as_path
from ramet.arrays import as_count
from ramet.dtypes import bfloat16, bits, dtype_name
from ramet.loading.ranks import rank_and_world
from ramet.stores.streamed import CHUNK_BYTES, StreamedRows
from ramet.tables.arguments import as_row_ids
from ramet.tables.create import as_dtype
from ramet.tables.init_rows import DISTRIBUTIONS, described
from ramet.tables.parts import Pieces
from ramet.tables.ranks import Ranks

LEARNING = ("float32", "float16", "bfloat16")


class RecordTable:
    """Rows [num_rows, width] in a file without a name on the file system of the folder `path`, and in memory those of
    the batches under way and the ones used last, `cache_rows` in all. A row and its state are one record of the file;
    rows that never changed are not in it (docs/embeddings.md). Of this process alone: it cannot be pickled, nor used
    after a fork."""

    ranks, rank = 1, 0

    def __init__(self, num_rows: int, width: int, dtype, *, path, cache_rows: int, init, seed: int):
        num_rows, width = as_count(num_rows, "num_embeddings"), as_count(width, "embedding_dim")
        form = as_dtype(dtype)
        if dtype_name(form) not in LEARNING:
            raise ValueError(f"the rows are {dtype_name(form)}; those of {LEARNING} learn")
        described(init)
        if callable(init):
            raise ValueError(f"init is a function; of rows on a disk it is a number or one of {DISTRIBUTIONS}")
        self.dtype, self.shape = form, (num_rows, width)
        self.path = os.path.abspath(as_path(path))
        self._ranks = Ranks.alone()
        self._state: dict[str, RecordColumn] = {}
        self._learner: object | None = None
        self._core = _core.RecordTable(
            num_rows,
            bits(np.empty(width, form)),
            bfloat16=form == bfloat16,
            folder=os.fsencode(self.path),
            cache_rows=as_count(cache_rows, "cache_rows"),
            distribution=getattr(_core.Distribution, init) if isinstance(init, str) else None,
            value=0.0 if isinstance(init, str) else float(init),
            seed=as_int(seed, "seed", 0, UINT64_MAX),
            io_uring=True,
        )

    def __len__(self) -> int:
        return self.shape[0]

    def owned(self) -> np.ndarray:
        """All ids."""
        return np.arange(len(self))

    def gather(self, ids, threads: int = 1) -> np.ndarray:
        """The rows `ids`, integers of any shape, as a numpy array [*ids.shape, width]."""
        ids, shape = as_row_ids(ids)
        rows = self._core.gather(ids, threads=as_count(threads, "threads"))
        return rows.reshape(*shape, *rows.shape[1:])

    def announce(self, ids) -> None:
        """The ids of a batch to come: its rows are read ahead."""
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
        """Of this process, taken by rows so far."""
        return self._core.memory_bytes

    @property
    def file_bytes(self) -> int:
        """Of the disk."""
        return self._core.file_bytes

    def numpy(self) -> np.ndarray:
        """ValueError: no array has all rows."""
        raise ValueError("the rows lie on a disk, and no array has all of them: gather(ids) copies some")

    torch = numpy

    def set_state(self, learner: object, forms: list[tuple[str, str, bool]]) -> dict[str, RecordColumn]:
        """Gives each row the state that `forms` say (name, dtype, whether a row has one value), of zeros, in place of
        what was there. From now on the gradients are those of `learner`."""
        rows = [np.empty((1,) if by_row else (1, self.shape[1]), dtype) for _, dtype, by_row in forms]
        if rows or self._state:
            self._core.set_state(rows)
        self._learner = learner
        columns = enumerate(zip(forms, rows), start=1)
        self._state = {name: RecordColumn(self, number, row) for number, ((name, _, _), row) in columns}
        return self._state

    def check_learner(self, learner: object) -> None:
        """ValueError where `learner` is not the one whose state rows have."""
        if learner is not self._learner:
            raise ValueError("another optimizer has taken the embedding over: rows on a disk have the state of one")

    def apply_gradients(self, learner: object, step: _core.OptimizerStep, lists: list[tuple], threads: int) -> None:
        """Lists of (ids, gradients). ValueError where `learner` is not the one whose state rows have."""
        self.check_learner(learner)
        self._core.apply_gradients(step, lists, threads=threads)

    def copy_columns(self, sources: dict[int, object]) -> None:
        """Sets columns to the rows of tables, by number, a few megabytes at a time; the others stay."""
        for number, source in sources.items():
            expected = (self.shape, self.dtype) if number == 0 else self._column(number).form
            if (source.shape, source.dtype) != expected:
                raise ValueError(f"the table is {expected}, but the other one {(source.shape, source.dtype)}")
        for first, columns in self.chunks():
            ids = np.arange(first, first + len(columns[0]))
            for number, source in sources.items():
                columns[number] = source.gather(ids, threads=0)
            columns = [bits(np.ascontiguousarray(column)) for column in columns]
            self._core.write(first, columns, bfloat16=self.dtype == bfloat16)

    def chunks(self) -> Iterator[tuple[int, list[np.ndarray]]]:
        """(first row, a chunk of each column), of all rows in order."""
        step = max(1, CHUNK_BYTES // max(1, self._core.record_bytes))
        for first in range(0, len(self), step):
            yield first, self.read(first, min(first + step, len(self)), threads=0)

    def read(self, begin: int, end: int, threads: int = 1) -> list[np.ndarray]:
        """Each column of the rows [begin, end), which the cache does not remember."""
        return self._core.read(begin, end, threads=threads)

    def _column(self, number: int) -> RecordColumn:
        return next(column for column in self._state.values() if column.number == number)

    def _pieces(self) -> Pieces:
        row = np.empty((1, self.shape[1]), self.dtype)
        return _streamed(self, StreamedRows(row, len(self), self.chunks, 0))

    def __reduce__(self):
        raise TypeError("rows on a disk are of one process: they are neither pickled nor copied; save() writes them")

    def __repr__(self) -> str:
        return f"<ramet rows {dtype_name(self.dtype)}{list(self.shape)} in {self.path}, {self._core.cache_rows} cached>"


class RecordColumn:
    """A part of the records: one array of the state of all rows. Read by gather(); steps alone change it."""

    def __init__(self, records: RecordTable, number: int, row: np.ndarray):
        self.records, self.number = records, number
        self._row = row
        self._ranks = Ranks.alone()

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

    def gather(self, ids, threads: int = 1) -> np.ndarray:
        """The state of the rows `ids`. Slow: for looking at some."""
        ids, shape = as_row_ids(ids)
        for id in ids[(ids < 0) | (ids >= len(self))][:1]:
            raise IndexError(f"id {id} is outside the {len(self)} rows of the embedding")
        rows = [self.records.read(id, id + 1, threads)[self.number] for id in ids.tolist()]
        return np.concatenate(rows or [self._row[:0]]).reshape(*shape, *self._row.shape[1:])

    def _pieces(self) -> Pieces:
        return _streamed(self.records, StreamedRows(self._row, len(self), self.records.chunks, self.number))


def create_records(num_rows, width, dtype, *, path, cache_rows, placement, distributed, ownership, init, seed):
    """A RecordTable for Embedding(..., location="disk")."""
    if path is None:
        raise ValueError("path is missing: the folder on whose file system the rows are to lie")
    if cache_rows is None:
        raise ValueError("cache_rows is missing: how many rows are to be in memory")
    if rank_and_world(distributed)[1] > 1:
        raise ValueError(
            "location is 'disk' and there are several ranks: rows on a disk are of one process, and of every rank its "
            "own with distributed=False"
        )
    if placement != "continuous" or ownership is not None:
        raise ValueError("location is 'disk': placement and ownership are of rows in memory")
    return RecordTable(num_rows, width, dtype, path=path, cache_rows=cache_rows, init=init, seed=seed)


def copy_tables(tables: dict[str, object], sources: dict[str, object]) -> None:
    """Copies all rows of `sources` to the tables of the same names, columns of records in one pass."""
    by_records: dict[int, tuple[RecordTable, dict[int, object]]] = {}
    for name, table in tables.items():
        if not isinstance(table, (RecordTable, RecordColumn)):
            table.copy_from(sources[name])
            continue
        records, number = (table, 0) if isinstance(table, RecordTable) else (table.records, table.number)
        by_records.setdefault(id(records), (records, {}))[1][number] = sources[name]
    for records, columns in by_records.values():
        records.copy_columns(columns)


def _streamed(records: RecordTable, rows: StreamedRows) -> Pieces:
    return Pieces(_core.Ownership.ranges(np.array([0, len(records)])), {0: (rows, None)})
