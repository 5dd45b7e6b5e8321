"""Ahead: where rows of batches come from and go to, and how many batches are made ahead; options of the engine that PyG
does not have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ramet._support.arguments import shortened
from ramet.loading.features import Features, as_features
from ramet.pyg.attributes import Served
from ramet.pyg.source import DataSource, Source
from ramet.tables.table import Table

_OF_ENGINE = ("threads", "prefetch", "placement", "device", "features")


@dataclass(frozen=True)
class Provided(Served):
    """Of `tables=`: rows that a table has, whatever the attribute is."""

    @property
    def origin(self):
        return self.rows

    def is_current(self, value) -> bool:
        return True


class Ahead:
    """threads, prefetch, placement, device, features: as of ramet.NeighborLoader. tables: {attribute: Table}, or dicts
    of tables by node type."""

    def __init__(self, tables: Mapping | None = None, **of_engine):
        if tables is not None and not isinstance(tables, Mapping):
            raise TypeError(f"tables is {shortened(tables)}, expected a dict from attributes to ramet.Table")
        self.tables, self._of_engine = tables or {}, of_engine

    @classmethod
    def taken_from(cls, kwargs: dict) -> Ahead:
        """Takes its own out of the arguments of a loader."""
        given = {name: kwargs.pop(name, None) for name in ("tables", *_OF_ENGINE)}
        return cls(**{name: value for name, value in given.items() if value is not None})

    @property
    def device(self):
        return self._of_engine.get("device")

    def options(self, source: Source, served: dict) -> dict:
        """Options for the engine's loader, which gathers what is `served`. ValueError for options that it does not
        support with rows of a Data."""
        features = as_features(self._of_engine.get("features", Features(decode=source.decode)))
        if "features" in self._of_engine and isinstance(source, DataSource):
            raise ValueError(f"features is {features}, but rows of a Data arrive as they are: pass a ramet.Graph")
        tables = {(t, of_key.name): of_key.rows for t, of_type in served.items() for of_key in of_type.values()}
        return self._of_engine | {"features": features, "tables": tables, "ranks": False}

    def require_fused(self, is_fused: bool) -> None:
        """ValueError where PyG's code makes the batches, which has none of these."""
        given = [*self._of_engine, *(["tables"] if self.tables else [])]
        if given and not is_fused:
            raise ValueError(
                f"{given[0]} is given, but PyG's code makes these batches: a sampler, subgraph_type, "
                "transform_sampler_output or method of another kind asks for it (docs/pyg.md)"
            )

    def served(self, source: Source) -> dict:
        """The attributes whose rows the engine gathers, by type and name. On a device, rows of a Data are gathered on
        the CPU when the loop gets the batch."""
        served = {} if self.device is not None and isinstance(source, DataSource) else source.served()
        served = {t: dict(of_type) for t, of_type in served.items()}
        for key, tables in self.tables.items():
            for t, table in (tables if isinstance(tables, Mapping) else {source.node_types[0]: tables}).items():
                served.setdefault(t, {})[key] = Provided(None, key, _checked(source, t, key, table))
        return served


def _checked(source: Source, node_type, key: str, table) -> Table:
    what = f"tables[{key!r}]" if not source.is_hetero else f"tables[{key!r}][{node_type!r}]"
    if node_type not in source.node_types:
        raise ValueError(f"{what}: there is no node type {node_type!r}, expected one of {source.node_types}")
    if not isinstance(table, Table):
        raise TypeError(f"{what} is {shortened(table)}, expected a ramet.Table")
    count = source.graph.num_nodes(node_type)
    if table.shape[0] != count:
        raise ValueError(f"{what} has {table.shape[0]} rows, expected {count}, one for each node")
    return table
