"""The cost of reading rows of a table: the number of requests, and the speed of the disk."""

from __future__ import annotations

from dataclasses import dataclass

from ramet import _core
from ramet._support.arguments import as_real, shortened
from ramet.costs.memory import bytes_of_row
from ramet.costs.replay import Replayed
from ramet.dtypes import bits
from ramet.graph import Graph

TABLE = "feat"
MEASURED = -1.0


@dataclass
class Disk:
    """How the rows of table "feat" are read: "io_uring, direct, blocks of 512 bytes". A request that reads b bytes
    costs request_seconds + b * byte_seconds, where many are under way at once."""

    how: str
    request_seconds: float
    byte_seconds: float

    def reads(self, of: Replayed) -> Reads:
        seconds = of.requests * self.request_seconds + of.bytes * self.byte_seconds
        return Reads(of.requests, of.bytes, 1 / seconds if seconds else None)


@dataclass
class Reads:
    """Mean reads of a batch from the disk. bytes: of whole blocks, and of gaps between rows. batches_per_second: the
    rate that the disk allows; None if nothing is read."""

    requests: float
    bytes: float
    batches_per_second: float | None


def open_reader(
    graph: Graph, node_type: str, row_bytes: int, read_costs: tuple[float, float] | None
) -> tuple[_core.RowReader, str] | tuple[None, str]:
    """A reader of the rows of `node_type`, and ""; or None, and why no disk's rate is known. read_costs: as
    of Caches."""
    request_seconds, byte_seconds = (MEASURED, MEASURED) if read_costs is None else _as_costs(read_costs)
    if TABLE not in graph.tables(node_type):
        return None, f"type {node_type!r} has no table {TABLE!r}"
    stored, _ = bytes_of_row(graph, node_type)
    if row_bytes != stored:
        return None, f"rows of table {TABLE!r} have {stored:,} bytes, not {row_bytes:,}"
    try:
        reader = _core.RowReader.open(
            bits(graph.table(TABLE, node_type)._core.numpy()),
            io_uring=True,
            direct=True,
            depth=128,
            request_seconds=request_seconds,
            byte_seconds=byte_seconds,
        )
    except (ValueError, OSError) as error:
        return None, f"table {TABLE!r} is not read from a disk: {error}"
    if reader.costs_problem:
        return None, f"table {TABLE!r}: {reader.costs_problem}"
    return reader, ""


def _as_costs(costs) -> tuple[float, float]:
    """ValueError unless there are two numbers of seconds."""
    try:
        request_seconds, byte_seconds = costs
    except (TypeError, ValueError):
        raise ValueError(f"read_costs is {shortened(costs)}, expected seconds of a request and of a byte") from None
    return as_real(request_seconds, "read_costs"), as_real(byte_seconds, "read_costs")
