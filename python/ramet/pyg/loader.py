"""NeighborLoader: PyG's loader, with C++ threads that sample and gather ahead."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import numpy as np
import torch
import torch_geometric.loader
from torch_geometric.loader import NodeLoader
from torch_geometric.sampler.base import SubgraphType

from ramet._support.arguments import shortened
from ramet._support.log import warn_once
from ramet._support.memory import FaultWatch
from ramet.graph import Graph
from ramet.loading import neighbor_loader as native
from ramet.loading.batch import Batch
from ramet.loading.samplers import Sampler
from ramet.loading.times import Time
from ramet.pyg.ahead import Ahead
from ramet.pyg.assembly import assemble
from ramet.pyg.hooks import inherits
from ramet.pyg.inputs import as_inputs
from ramet.pyg.order import explicit_batches
from ramet.pyg.remote import StoresSource
from ramet.pyg.same_seeds import tell_of_same_seeds
from ramet.pyg.sampler import RametSampler, random_epoch, sampler_output

WORKERS = (
    "num_workers",
    "persistent_workers",
    "prefetch_factor",
    "multiprocessing_context",
    "worker_init_fn",
    "timeout",
)


class _Engine(native.NeighborLoader):
    """With what every Data has: its edges."""

    edges_ahead = True


class NeighborLoader(torch_geometric.loader.NeighborLoader):
    """PyG's NeighborLoader, with its arguments, attributes and batches. C++ threads of this process make the batches
    ahead, in the order that torch's samplers decide.

    data: a Data or HeteroData, whose rows are read where they lie, and whose edges are sorted once on a machine; a
        ramet.Graph, whose tables "feat" and "label" are `x` and `y` of batches; or a pair of FeatureStore and
        GraphStore, of which the edges are copied.
    input_nodes: as in PyG; for a ramet.Graph also the name of a split.
    The other arguments are PyG's, and those of torch's DataLoader: `batch_size`, `shuffle`, `sampler`, `generator` and
    so on. `num_workers` and what belongs to workers is accepted, and changes nothing.
    neighbor_sampler: a sampler of PyG, or a ramet.Uniform, ramet.Labor or ramet.Weighted.
    time_attr: the attribute's name, or a ramet.Time that names it.
    Of ramet.NeighborLoader it takes `threads`, `prefetch`, `placement`, `device`, `features` (with a ramet.Graph) and
        `tables`: node attributes whose rows come from elsewhere, {name: ramet.Table}, by node type
        {name: {type: ramet.Table}}.

    Batches are Data or HeteroData. torch.manual_seed, or `generator`, makes an epoch repeat. All ranks of
    torch.distributed get all seeds, as in PyG: give each its own `input_nodes` or `sampler`. The loader pickles with
    its data, whose memory multiprocessing shares. ValueError, TypeError and IndexError name the argument, in PyG's
    words where PyG has them. docs/pyg.md says what differs.
    """

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
        if neighbor_sampler is None or isinstance(neighbor_sampler, Sampler):
            neighbor_sampler = RametSampler(
                data,
                num_neighbors,
                subgraph_type=subgraph_type,
                replace=replace,
                disjoint=disjoint,
                temporal_strategy=temporal_strategy,
                time_attr=time_attr,
                weight_attr=weight_attr,
                directed=directed,
                method=neighbor_sampler,
            )
        _require_callable(transform, "transform")
        _require_callable(transform_sampler_output, "transform_sampler_output")
        if isinstance(neighbor_sampler, RametSampler):
            input_nodes, input_time = as_inputs(neighbor_sampler, input_nodes, input_time, kwargs.get("input_id"))
        is_graph = isinstance(data, Graph)
        super().__init__(
            neighbor_sampler.source.template if is_graph else data,
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
        if is_graph:
            self._given = None
        self._native: native.NeighborLoader | None = None
        self._asked: tuple = ()
        self._ahead = ahead
        if isinstance(neighbor_sampler, RametSampler):
            _ = self._engine
            if self._makes_batches:
                _tell_of_threads(kwargs)
        ahead.require_fused(isinstance(neighbor_sampler, RametSampler) and self._makes_batches and self._is_fused)

    @property
    def data(self):
        """The data as it was given. For a ramet.Graph, and in another process, it is made from the graph on access,
        with all edges."""
        return self.node_sampler.source.data if self._given is None else self._given

    @data.setter
    def data(self, data) -> None:
        self._given = data

    def __iter__(self) -> Iterator:
        if isinstance(self.node_sampler, RametSampler):
            tell_of_same_seeds(self)
        return self._batches() if self._makes_batches else super().__iter__()

    def __call__(self, index):
        """The batch of the positions `index` of `input_nodes`: integers, or a bool mask."""
        if not self._collates:
            return super().__call__(index)
        index = torch.as_tensor(index)
        index = index.nonzero().view(-1) if index.dtype == torch.bool else index.view(-1)
        index = torch.where(index < 0, index + len(self.dataset), index).numpy().astype(np.int64, copy=False)
        self.node_sampler.source.renew()
        engine = self._engine
        core = engine._core.make(index, random_epoch(self.generator), 0)
        return self._finished(Batch(core, engine.origin), self._served)

    def __getstate__(self) -> dict:
        return {key: value for key, value in self.__dict__.items() if key not in ("_native", "_served", "_asked")}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state, _native=None)

    def check_worker_number_rationality(self) -> None:
        """Torch's warning of many worker processes, where there will be any."""
        if not self._makes_batches:
            super().check_worker_number_rationality()

    @property
    def _collates(self) -> bool:
        """Whether the engine makes a batch of seeds; else `collate_fn` does, or a sampler that is not ours."""
        is_ours = inherits(self.node_sampler, "sample_from_nodes", RametSampler)
        return is_ours and inherits(self, "collate_fn", NodeLoader)

    @property
    def _makes_batches(self) -> bool:
        """Whether the engine makes the batches of loops; else torch's DataLoader does."""
        return self._collates and inherits(self, "_get_iterator", NodeLoader)

    @property
    def _engine(self) -> native.NeighborLoader:
        source = self.node_sampler.source
        served = self._ahead.served(source) if self._is_fused else {}
        rows = {(t, key): of_key.origin for t, of_type in served.items() for key, of_key in of_type.items()}
        asked = (self._is_fused, source.graph, self.node_sampler.options(), rows)
        if self._native is None or asked != self._asked:  # unpickled, or something was set
            self._native, self._served, self._asked = self._make_native(served), served, asked
        return self._native

    def filter_fn(self, out):
        """As PyG's: the batch of a sample, made by PyG's code; for a pair of stores also with the rows of edges."""
        source = getattr(self.node_sampler, "source", None)
        if self._given is None and source is not None:
            source.require_dense_edge_ids()
        if not isinstance(source, StoresSource):
            return super().filter_fn(out)
        plain = copy.copy(self)
        plain.data, plain.transform = (source.rows, source.data[1]), None
        data = super(NeighborLoader, plain).filter_fn(out)
        source.rows.add_of_edges(data)
        return data if self.transform is None else self.transform(data)

    @property
    def _is_fused(self) -> bool:
        """Whether the engine gathers attributes; else PyG's own code does, from `data`."""
        sampler, source = self.node_sampler, self.node_sampler.source
        return (
            source.is_fused
            and inherits(self, "filter_fn", NeighborLoader)
            and (self._given is None or self._given is source.template)
            and sampler.subgraph_type == SubgraphType.directional
            and self.transform_sampler_output is None
        )

    def _make_native(self, served: dict) -> native.NeighborLoader:
        sampler, seeds = self.node_sampler, self.input_data
        source, options = sampler.source, sampler.options()
        node_type = source.graph.node_types[0] if seeds.input_type is None else seeds.input_type
        return _Engine(
            source.graph,
            options.pop("num_neighbors"),
            (node_type, seeds.node.numpy()),
            tables={(t, of_key.name): of_key.rows for t, of_type in served.items() for of_key in of_type.values()},
            ranks=False,
            **options,
            **self._ahead.options(source),
            **({} if seeds.time is None else {"input_time": seeds.time.numpy()}),
        )

    def _batches(self) -> Iterator:
        epoch, pins = random_epoch(self.generator), self.pin_memory and torch.cuda.is_available()
        self.node_sampler.source.renew(by_content=True)
        engine = self._engine
        served = self._served  # by this engine, whatever another loop asks for meanwhile
        watch = FaultWatch()
        for number, (order, offsets) in enumerate(explicit_batches(self)):
            stream = engine._core.start(epoch ^ number, 0, order, offsets)
            try:
                while (core := stream.next()) is not None:
                    watch.step()
                    data = self._finished(Batch(core, engine.origin), served)
                    yield data.pin_memory() if pins else data
            finally:
                stream.close()

    def _finished(self, batch: Batch, served: dict):
        """The batch as the user gets it. served: the attributes that it has rows of."""
        sampler, seeds = self.node_sampler, self.input_data
        input_id = batch.input_id if seeds.input_id is None else seeds.input_id[batch.input_id]
        seed_time = None if seeds.time is None else batch.seed_time
        if self._is_fused:
            data = assemble(batch, sampler.source, served, input_id, seed_time)
            return data if self.transform is None else self.transform(data)
        output = sampler_output(batch, sampler.source)
        output.metadata = (input_id, seed_time)
        return self.filter_fn(sampler.finished(output))


def _require_callable(function, name: str) -> None:
    if function is not None and not callable(function):
        raise TypeError(f"{name} is {shortened(function)}, expected a function of a batch")


def _tell_of_threads(kwargs: dict) -> None:
    given = [name for name in WORKERS if kwargs.get(name)]
    if given:
        warn_once("%s has no effect: C++ threads of this process make batches ahead", ", ".join(given))
