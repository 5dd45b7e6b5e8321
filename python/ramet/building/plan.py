"""Plan: what a build would take, before it begins.

Memory and disk are bounds: what a build takes is at most that. Seconds come from a sample of the rows, and from what
this machine and this disk do in a fraction of a second.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from dataclasses import dataclass, field

import numpy as np

from ramet import _core
from ramet._support.memory import available_memory
from ramet.building.columns import TypedRows, make_values, value_columns
from ramet.building.keys import as_keys, kind_of
from ramet.building.node_ids import NodeIds
from ramet.building.scan import chunks
from ramet.building.scratch import Scratch
from ramet.inputs.tables import Description, EdgeTable, NodeTable, as_columns

LEAST_MEMORY = 128 << 20  # two batches that are read, a chunk of rows in three forms, and the buffers of a partition
SAMPLE_SECONDS = 0.5
KEY_BYTES = 72  # of an id in memory: its slot, its bytes with those of the order, for a text of 24 bytes


@dataclass(frozen=True)
class Step:
    """One table. rows: exact where the files say it, else from a sample."""

    what: str
    rows: int
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
    steps: tuple[Step, ...] = field(repr=False)
    free_disk: int = 0
    free_memory: int = 0

    @property
    def fits(self) -> bool:
        return self.disk <= self.free_disk and self.memory <= self.free_memory

    def __str__(self) -> str:
        lines = [f"{'table':40} {'rows':>14} {'store':>10} {'temporary':>10} {'seconds':>8}"]
        for step in self.steps:
            sizes = f"{_bytes(step.bytes):>10} {_bytes(step.temporary):>10} {step.seconds:8.1f}"
            lines.append(f"{step.what:40} {step.rows:14,} {sizes}")
        lines.append(f"memory {_bytes(self.memory)} of {_bytes(self.free_memory)} that are free")
        lines.append(f"disk {_bytes(self.disk)} of {_bytes(self.free_disk)}, seconds {self.seconds:.0f}")
        return "\n".join(lines if self.fits else [*lines, "this does not fit"])


def make_plan(description: Description, folder: str, memory: int | None, dtype="float32") -> Plan:
    """folder: where the store and temporary files would be."""
    speeds = _Speeds(folder)
    steps = tuple(_step(table, memory, dtype, speeds) for table in (*description.nodes, *description.edges))
    store, temporary = sum(step.bytes for step in steps), sum(step.temporary for step in steps)
    slack = 1 << 20  # headers, and texts of the store
    if memory is None:
        edges = sum(step.bytes for step in steps[len(description.nodes) :])
        needs, disk = LEAST_MEMORY + temporary + edges, store + slack
    else:
        needs, disk = memory, store + temporary + slack
    seconds = sum(step.seconds for step in steps) + store / speeds.write
    free = shutil.disk_usage(folder).free
    return Plan(needs, disk, seconds, steps, free, available_memory())


def require_fit(plan: Plan, folder: str) -> None:
    """MemoryError or OSError where a build cannot fit."""
    if plan.memory > plan.free_memory:
        raise MemoryError(
            f"the build takes {_bytes(plan.memory)} of memory, and {_bytes(plan.free_memory)} are free; memory= bounds "
            "what it takes"
        )
    if plan.disk > plan.free_disk:
        raise OSError(28, f"the build takes {_bytes(plan.disk)}, and {_bytes(plan.free_disk)} are free", folder)


def _step(table: NodeTable | EdgeTable, memory: int | None, dtype, speeds: _Speeds) -> Step:
    is_edge = isinstance(table, EdgeTable)
    name = " ".join(table.type) if is_edge else table.type
    if table.rows is None:
        return Step(f"nodes {name}", table.num_nodes, 0, 0, 0)
    what = f"{'EdgeTable' if is_edge else 'NodeTable'}({table.type!r})"
    ends = [as_columns(table.source), as_columns(table.destination)] if is_edge else [as_columns(table.id)]
    began = time.perf_counter()
    rows = TypedRows(table, what, value_columns(table), [column for end in ends for column in end])
    count = rows.count()
    scratch = Scratch(None)
    values = make_values(table, what, rows, scratch, dtype)
    scanned = time.perf_counter() - began  # of text files, and of a table that is normalized: the build does it again
    width = sum(of.dtype.itemsize * int(np.prod(of.shape, dtype=np.int64)) for of in values.values())
    per_row, key_bytes = _sample(rows, ends, list(values.values()), scratch)
    seconds = scanned + count * per_row
    if not is_edge:
        ids = int(count * (key_bytes + KEY_BYTES)) if ends[0] else 0
        return Step(f"nodes {name}", count, count * width + ids, ids, seconds)
    directions = 1 + (table.undirected or table.reverse is not None)
    own = directions * count * (16 + width) + 16 * count  # indices, edge ids, values; and indptr of as many nodes
    temporary = count * (17 + width) + directions * count * (
        24 + width
    )  # ends, values; then partitions, and values sorted
    named = int(2 * count * (key_bytes + KEY_BYTES))  # where no table has the nodes
    sorts = directions + (table.duplicates != "keep")
    return Step(f"edges {name}", count, own, temporary + named, seconds + sorts * count / speeds.sort)


def _sample(rows: TypedRows, ends, values, scratch: Scratch) -> tuple[float, float]:
    """Seconds of a row, and bytes of its keys beyond 8, from the first rows."""
    columns = list(dict.fromkeys([c for end in ends for c in end] + [c for of in values for c in of.columns]))
    if not columns:
        return 0, 0
    place = {column: number for number, column in enumerate(columns)}
    kinds = [kind_of([rows.type_of(column) for column in end], "an id") for end in ends if end]
    ids = [NodeIds(kind, scratch) for kind in kinds]
    began, seen, key_bytes = time.perf_counter(), 0, 0
    for first, arrays in chunks(rows, columns):
        for of, end in zip(ids, [end for end in ends if end], strict=True):
            keys = as_keys(of.kind, [arrays[place[column]] for column in end])
            of.add(keys.values)
            key_bytes += 0 if of.kind != "text" else len(keys.values[0])
        for table in values:
            table.rows(first, [arrays[place[column]] for column in table.columns])
        seen += len(arrays[0])
        if time.perf_counter() - began > SAMPLE_SECONDS:
            break
    return (time.perf_counter() - began) / max(seen, 1), key_bytes / max(seen, 1)


class _Speeds:
    """sort: edges a second; write: bytes a second to the disk."""

    def __init__(self, folder: str):
        count = 1 << 20
        ends = np.arange(count) * 2654435761 % count
        began = time.perf_counter()
        _core.build_csc(ends, ends[::-1].copy(), count, count)
        self.sort = count / (time.perf_counter() - began) / 2  # a graph of real size fits no cache
        block = np.zeros(16 << 20, np.uint8)
        with tempfile.TemporaryFile(dir=folder) as file:
            began = time.perf_counter()
            file.write(block)
            file.flush()
            os.fsync(file.fileno())
            self.write = len(block) / (time.perf_counter() - began)


def _bytes(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"
