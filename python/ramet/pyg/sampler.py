"""RametSampler: draws neighbors for PyG's loaders, and for ours."""

from __future__ import annotations

import numpy as np
import torch
from torch_geometric.sampler import (
    BaseSampler,
    EdgeSamplerInput,
    HeteroSamplerOutput,
    NegativeSampling,
    NodeSamplerInput,
    SamplerOutput,
)
from torch_geometric.sampler.base import NumNeighbors, SubgraphType
from torch_geometric.sampler.neighbor_sampler import edge_sample

from ramet._support.arguments import as_flag, shortened
from ramet.loading.batch import Batch
from ramet.loading.options import as_budgets, as_hops, is_list
from ramet.loading.pyg_data.data import by_type
from ramet.loading.samplers import Sampler, Uniform, Weighted, draws_by_node_type
from ramet.loading.sampling import sample
from ramet.loading.times import Time
from ramet.pyg.remote import is_remote, source_of_stores
from ramet.pyg.source import Source, source_of
from ramet.pyg.subgraphs import induced


class RametSampler(BaseSampler):
    """Draws neighbors as PyG's NeighborSampler does: each node's once, in the hop that first reaches the node. For
    `neighbor_sampler=` of PyG's NeighborLoader, and `link_sampler=` of its LinkLoader.

    data: a Data or HeteroData, whose edges are sorted once on a machine; a ramet.Graph; or a pair of FeatureStore and
        GraphStore, of which the edges are copied.
    num_neighbors, replace, subgraph_type, disjoint, temporal_strategy, time_attr, weight_attr: as of PyG's
        NeighborSampler. Edges need not be sorted: `is_sorted` and `share_memory` change nothing. `time_attr` may be a
        ramet.Time, whose table is the attribute's name.
    method: a ramet.Uniform, ramet.Labor, ramet.Weighted or ramet.Budget, instead of `replace` and `weight_attr`.

    Every call draws with a number from torch's random generator, so torch.manual_seed makes samples repeat. Pickles
    with its data. ValueError and TypeError name the argument; a graph that lies on a GPU is copied to the CPU first.
    """

    def __init__(
        self,
        data,
        num_neighbors,
        subgraph_type: SubgraphType | str = "directional",
        replace: bool = False,
        disjoint: bool = False,
        temporal_strategy: str = "uniform",
        time_attr: str | Time | None = None,
        weight_attr: str | None = None,
        is_sorted: bool = False,
        share_memory: bool = False,
        directed: bool = True,
        sample_direction: str = "forward",
        method: Sampler | None = None,
    ):
        if sample_direction != "forward":
            raise ValueError(f"sample_direction is {sample_direction!r}, expected 'forward': in-neighbors are drawn")
        self.subgraph_type = SubgraphType(subgraph_type) if directed else SubgraphType.induced
        self.method = _as_method(method, replace, weight_attr)
        make_source = source_of_stores if is_remote(data) else source_of
        self.time: Time | None = _as_time(time_attr, temporal_strategy)
        time_table = None if self.time is None else self.time.table
        self.source: Source = make_source(data, getattr(self.method, "table", None), time_table)
        self.num_neighbors = num_neighbors
        self.disjoint = as_flag(disjoint, "disjoint") or self.time is not None
        self.replace = replace
        if self.disjoint and self.subgraph_type == SubgraphType.induced:
            raise ValueError("'disjoint' sampling not supported for neighbor sampling with `subgraph_type='induced'`")

    @property
    def num_neighbors(self) -> NumNeighbors | list | dict:
        return self._num_neighbors

    @num_neighbors.setter
    def num_neighbors(self, value) -> None:
        if draws_by_node_type(self.method):
            as_budgets(value, self.source.graph, "num_samples")
            self._fanouts = self._num_neighbors = value
            return
        number = value if isinstance(value, NumNeighbors) else NumNeighbors(_as_fanouts(value))
        if isinstance(number.values, dict) and not self.is_hetero:
            raise ValueError("num_neighbors is a dict by edge type, but the graph is homogeneous: give a list")
        fanouts = number.get_values(self.source.edge_types if self.is_hetero else None)
        self._fanouts = fanouts or [0] * number.num_hops  # without edge types there is nothing to draw
        self._num_neighbors = number

    @property
    def is_hetero(self) -> bool:
        return self.source.is_hetero

    @property
    def is_temporal(self) -> bool:
        return self.time is not None

    @property
    def edge_permutation(self) -> None:
        """None: `edge` of a sample already has the user's edge numbers."""
        return None

    def options(self) -> dict:
        """All options that affect the sample, for ramet.sample and ramet.NeighborLoader."""
        options = {"num_neighbors": self._fanouts, "sampler": self.method, "expand": "once", "disjoint": self.disjoint}
        return options if self.time is None else options | {"time": self.time}

    def sample_from_nodes(self, index: NodeSamplerInput, **kwargs) -> SamplerOutput | HeteroSamplerOutput:
        self.source.renew()
        seeds = index.node if index.input_type is None else {index.input_type: index.node}
        times = index.time if index.input_type is None or index.time is None else {index.input_type: index.time}
        output = self._sample(seeds, times)
        output.metadata = (index.input_id, index.time)
        return self.finished(output)

    def sample_from_edges(
        self, index: EdgeSamplerInput, neg_sampling: NegativeSampling | None = None
    ) -> SamplerOutput | HeteroSamplerOutput:
        self.source.renew()
        counts = {t: self.source.graph.num_nodes(t) for t in self.source.node_types}
        times = self._node_times() or None
        if not self.is_hetero:
            (counts,) = counts.values()
            times = None if times is None else next(iter(times.values()))
        return self.finished(edge_sample(index, self._sample, counts, self.disjoint, times, neg_sampling))

    def finished(self, output: SamplerOutput | HeteroSamplerOutput) -> SamplerOutput | HeteroSamplerOutput:
        """The output as `subgraph_type` asks for it."""
        if self.subgraph_type == SubgraphType.bidirectional:
            return output.to_bidirectional()
        if self.subgraph_type == SubgraphType.induced:
            return induced(self.source, output)
        return output

    def _sample(self, seeds, times=None) -> SamplerOutput | HeteroSamplerOutput:
        """seeds, times: tensors; on a heterogeneous graph dicts by node type."""
        if not isinstance(seeds, dict):
            node_type = self.source.graph.node_types[0]
            seeds = {node_type: seeds}
            times = None if times is None else {node_type: times}
        ids = {t: of_type.numpy().astype(np.int64, copy=False) for t, of_type in seeds.items()}
        options = self.options()
        if times is not None:
            options["input_time"] = {t: of_type.numpy() for t, of_type in times.items()}
        batch = sample(self.source.graph, ids, epoch=random_epoch(), **options)
        return sampler_output(batch, self.source)

    def _node_times(self) -> dict:
        if self.time is None:
            return {}
        graph, name = self.source.graph, self.time.table
        return {t: graph.table(name, t).torch() for t in self.source.node_types if name in graph.tables(t)}


