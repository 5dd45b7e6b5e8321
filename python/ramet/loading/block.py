"""Block: one hop of a batch. Ends: of its pairs. Sources: of all its hops."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ramet._support import foreign_words, torch_devices
from ramet._support.tensors import to_tensor
from ramet.graph import EdgeTypeName, Graph
from ramet.loading import origins

if TYPE_CHECKING:
    from ramet.loading.batch import Batch


class Block:
    """One hop of a batch: a bipartite CSC from source nodes to destination nodes, in local ids.

    Destinations are n_id[:num_dst], and the first sources. Sources are n_id[:num_src]. Where ranks cooperate, sources
    are the block's own `n_id`, whose rows `ramet.distributed.exchange` pulls.
    """

    edge_type: EdgeTypeName | None = None  # of a block of one type, as block[edge_type] is
    name = property(lambda self: f"blocks[{self.index}]", doc="In errors.")

    def __init__(self, batch: Batch, index: int):
        self.batch = batch  # keeps the memory alive
        self.index = index  # in batch.blocks
        self._plan = None
        self._edge_index = None
        self._of_types: dict[EdgeTypeName, BlockOfType] = {}

    def __getitem__(self, edge_type: EdgeTypeName) -> BlockOfType:
        """The block's edges of one type of a heterogeneous graph: a Block with the values of this type and of its
        sources and destinations, no dicts. Raises KeyError for another type."""
        found = self._of_types.get(edge_type)
        if found is None:
            found = self._of_types[edge_type] = BlockOfType(self.batch, self.index, edge_type)
        return found

    @property
    def num_src(self):
        return self._per_node_type(self.batch._core.num_src)

    @property
    def num_dst(self):
        return self._per_node_type(self.batch._core.num_dst)

    @property
    def num_edges(self):
        return per_type(self.batch.graph, self.batch.graph.edge_types, self._num_edges)

    @property
    def n_id(self):
        """int64 [num_src]: the ids of the sources, destinations first. Computed on access."""
        return per_type(self.batch.graph, self.batch.graph.node_types, self._ids)

    @property
    def is_cooperative(self) -> bool:
        """Whether ranks made the batch together, so that other ranks have rows of its sources."""
        return self.batch._core.has_plan(self.index)

    @property
    def plan(self):
        """The exchange plan by which cooperating ranks pull the rows of sources; None where this process has all rows.

        The layer's input has `num_owned` rows, those of n_id[:num_owned] of the batch. `send_rows` (int32) are the rows
        to send: `send_counts[r]` of them to rank r of the group, in order. `receive_counts[r]` rows come from rank r.
        They are the rows of the nodes `source_ids`, and follow the destinations. Both are on the device of a batch
        that was made there. On a heterogeneous graph a dict by node type.
        """
        if self._plan is None and self.is_cooperative:
            graph, core = self.batch.graph, self.batch._core
            self._plan = per_type(graph, graph.node_types, lambda t: core.plan(self.index, t))
        return self._plan

    @property
    def group(self):
        """The process group of the ranks that made the batch together; None for one rank."""
        return self.batch.origin.group

    @property
    def indptr(self):
        """int64 [num_dst + 1]."""
        return self._per_edge_type(self.batch._core.indptr)

    @property
    def indices(self):
        """int32 [num_edges]: the local id of each edge's source."""
        return self._per_edge_type(self.batch._core.indices)

    @property
    def edge_index(self):
        """int64 [2, num_edges]: (source; destination), local ids, as in PyG. Computed on access. Where ranks cooperate,
        computed once, since `ramet.distributed.Cooperative` recognizes the block by this tensor.
        """
        if self._edge_index is not None:
            return self._edge_index
        edge_index = self._derived(self.batch._core.edge_index)
        for edge_type, tensor in edge_index.items() if isinstance(edge_index, dict) else [(self.edge_type, edge_index)]:
            origins.remember(tensor, self.batch, self.index, edge_type)
        if self.is_cooperative:
            self._edge_index = edge_index
        return edge_index

    @property
    def e_id(self):
        """int64 [num_edges]: the user's edge ids. They are not row numbers of edge tables, which are in CSC order: use
        `table` for rows, and `position` for their numbers.
        """
        return self._derived(self.batch._core.edge_ids)

    @property
    def position(self):
        """int64 [num_edges]: positions in the graph's CSC, which are the rows of edge tables. `table` returns
        graph.table(name).gather(block.position). Computed on access."""
        return self._derived(self.batch._core.position)

    def table(self, name: str):
        """[num_edges, ...]: the rows of the edge table `name`, in the order of `edge_index`, decoded where the loader
        decodes.

        On a heterogeneous graph a dict by edge type, of those that have the table. Gathered ahead where the loader's
        `tables` name it, else on access. Raises KeyError with the existing names.
        """
        graph = self.batch.graph
        types = [t for t in graph.edge_types if name in graph.tables(t)]
        if not types:
            there = {t: graph.tables(t) for t in graph.edge_types}
            raise KeyError(f"no edge type has a table {name!r}; there is {there} (rows of nodes are in batch.tables)")
        rows = {t: self._rows(name, t) for t in types}
        return rows if graph.is_hetero else rows[types[0]]

    @property
    def edge_weight(self):
        """float32 [num_edges]: the sum of weight times source row over a destination's edges estimates the mean over
        all its in-neighbors (docs/semantics.md, section 8).

        Let q be the probability of an edge. By default a weight is 1 / q, divided by the sum of 1 / q over the
        destination's edges. For "uniform" and LABOR-0 that is 1 / (edges of the destination), computed on access. With
        Labor(weights="horvitz-thompson") it is 1 / (in-degree x q).
        """
        return self._derived(self.batch._core.edge_weights)

    @property
    def has_weights(self) -> bool:
        """Whether the sampler gave edges weights of their own. Without them `edge_weight` is 1 / (edges of the
        destination), and the plain mean over the edges is the same.
        """
        return self.batch._core.has_weights(self.index)

    def __repr__(self) -> str:
        return f"Block({self.num_src} -> {self.num_dst})"

    def __getattr__(self, word: str):
        raise foreign_words.no_attribute(self, foreign_words.BLOCK, word)

    def _ids(self, node_type: int):
        core = self.batch._core
        if not self.is_cooperative:
            return self.batch._tensor(core.n_id(node_type)[: core.num_src(self.index, node_type)])
        destinations = core.n_id(node_type)[: core.num_dst(self.index, node_type)]
        pulled = core.plan(self.index, node_type).source_ids
        return _joined(self.batch, destinations, pulled)

    def _num_edges(self, edge_type: int) -> int:
        return self.batch._core.num_edges_of(self.index, edge_type)

    def _rows(self, name: str, edge_type: tuple):
        batch, t = self.batch, self.batch.graph.edge_types.index(edge_type)
        if (edge_type, name) in batch.origin.requests:
            i = list(batch.origin.requests).index((edge_type, name))
            return batch._tensor(batch._core.rows_of_block(i, t, self.index))
        table = batch.graph.table(name, edge_type)
        position = self._position_of(edge_type)
        dtype = "float32" if batch.origin.decode and table.is_encoded else None
        return batch._placed(to_tensor(table.gather(position if batch.device is None else position.cpu(), dtype=dtype)))

    def _position_of(self, edge_type: EdgeTypeName):
        return self.position[edge_type] if self.batch.graph.is_hetero else self.position

    def _per_node_type(self, get: Callable):
        graph = self.batch.graph
        return per_type(graph, graph.node_types, lambda t: get(self.index, t))

    def _derived(self, get: Callable):
        """Values computed on access; on a device by its current stream."""
        batch = self.batch
        if batch.origin.device is None:
            return self._per_edge_type(lambda i, t: get(i, t, 0))
        stream = torch_devices.as_stream(None, batch.origin.device)
        with torch_devices.using(stream):
            tensors = self._per_edge_type(lambda i, t: get(i, t, torch_devices.handle(stream)))
        if isinstance(tensors, dict):
            return {t: batch._placed(tensor) for t, tensor in tensors.items()}
        return batch._placed(tensors)

    def _per_edge_type(self, get: Callable):
        graph = self.batch.graph
        return per_type(graph, graph.edge_types, lambda t: self.batch._tensor(get(self.index, t)))


