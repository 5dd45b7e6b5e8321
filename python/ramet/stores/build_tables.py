"""Stores from tables: ramet.build() of NodeTables and EdgeTables, a ramet.toml, a known layout or an object."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ramet import _core
from ramet._support.arguments import as_flag, as_memory, as_path
from ramet._support.log import log
from ramet.building.contents import Building
from ramet.building.plan import LEAST_MEMORY, Plan, make_plan, require_fit
from ramet.dtypes import check_scale
from ramet.inputs import layouts, objects, toml
from ramet.inputs.tables import Description, EdgeTable, NodeTable, table_columns
from ramet.stores import readers


def build_tables(
    path: str, description: Description, *, memory, dtype, scale: str, out_edges: bool, progress: bool, **options
) -> list[str]:
    """Writes a store; options: those of Building. Returns what the user should know of it."""
    bound, beside = as_memory(memory, LEAST_MEMORY), os.path.dirname(os.path.abspath(path))
    out_edges = as_flag(out_edges, "out_edges")
    _require_tables(description, dtype)
    _core.check_target(os.fsencode(path))
    building = Building(description, beside, memory=bound, dtype=dtype, progress=progress, **options)
    if bound is not None:
        os.makedirs(beside, exist_ok=True)
        expected = make_plan(building.open(), beside, bound, out_edges=out_edges, dtype=dtype, **options)
        log.info("%s: the plan\n%s", path, expected)
        require_fit(expected, beside)
    notes = building.save(path, scale=scale, out_edges=out_edges, progress=progress)
    for note in notes:
        log.info("%s: %s", path, note)
    return notes


def plan(
    path,
    source=None,
    *,
    nodes=None,
    edges=None,
    memory=None,
    missing: str = "error",
    order: str = "given",
    undirected=None,
    dtype="float32",
    scale: str = "row",
    sort_by: str | None = None,
    out_edges: bool = False,
) -> Plan:
    """What ramet.build() with these arguments would take. Writes nothing; reads text files once, and samples the rows.

    Returns a Plan: `memory`, `disk` (upper bounds, in bytes), `seconds`, `fits`, and text for people. Raises what
    build() raises for arguments that do not fit, and ValueError for the files of a layout that is no tables.
    """
    description = described(source, nodes, edges, undirected)
    if description is None:
        raise ValueError(f"{source} holds no tables: its graph is built in memory")
    beside = os.path.dirname(os.path.abspath(as_path(path)))
    while not os.path.isdir(beside):  # build() makes it
        beside = os.path.dirname(beside)
    bound = as_memory(memory, LEAST_MEMORY)
    check_scale(scale)
    _require_tables(description, dtype)
    options: dict = {"missing": missing, "dtype": dtype, "order": order, "sort_by": sort_by}
    opened = Building(description, beside, memory=bound, **options).open()
    return make_plan(opened, beside, bound, out_edges=as_flag(out_edges, "out_edges"), **options)


def _require_tables(description: Description, dtype) -> None:
    tables: list[NodeTable | EdgeTable] = [*description.nodes, *description.edges]
    known = {name for table in tables for name in table_columns(table)}
    unknown = [name for name in dtype if name not in known] if isinstance(dtype, Mapping) else []
    if unknown:
        raise KeyError(f"dtype names {unknown[0]!r}, but tables of features are {sorted(known)}")


def described(source, nodes, edges, undirected) -> Description | None:
    """What a user gave, as tables. None for files that another reader reads."""
    if source is None:
        if nodes is None and edges is None:
            raise TypeError("build() needs a source, or nodes= and edges=")
        description = Description(_all(nodes, NodeTable, "nodes"), _all(edges, EdgeTable, "edges"))
    elif nodes is not None or edges is not None:
        raise TypeError("build() takes a source, or nodes= and edges=, not both")
    elif isinstance(source, Description):
        description = source
    elif isinstance(source, (str, bytes, os.PathLike)):
        name = os.fsdecode(source)
        if readers.find(name) is not None:
            return None
        description = toml.read(name) if name.endswith(".toml") else layouts.describe(name)
    else:
        description = objects.describe(source)
    if description is None or undirected is None:
        return description
    undirected = as_flag(undirected, "undirected")
    return replace(description, edges=tuple(replace(table, undirected=undirected) for table in description.edges))


def refuse_options(given: Mapping[str, object]) -> None:
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"{name}= is for Planetoid's and .npz files; a NodeTable and an EdgeTable have their own "
                + ("normalize=" if name == "normalize" else "split=")
            )


def _all(tables: Sequence | None, kind: type, what: str) -> tuple:
    tables = () if tables is None else tuple(tables) if isinstance(tables, (list, tuple)) else (tables,)
    for table in tables:
        if not isinstance(table, kind):
            raise TypeError(f"{what} has a {type(table).__name__}, expected {kind.__name__} objects")
    return tables
