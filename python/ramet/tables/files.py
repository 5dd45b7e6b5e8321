"""Rows in files: .npy files, raw files, and folders of parts, mapped as they are."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from ramet import _core
from ramet._support.arguments import as_int, as_name, as_path, shortened
from ramet.dtypes import SCALE_SUFFIX, bfloat16, bits, dtype_name, scaled_by
from ramet.ranks.ranks import Ranks
from ramet.storage.checksums import FILE, MANIFEST, PARTS_TEXT, has_checksums, parts_in, require_undamaged
from ramet.tables.arguments import as_dtype, core_table
from ramet.tables.create import layout_of
from ramet.tables.layout import Layout
from ramet.tables.owners import rows_of_parts
from ramet.tables.storage import Part, Storage

ATTEMPTS = 100


class FileStorage(Storage):
    """Rows of files, by position: row r of file k is row k * stride + r. Nothing may touch the others. For reading, of
    one rank, with a part for each file. Pickles as what opens it again. `missing`: parts that are not there."""

    def __init__(self, rows: _core.Table, layout: Layout, missing: frozenset[int], map_again: Callable[[], np.ndarray]):
        super().__init__(rows, layout)
        self._map_again = map_again  # copy-on-write
        self.placement = "continuous" if layout.positions.parts == 1 else "chunked"
        self.own_parts = range(layout.positions.parts)
        self.missing = missing
        self.opened_by: tuple = ()

    @property
    def owners(self) -> _core.Ownership:
        return _core.Ownership.ranges(np.array([0, len(self)]))

    def owned(self) -> np.ndarray:
        return np.arange(len(self))

    @property
    def scale(self) -> np.ndarray | None:
        scale = self.rows.scale
        if scale is not None and len(scale) > 1 and self.placement != "continuous":
            raise ValueError(f"the scales of rows lie in {self.positions.parts} files: those of chunks()")
        return scale

    def part(self, number: int) -> Part:
        return Part(self, number)

    def rows_of(self, part: int) -> _core.Table:
        rows, scale = self.rows.numpy(), self.rows.scale
        own = slice(*self.positions.positions_of(part))
        is_by_row = scale is not None and scaled_by(scale, len(rows)) == "row"
        return core_table(rows[own], scale[own] if is_by_row else scale)

    def private_rows(self) -> np.ndarray:
        self.require_one_array()
        return self.private_rows_of(0)

    def private_rows_of(self, part: int) -> np.ndarray:
        """The rows of a file, mapped so that writes stay in this array; a copy where the file was replaced since."""
        try:
            return self._private_rows[slice(*self.positions.positions_of(part))]
        except (OSError, _core.CorruptStoreError):
            return self.rows_of(part).numpy().copy()

    @cached_property
    def _private_rows(self) -> np.ndarray:
        return self._map_again()

    def __reduce__(self):
        return _reopened, self.opened_by


def open_files(paths, name=None, node_type=None, dtype=None, shape=None, verify: bool = False) -> FileStorage:
    """See Table.open."""
    paths = _as_paths(paths)
    storage, contents = _open(paths, name, node_type, dtype, shape, verify)
    storage.opened_by = (contents, paths, name, node_type, None if dtype is None else dtype_name(dtype), shape)
    return storage


def _reopened(contents: int, *arguments) -> FileStorage:
    storage = open_files(*arguments)
    if storage.opened_by[0] != contents:
        raise ValueError(f"{arguments[0][0]}: the files were replaced after the table was pickled; open them again")
    return storage


def _open(paths: list[str], name, node_type, dtype, shape, verify: bool) -> tuple[FileStorage, int]:
    folders = [os.path.isdir(path) for path in paths]
    if not any(folders):
        if name is not None or node_type is not None:
            raise ValueError(f"{paths[0]} is a file; name and node_type are those of a table in a folder")
        if verify:
            raise ValueError(f"verify is True, but {paths[0]} is a file; folders alone have a {FILE}")
        return _map(_inspected(paths, dtype, shape))
    if not all(folders) or dtype is not None or shape is not None:
        given = "files beside it" if not all(folders) else "dtype and shape, which files say themselves"
        raise ValueError(f"{paths[folders.index(True)]} is a folder; there are {given}")

    def read() -> tuple[FileStorage, int]:
        stores = stores_of(paths)
        if verify:
            _verify(stores, paths)
        return open_parts(stores, name, node_type)

    return unreplaced(paths, read)


def stores_of(paths: list[str]) -> list[str]:
    """The stores that folders are, or hold: of a folder of parts, part-0, part-1, ..."""
    stores = []
    for path in paths:
        if os.path.exists(os.path.join(path, MANIFEST)):
            stores.append(path)
            continue
        parts = parts_in(path)
        if not parts:
            raise FileNotFoundError(f"{path} is no store (it has no {MANIFEST}), and holds no part-0, part-1, ...")
        stores += parts
    return stores


def _verify(stores: list[str], paths: list[str]) -> None:
    """CorruptStoreError for bytes that are not those of checksums.txt, ValueError where there is none. paths: folders
    that are or hold the stores; beside parts that save() wrote lies a text."""
    holders = [path for path in paths if os.path.exists(os.path.join(path, PARTS_TEXT)) or has_checksums(path)]
    folders = list(dict.fromkeys(stores + holders))
    for folder in folders:
        if not has_checksums(folder):
            raise ValueError(f"verify is True, but {folder} has no {FILE}")
    require_undamaged(*folders)


def _as_paths(paths) -> list[str]:
    if isinstance(paths, (str, bytes, os.PathLike)):
        paths = [paths]
    elif not isinstance(paths, (list, tuple)):
        raise TypeError(f"paths is {shortened(paths)}, expected a path or a list of paths")
    if not 1 <= len(paths) <= _core.MAX_PARTS:
        raise ValueError(f"paths names {len(paths)} files, expected 1 to {_core.MAX_PARTS}")
    paths = [os.path.abspath(as_path(path, f"paths[{i}]")) for i, path in enumerate(paths)]
    for path in paths:
        os.stat(path)  # FileNotFoundError
    return paths


def _inspected(paths: list[str], dtype, shape) -> list[_core.RowFile]:
    dtype = None if dtype is None else as_dtype(dtype)
    rows, row_shape = (None, None) if shape is None else _split(shape)
    files = [_inspect(path, dtype, row_shape) for path in paths]
    found = sum(file.shape[0] for file in files)
    if rows is not None and found != rows:
        row_bytes = files[0].row_bytes
        raise ValueError(
            f"shape has {rows} rows, {rows * row_bytes} bytes, but {_named(paths)} hold {found} rows, "
            f"{found * row_bytes} bytes"
        )
    return files


def _inspect(path: str, dtype: np.dtype | None, row_shape: tuple[int, ...] | None) -> _core.RowFile:
    if not path.endswith(".npy"):
        if dtype is None or row_shape is None:
            raise ValueError(f"{path} is no .npy file: dtype and shape have to say what its rows are")
        file = _core.RowFile.raw(os.fsencode(path), bits(np.empty((0, *row_shape), dtype)))
        return file.as_bfloat16() if dtype == bfloat16 else file
    file = _core.RowFile.npy(os.fsencode(path))
    if dtype is not None and dtype == bfloat16:
        file = file.as_bfloat16()
    found = dtype_name(file.form.dtype), tuple(file.shape[1:])
    expected = found[0] if dtype is None else dtype_name(dtype), found[1] if row_shape is None else row_shape
    if found != expected:
        raise ValueError(
            f"{path} has rows {found[0]}{list(found[1])}, but dtype and shape say {expected[0]}{list(expected[1])}"
        )
    return file


def _split(shape) -> tuple[int | None, tuple[int, ...]]:
    """(rows, shape of a row); rows may be None or -1."""
    if not isinstance(shape, (tuple, list)) or not shape:
        raise TypeError(f"shape is {shortened(shape)}, expected (rows, ...), where rows may be None")
    rows = None if shape[0] is None or shape[0] == -1 else as_int(shape[0], "shape[0]", 0)
    return rows, tuple(as_int(size, f"shape[{i}]", 0) for i, size in enumerate(shape[1:], start=1))


def _named(paths: list[str]) -> str:
    return paths[0] if len(paths) == 1 else f"the {len(paths)} files from {paths[0]} to {paths[-1]}"


class _Part(NamedTuple):
    """What a store says about a table."""

    part: tuple[int, int, int] | None  # index, count, id of the whole
    owner: np.ndarray | None
    num_nodes: int
    rows: _core.RowFile
    scale: np.ndarray | None
    scales: _core.RowFile | None  # of rows that have one each


def open_parts(stores: list[str], name, node_type, *, whole: int | None = None) -> tuple[FileStorage, int]:
    """A table of stores, and a digest of the files. `whole`: the id that parts must have; some may then be missing,
    whose rows nothing may touch."""
    first = _look(stores[0], name, node_type)
    if first.part is None:
        if len(stores) > 1:
            raise ValueError(f"{stores[0]} is a whole store; there are {len(stores) - 1} beside it")
        return _map([first.rows], None, first.scale)
    parts = _in_order(stores, [first, *(_look(store, name, node_type) for store in stores[1:])])
    if whole is not None and first.part[2] != whole:
        raise ValueError(f"{stores[0]} is a part of {first.part[2]:016x}, but the text beside it is of {whole:016x}")
    missing = [index for index, part in enumerate(parts) if part is None]
    if missing and whole is None:
        raise ValueError(f"{stores[0]} is one of {len(parts)} parts, of which {missing[0]} is missing")
    owners = None
    if len(parts) > 1 and first.owner.dtype == np.int64:
        owners = _core.Ownership.ranges(first.owner)
    elif len(parts) > 1:
        owners = _core.Ownership.by_vector(first.owner, len(parts), f"the owners in {stores[0]}")
    rows = [part.rows if part else first.rows.without_rows() for part in parts]
    if all(part is None or part.scales for part in parts):
        scales = [part.scales if part else first.scales.without_rows() for part in parts]
        return _map(rows, scales, None, owners, missing)
    if any(part and not np.array_equal(part.scale, first.scale) for part in parts):
        raise ValueError(f"the parts beside {stores[0]} have other scales for their columns")
    return _map(rows, None, first.scale, owners, missing)


def _look(store: str, name, node_type) -> _Part:
    core = _core.open(os.fsencode(store))
    of = _only(core.node_types, node_type, "node type", store)
    name = _only(core.node_tables(of), name, f"table of node type {of!r}", store)
    table = core.node_table(name, of)
    path = f"{store}/node/{_core.encode_name(of)}/{_core.encode_name(name)}"
    rows = _core.RowFile.npy(os.fsencode(path + ".npy"))
    if table.numpy().dtype == bfloat16:
        rows = rows.as_bfloat16()
    scales = None
    if table.scale is not None and scaled_by(table.scale, len(table.numpy())) == "row":
        scales = _core.RowFile.npy(os.fsencode(path + SCALE_SUFFIX + ".npy"))
    return _Part(core.part, core.owner(of), core.num_nodes(of), rows, table.scale, scales)


def _only(names: list[str], given, what: str, store: str) -> str:
    if given is not None:
        if as_name(given, what) not in names:
            raise KeyError(f"{store} has no {what} {given!r}; there is {names}")
        return given
    if len(names) != 1:
        raise ValueError(f"{store} has {len(names)} of {what}, name one of them: {names}")
    return names[0]


def _in_order(stores: list[str], parts: list[_Part]) -> list[_Part | None]:
    """All parts of one whole, None for those that are missing. ValueError where that is not what they are."""
    by_index: dict[int, tuple[str, _Part]] = {}
    for store, part in zip(stores, parts):
        if part.part is None:
            raise ValueError(f"{store} is a whole store, but {stores[0]} a part")
        index, count, whole = part.part
        if (count, whole, part.num_nodes) != (*parts[0].part[1:], parts[0].num_nodes):
            raise ValueError(
                f"{store} is part {index} of {count} of {whole:016x}, but {stores[0]} part {parts[0].part[0]} of "
                f"{parts[0].part[1]} of {parts[0].part[2]:016x}: they are not of one whole"
            )
        if index in by_index:
            raise ValueError(f"{store} and {by_index[index][0]} are both part {index} of {count}")
        by_index[index] = (store, part)
    return [by_index[index][1] if index in by_index else None for index in range(parts[0].part[1])]


def _map(files: list[_core.RowFile], scales=None, scale=None, owners=None, missing=()) -> tuple[FileStorage, int]:
    """`scale`: of columns; `scales`: files with one for each row; `missing`: files that are not there."""
    rows = [file.shape[0] for file in files]
    owners = _core.Ownership.ranges(np.cumsum([0, *rows])) if owners is None else owners
    stride = rows[0]
    if len(files) > 1:
        row_bytes = [listed[0].row_bytes for listed in (files, scales) if listed]
        most = max(rows) if not missing else int(rows_of_parts(owners).max())
        stride = _core.file_stride(most_rows=most, files=len(files), row_bytes=row_bytes)
    layout = layout_of(owners, stride if len(files) > 1 else 0, Ranks.alone())
    for part, count in enumerate(rows):
        begin, end = layout.positions.positions_of(part)
        if end - begin != count and part not in missing:
            raise _core.CorruptStoreError(f"part {part} has {count} rows, but owns {end - begin}")
    mapped = _core.map_rows(files, stride=stride)
    scale = scale if scales is None else _core.map_rows(scales, stride=stride)
    core = _core.Table(bits(mapped), scale, bfloat16=mapped.dtype == bfloat16, writable=False)
    map_again = partial(_core.map_rows, files, stride=stride, copy_on_write=True)
    return FileStorage(core, layout, frozenset(missing), map_again), _digest(files)


def _digest(files: list[_core.RowFile]) -> int:
    return hash(tuple((file.size, file.identity) for file in files))  # of integers: the same in every process


def unreplaced(paths: list[str], read):
    """What read() returns, of folders that stood at these paths all the while: a writer may exchange them."""
    for _ in range(ATTEMPTS):
        before = [_folder_at(path) for path in paths]
        try:
            result, failure = read(), None
        except Exception as error:
            result, failure = None, error
        if [_folder_at(path) for path in paths] != before:
            continue
        if failure is not None:
            raise failure
        return result
    raise OSError(f"{paths[0]} was replaced {ATTEMPTS} times while it was being opened")


def _folder_at(path: str) -> tuple[int, int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns
