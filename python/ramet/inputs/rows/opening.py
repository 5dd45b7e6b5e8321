"""What a user gave as rows -> the parts that it stands for, in order."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ramet.inputs.rows.arrays import ArraysPart
from ramet.inputs.rows.arrow_ipc import ArrowPart
from ramet.inputs.rows.files import PACKED, File, find_files, naming
from ramet.inputs.rows.frames import open_object
from ramet.inputs.rows.numpy_files import NpyPart, NpzPart
from ramet.inputs.rows.parquet import ParquetPart
from ramet.inputs.rows.text import DELIMITERS, TextPart
from ramet.inputs.rows.torch_files import TorchPart

READERS = {
    **dict.fromkeys((".parquet", ".pq"), ParquetPart),
    **dict.fromkeys((".arrow", ".arrows", ".feather", ".ipc"), ArrowPart),
    **{form + packed: TextPart for form in DELIMITERS for packed in ("", *PACKED)},
    ".npy": NpyPart,
    ".npz": NpzPart,
    **dict.fromkeys((".pt", ".pth"), TorchPart),
}


def open_parts(rows, header: bool, what: str) -> list:
    """The parts, without those of empty text files that have no header."""
    given = rows if isinstance(rows, (list, tuple)) else [rows]
    parts = [part for item in given for part in _parts_of(item, header, what)]
    if not parts:
        raise ValueError(f"{what}: rows is an empty list")
    return [part for part in parts if part.names] or parts[:1]


def _parts_of(item, header: bool, what: str) -> list:
    if isinstance(item, (str, bytes, os.PathLike)):
        return [_open_file(file, header, what) for file in find_files(item, READERS, what)]
    if isinstance(item, Mapping):
        return [ArraysPart(item, what)]
    return [open_object(item, what)]


def _open_file(file: File, header: bool, what: str):
    reader = READERS.get(file.form)
    if reader is None:
        forms = ", ".join(form for form in READERS if form.count(".") == 1)
        raise ValueError(f"{what}: {file.name} is none of {forms}; text may also be {', '.join(PACKED)}")
    with naming(f"{what}: {file.name}"):
        return reader(file, header, what)
