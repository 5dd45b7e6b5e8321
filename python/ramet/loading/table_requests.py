"""Which tables a loader gathers with its batches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from ramet import _core
from ramet._support.arguments import as_int, shortened
from ramet.dtypes import dtype_name
from ramet.graph import EdgeTypeName, Graph
from ramet.loading.batch import is_at_seeds
from ramet.loading.features import Features
from ramet.loading.provided_tables import requests_provided, rows_of
from ramet.tables.table import Table

LABEL = "label"
DEFAULT_TABLES = ("feat", LABEL)
Of = str | EdgeTypeName  # node type or edge type


def as_requests(graph: Graph, seed_types: list[str], tables, expand: str) -> dict[tuple[Of, str], Table | None]:
    """(node type or edge type, name) of each table to gather: the Table that its rows come from, None for the graph's.
    `tables` and `expand` as of NeighborLoader. A name may also be such a pair."""
    if tables is not None and (isinstance(tables, (str, bytes)) or not isinstance(tables, Iterable)):
        raise TypeError(f"tables is {shortened(tables)}, expected a tuple of names, or a dict from names to tables")
    requests: dict[tuple[Of, str], Table | None] = {}
    for name in DEFAULT_TABLES if tables is None else tables:
        table = tables[name] if isinstance(tables, Mapping) else None
        if table is not None:
            requests.update(requests_provided(graph, name, table))
            continue
        if isinstance(name, tuple):
            if len(name) != 2:
                raise ValueError(f"tables names {shortened(name)}, expected a name, or a pair of a type and a name")
            of, name = name
            graph.table(name, of)  # KeyError where there is none
            requests[of, name] = None
            continue
        node_types: list = seed_types if is_at_seeds(name, expand) else graph.node_types
        found: list[Of] = [t for t in node_types if name in graph.tables(t)]
        if not found and tables is not None:
            found = [t for t in graph.edge_types if name in graph.tables(t)]
        if not found and tables is not None:
            there = {t: graph.tables(t) for t in node_types + graph.edge_types}
            raise KeyError(f"tables names {name!r}, but the types have {there}")
        requests |= {(t, name): None for t in found}
    return requests


def narrowed_tables(graph: Graph, requests: dict, features: Features) -> set:
    """The requests whose rows arrive as `features.dtype`: node tables of floats, but labels."""
    if features.dtype is None:
        return set()
    return {(of, name) for (of, name), table in requests.items() if _is_feature(graph, of, name, table)}


def hidden_cells(graph: Graph, requests: dict, features: Features, seed_types: list[str]) -> dict[tuple, list]:
    """Of the requests that `features.hide` names: what is hidden of a seed's row, from where to where."""
    found = {}
    for name, columns in (features.hide or {}).items():
        what = f"features.hide[{name!r}]"
        keys = [key for key in requests if name in (key, key[1]) and key[0] in seed_types and key[1] != LABEL]
        if not keys:
            there = [key for key in requests if key[0] in seed_types and key[1] != LABEL]
            raise ValueError(f"{what} is no table that is gathered for the seeds' types; there is {there}")
        for of, table in keys:
            given = requests[of, table]
            shape = (graph.table(table, of) if given is None else given).shape[1:]
            found[of, table] = _cells(columns, shape, what)
    return found


def _cells(columns, shape: tuple[int, ...], what: str) -> list[tuple[int, int]]:
    if columns is None:
        return [(0, math.prod(shape))]
    if not shape:
        raise ValueError(f"{what} is {shortened(columns)}, but a row is one number: None hides it")
    width = math.prod(shape[1:])
    columns = columns if isinstance(columns, (list, tuple)) else [columns]
    numbers = [as_int(column, what, 0, shape[0] - 1) for column in columns]
    return [(column * width, (column + 1) * width) for column in numbers]


def for_engine(
    graph: Graph, requests: dict, expand: str, pulls: bool, fused: dict, narrowed: set, hidden: dict
) -> list[_core.TableRequest]:
    """`pulls`: whether rows of tables on other machines are to be pulled. `fused`: of fused_tables(). `narrowed`: of
    narrowed_tables(). `hidden`: of hidden_cells()."""

    def request(of: Of, name: str, table: Table | None) -> _core.TableRequest:
        if not isinstance(of, str):
            return _core.TableRequest(name, edge_type=graph.edge_types.index(of))
        rows = _core.GraphTable() if table is None else rows_of(table, pulls)
        narrows = (of, name) in narrowed
        if narrows and isinstance(rows, _core.PulledTable):
            raise ValueError(f"features.dtype is given, but rows of {name!r} are pulled from other machines")
        return _core.TableRequest(
            name,
            node_type=graph.node_types.index(of),
            at_seeds=is_at_seeds(name, expand),
            rows=rows,
            fused=(of, name) in fused,
            as_bfloat16=narrows,
            hidden=hidden.get((of, name), []),
        )

    return [request(of, name, table) for (of, name), table in requests.items()]


def _is_feature(graph: Graph, of: Of, name: str, table: Table | None) -> bool:
    if not isinstance(of, str) or name == LABEL:
        return False
    table = graph.table(name, of) if table is None else table
    return table.is_encoded or dtype_name(table.dtype) == "float32"


def described(graph: Graph, of: Of, name: str, table: Table | None) -> str:
    table = graph.table(name, of) if table is None else table
    kind = of if isinstance(of, str) else "-".join(of)
    return f"{name} of {kind}: {dtype_name(table.dtype)}{list(table.shape[1:])}"
