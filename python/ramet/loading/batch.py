"""Batch: the result of sampling, as tensors that share the engine's memory."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ramet import _core
from ramet._support import foreign_words, html, torch_devices
from ramet._support.tensors import device_of_tensors, num_rows, to_tensor
from ramet.dtypes import dtype_name, scaled_by
from ramet.graph import EdgeTypeName, Graph
from ramet.loading.block import Block, Sources, per_type
from ramet.loading.edges import Edges
from ramet.loading.pad import Pad
from ramet.tables.table import Table


def is_at_seeds(table: str, expand: str) -> bool:
    """Whether a node table is gathered at the seeds alone: where blocks give results for seeds alone. Every other is
    gathered at all nodes.
    """
    return table == "label" and expand == "every"


@dataclass(frozen=True)
class Origin:
    """What all batches of a loader have in common.

    world: the number of ranks that share a global batch.
    requests: (node type or edge type, name) of each gathered table, and the Table; None for the graph's.
    group: the process group that moves rows between ranks that make a batch together; None for one rank.
    device: the torch.device that the engine makes batches on; None for the CPU.
    decode: whether tables are decoded to float32.
    fused: the Table of each request whose rows the first layer reads from it, alone; see ramet.nn.TableRows.
    links: of a LinkLoader; see there.
    compared: {position of a block: (epoch, step) of the batch in which the ranks compared its rows' dtype and width}.
    """

    graph: Graph
    world: int = 1
    requests: dict = field(default_factory=dict)
    seed: int = 0
    group: object = None
    device: object = None
    decode: bool = True
    fused: dict = field(default_factory=dict)
    links: Any = None  # LinkOrigin
    compared: dict[int, tuple[int, int]] = field(default_factory=dict)


class Batch:
    """The seeds of one step, the blocks sampled for them, and the gathered tables.

    Tensors are torch tensors without a copy, or numpy arrays where torch is absent. A buffer returns to the loader's
    pool when its last tensor dies. On a heterogeneous graph, values per node type or edge type are dicts by type;
    `seeds`, `y`, `input_id` and `seed_time` belong to the seeds' type; where seeds are of several types, they are dicts
    by these types, in the order of `input_nodes`.
    """

    has_hops = True  # a subgraph has none

    def __init__(self, core: _core.Batch, origin: Origin):
        self._core = core
        self.origin = origin
        self._token = object()  # of this batch and its copies alone
        self._device = origin.device  # that its tensors are handed out on
        self._non_blocking = False
        self._tables: dict | None = None

    graph = property(lambda self: self.origin.graph, doc="The Graph that it was sampled from.")
    epoch = property(lambda self: self._core.epoch, doc="The epoch of this batch.")
    step = property(lambda self: self._core.step, doc="The number of this batch in its epoch.")
    num_seeds = property(lambda self: self._core.num_seeds, doc="Seeds of this rank: where ranks cooperate, its own.")
    global_num_seeds = property(lambda self: self._core.global_num_seeds, doc="Seeds over all ranks.")

    @property
    def seeds(self):
        """int64 [num_seeds]: the ids of the seeds, in order, repeats included."""
        return self._of_seeds(lambda t, of_type: self._tensor(self._core.n_id(t)[: of_type.stop - of_type.start]))

    @property
    def input_id(self):
        """int64 [num_seeds]: the position of each seed in the loader's `input_nodes`, or in the seeds of ramet.sample.
        Labels that belong to seeds rather than to nodes are at these positions.
        """
        ids = self._placed(to_tensor(self._core.input_id))
        return self._of_seeds(lambda t, of_type: ids[of_type])

    @property
    def seed_time(self):
        """int64 [num_seeds]: the time of each seed, [num_seeds, 2] if `input_time` had two; None without `time`."""
        times = self._core.seed_times
        if times is None:
            return None
        times = self._placed(to_tensor(times))
        return self._of_seeds(lambda t, of_type: times[of_type])

    @property
    def n_id(self):
        """int64 [num_nodes]: the id of every node of the batch, seeds first (docs/semantics.md, section 4). Where ranks
        cooperate: of the nodes that this rank owns.
        """
        return per_type(self.graph, self.graph.node_types, lambda t: self._tensor(self._core.n_id(t)))

    @property
    def blocks(self) -> list[Block]:
        """One block per hop, the farthest first: the order in which a model runs its layers.

        Raises ValueError for expand="once": a node is a destination in one hop only, so a layer needs all hops.
        """
        if self._core.merged:
            raise ValueError(
                "expand='once' gives one graph, not blocks: use batch.edges() or batch.to_pyg(); "
                "where ranks cooperate, batch.sources"
            )
        return [Block(self, i) for i in range(self._core.num_blocks)]

    expand = property(
        lambda self: "once" if self._core.merged else "every",
        doc="For which nodes a hop drew: 'every' node found so far, or each node 'once'.",
    )

    def edges(self, edge_type: EdgeTypeName | None = None) -> Edges:
        """With expand="once": the sampled edges of all hops, the seeds' hop first, of `edge_type` on a heterogeneous
        graph. Raises ValueError for expand="every", whose edges belong to blocks, and for a type that is missing.
        """
        return Edges(self, edge_type)

    @property
    def sources(self) -> Sources:
        """With expand="once": the sources of `edges`, whose rows `ramet.distributed.exchange` pulls where ranks
        cooperate. Raises ValueError for expand="every", whose blocks have their own.
        """
        if not self._core.merged:
            raise ValueError("expand='every' has sources for each block: use batch.blocks, or sample with 'once'")
        return Sources(self)

    @property
    def num_sampled_nodes(self):
        """list of hops + 1 numbers: the seeds, then the nodes that each hop found first. `n_id` is in this order."""
        return per_type(self.graph, self.graph.node_types, lambda t: self._core.num_sampled_nodes(t))

    @property
    def num_sampled_edges(self):
        """list of one number per hop, the seeds' hop first: the edges of that hop."""
        return per_type(self.graph, self.graph.edge_types, lambda t: self._core.num_sampled_edges(t))

    @property
    def batch(self):
        """With disjoint=True, int64 [num_nodes]: the position of the seed in whose tree each node is; else None. Seeds
        of several types are counted one type after another. Where ranks cooperate, the seeds of all ranks are counted,
        those of rank 0 first: these are no positions in `seeds` or `seed_time`, which have this rank's seeds alone.
        """
        if not self._core.disjoint:
            return None
        return per_type(self.graph, self.graph.node_types, lambda t: self._tensor(self._core.trees(t)))

    @property
    def hop(self):
        """With expand="once", int64 [num_nodes]: the number of hops that found each node, 0 for seeds; else None."""
        return self._of_nodes(self._core.hops) if self._core.merged else None

    @property
    def parent(self):
        """With expand="once", int64 [num_nodes]: the node that found each node as its neighbor; -1 for seeds. None
        where each hop draws for all nodes found so far. On a heterogeneous graph nodes are counted over all types, as
        in `torch.cat(list(batch.n_id.values()))`. None where ranks cooperate, too.
        """
        if not self._core.merged or self._core.induced or self._core.has_merged_plan:
            return None
        return self._of_nodes(self._core.parents)

    @property
    def tables(self) -> dict:
        """The gathered node tables by name: rows at `n_id`, but with expand="every" those of "label" at `seeds`. For
        rows of edges see Block.table and Edges.table. With `Features(fuse=True)` "feat" is a ramet.nn.TableRows.
        """
        if self._tables is None:
            self._tables = self._by_table(self._rows)
        return self._tables

    @property
    def scales(self) -> dict:
        """The scales of the gathered int8 tables, by name, where the loader does not decode: rows *
        scales are the values.

        Per row [num_rows, 1, ...], gathered on access; or per column [1, columns, ...].
        """
        return self._by_table(self._scale)

    @property
    def x(self):
        """The rows of table "feat" at `n_id`; with `Features(fuse=True)` a ramet.nn.TableRows of them."""
        return self._named_table("x", "feat")

    @property
    def y(self):
        """The rows of table "label" at `seeds`."""
        labels = self._named_table("y", "label")
        if not isinstance(labels, dict):
            return labels[: self.num_seeds]
        counts = self._num_seeds_of
        found = {t: labels[t][:count] for t, count in counts.items() if t in labels}
        if not found:
            raise AttributeError(f"batch.y: the seeds' types {list(counts)} have no table 'label', but {list(labels)}")
        return found if len(counts) > 1 else next(iter(found.values()))

    @property
    def device(self):
        """The torch.device of the tensors; None for the CPU. The tensors are complete, and belong to the stream that
        was current when the loop took the batch; see `record_stream`.
        """
        return self._device

    def to(self, device, *, non_blocking: bool = False) -> Batch:
        """The batch on `device`: itself if it is there already. Otherwise tables are moved now, ids and blocks on
        access. Dtypes stay. Raises TypeError unless it is a device."""
        at = device_of_tensors(device)
        if at == self._device:
            return self
        moved = copy.copy(self)
        moved._device, moved._non_blocking = at, non_blocking
        moved._tables = None
        _ = moved.tables
        return moved

    def record_stream(self, stream) -> None:
        """Declares that `stream` (a torch.cuda.Stream) uses the tensors of this device batch, too. Their memory is then
        not reused before `stream` has finished. torch.Tensor.record_stream has no effect on these tensors.
        """
        if self.origin.device is not None:
            self._core.record_stream(torch_devices.handle(stream))

    @property
    def cache_use(self) -> dict[str, int]:
        """With `cache_rows`: rows of this batch that the cache had, "hits", and that were read, "misses"."""
        core = self._core
        return {"hits": core.cache_hits, "misses": core.cache_misses}

    @property
    def timings(self) -> dict[str, float]:
        """Seconds: "sample" and "gather" that a loader's thread spent on this batch, "read" that it waited for rows of
        a disk, and "wait" that the loop waited for it.
        """
        core = self._core
        return {
            "sample": core.sample_seconds,
            "gather": core.gather_seconds,
            "read": core.read_seconds,
            "wait": core.wait_seconds,
        }

    num_nodes = property(lambda self: self._core.num_nodes, doc="Nodes in the batch, of all types.")
    num_edges = property(lambda self: self._core.num_edges, doc="Sampled edges, of all hops and types.")
    nbytes = property(lambda self: self._core.nbytes, doc="Bytes of blocks, ids and gathered rows.")

    def to_pyg(self, pad: Pad | None = None):
        """The batch as PyG's Data, on a heterogeneous graph HeteroData: with the gathered tables ("feat" as `x`,
        "label" as `y`, both at all nodes), `edge_index`, `n_id`, `e_id`, `input_id`, `batch_size` and so on
        (docs/pyg.md). Shares the tensors. Where ranks cooperate, its nodes are this rank's own; `edge_index` and
        `sources` are those of `batch.sources` (docs/cooperative.md). Raises ValueError for expand="every", whose edges
        belong to blocks. ImportError without PyG.

        pad: a ramet.Pad: fills nodes and edges up to fixed numbers, with zeros, after those of the batch. The masks
            `pad_node_mask` and `pad_edge_mask` are False there; `batch` is the number of seeds. ValueError with both
            numbers where the batch has more.
        """
        from ramet.loading.pyg_data.data import to_pyg  # imports torch_geometric

        return to_pyg(self, pad)

    def mean(self, per_seed):
        """The mean of `per_seed` over the global batch, from a tensor with one row per seed of this rank: its sum times
        world / seeds of the global batch.

        DistributedDataParallel averages over the ranks, which then gives the gradient of the global batch, also where
        slices differ in size. With no seeds the result is 0 and differentiable.
        """
        if (rows := num_rows(per_seed, "per_seed")) != self.num_seeds:
            raise ValueError(f"per_seed has {rows} rows, but the batch has {self.num_seeds} seeds here")
        return per_seed.sum() * (self.origin.world / max(self.global_num_seeds, 1))

    def fingerprint(self) -> str:
        """32 hexadecimal digits: a digest of the set of (hop, edge type, destination, edge id)."""
        return fingerprint([self])

    def __repr__(self) -> str:
        hops = f"edges={self.num_sampled_edges}" if self._core.merged else f"blocks={self.blocks}"
        return f"<ramet.Batch epoch={self.epoch} step={self.step} seeds={self.num_seeds} {hops}>"

    def _repr_html_(self) -> str:
        tables = {name: rows if isinstance(rows, dict) else {"": rows} for name, rows in self.tables.items()}
        blocks = [] if self._core.merged else self.blocks
        rows: list[tuple] = [(f"block {i}", str(block), f"{block.num_edges} edges") for i, block in enumerate(blocks)]
        for name, by_type in tables.items():
            rows += [(f"{name} {kind}".strip(), list(x.shape), dtype_name(x.dtype)) for kind, x in by_type.items()]
        title = f"ramet.Batch: epoch {self.epoch}, step {self.step}, {self.num_seeds} seeds, {self.num_nodes} nodes"
        return html.table(title, ("", "size", ""), rows)

    def __getattr__(self, word: str):
        if word != "origin" and not word.startswith("_"):
            for kind in (kind for kind, name in self.origin.requests if name == word):
                of_edges = "block.table({!r})" if isinstance(kind, tuple) else "batch.tables[{!r}]"
                raise AttributeError(f"ramet.Batch has no {word!r}: the table is {of_edges.format(word)}")
        raise foreign_words.no_attribute(self, foreign_words.BATCH, word)

    def _by_table(self, get: Callable) -> dict:
        """get(position, node type, name) of every gathered node table, None left out, as `tables` has it."""
        tables: dict = {}
        for i, (node_type, name) in enumerate(self.origin.requests):
            if not isinstance(node_type, str):
                continue
            rows = get(i, node_type, name)
            if rows is None:
                continue
            if self.graph.is_hetero and (len(self._num_seeds_of) > 1 or not is_at_seeds(name, self.expand)):
                tables.setdefault(name, {})[node_type] = rows
            else:
                tables[name] = rows
        return tables

    def _rows(self, i: int, node_type: str, name: str):
        rows = self._tensor(self._core.table(i))
        if (node_type, name) not in self.origin.fused:
            return rows
        from ramet.loading.table_rows import of_batch  # imports torch

        return of_batch(self, i, node_type, rows)

    def _scale(self, i: int, node_type: str, name: str):
        given = self.origin.requests[node_type, name]
        table = self.graph.table(name, node_type) if given is None else given
        if table.scale is None:
            return None
        if scaled_by(table.scale, len(table)) == "column":
            return self._placed(to_tensor(np.array(table.scale)))
        ids = self._core.n_id(self.graph.node_types.index(node_type))
        ids = ids[: self._num_seeds_of[node_type]] if is_at_seeds(name, self.expand) else ids
        return self._placed(to_tensor(Table(table.scale).gather(ids if self.origin.device is None else ids.cpu())))

    @property
    def _num_seeds_of(self) -> dict[str, int]:
        """The numbers of seeds by type, in their order."""
        return {self.graph.node_types[t]: count for t, count in self._core.seeds}

    def _of_nodes(self, arrays: list):
        """One of the engine's host arrays per node type."""
        return per_type(self.graph, self.graph.node_types, lambda t: self._placed(to_tensor(arrays[t])))

    def _of_seeds(self, get: Callable):
        """get(position of type, slice of all seeds) of each type of seeds, as a dict; the value itself for one."""
        parts, end = {}, 0
        for t, count in self._core.seeds:
            parts[self.graph.node_types[t]] = get(t, slice(end, end + count))
            end += count
        return parts if len(parts) > 1 else next(iter(parts.values()))

    def _tensor(self, array):
        """One of the engine's arrays, where the batch's tensors are handed out."""
        tensor = to_tensor(array)
        return tensor if self._device == self.origin.device else self._placed(tensor)

    def _placed(self, tensor):
        """The tensor, of any device, on the device of the batch's tensors."""
        if self._device is None and self.origin.device is None:
            return tensor
        return tensor.to("cpu" if self._device is None else self._device, non_blocking=self._non_blocking)

    def _named_table(self, attribute: str, name: str):
        if name in self.tables:
            return self.tables[name]
        raise AttributeError(
            f"batch.{attribute} needs the table {name!r}, which was not gathered: the graph has none, "
            f"or `tables` does not name it; gathered were {list(self.tables)}"
        )


def fingerprint(batches: Iterable[Batch]) -> str:
    """The fingerprint of the union of batches, such as those of all ranks: 32 hexadecimal digits (docs/semantics.md,
    section 7). Raises ValueError for no batches, and where their graphs or numbers of hops differ.
    """
    batches = list(batches)
    for i, batch in enumerate(batches):
        if not isinstance(batch, Batch):
            raise TypeError(f"batches[{i}] is a {type(batch).__name__}, not a ramet.Batch")
    if not batches:
        raise ValueError("fingerprint of no batches")
    if not all(_same(batch.graph, batches[0].graph) for batch in batches):
        raise ValueError("fingerprint of batches of different graphs")
    return _core.fingerprint([batch._core for batch in batches])


def _same(one: Graph, other: Graph) -> bool:
    one, other = one._core, other._core
    return one is other or one.identity == other.identity or one.whole_fingerprint() == other.whole_fingerprint()
