"""Files of torch.save(): a tensor, which is one column, or a dict of tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
from pyarrow import fs

from ramet.inputs.rows.arrays import ArraysPart
from ramet.inputs.rows.files import File


class TorchPart(ArraysPart):
    """The tensors are mapped. Only tensors and plain containers are loaded: weights_only."""

    def __init__(self, file: File, header: bool, what: str):
        self._file = file
        loaded = _load(file, what)
        super().__init__(loaded if isinstance(loaded, Mapping) else {0: loaded}, what, file.name)

    def blocks(self, positions: list[int], max_bytes: int, kinds) -> Iterator[pa.RecordBatch]:
        self._file.check()
        yield from super().blocks(positions, max_bytes, kinds)
        self._file.check()


def _load(file: File, what: str):
    if not isinstance(file.system, fs.LocalFileSystem):
        raise ValueError(f"{what}: {file.name} is not on a local disk, where torch maps it; copy it first")
    try:
        import torch
    except ImportError as error:
        raise ImportError(f"{what}: {file.name} needs torch, which is not installed") from error
    try:
        return torch.load(file.path, map_location="cpu", weights_only=True, mmap=True)
    except Exception as error:  # a damaged pickle raises anything
        first = str(error).split("\n", 1)[0]
        raise ValueError(f"{what}: {file.name} cannot be loaded with weights_only and mmap: {first}") from error