class BlockOfType(Block):
    """The edges of one type of a block, as `block[edge_type]` gives them: what a Block of a homogeneous graph has.

    `n_id` and `num_src` are of the sources' type, `num_dst` and `indptr` of the destinations'.
    """

    def __init__(self, batch: Batch, index: int, edge_type: EdgeTypeName):
        super().__init__(batch, index)
        types = batch.graph.edge_types
        if edge_type not in types:
            raise KeyError(f"block[{edge_type!r}]: the graph has edges of {types}")
        self.edge_type = edge_type
        self._type = types.index(edge_type)
        self._of_sources, self._of_destinations = (batch.graph.node_types.index(edge_type[end]) for end in (0, 2))

    num_src = property(lambda self: self.batch._core.num_src(self.index, self._of_sources))
    num_dst = property(lambda self: self.batch._core.num_dst(self.index, self._of_destinations))
    num_edges = property(lambda self: self.batch._core.num_edges_of(self.index, self._type))
    n_id = property(lambda self: self._ids(self._of_sources))

    @property
    def plan(self):
        return self.batch._core.plan(self.index, self._of_sources) if self.is_cooperative else None

    def table(self, name: str):
        """[num_edges, ...]: as Block.table. Raises KeyError with the existing names."""
        there = self.batch.graph.tables(self.edge_type)
        if name not in there:
            raise KeyError(f"{self.edge_type} has no table {name!r}; there is {there}")
        return self._rows(name, self.edge_type)

    def __getitem__(self, edge_type: EdgeTypeName):
        raise KeyError(f"block[{edge_type!r}]: this is the block of {self.edge_type} alone")

    def __repr__(self) -> str:
        return f"Block({self.num_src} -> {self.num_dst} of {'-'.join(self.edge_type)})"

    def _per_edge_type(self, get: Callable):
        return self.batch._tensor(get(self.index, self._type))

    def _position_of(self, edge_type: EdgeTypeName):
        return self.position


