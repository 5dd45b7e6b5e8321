"""Which tables a loader gathers with its batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ramet import _core
from ramet.arguments import shortened
from ramet.dtypes import dtype_name
from ramet.graph import EdgeTypeName, Graph
from ramet.loading.batch import is_at_seeds
from ramet.tables.table import Table

DEFAULT_TABLES = ("feat", "label")
Of = str | EdgeTypeName  # node type or edge type


def as_requests(graph: Graph, seed_types: list[str], tables, expand: str) -> dict[tuple[Of, str], Table | None]:
    """(node type or edge type, name) of each table to gather: the Table that its rows come from, None for the graph's.
    `tables` and `expand` as of NeighborLoader. A name may also be such a pair."""
    if isinstance(tables, str):
        raise TypeError(f"tables is the string {tables!r}, expected a tuple of names")
    requests: dict[tuple[Of, str], Table | None] = {}
    for name in DEFAULT_TABLES if tables is None else tables:
        table = tables[name] if isinstance(tables, Mapping) else None
        if table is not None:
            requests.update(_given(graph, name, table))
            continue
        if isinstance(name, tuple):
            of, name = name
            graph.table(name, of)  # KeyError where there is none
            requests[of, name] = None
            continue
        node_types = seed_types if is_at_seeds(name, expand) else graph.node_types
        found = [t for t in node_types if name in graph.tables(t)]
        if not found and tables is not None:
            found = [t for t in graph.edge_types if name in graph.tables(t)]
        if not found and tables is not None:
            there = {t: graph.tables(t) for t in [*node_types, *graph.edge_types]}
            raise KeyError(f"tables names {name!r}, but the types have {there}")
        requests |= {(t, name): None for t in found}
    return requests


def _given(graph: Graph, name, table) -> Iterator[tuple[tuple[str, str], Table | None]]:
    """The requests of tables[name], which is a Table, or a dict of these by node type."""
    what = f"tables[{name!r}]"
    of, name = name if isinstance(name, tuple) else (None, name)
    if isinstance(table, Mapping) and of is None:
        by_type = table
    elif of is None and graph.is_hetero:
        raise TypeError(f"{what} is {shortened(table)}, expected a dict by node type; there is {graph.node_types}")
    else:
        by_type = {graph.node_types[0] if of is None else of: table}
    for t, of_type in by_type.items():
        if t not in graph.node_types:
            raise ValueError(f"{what} is of {t!r}, which is no node type; there is {graph.node_types}")
        if of_type is None:
            graph.table(name, t)  # KeyError where there is none
        elif not isinstance(of_type, Table):
            raise TypeError(f"{what} of node type {t!r} is {shortened(of_type)}, expected a ramet.Table or None")
        yield (t, name), of_type


def names_of_given(tables) -> list | None:
    """The names of tables whose rows do not come from the graph; None for none."""
    by_type = (
        {n: t if isinstance(t, Mapping) else {None: t} for n, t in tables.items()}
        if isinstance(tables, Mapping)
        else {}
    )
    return [n for n, of_name in by_type.items() if any(table is not None for table in of_name.values())] or None


def for_engine(graph: Graph, requests: dict, expand: str) -> list[tuple]:
    """(position of the type, table, at the seeds only, of an edge type, rows and places of the Table that is given), as
    _core.NeighborLoader takes them."""
    return [
        (graph.node_types.index(t), name, is_at_seeds(name, expand), False, *_rows_and_places(table))
        if isinstance(t, str)
        else (graph.edge_types.index(t), name, False, True, None, None)
        for (t, name), table in requests.items()
    ]


def _rows_and_places(table: Table | None) -> tuple[_core.Table | None, _core.RowPlaces | None]:
    if table is None:
        return None, None
    rows, places = table._rows_by_place, table._places  # noqa: SLF001 (as the engine has them)
    return rows, None if places is None or places.is_dense else places


def require_reached(requests: dict) -> None:
    """ValueError for a table of which other machines have rows."""
    for (_, name), table in requests.items():
        if table is not None and not all(table._ranks.reached):  # noqa: SLF001 (its processes)
            raise ValueError(
                f"tables[{name!r}] is {table!r}, of which ranks on other machines have rows: cooperative loaders take "
                "it, whose ranks read their own rows"
            )


def require_owned_alike(graph: Graph, requests: dict, owners: list[_core.Ownership], rank: int) -> None:
    """ValueError unless this rank has the rows of its own nodes: `owners` by node type, where ranks cooperate."""
    for (of, name), table in requests.items():
        if table is None or table.ranks == 1:
            continue
        nodes = owners[graph.node_types.index(of)]
        if (table.rank, table.ranks) != (rank, nodes.parts):
            raise ValueError(
                f"tables[{name!r}] is shared by {table.ranks} ranks, of which this is {table.rank}, but in the group "
                f"of the loader it is {rank} of {nodes.parts}"
            )
        if table.ownership.digest() != nodes.digest():
            raise ValueError(
                f"tables[{name!r}] is owned by {_said(table.ownership)}, but the loader's nodes of type {of!r} by "
                f"{_said(nodes)}: a rank reads its own rows alone"
            )


def _said(owners: _core.Ownership) -> str:
    bounds, vector, *_ = owners.__getstate__()
    if bounds is not None:
        return f"ranges with the bounds {shortened(bounds.tolist())}"
    return f"{'a hash' if vector is None else 'a vector'} (digest {owners.digest():016x})"


def described(graph: Graph, of: Of, name: str, table: Table | None) -> str:
    table = graph.table(name, of) if table is None else table
    kind = of if isinstance(of, str) else "-".join(of)
    return f"{name} of {kind}: {dtype_name(table.dtype)}{list(table.shape[1:])}"
