"""NeighborLoader: PyG's loader, with C++ threads that sample and gather ahead."""

from __future__ import annotations

import torch_geometric.loader
from torch_geometric.loader import NodeLoader
from torch_geometric.sampler.base import SubgraphType

from ramet.graph import Graph
from ramet.loading import neighbor_loader as native
from ramet.loading.batch import Batch
from ramet.loading.pyg_data.data import describe_seeds
from ramet.loading.times import Time
from ramet.pyg.ahead import Ahead
from ramet.pyg.engine_loader import EngineLoader, require_callable, sampler_for
from ramet.pyg.inputs import as_inputs
from ramet.pyg.sampler import RametSampler
from ramet.pyg.source import node_stores


class _Engine(native.NeighborLoader):
    """With what every Data has: its edges."""

    edges_ahead = True


class NeighborLoader(EngineLoader, torch_geometric.loader.NeighborLoader):
    """PyG's NeighborLoader, with its arguments, attributes and batches. C++ threads of this process make the batches
    ahead, in the order that torch's samplers decide.

    data: a Data or HeteroData, whose rows are read where they lie, and whose edges are sorted once on a machine; a
        ramet.Graph, whose tables "feat" and "label" are `x` and `y` of batches; or a pair of FeatureStore and
        GraphStore, of which the edges are copied.
    input_nodes: as in PyG; for a ramet.Graph also the name of a split.
    The other arguments are PyG's, and those of torch's DataLoader: `batch_size`, `shuffle`, `sampler`, `generator` and
    so on. `num_workers` and what belongs to workers is accepted, and changes nothing.
    neighbor_sampler: a sampler of PyG, or a ramet.Uniform, ramet.Labor, ramet.Weighted or ramet.Budget.
    time_attr: the attribute's name, or a ramet.Time that names it.
    Of ramet.NeighborLoader it takes `threads`, `prefetch`, `placement`, `device`, `features` (with a ramet.Graph) and
        `tables`: node attributes whose rows come from elsewhere, {name: ramet.Table}, by node type
        {name: {type: ramet.Table}}.

    Batches are Data or HeteroData. torch.manual_seed, or `generator`, makes an epoch repeat. All ranks of
    torch.distributed get all seeds, as in PyG: give each its own `input_nodes` or `sampler`. The loader pickles with
    its data, whose memory multiprocessing shares. ValueError, TypeError and IndexError name the argument, in PyG's
    words where PyG has them. docs/pyg.md says what differs.
    """

    pyg_loader, sample_method = NodeLoader, "sample_from_nodes"
    own_seeds = "input_nodes=ids.chunk(world_size)[rank]"

    def __init__(
        self,
        data,
        num_neighbors,
        input_nodes=None,
        input_time=None,
        replace: bool = False,
        subgraph_type: SubgraphType | str = "directional",
        disjoint: bool = False,
        temporal_strategy: str = "uniform",
        time_attr: str | Time | None = None,
        weight_attr: str | None = None,
        transform=None,
        transform_sampler_output=None,
        is_sorted: bool = False,
        filter_per_worker: bool | None = None,
        neighbor_sampler=None,
        directed: bool = True,
        **kwargs,
    ):
        ahead = Ahead.taken_from(kwargs)
        neighbor_sampler = sampler_for(
            data,
            num_neighbors,
            neighbor_sampler,
            subgraph_type=subgraph_type,
            replace=replace,
            disjoint=disjoint,
            temporal_strategy=temporal_strategy,
            time_attr=time_attr,
            weight_attr=weight_attr,
            directed=directed,
        )
        require_callable(transform, "transform")
        require_callable(transform_sampler_output, "transform_sampler_output")
        if isinstance(neighbor_sampler, RametSampler):
            input_nodes, input_time = as_inputs(neighbor_sampler, input_nodes, input_time, kwargs.get("input_id"))
        super().__init__(
            neighbor_sampler.source.template if isinstance(data, Graph) else data,
            num_neighbors,
            input_nodes,
            input_time,
            time_attr=time_attr,
            transform=transform,
            transform_sampler_output=transform_sampler_output,
            filter_per_worker=filter_per_worker,
            neighbor_sampler=neighbor_sampler,
            **kwargs,
        )
        self._begin(data, ahead, kwargs)

    @property
    def _sampler(self):
        return self.node_sampler

    def _make_native(self, served: dict) -> native.NeighborLoader:
        graph, seeds = self.node_sampler.source.graph, self.input_data
        node_type = graph.node_types[0] if seeds.input_type is None else seeds.input_type
        return _Engine(
            graph,
            input_nodes=(node_type, seeds.node.numpy()),
            **self._native_options(served),
            **({} if seeds.time is None else {"input_time": seeds.time.numpy()}),
        )

    def _batch_of(self, core, engine: native.NeighborLoader) -> Batch:
        return Batch(core, engine.origin)

    def _describe(self, out, batch: Batch, input_id) -> None:
        stores = dict(node_stores(out, batch.graph))
        describe_seeds(batch, stores, *self._metadata(batch, input_id))

    def _metadata(self, batch: Batch, input_id) -> tuple:
        return input_id, None if self.input_data.time is None else batch.seed_time
