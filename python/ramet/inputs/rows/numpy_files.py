"""Numpy's files: .npy, which is one column, and .npz, whose members are columns by name. They are read block by block,
so a member that says it is huge costs no more than a block. Pickles are not read."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from tokenize import TokenError

import numpy as np
import pyarrow as pa
from numpy.lib import format as npy

from ramet.inputs.rows.arrays import as_column
from ramet.inputs.rows.files import File

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}  # 3.0 is of records

UNPACKING = 4  # zipfile takes so many times the bytes that it is asked for


@dataclass(frozen=True)
class Stored:
    """An array in a file: what its header says."""

    shape: tuple[int, ...]
    by_columns: bool
    dtype: np.dtype
    begin: int  # of the data, from the beginning of the header
    name: str

    @property
    def row_bytes(self) -> int:
        return self.dtype.itemsize * int(np.prod(self.shape[1:], dtype=np.int64))

    @property
    def bytes(self) -> int:
        return self.row_bytes * self.shape[0]

    @property
    def kind(self) -> pa.DataType:
        return as_column(np.zeros((1, *self.shape[1:]), self.dtype), self.name).type

    def rows(self, source, count: int) -> Iterator[pa.Array]:
        """All rows, `count` at a time. `source` stands at the data; it is searched only where columns lie one after
        another."""
        for first in range(0, self.shape[0], count):
            rows = min(count, self.shape[0] - first)
            if self.by_columns:
                columns = []
                for column in range(self.shape[1]):
                    source.seek(self.begin + (column * self.shape[0] + first) * self.dtype.itemsize)
                    columns.append(self._read(source, rows))
                block = np.stack(columns, axis=1)
            else:
                block = self._read(source, rows * self.row_bytes // self.dtype.itemsize)
            yield as_column(block.reshape(rows, *self.shape[1:]), self.name)

    def _read(self, source, items: int) -> np.ndarray:
        data = source.read(items * self.dtype.itemsize)
        if len(data) < items * self.dtype.itemsize:
            raise ValueError(f"{self.name} ends too early: its header says shape {list(self.shape)}")
        return np.frombuffer(data, self.dtype)


def read_header(source, name: str) -> Stored:
    """The header of an array at whose beginning `source` stands."""
    try:
        read = HEADERS[npy.read_magic(source)]
        shape, by_columns, dtype = read(source)
    except (ValueError, KeyError, TokenError) as error:
        raise ValueError(f"{name} is damaged, or no array of numpy: {error}") from None
    if dtype.hasobject or dtype.names or dtype.kind not in "biufUSM" or dtype.itemsize == 0:
        raise ValueError(f"{name} has dtype {dtype}; columns are of numbers, text or times")
    if len(shape) not in (1, 2) or 0 in shape[1:]:
        raise ValueError(f"{name} has shape {list(shape)}, expected [num_rows] or [num_rows, width]")
    return Stored(shape, by_columns and len(shape) == 2, dtype, source.tell(), name)


@contextmanager
def naming_damage(name: str) -> Iterator[None]:
    """What an archive raises that cannot be read becomes a ValueError with its name."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:  # RuntimeError: encrypted
        raise ValueError(f"{name} is damaged: {error}") from error
    except ValueError as error:
        raise error if str(error).startswith(name) else ValueError(f"{name} is damaged: {error}") from error


class NpyPart:
    names = (0,)

    def __init__(self, file: File, header: bool, what: str):
        self._file = file
        self.name, self.bytes = file.name, file.size
        with file.open() as source:
            self._stored = read_header(source, f"{what}: {file.name}")
        self.num_rows = self._stored.shape[0]

    def kind(self, position: int) -> pa.DataType:
        return self._stored.kind

    def blocks(self, positions: list[int], max_bytes: int, kinds) -> Iterator[pa.RecordBatch]:
        with self._file.open() as source:
            source.seek(self._stored.begin)
            for column in self._stored.rows(source, max(1, max_bytes // self._stored.row_bytes)):
                yield pa.RecordBatch.from_arrays([column], names=["0"])
        self._file.check()


class NpzPart:
    def __init__(self, file: File, header: bool, what: str):
        self._file, self._what = file, what
        self.name, self.bytes = file.name, file.size
        with self._open() as members:
            self._members = members.namelist()
            self._stored = [self._header(members, member) for member in self._members]
        self.names = tuple(member.removesuffix(".npy") for member in self._members)
        lengths = {name: stored.shape[0] for name, stored in zip(self.names, self._stored)}
        if len(set(lengths.values())) != 1:
            raise ValueError(f"{what}: columns of {file.name} differ in length, or there is none: {lengths}")
        self.num_rows = lengths[self.names[0]]

    @contextmanager
    def _open(self) -> Iterator[zipfile.ZipFile]:
        named = naming_damage(f"{self._what}: {self.name}")
        with self._file.open() as source, named, zipfile.ZipFile(source) as members:
            yield members

    def _header(self, members: zipfile.ZipFile, member: str) -> Stored:
        with members.open(member) as source:
            return read_header(source, f"{self._what}: {self.name}, {member}")

    def kind(self, position: int) -> pa.DataType:
        return self._stored[position].kind

    def blocks(self, positions: list[int], max_bytes: int, kinds) -> Iterator[pa.RecordBatch]:
        count = max(1, max_bytes // (UNPACKING * sum(self._stored[position].row_bytes for position in positions)))
        with self._open() as members, ExitStack() as opened:
            columns = []
            for array, member in ((self._stored[position], self._members[position]) for position in positions):
                source = opened.enter_context(members.open(member))
                if array.by_columns and array.bytes > max_bytes:
                    raise ValueError(
                        f"{array.name} has {array.bytes:,} bytes column by column, more than the {max_bytes:,} that "
                        "are read at a time; save it row by row: numpy.ascontiguousarray"
                    )
                source.read(array.begin)
                columns.append(array.rows(source, count))
            for arrays in zip(*columns):
                yield pa.RecordBatch.from_arrays(list(arrays), names=[str(position) for position in positions])
        self._file.check()
