"""Paths, globs, folders and URLs as files of a pyarrow file system, in the natural order of their names."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import fs

from ramet._support.arguments import as_name, as_path

PACKED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}
WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True)
class File:
    """A file as it was when the table was opened."""

    system: fs.FileSystem
    path: str  # of the file system
    name: str  # for messages: as the user wrote it
    size: int
    mtime_ns: int | None

    @property
    def form(self) -> str:
        """The suffix that says what is in it, in lower case: ".csv", ".csv.gz"."""
        stem, suffix = os.path.splitext(self.path.lower())
        return os.path.splitext(stem)[1] + suffix if suffix in PACKED else suffix

    @property
    def compression(self) -> str | None:
        return PACKED.get(os.path.splitext(self.path.lower())[1])

    def open(self):
        """The file for reading at any offset. ValueError where it is not what it was."""
        self.check()
        return self.system.open_input_file(self.path)

    def open_mapped(self):
        """The same, mapped where it is local: what is not looked at costs nothing."""
        self.check()
        local = isinstance(self.system, fs.LocalFileSystem)
        return (fs.LocalFileSystem(use_mmap=True) if local else self.system).open_input_file(self.path)

    def open_stream(self):
        """The file for reading from its beginning, decompressed."""
        self.check()
        return self.system.open_input_stream(self.path, compression=self.compression)

    def check(self) -> None:
        now = self.system.get_file_info([self.path])[0]
        if (now.type, now.size, now.mtime_ns) != (fs.FileType.File, self.size, self.mtime_ns):
            raise ValueError(
                f"{self.name} changed while it was read: it had {self.size} bytes and now has {now.size}, or was "
                "written again; start again when it stays as it is"
            )


@contextmanager
def naming(location: str) -> Iterator[None]:
    """Readers know no name of a file: their errors begin with `location`."""
    try:
        yield
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, UnicodeDecodeError) as error:
        raise ValueError(f"{location}: {error}") from error
    except (OSError, MemoryError) as error:
        raise type(error)(f"{location}: {error}") from error


def find_files(path, forms, what: str) -> list[File]:
    """The files that a path, a glob, a folder or a URL stands for. Those of a folder have one of the suffixes `forms`
    each. FileNotFoundError where there is none, ValueError where a folder has others or a name is not UTF-8."""
    name = as_name(as_path(path, f"{what}: rows"), f"{what}: rows")
    is_url = "://" in name
    with naming(f"{what}: {name}"):
        system, inner = fs.FileSystem.from_uri(name) if is_url else (fs.LocalFileSystem(), name)
        info = system.get_file_info([inner])[0]
        if info.type == fs.FileType.File:
            return [File(system, inner, name, info.size, info.mtime_ns)]
        if info.type == fs.FileType.Directory:
            found = _of_folder(system, inner, name, forms, what)
        else:
            found = _of_glob(system, inner) if WILD.search(inner) else []
    if not found:
        raise FileNotFoundError(f"{what}: there is no file of rows at {name}")
    found.sort(key=lambda info: natural_order(info.path))
    scheme = name.partition("://")[0] + "://" if is_url else ""
    return [File(system, i.path, scheme + i.path.removeprefix("./"), i.size, i.mtime_ns) for i in found]


def natural_order(name: str):
    """A key by which "part-2" comes before "part-10"."""
    return [int(piece) if i % 2 else piece for i, piece in enumerate(re.split(r"([0-9]+)", name))], name


def _of_folder(system, inner: str, name: str, forms, what: str) -> list:
    """The files of a folder, but for what is hidden and for marks such as _SUCCESS of Spark."""
    found = []
    for info in system.get_file_info(fs.FileSelector(inner)):
        if info.type == fs.FileType.File and File(system, info.path, info.base_name, 0, 0).form in forms:
            found.append(info)
        elif info.base_name[:1] not in ("_", "."):
            raise ValueError(
                f"{what}: the folder {name} has {info.base_name}, which is no file of rows; a glob such as "
                f"{name.rstrip('/')}/*.parquet says which files are meant"
            )
    return found


def _of_glob(system, pattern: str) -> list:
    """The files whose path matches name by name; a "**" stands for any number of folders."""
    parts = pattern.split("/")
    fixed = next(i for i, part in enumerate(parts) if WILD.search(part))
    folder = "/".join(parts[:fixed]) or ("/" if pattern.startswith("/") else ".")
    selector = fs.FileSelector(folder, allow_not_found=True, recursive=len(parts) - fixed > 1)
    depth = len(folder.split("/")) if fixed and folder != "/" else 1
    return [
        info
        for info in system.get_file_info(selector)
        if info.type == fs.FileType.File and _matches(info.path.split("/")[depth:], parts[fixed:])
    ]


def _matches(names: list[str], wanted: list[str]) -> bool:
    if "**" in wanted:
        ahead = wanted.index("**")
        behind = len(wanted) - ahead - 1
        fitting = names[:ahead] + names[len(names) - behind :]
        return len(names) >= ahead + behind and _matches(fitting, wanted[:ahead] + wanted[ahead + 1 :])
    return len(names) == len(wanted) and all(
        fnmatch.fnmatchcase(name, part) and (part[:1] == "." or name[:1] != ".") for name, part in zip(names, wanted)
    )
