"""What a loader's threads compute for a model's layers: sums over the first block, and transposed blocks."""

from __future__ import annotations

from ramet.arguments import as_flag, shortened
from ramet.dtypes import dtype_name
from ramet.graph import Graph
from ramet.loading.given_tables import is_here
from ramet.tables.table import Table
from ramet.tensors import torch_or_none

FUSED = "feat"  # the table that is `batch.x`
FLOATING = ("float32", "float16", "bfloat16")


def given_for_layers(fuse, transpose) -> dict:
    """What `combinations.check` looks at. TypeError or ValueError for what is neither."""
    transposes = as_transpose(transpose) != "none"
    return {"fuse": as_flag(fuse, "fuse") or None, "transpose": transpose if transposes else None}


def as_transpose(transpose) -> str:
    """ "none", "inner" (all blocks but the first) or "all", from False, True or "all"."""
    if isinstance(transpose, str):
        if transpose != "all":
            raise ValueError(f"transpose is {shortened(transpose)}, expected True, False or 'all'")
        return transpose
    return "inner" if as_flag(transpose, "transpose") else "none"


def fused_tables(graph: Graph, requests: dict, decode: bool) -> dict[tuple[str, str], Table]:
    """The tables of `requests` that are read by the first layer alone: "feat" of each node type where its rows are
    floating. ValueError where there is none, and for rows on other machines; ImportError without torch.
    """
    if torch_or_none() is None:
        raise ImportError("fuse is True: ramet.nn needs torch, which is not installed")
    found = {
        (of, name): graph.table(name, of) if table is None else table
        for (of, name), table in requests.items()
        if isinstance(of, str) and name == FUSED
    }
    if not found:
        raise ValueError(f"fuse is True, but there is no table {FUSED!r} to fuse: `tables` does not name one")
    fused = {key: table for key, table in found.items() if is_floating(table, decode)}
    if not fused:
        dtypes = {of: dtype_name(table.dtype) for (of, _), table in found.items()}
        raise ValueError(
            f"fuse is True, but rows of table {FUSED!r} are {dtypes}, expected {', '.join(FLOATING)}, or int8 with a "
            "scale and decode=True"
        )
    for (_, name), table in fused.items():
        if not is_here(table):
            raise ValueError(f"fuse is True, but tables[{name!r}] has rows on other machines")
    return fused


def is_floating(table: Table, decode: bool) -> bool:
    """Whether rows can be summed as they are handed out."""
    return dtype_name(table.dtype) in FLOATING or (decode and table.is_encoded)
