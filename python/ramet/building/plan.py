"""Plan: what a build would take, before it begins.

Memory and disk are bounds: what a build takes is at most that. Seconds come from a sample of the rows, and from what
this machine and this disk do in a fraction of a second.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ramet import _core
from ramet._support.arguments import as_int
from ramet._support.memory import available_memory, trim
from ramet._support.sizes import size
from ramet.building.columns import TypedRows, make_values, value_columns
from ramet.building.keys import as_keys, kind_of
from ramet.building.node_ids import NodeIds
from ramet.building.scan import chunks
from ramet.building.scratch import Scratch
from ramet.building.values import Values
from ramet.inputs.tables import Column, Description, EdgeTable, NodeTable, as_columns

LEAST_MEMORY = 128 << 20  # two batches that are read, a chunk of rows in three forms, and the buffers of a partition
SAMPLE_SECONDS = 0.5
KEY_BYTES = 72  # of an id in memory: its slot, its bytes with those of the order, for a text of 24 bytes


@dataclass(frozen=True)
class Step:
    """A node type or an edge type. width: bytes of a row of its tables together."""

    type: Any  # its name, or its triple of names
    rows: int
    width: int
    bytes: int  # that the table takes in the store
    temporary: int  # and beside it while it is built
    seconds: float


@dataclass(frozen=True)
class Plan:
    """What a build takes. memory: bytes of the process, page cache aside; disk: bytes of the store and of temporary
    files together, at most; seconds: on this machine."""

    memory: int
    disk: int
    seconds: float
    nodes: tuple[Step, ...] = field(repr=False)
    edges: tuple[Step, ...] = field(repr=False)
    free_disk: int
    free_memory: int

    @property
    def fits(self) -> bool:
        return self.disk <= self.free_disk and self.memory <= self.free_memory

    def __str__(self) -> str:
        lines = [f"{'table':40} {'rows':>14} {'store':>10} {'temporary':>10} {'seconds':>8}"]
        for step in (*self.nodes, *self.edges):
            what = step.type if isinstance(step.type, str) else " ".join(step.type)
            sizes = f"{size(step.bytes):>10} {size(step.temporary):>10} {step.seconds:8.1f}"
            lines.append(f"{what:40} {step.rows:14,} {sizes}")
        lines.append(f"memory {size(self.memory)} of {size(self.free_memory)} that are free")
        lines.append(f"disk {size(self.disk)} of {size(self.free_disk)}, seconds {self.seconds:.0f}")
        return "\n".join(lines if self.fits else [*lines, "this does not fit"])


def make_plan(
    description: Description, folder: str, memory: int | None, dtype="float32", out_edges: bool = False
) -> Plan:
    """folder: where the store and temporary files would be."""
    speeds, scratch = _Speeds(folder), Scratch(folder)
    nodes = [_node_step(table, dtype, scratch) for table in description.nodes]
    edges = [step for table in description.edges for step in _edge_steps(table, dtype, out_edges, speeds, scratch)]
    steps = [*nodes, *edges]
    store, temporary = sum(step.bytes for step in steps), sum(step.temporary for step in steps)
    slack = 1 << 20  # headers, and texts of the store
    if memory is None:
        needs, disk = LEAST_MEMORY + temporary + sum(step.bytes for step in edges), store + slack
    else:
        needs, disk = memory, store + temporary + slack
    seconds = sum(step.seconds for step in steps) + store / speeds.write
    free = shutil.disk_usage(folder).free
    return Plan(needs, disk, seconds, tuple(nodes), tuple(edges), free, available_memory())


def require_fit(plan: Plan, folder: str) -> None:
    """MemoryError or OSError where a build cannot fit."""
    if plan.memory > plan.free_memory:
        raise MemoryError(
            f"the build takes {size(plan.memory)} of memory, and {size(plan.free_memory)} are free; memory= bounds "
            "what it takes"
        )
    if plan.disk > plan.free_disk:
        raise OSError(28, f"the build takes {size(plan.disk)}, and {size(plan.free_disk)} are free", folder)


def _node_step(table: NodeTable, dtype, scratch: Scratch) -> Step:
    if table.rows is None:
        return Step(table.type, as_int(table.num_nodes, "num_nodes", 0), 0, 0, 0, 0)
    sample = _Sample(table, f"NodeTable({table.type!r})", [as_columns(table.id)], dtype, scratch)
    ids = int(sample.count * (sample.key_bytes + KEY_BYTES)) if table.id is not None else 0
    return Step(table.type, sample.count, sample.width, sample.count * sample.width + ids, ids, sample.seconds)


def _edge_steps(table: EdgeTable, dtype, out_edges: bool, speeds: _Speeds, scratch: Scratch) -> list[Step]:
    ends = [as_columns(table.source), as_columns(table.destination)]
    sample = _Sample(table, f"EdgeTable({table.type!r})", ends, dtype, scratch)
    directions = 1 + (table.undirected or table.reverse is not None)
    count = directions * sample.count
    own = count * (16 + sample.width) + 16 * sample.count  # indices, edge ids, values; and indptr of as many nodes
    temporary = sample.count * (17 + sample.width)  # ends and values in the order of rows
    temporary += count * (24 + sample.width)  # partitions, the CSC, and values in its order
    temporary += int(2 * sample.count * (sample.key_bytes + KEY_BYTES))  # ids of nodes that no table has
    sorts = directions + (table.duplicates != "keep")
    if out_edges:
        own, temporary, sorts = own + 24 * count, temporary + 28 * count, 2 * sorts
    seconds = sample.seconds + sorts * sample.count / speeds.sort
    if table.reverse_type is None:
        return [Step(table.type, count, sample.width, own, temporary, seconds)]
    forward = Step(table.type, sample.count, sample.width, own // 2, temporary, seconds)
    return [forward, replace(forward, type=table.reverse_type, temporary=0, seconds=0)]


class _Sample:
    """What the first rows of a table cost, and what its rows take.

    count: of all rows. width: bytes of a row in the store. key_bytes: of the texts that are ids, of a row. seconds: of
    all rows.
    """

    def __init__(
        self, table: NodeTable | EdgeTable, what: str, ends: Sequence[tuple[Column, ...]], dtype, scratch: Scratch
    ):
        began = time.perf_counter()
        rows = TypedRows(table, what, value_columns(table), [column for end in ends for column in end])
        self.count = rows.count()
        values = list(make_values(table, what, rows, scratch, dtype).values())
        passes = time.perf_counter() - began  # over text files, and over what is normalized: a build makes them, too
        self.width = sum(of.dtype.itemsize * int(np.prod(of.shape, dtype=np.int64)) for of in values)
        self.key_bytes, per_row = 0.0, 0.0
        columns = list(dict.fromkeys([c for end in ends for c in end] + [c for of in values for c in of.columns]))
        if columns and self.count:
            self._measure(rows, columns, [end for end in ends if end], values, scratch)
            per_row = self._spent / self._seen
        self.seconds = passes + self.count * per_row
        trim()  # so that a build after this has all of its bound

    def _measure(
        self, rows: TypedRows, columns: list[Column], ends, values: Sequence[Values], scratch: Scratch
    ) -> None:
        place = {column: number for number, column in enumerate(columns)}
        ids = [NodeIds(kind_of([rows.type_of(column) for column in end], "an id"), scratch) for end in ends]
        began, text_bytes = time.perf_counter(), 0
        for first, arrays in chunks(rows, columns):
            for of, end in zip(ids, ends, strict=True):
                keys = as_keys(of.kind, [arrays[place[column]] for column in end])
                of.add(keys.values)
                text_bytes += len(keys.values[0]) if of.is_text else 0
            for table in values:
                table.rows(first, [arrays[place[column]] for column in table.columns])
            self._seen, self._spent = first + len(arrays[0]), time.perf_counter() - began
            if self._spent > SAMPLE_SECONDS:
                break
        self.key_bytes = text_bytes / self._seen


class _Speeds:
    """sort: edges a second; write: bytes a second to the disk."""

    def __init__(self, folder: str):
        count = 1 << 20
        ends = np.arange(count) * 2654435761 % count
        began = time.perf_counter()
        _core.build_csc(ends, ends[::-1].copy(), count, count)
        self.sort = count / (time.perf_counter() - began) / 2  # a graph of real size fits no cache
        block = np.zeros(min(16 << 20, shutil.disk_usage(folder).free // 4 + 1), np.uint8)
        with Scratch(folder).errors(), tempfile.TemporaryFile(dir=folder) as file:
            began = time.perf_counter()
            file.write(block.data)
            file.flush()
            os.fsync(file.fileno())
            self.write = len(block) / (time.perf_counter() - began)
