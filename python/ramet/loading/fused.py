"""Tables that a loader averages over the first block: `features=ramet.Features(fuse=True)`."""

from __future__ import annotations

from ramet._support.tensors import torch_or_none
from ramet.dtypes import dtype_name
from ramet.graph import Graph
from ramet.loading.provided_tables import is_here
from ramet.tables.table import Table

FUSED = "feat"  # the table that is `batch.x`
FLOATING = ("float32", "float16", "bfloat16")


def fused_tables(graph: Graph, requests: dict, decode: bool) -> dict[tuple[str, str], Table]:
    """The tables of `requests` that are read by the first layer alone: "feat" of each node type where its rows are
    floating. ValueError where there is none, and for rows on other machines; ImportError without torch.
    """
    if torch_or_none() is None:
        raise ImportError("features.fuse is True: ramet.nn needs torch, which is not installed")
    found = {
        (of, name): graph.table(name, of) if table is None else table
        for (of, name), table in requests.items()
        if isinstance(of, str) and name == FUSED
    }
    if not found:
        raise ValueError(f"features.fuse is True, but there is no table {FUSED!r} to fuse: `tables` does not name one")
    fused = {key: table for key, table in found.items() if is_floating(table, decode)}
    if not fused:
        dtypes = {of: dtype_name(table.dtype) for (of, _), table in found.items()}
        raise ValueError(
            f"features.fuse is True, but rows of table {FUSED!r} are {dtypes}, expected {', '.join(FLOATING)}, or int8 "
            "with a scale and features.decode=True"
        )
    for (_, name), table in fused.items():
        if not is_here(table):
            raise ValueError(f"features.fuse is True, but tables[{name!r}] has rows on other machines")
    return fused


def is_floating(table: Table, decode: bool) -> bool:
    """Whether rows can be summed as they are handed out."""
    return dtype_name(table.dtype) in FLOATING or (decode and table.is_encoded)
