"""LinkNeighborLoader: PyG's loader of links, with C++ threads that sample and gather ahead."""

from __future__ import annotations

import torch
import torch_geometric.loader
from torch_geometric.data import HeteroData
from torch_geometric.loader import LinkLoader
from torch_geometric.sampler.base import SubgraphType

from ramet import _core
from ramet._support.arguments import shortened
from ramet.graph import Graph
from ramet.loading import link_loader as native
from ramet.loading.times import Time
from ramet.pyg.ahead import Ahead
from ramet.pyg.engine_loader import EngineLoader, require_callable, sampler_for
from ramet.pyg.links import PygLinkBatch, SampledNegatives, as_excluded, as_links, tell_of_leak
from ramet.pyg.remote import StoresSource
from ramet.pyg.sampler import RametSampler


class _Engine(native.LinkLoader):
    edges_ahead = True
    link_order = _core.LinkOrder.PYG


class LinkNeighborLoader(EngineLoader, torch_geometric.loader.LinkNeighborLoader):
    """PyG's LinkNeighborLoader, with its arguments, attributes and batches, made ahead by C++ threads of this process.

    data, transform, num_workers and so on: as of ramet.pyg.NeighborLoader, with what that takes of the engine's.
    edge_label_index: as in PyG: int64 [2, n], which need not be edges; None for all edges. Of several types an edge
        type, or (edge type, [2, n] or None); the graph may lack the type.
    edge_label: [n, ...]. edge_label_time: int64 [n], with `time_attr`.
    neg_sampling: a NegativeSampling, its mode, or a dict of its arguments. Negatives are no edges of the data and none
        of the pairs, except for a source that has no other, and exist at the pair's time. Weights may have any length.
    exclude: None: the pairs that are edges are among the sampled edges, as in PyG. "self": no hop draws them.
        "reverse": nor their reverses, of the type that ToUndirected calls rev_..., else of the same type. Or a dict
        from edge types to their reverse types. Or a ramet.SpotTarget: only at nodes of low degree.

    Errors are in PyG's words where PyG has them; KeyError where no node exists at a pair's time. docs/pyg.md says what
    differs.
    """

    pyg_loader, sample_method = LinkLoader, "sample_from_edges"
    own_seeds = "edge_label_index=pairs.chunk(world_size, 1)[rank]"

    def __init__(
        self,
        data,
        num_neighbors,
        edge_label_index=None,
        edge_label=None,
        edge_label_time=None,
        replace: bool = False,
        subgraph_type: SubgraphType | str = "directional",
        disjoint: bool = False,
        temporal_strategy: str = "uniform",
        neg_sampling=None,
        neg_sampling_ratio: float | None = None,
        time_attr: str | Time | None = None,
        weight_attr: str | None = None,
        transform=None,
        transform_sampler_output=None,
        is_sorted: bool = False,
        filter_per_worker: bool | None = None,
        neighbor_sampler=None,
        directed: bool = True,
        exclude=None,
        **kwargs,
    ):
        ahead = Ahead.taken_from(kwargs)
        sampler = sampler_for(
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
        self.exclude = exclude
        if isinstance(sampler, RametSampler):
            self._edge_type, pairs, are_all, edge_label_time = as_links(
                sampler, edge_label_index, edge_label, edge_label_time, kwargs.get("input_id")
            )
            self._all_edges_of = sampler.source.graph if are_all else None
            has_types = sampler.is_hetero or isinstance(sampler.source, StoresSource)
            edge_label_index = (self._edge_type if sampler.is_hetero else None, pairs) if has_types else pairs
        super().__init__(
            sampler.source.template if isinstance(data, Graph) else data,
            num_neighbors,
            edge_label_index,
            edge_label,
            edge_label_time,
            neg_sampling=neg_sampling,
            neg_sampling_ratio=neg_sampling_ratio,
            time_attr=time_attr,
            transform=transform,
            transform_sampler_output=transform_sampler_output,
            filter_per_worker=filter_per_worker,
            neighbor_sampler=sampler,
            **kwargs,
        )
        self._begin(data, ahead, kwargs)
        if exclude is not None:
            self._require_engine()
        elif self._is_ours:
            tell_of_leak(sampler.source.graph, self._edge_type, pairs)

    @property
    def _sampler(self):
        return self.link_sampler

    def __getstate__(self) -> dict:
        state = super().__getstate__()
        if self._is_ours:
            state["_all_edges_of"] = self._all_edges_of is self._sampler.source.graph
        return state

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        if self._is_ours:
            self._all_edges_of = self._sampler.source.graph if state["_all_edges_of"] else None

    def _require_engine(self) -> None:
        """ValueError where PyG's code finds edges of a batch, since it excludes none."""
        subgraph_type = self._sampler.subgraph_type if self._is_ours else None
        if not self._makes_batches or subgraph_type != SubgraphType.directional:
            raise ValueError(
                f"exclude is {shortened(self.exclude)}, but PyG's code makes these batches: a sampler, subgraph_type "
                "or method of another kind asks for it (docs/pyg.md)"
            )

    def _make_native(self, served: dict) -> native.LinkLoader:
        seeds, source = self.input_data, self._sampler.source
        graph, time = source.graph, self._sampler.time
        pairs = None if graph is self._all_edges_of else torch.stack([seeds.row, seeds.col])
        negatives = self.neg_sampling
        if negatives is not None:
            negatives = SampledNegatives.of(negatives, None if time is None else time.table)
        return _Engine(
            graph,
            edges=(self._edge_type, pairs),
            edge_time=seeds.time,
            negatives=negatives,
            exclude=as_excluded(self.exclude, graph, self._edge_type),
            **self._native_options(served),
        )

    def _batch_of(self, core, engine: native.LinkLoader) -> PygLinkBatch:
        return PygLinkBatch(core, engine.origin)

    def _describe(self, out, batch: PygLinkBatch, input_id) -> None:
        is_hetero, (src, _, dst) = isinstance(out, HeteroData), self._edge_type
        links, sources, destinations = (out[self._edge_type], out[src], out[dst]) if is_hetero else (out, out, out)
        links.input_id, *values = self._metadata(batch, input_id)
        if self._is_triplet:
            sources.src_index, destinations.dst_pos_index, destinations.dst_neg_index, time = values
            sources.seed_time = destinations.seed_time = time
            for name in ("edge_label_index", "edge_label_time"):  # of the data, with its ids
                links.pop(name, None)
        else:
            links.edge_label_index, links.edge_label, links.edge_label_time = values

    def _metadata(self, batch: PygLinkBatch, input_id) -> tuple:
        if self._is_triplet:
            return input_id, batch.src_index, batch.dst_pos_index, batch.dst_neg_index, batch.edge_label_time
        return input_id, batch.edge_label_index, self._labels_of(batch), batch.edge_label_time

    @property
    def _is_triplet(self) -> bool:
        return self.neg_sampling is not None and self.neg_sampling.is_triplet()

    def _labels_of(self, batch: PygLinkBatch) -> torch.Tensor | None:
        """[pairs + negatives, ...]."""
        label = self.input_data.label
        if label is None and self.neg_sampling is None:
            return None
        of_pairs = torch.ones(batch.num_pairs) if label is None else label[batch.input_id.cpu()]
        negatives = batch.edge_label_index.shape[1] - batch.num_pairs
        labels = torch.cat([of_pairs, of_pairs.new_zeros(negatives, *of_pairs.shape[1:])])
        return labels.to(batch.edge_label_index.device)
