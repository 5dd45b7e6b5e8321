"""NodeTable, EdgeTable: which columns of which rows are the nodes and the edges of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ramet._support.arguments import EdgeTypeName, as_flag, as_name, edge_folder, shortened

Column = str | int  # an int where files have no header
Columns = Column | Sequence[Column]
NODE_DUPLICATES = ("error", "first", "last")
EDGE_DUPLICATES = ("keep", "drop", "sum")


@dataclass(frozen=True, eq=False)
class NodeTable:
    """Nodes of a type: one row each, in the order of their rows.

    Args:
      type: the name of the node type.
      rows: where rows are: a path, a glob, a folder or a list of paths of Parquet, Arrow IPC, CSV or TSV (also .gz and
          .zst), .npy, .npz or .pt files, parts in the natural order of their names; or a URL of pyarrow.fs; or a pandas
          or polars frame, a pyarrow table, or any object with `__arrow_c_stream__`; or a dict of arrays by column,
          [num_rows] or [num_rows, width]. None: nodes without rows, then `num_nodes` says how many.
      id: the column of ids, or several, whose values are then tuples. None: the id is the number of the row.
      features: numeric columns of the table "feat", in this order; or {table: columns}. Text becomes the number of its
          category; the store keeps the list.
      label: the column of the table "label". Integers stay, null is -1 (so are integers that nulls made floating, as in
          pandas); text becomes the number of its category.
      time: the column of the int64 table "time". A null is the least int64: such a row is known from the beginning.
      split: a column of names ("valid" is "val"); or {"train": share, ...} or {"train": ids, ...}; or (time column,
          t_val, t_test): "val" begins at t_val and "test" at t_test, which are integers, or datetimes or their texts.
      seed: of a split by shares.
      duplicates: of rows with the same id: "error", "first" or "last" of them stays.
      header: whether text files begin with names of columns. Without them, columns have numbers from 0.
      normalize: makes the columns of floating tables have mean 0 and deviation 1. The store keeps both.
      num_nodes: of nodes without rows.
    """

    type: str
    rows: Any = None
    id: Columns | None = None
    features: Columns | Mapping[str, Columns] = ()
    label: Column | None = None
    time: Column | None = None
    split: Any = None
    seed: int = 0
    duplicates: str = "error"
    header: bool = True
    normalize: bool = False
    num_nodes: int | None = None

    def __post_init__(self) -> None:
        as_name(self.type, "NodeTable's type")
        _check_common(self, f"NodeTable({self.type!r})")
        check_word(self.duplicates, NODE_DUPLICATES, f"NodeTable({self.type!r}): duplicates")
        if (self.rows is None) != (self.num_nodes is not None):
            raise ValueError(f"NodeTable({self.type!r}) needs either rows or num_nodes")


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """Edges of a type: one row each. The id of an edge is the number of its row, over all parts.

    Args:
      type: (source type, relation, destination type).
      rows, header, normalize, seed: as of NodeTable.
      source, destination: the columns of the ids of the ends, or several each, as the node types' ids have them. None:
          the end is the node of the same number as the row.
      features: as of NodeTable, tables of edges.
      label, time, weight: the columns of the tables "label", "time" and "weight".
      split: as of NodeTable, of edges.
      undirected: adds the reverse of every edge. Of edges with the same ends one stays, so `duplicates` must say which
          where their values differ. Needs the same node type at both ends.
      reverse: a relation: adds the edge type (destination type, reverse, source type) with each edge turned round, and
          the same values.
      duplicates: of edges with the same ends: "keep" all, "drop" all but the first, or "sum": the first stays, with the
          sum of their weights.
      self_loops: whether edges from a node to itself stay. False needs the same node type at both ends.
    """

    type: EdgeTypeName
    rows: Any
    source: Columns | None = "source"
    destination: Columns | None = "destination"
    features: Columns | Mapping[str, Columns] = ()
    label: Column | None = None
    time: Column | None = None
    weight: Column | None = None
    split: Any = None
    seed: int = 0
    undirected: bool = False
    reverse: str | None = None
    duplicates: str = "keep"
    self_loops: bool = True
    header: bool = True
    normalize: bool = False

    def __post_init__(self) -> None:
        edge_folder(self.type)
        _check_common(self, f"EdgeTable({self.type!r})")
        check_word(self.duplicates, EDGE_DUPLICATES, f"EdgeTable({self.type!r}): duplicates")
        if not as_flag(self.self_loops, f"EdgeTable({self.type!r}): self_loops") and self.type[0] != self.type[2]:
            raise ValueError(f"EdgeTable({self.type!r}): self_loops=False needs the same node type at both ends")
        if as_flag(self.undirected, f"EdgeTable({self.type!r}): undirected") and self.type[0] != self.type[2]:
            raise ValueError(f"EdgeTable({self.type!r}): undirected=True needs the same node type at both ends")
        if self.undirected and self.reverse is not None:
            raise ValueError(
                f"EdgeTable({self.type!r}): undirected=True adds reverses to the same type, reverse= to another"
            )
        if self.duplicates == "sum" and self.weight is None:
            raise ValueError(f"EdgeTable({self.type!r}): duplicates='sum' adds weights, and there is no weight=")

    @property
    def reverse_type(self) -> EdgeTypeName | None:
        return None if self.reverse is None else (self.type[2], self.reverse, self.type[0])


@dataclass(frozen=True, eq=False)
class Description:
    """A graph as its tables: what ramet.build() and ramet.plan() read, and ramet.toml says."""

    nodes: tuple[NodeTable, ...] = ()
    edges: tuple[EdgeTable, ...] = ()
    notes: tuple[str, ...] = ()  # sentences for the user: what was found, and what was left out

    def __post_init__(self) -> None:
        types: tuple[tuple[str, list], ...] = (("nodes", [t.type for t in self.nodes]), ("edges", self._edge_types()))
        for what, names in types:
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise ValueError(
                    f"{what}: type {twice[0]!r} has {names.count(twice[0])} tables; give their files as one"
                )

    def _edge_types(self) -> list[EdgeTypeName]:
        return [t.type for t in self.edges] + [t.reverse_type for t in self.edges if t.reverse_type]


def table_columns(table: NodeTable | EdgeTable) -> dict[str, tuple[Column, ...]]:
    """The columns of each table of features: {"feat": (...), ...}."""
    features = table.features if isinstance(table.features, Mapping) else {"feat": table.features}
    return {name: columns for name, value in features.items() if (columns := as_columns(value))}


def as_columns(value: Columns | None) -> tuple[Column, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, (str, int)) else tuple(value)


def _check_common(table: NodeTable | EdgeTable, what: str) -> None:
    as_flag(table.header, f"{what}: header")
    as_flag(table.normalize, f"{what}: normalize")
    names = [*table_columns(table), *(n for n in ("label", "time", "weight") if getattr(table, n, None) is not None)]
    for name in names:
        as_name(name, f"{what}: the name of a table")
        if names.count(name) > 1:
            raise ValueError(f"{what}: two tables are called {name!r}")
    for columns in (*table_columns(table).values(), *(as_columns(getattr(table, n, None)) for n in _COLUMN_FIELDS)):
        for column in columns:
            if not isinstance(column, (str, int)) or isinstance(column, bool):
                raise TypeError(f"{what}: a column is {shortened(column)}, expected a name, or a number from 0")


_COLUMN_FIELDS = ("id", "source", "destination", "label", "time", "weight")


def check_word(value, words: Sequence[str], what: str) -> None:
    if value not in words:
        raise ValueError(f"{what} is {value!r}, not one of {', '.join(map(repr, words))}")