class _Nodes:
    """Nodes that are no block's sources, and that `ramet.distributed.exchange` pulls the rows of in the same way. On a
    heterogeneous graph, values are dicts by node type. plan_of: the plan of a node type, None where this process has
    all rows.
    """

    def __init__(self, batch: Batch, index: int, plan_of: Callable | None):
        self.batch = batch
        self.index = index  # beside those of blocks
        self.group = batch.origin.group
        self.is_cooperative = plan_of is not None
        self._plan_of = plan_of

    @property
    def n_id(self):
        """int64: the id of each node. Local ids are positions here."""
        return self._per_type(self._ids)

    @property
    def plan(self):
        """As Block.plan; None where this process has all rows."""
        return None if self._plan_of is None else self._per_type(self._plan_of)

    def _ids(self, node_type: int):
        raise NotImplementedError

    def _per_type(self, get: Callable):
        return per_type(self.batch.graph, self.batch.graph.node_types, get)


class Ends(_Nodes):
    """The distinct ends of the pairs and negatives of a LinkBatch: like the sources of a block without destinations,
    whose input are the rows of the seeds.
    """

    def __init__(self, batch: Batch):
        core = batch._core
        super().__init__(batch, core.num_blocks, core.seed_plan if core.has_seed_plan else None)

    num_dst = property(lambda self: self._per_type(lambda _: 0))

    def __repr__(self) -> str:
        return "batch.ends"

    def _ids(self, node_type: int):
        if self.is_cooperative:
            return _joined(self.batch, self._plan_of(node_type).source_ids)
        core = self.batch._core
        return self.batch._tensor(core.n_id(node_type)[: dict(core.seeds).get(node_type, 0)])


class Sources(_Nodes):
    """With expand="once": the sources of all edges, those of one block whose destinations are all nodes of the batch.
    Where ranks cooperate, `n_id` of the batch comes first, and then nodes of other ranks.
    """

    name = "batch.sources"  # in errors

    def __init__(self, batch: Batch):
        core = batch._core
        super().__init__(batch, -1, core.merged_plan if core.has_merged_plan else None)
        self._edge_index = None

    num_dst = property(lambda self: self._per_type(lambda t: len(self.batch._core.n_id(t))))

    @property
    def edge_index(self):
        """int64 [2, num_edges]: that of `batch.edges()`; on a heterogeneous graph a dict by edge type. Computed once,
        since `ramet.distributed.Cooperative` recognizes the batch by this tensor.
        """
        if self._edge_index is None:
            types = self.batch.graph.edge_types
            self._edge_index = per_type(self.batch.graph, types, lambda t: self.batch.edges(types[t]).edge_index)
        return self._edge_index

    def __repr__(self) -> str:
        return self.name

    def _ids(self, node_type: int):
        own = self.batch._core.n_id(node_type)
        return _joined(self.batch, own, self._plan_of(node_type).source_ids) if self.is_cooperative else own


def _joined(batch: Batch, *ids):
    """int64: some of the engine's arrays of ids, one after the other."""
    if batch.origin.device is None:
        return batch._tensor(np.concatenate(ids, dtype=np.int64))
    return batch._tensor(torch_devices.joined(ids))


def per_type(graph: Graph, types: list, get: Callable):
    """get(position of type) for every type, as a dict; the value itself for a homogeneous graph."""
    if not graph.is_hetero:
        return get(0)
    return {name: get(t) for t, name in enumerate(types)}
