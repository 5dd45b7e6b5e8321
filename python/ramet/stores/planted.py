"""Planted communities: the contents of a store whose edges and rows the engine draws a piece at a time."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator

import numpy as np

from ramet import _core
from ramet._support.arguments import as_real
from ramet._support.memory import available_memory
from ramet._support.progress import byte_progress
from ramet.building.external import Bound, external_csc
from ramet.building.plan import Plan, require_fit
from ramet.building.scratch import CHUNK, Scratch
from ramet.dtypes import bfloat16, convert
from ramet.storage.contents import EDGE, NODE, Contents, Csc
from ramet.storage.streamed import CHUNK_BYTES, StreamedRows

SPLITS = ("train", "val", "test")  # by the number that the engine gives them


class Planted:
    """A graph by the options of the model. memory, folder: as of building.contents.Building."""

    def __init__(self, options: dict, *, threads: int, memory: int | None, folder: str, progress: bool):
        as_real(options["signal"], "generate: signal", least=-math.inf)
        self._model = _core.Planted(**{name: value for name, value in options.items() if name != "dtype"})
        self._nodes, self._edges, self._undirected = (options[n] for n in ("num_nodes", "num_edges", "undirected"))
        self._width, self._dtype_name = options["feature_width"], options["dtype"]
        self._dtype = bfloat16 if options["dtype"] == "bfloat16" else np.dtype(options["dtype"])
        self._threads, self._memory, self._folder, self._progress = threads, memory, folder, progress

    def contents(self) -> Contents:
        if self._memory is not None:
            self._require_fit(self._memory)
        contents = Contents()
        contents.add_node_type(NODE, self._nodes)
        contents.add_edge_type(EDGE, self._csc())
        if self._undirected:
            contents.add_reverse(EDGE, EDGE)
        forms = {"feat": np.empty((1, self._width), self._dtype), "label": np.empty(1, np.int64)}
        for number, (name, row) in enumerate(forms.items()):
            contents.add_streamed_table(NODE, name, StreamedRows(row, self._nodes, self._rows, number), "generate()")
        for name, ids in self._splits().items():
            contents.add_split(name, NODE, ids, f"generate(): split {name!r}")
        return contents

    def _require_fit(self, memory: int) -> None:
        """Of the disk: the CSC, and beside it the draws in runs; then the store with a copy of it."""
        directions = 1 + self._undirected
        csc = 8 * (self._nodes + 1) + 4 * directions * self._edges
        rows = self._nodes * (self._width * self._dtype.itemsize + 8 + 4)
        disk = csc + max(12 * directions * self._edges, csc + rows)
        free = shutil.disk_usage(self._folder).free
        require_fit(Plan(memory, disk, 0, (), (), free, available_memory()), self._folder)

    def _csc(self) -> Csc:
        count, options = self._nodes, {"undirected": self._undirected, "edge_ids": False}
        if self._memory is None:
            ends = next(self._ends(max(self._edges, 1)), (np.empty(0, np.int32),) * 2)
            return Csc(*_core.build_csc(*ends, count, count, **options, threads=self._threads))
        scratch = Scratch(self._folder)
        with byte_progress(self._progress, "edges") as report, scratch.errors():
            return external_csc(self._ends(CHUNK), count, count, scratch, Bound(self._memory), report=report, **options)

    def _ends(self, at_once: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for first, length in _pieces(self._edges, at_once):
            src, dst = np.empty((2, length), np.int32)
            self._model.edges(first, src, dst, self._threads)
            yield src, dst

    def _rows(self) -> Iterator[tuple[int, list[np.ndarray]]]:
        for first, length in _pieces(self._nodes, max(1, CHUNK_BYTES // (4 * self._width))):
            features = np.empty((length, self._width), np.float32)
            self._model.features(first, features, self._threads)
            yield first, [convert(features, self._dtype_name, "feat", first), self._labels(first, length)[0]]

    def _labels(self, first: int, length: int) -> tuple[np.ndarray, np.ndarray]:
        labels, splits = np.empty(length, np.int64), np.empty(length, np.uint8)
        self._model.labels(first, labels, splits)
        return labels, splits

    def _splits(self) -> dict[str, np.ndarray]:
        ids: dict[str, list[np.ndarray]] = {name: [] for name in SPLITS}
        for first, length in _pieces(self._nodes, CHUNK):
            numbers = self._labels(first, length)[1]
            for number, name in enumerate(SPLITS):
                ids[name].append((first + np.flatnonzero(numbers == number)).astype(np.int32))
        return {name: np.concatenate(pieces) for name, pieces in ids.items()}


def _pieces(count: int, at_once: int) -> Iterator[tuple[int, int]]:
    """(first, length) of pieces of `count`."""
    for first in range(0, count, at_once):
        yield first, min(at_once, count - first)
