"""FeatureStore and GraphStore: a Ramet graph behind the interfaces of PyG's remote backends."""

from __future__ import annotations

import numpy as np
import torch
from torch_geometric.data import EdgeAttr, TensorAttr
from torch_geometric.data import FeatureStore as PygFeatureStore
from torch_geometric.data import GraphStore as PygGraphStore
from torch_geometric.data.graph_store import EdgeLayout

from ramet._support.arguments import edge_folder
from ramet.graph import Graph
from ramet.loading.options import as_graph
from ramet.loading.pyg_data.names import attribute_names

READ_ONLY = "a Ramet graph is read-only: make another one, by ramet.from_arrays or ramet.save"


class FeatureStore(PygFeatureStore):
    """The node tables of a graph, "feat" under the name "x" and "label" under "y". Groups are node types; None on a
    graph of one type. Rows are gathered by the engine, as they are stored. Edge tables can be got, group: the edge
    type, rows in the order of the graph; PyG's loaders do not ask for them. Pickles as a handle.
    """

    def __init__(self, graph: Graph):
        super().__init__()
        self.graph = as_graph(graph)
        types: list = [*self.graph.node_types, *self.graph.edge_types]
        tables = {t: self.graph.tables(t) for t in types}
        self._names = attribute_names(tables, self.graph.is_hetero)

    def get_all_tensor_attrs(self) -> list[TensorAttr]:
        graph = self.graph
        attributes = [(t, name) for t in graph.node_types for name in self._names[t].values()]
        return [TensorAttr(t if graph.is_hetero else None, name) for t, name in attributes]

    def _get_tensor(self, attr: TensorAttr) -> torch.Tensor | None:
        table = self._table(attr)
        if table is None or attr.index is None:
            return None if table is None else table.torch()
        if isinstance(attr.index, (slice, int)):
            return table.torch()[attr.index]
        return table.gather(torch.as_tensor(attr.index, dtype=torch.int64))

    def _get_tensor_size(self, attr: TensorAttr) -> tuple[int, ...] | None:
        table = self._table(attr)
        return None if table is None else tuple(table.shape)

    def _put_tensor(self, tensor, attr: TensorAttr) -> bool:
        raise NotImplementedError(READ_ONLY)

    def _remove_tensor(self, attr: TensorAttr) -> bool:
        raise NotImplementedError(READ_ONLY)

    def _table(self, attr: TensorAttr):
        graph = self.graph
        of = graph.node_types[0] if attr.group_name is None else attr.group_name
        tables = {name: table for table, name in self._names.get(of, {}).items()}
        name = tables.get(attr.attr_name, attr.attr_name)
        return graph.table(name, of) if name in tables.values() else None


class GraphStore(PygGraphStore):
    """The edges of a graph, as compressed sparse columns without a copy; edge types are None on a graph of one type.
    Edges are numbered in the order of the graph. Pickles as a handle."""

    def __init__(self, graph: Graph):
        super().__init__()
        self.graph = as_graph(graph)

    def get_all_edge_attrs(self) -> list[EdgeAttr]:
        graph = self.graph
        return [
            EdgeAttr(
                t if graph.is_hetero else None, EdgeLayout.CSC, size=(graph.num_nodes(t[0]), graph.num_nodes(t[2]))
            )
            for t in graph.edge_types
        ]

    def _get_edge_index(self, edge_attr: EdgeAttr) -> tuple[torch.Tensor, torch.Tensor] | None:
        graph = self.graph
        of = graph.edge_types[0] if edge_attr.edge_type is None else tuple(edge_attr.edge_type)
        if of not in graph.edge_types or edge_attr.layout != EdgeLayout.CSC:
            return None
        sources, offsets = (self._array(f"{edge_folder(of)}/{name}") for name in ("indices", "indptr"))
        return sources.to(torch.int64), offsets

    def _array(self, name: str) -> torch.Tensor:
        """An array of the graph as a tensor: a private mapping, as torch has no read-only tensors."""
        return torch.from_numpy(np.asarray(self.graph._core.copy_on_write(name)))

    def _put_edge_index(self, edge_index, edge_attr: EdgeAttr) -> bool:
        raise NotImplementedError(READ_ONLY)

    def _remove_edge_index(self, edge_attr: EdgeAttr) -> bool:
        raise NotImplementedError(READ_ONLY)
