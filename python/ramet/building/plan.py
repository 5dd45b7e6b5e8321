"""Plan: what a build would take, before it begins.

Memory and disk are bounds: what a build takes is at most that. Seconds are those of a build of the first rows of each
table, for all of its rows, and of writing at the speed of this disk.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ramet._support.arguments import as_int
from ramet._support.memory import available_memory, trim
from ramet._support.sizes import size
from ramet.arrays import INT32_MAX
from ramet.building.contents import Building
from ramet.building.scratch import Scratch
from ramet.building.typed_rows import FirstRows, TypedRows
from ramet.inputs.tables import Column, Description, EdgeTable, NodeTable, as_columns

LEAST_MEMORY = 128 << 20  # two batches that are read, a chunk of rows in three forms, and the buffers of a partition
SAMPLE_SECONDS = 0.3
GROWTH = 1.5  # of what grows, at most
MAP_BYTES = 48  # of an id while it may be looked up: its slot, its value or offset, and what orders it
ID_BYTES = 16  # of an id in the store: its value or offset, and its position in the order


@dataclass(frozen=True)
class Step:
    """A node type or an edge type. width: bytes of a row of its tables together."""

    type: Any  # its name, or its triple of names
    rows: int
    width: int
    bytes: int  # that the table takes in the store
    temporary: int  # and beside it until the store is written
    ids: int  # and until the build ends
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
            sizes = f"{size(step.bytes):>10} {size(step.temporary + step.ids):>10} {step.seconds:8.1f}"
            lines.append(f"{what:40} {step.rows:14,} {sizes}")
        lines.append(f"memory {size(self.memory)} of {size(self.free_memory)} that are free")
        lines.append(f"disk {size(self.disk)} of {size(self.free_disk)}, seconds {self.seconds:.0f}")
        return "\n".join(lines if self.fits else [*lines, "this does not fit"])


def make_plan(description: Description, folder: str, memory: int | None, *, out_edges: bool = False, **options) -> Plan:
    """description: of a Building that is open. folder: where the store and temporary files would be. options: those of
    Building."""
    began, build = time.perf_counter(), _Planner(folder, memory, out_edges, options)
    nodes = [build.node_step(table) for table in description.nodes]
    edges = [step for table in description.edges for step in build.edge_steps(table)]
    steps = [*nodes, *edges]
    ids, temporary = sum(step.ids for step in steps), sum(step.temporary for step in steps)
    store = sum(step.bytes for step in steps)
    slack = 1 << 20  # headers, and texts of the store
    if memory is None:
        needs, disk = LEAST_MEMORY + ids + temporary + build.sorted_edges, store + slack
    else:
        needs, disk = memory, ids + build.sorted_edges + max(temporary, store) + slack
    seconds = sum(step.seconds for step in steps)
    if memory is not None:  # then a build plans, too
        seconds += time.perf_counter() - began
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


class _Planner:
    """Builds the first rows of tables, each alone, but for writing a store."""

    def __init__(self, folder: str, memory: int | None, out_edges: bool, options: dict[str, Any]):
        self._folder, self._memory, self._out_edges = folder, memory, out_edges
        self._adds, self._drops = options.get("missing") == "add", options.get("missing") == "drop"
        self._options = options | {"missing": "drop"}
        self._sorts = options.get("sort_by") is not None
        self._reorders = options.get("order", "given") != "given"
        self._nodes: dict[str, int] = {}  # by type with a table
        self._write_speed = _write_speed(folder)
        self.sorted_edges = 0  # bytes of all arrays of edges

    def node_step(self, table: NodeTable) -> Step:
        order = 24 if self._reorders else 0
        if table.rows is None:
            count = self._nodes[table.type] = as_int(table.num_nodes, "num_nodes", 0)
            return Step(table.type, count, 0, ID_BYTES * count if order else 0, 0, order * count, 0)
        count = self._nodes[table.type] = table.rows.count()
        width, text, seconds = self._build(replace(table, duplicates="first", split=None))
        own = count * width + _split_bytes(table, count)
        own += _id_bytes(count, text) if table.id is not None or order else 0
        ids = _map_bytes(count, text) if table.id is not None else 0
        return Step(table.type, count, width, own, count * width if order else 0, ids + order * count, seconds)

    def edge_steps(self, table: EdgeTable) -> list[Step]:
        count, both = table.rows.count(), 1 + (table.undirected or table.reverse is not None)
        width, text, seconds = self._build(replace(table, split=None))
        src, dst, new = self._most_nodes(table, count)
        index = 4 if max(src, dst, 2 * count) <= INT32_MAX else 8
        own = 8 * (src + dst if both > 1 else dst) + _split_bytes(table, count)
        own += both * count * (index + (8 if self._sorts else index) + width)
        may_drop = self._drops or not table.self_loops or bool(self._nodes.keys() & set(table.type[::2]))
        of_row = 1 + 2 * (8 if new else index) + width + may_drop * (8 + width)  # in the order of rows
        of_edge = 28 + width if width else 16  # in partitions, its row or itself
        if table.duplicates != "keep":
            of_row += 48 + width + 8 * dst / max(count, 1)
        of_row += 16 * self._reorders
        of_edge += 36 * self._sorts
        if self._out_edges:
            own += 8 * (src + dst) + both * count * (index + 8)
            of_edge += 8
        self.sorted_edges += own
        temporary = int(count * of_row) + (1 + table.undirected) * count * of_edge
        ids = _map_bytes(new, text) + 24 * new * self._reorders
        forward = Step(table.type, both * count, width, own + _id_bytes(new, text), temporary, ids, seconds)
        if table.reverse_type is None:
            return [forward]
        half = replace(forward, rows=count, bytes=forward.bytes - own // 2)
        return [half, Step(table.reverse_type, count, width, own // 2, 0, 0, 0)]

    def _most_nodes(self, table: EdgeTable, count: int) -> tuple[int, int, int]:
        """At most how many nodes there are at the source and at the destination, and how many that only edges name."""
        keys: dict[str, list[tuple[Column, ...]]] = {table.type[0]: [], table.type[2]: []}
        for node_type, end in ((table.type[0], table.source), (table.type[2], table.destination)):
            if end is not None and (self._adds or node_type not in self._nodes):
                keys[node_type].append(as_columns(end))
        new = {node_type: _most_values(table.rows, of, count) for node_type, of in keys.items()}
        src, dst = (self._nodes.get(of, 0) + new[of] for of in table.type[::2])
        return src, dst, sum(new.values())

    def _build(self, table: NodeTable | EdgeTable) -> tuple[int, float, float]:
        """(bytes of a row of its tables together, bytes of an id's text, seconds for all of its rows)."""
        rows, seconds = table.rows, table.rows.seconds
        for least in (0, SAMPLE_SECONDS):  # the first build loads libraries
            first = FirstRows(rows, least)
            sample: Any = (replace(table, rows=first),)
            alone = Description(nodes=sample) if isinstance(table, NodeTable) else Description(edges=sample)
            began = time.perf_counter()
            building = Building(alone, self._folder, memory=self._memory, **self._options)
            width, text, store = building.try_out(self._out_edges)
            spent = time.perf_counter() - began + store / self._write_speed
            del building
            trim()  # so that a build after this has all of its bound
        return width, text, seconds + spent * rows.count() / max(first.count(), 1)


def _most_values(rows: TypedRows, keys: list[tuple[Column, ...]], count: int) -> int:
    """At most how many different keys are in `count` rows of these columns."""
    found = [of for key in keys if len(key) == 1 and (of := rows.bounds(key[0])) is not None]
    most = len(keys) * count
    if not found or len(found) < len(keys):
        return most
    return min(most, max(high for _, high in found) - min(low for low, _ in found) + 1)


def _split_bytes(table: NodeTable | EdgeTable, count: int) -> int:
    """Of ids, each in one split."""
    return 0 if table.split is None else 8 * count


def _map_bytes(count: int, text: float) -> int:
    return int(count * (MAP_BYTES + GROWTH * text))


def _id_bytes(count: int, text: float) -> int:
    return int(count * (ID_BYTES + text))


def _write_speed(folder: str) -> float:
    """Bytes a second to the disk, with their checksums."""
    block = np.zeros(min(16 << 20, shutil.disk_usage(folder).free // 4 + 1), np.uint8)
    with Scratch(folder).errors(), tempfile.TemporaryFile(dir=folder) as file:
        began = time.perf_counter()
        file.write(block.data)
        hashlib.sha256(block.data).digest()
        file.flush()
        os.fsync(file.fileno())
        return len(block) / (time.perf_counter() - began)