def _as_method(method: Sampler | None, replace: bool, weight_attr: str | None) -> Sampler:
    """The sampler: one of Ramet's, or one made from PyG's arguments."""
    if method is None:
        return Uniform(replace=replace) if weight_attr is None else Weighted(weight_attr, replace=replace)
    for name, value in (("replace", replace), ("weight_attr", weight_attr)):
        if value:
            raise ValueError(f"{name} is {value!r}, but the sampler is {method}, which says that: give one of them")
    return method


def _as_time(time_attr: str | Time | None, strategy: str) -> Time | None:
    """The time of the attribute, as PyG means it, or as it is given."""
    if isinstance(time_attr, Time):
        if strategy != "uniform":
            raise ValueError(f"temporal_strategy is {strategy!r}, but time_attr is {time_attr}, which says that")
        return time_attr
    time = Time("time" if time_attr is None else time_attr, strategy=strategy)
    return None if time_attr is None else time


def _as_fanouts(value) -> list | dict:
    if isinstance(value, dict):
        return value
    if not is_list(value):
        raise TypeError(
            f"num_neighbors is {shortened(value)}, expected a list of fanouts, or a dict of lists by edge type"
        )
    return as_hops(value, "num_neighbors")


def random_epoch(generator: torch.Generator | None = None) -> int:
    """A number for the engine to draw with, from torch's random generator."""
    return int(torch.empty((), dtype=torch.int64).random_(generator=generator))


def sampler_output(batch: Batch, source: Source) -> SamplerOutput | HeteroSamplerOutput:
    """A batch of expand="once" as PyG's samplers return it; without metadata. Edges have the user's numbers."""
    graph = source.graph
    ends = {t: batch.edges(t).edge_index for t in graph.edge_types}
    parts = {
        "node": by_type(batch.n_id, graph.node_types),
        "row": {t: of_type[0] for t, of_type in ends.items()},
        "col": {t: of_type[1] for t, of_type in ends.items()},
        "edge": {t: batch.edges(t).e_id for t in graph.edge_types},
        "batch": by_type(batch.batch, graph.node_types),
    }
    if not batch._core.induced:
        parts["num_sampled_nodes"] = by_type(batch.num_sampled_nodes, graph.node_types)
        parts["num_sampled_edges"] = by_type(batch.num_sampled_edges, graph.edge_types)
    if source.is_hetero:
        return HeteroSamplerOutput(**parts)
    return SamplerOutput(**{name: None if part is None else next(iter(part.values())) for name, part in parts.items()})
