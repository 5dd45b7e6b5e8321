"""Tables that are given to a loader, whose rows come in place of the graph's, or beside them."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping

from ramet import _core
from ramet._support.arguments import shortened
from ramet.graph import Graph
from ramet.tables.owners import digest_of
from ramet.tables.table import Table


def requests_provided(graph: Graph, name, table) -> Iterator[tuple[tuple[str, str], Table | None]]:
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


def names_on_device(tables) -> list | None:
    """The names of given tables with rows on a device; None for none."""
    given = (
        name
        for name, table in _of_all(tables)
        if getattr(table, "location", "host") == "device" or (isinstance(table, Table) and table.cached is not None)
    )
    return list(dict.fromkeys(given)) or None


def _of_all(tables) -> Iterator[tuple]:
    """(name, what is given for it) of every name and node type of `tables`, as of NeighborLoader."""
    for name, table in tables.items() if isinstance(tables, Mapping) else ():
        yield from ((name, of_type) for of_type in (table.values() if isinstance(table, Mapping) else [table]))


def rows_of(table: Table, pulls: bool) -> _core.ProvidedTable | _core.PulledTable:
    """Where a request of the engine finds the rows of the table. pulls: whether those on other machines are pulled."""
    storage = table._storage  # noqa: SLF001 (as the engine has it)
    if (cache := storage.cache) is not None:
        return _core.ProvidedTable(storage.stored, None, cache.ids, cache.rows_there)
    rows, positions, ranks = storage.rows, storage.positions, storage.ranks
    if pulls and not is_here(table):
        return _core.PulledTable(rows, positions, is_local=list(ranks.is_local), rank=ranks.rank)
    return _core.ProvidedTable(rows, None if positions.is_dense else positions)


def caches_of(tables: Iterable) -> list[tuple]:
    """(the storage of a table, which rows of it are cached), of given tables."""
    return [(table._storage, table.cached) for table in tables if isinstance(table, Table)]  # noqa: SLF001


def require_same_caches(before: list[tuple]) -> None:
    """ValueError where other rows are cached than at the time of caches_of()."""
    for storage, cached in before:
        if storage.cached is not cached:
            raise ValueError(
                f"{storage.stored.name} has other rows cached than when the loader was made: make it again"
            )


def pulling_group(tables):
    """The Group whose thread pulls rows of the given tables that lie on other machines; None where there are none.
    ValueError unless these tables have one group."""
    pulled = [table for _, table in _of_all(tables) if isinstance(table, Table) and not is_here(table)]
    groups = {None if group is None else tuple(group.members): group for group in map(_group_of, pulled)}
    if None in groups:
        raise ValueError("a table with rows on other machines was unpickled: its group is with the ranks that made it")
    if len(groups) > 1:
        raise ValueError(f"tables have rows on other machines of the ranks {list(groups)}, expected one group of ranks")
    return copy.copy(next(iter(groups.values()))) if groups else None  # which counts this loader as its own


def is_here(table: Table) -> bool:
    """Whether this process's addresses have all rows."""
    return all(table._ranks.is_local)  # noqa: SLF001


def _group_of(table: Table):
    return table._ranks.group  # noqa: SLF001


def require_owned_alike(graph: Graph, requests: dict, owners: list[_core.Ownership], rank: int) -> None:
    """ValueError unless this rank has the rows of its own nodes: `owners` by node type, where ranks cooperate."""
    for (of, name), table in requests.items():
        if table is not None:
            require_owners_alike(f"tables[{name!r}]", table, of, owners[graph.node_types.index(of)], rank)


def require_owners_alike(what: str, table, of: str, nodes: _core.Ownership, rank: int) -> None:
    """ValueError unless the rank owns the rows of a table, or an embedding's on a disk, whose nodes of type `of` it
    owns: `what` names it. A table of this process alone has them all."""
    if table.ranks == 1:
        return
    if (table.rank, table.ranks) != (rank, nodes.parts):
        raise ValueError(
            f"{what} is shared by {table.ranks} ranks, of which this is {table.rank}, but in the group of the loader "
            f"it is {rank} of {nodes.parts}"
        )
    if digest_of(table.ownership) != digest_of(nodes):
        raise ValueError(
            f"{what} is owned by {digest_of(table.ownership)}, but the loader's nodes of type {of!r} by "
            f"{digest_of(nodes)}: a rank reads its own rows alone"
        )
