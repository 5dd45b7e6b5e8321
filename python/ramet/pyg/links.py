"""Links as users of PyG give them: pairs of nodes and their negatives, checked, as the engine takes them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch_geometric.sampler import NegativeSampling

from ramet._support.arguments import shortened
from ramet._support.log import warn_once
from ramet.graph import Graph
from ramet.loading.exclusions import REVERSE, SpotTarget
from ramet.loading.link_batch import LinkBatch
from ramet.loading.negatives import Negatives
from ramet.loading.options import as_times
from ramet.loading.pairs import as_pair_index
from ramet.pyg.inputs import on_cpu
from ramet.pyg.sampler import RametSampler
from ramet.pyg.source import Source

LOOKED_AT = 64  # pairs


@dataclass(frozen=True, eq=False)
class SampledNegatives(Negatives):
    """Those of PyG's NegativeSampling. They are no edges where there are such pairs.

    exists: a type of nodes may lack the table. weights: of sources and of destinations, [nodes] each or None.
    """

    weights: tuple = (None, None)
    missing: str = "edge"

    @classmethod
    def of(cls, sampling: NegativeSampling, exists: str | None) -> SampledNegatives:
        corrupt = "pair" if sampling.is_binary() else "destination"
        weights = sampling.src_weight, sampling.dst_weight
        return cls(sampling.mode.value, sampling.amount, corrupt=corrupt, exists=exists, weights=weights)

    def plain(self) -> dict:
        return {"mode": self.mode, "amount": self.amount}

    def _created(self, graph: Graph, node_type: str) -> np.ndarray | None:
        return super()._created(graph, node_type) if self.exists in graph.tables(node_type) else None

    def _weight_sums(self, graph: Graph, node_type: str, edge_type, at_source: bool) -> np.ndarray | None:
        name, weight = ("src_weight", self.weights[0]) if at_source else ("dst_weight", self.weights[1])
        if weight is None:
            return None
        weight, count = torch.as_tensor(weight).detach().cpu().double().numpy(), graph.num_nodes(node_type)
        if weight.shape != (count,):
            raise ValueError(
                f"The 'weight' attribute in 'NegativeSampling' needs to match the number of nodes {count} "
                f"(got {weight.size}, {name})"
            )
        return self._sums_of(weight, name)


class PygLinkBatch(LinkBatch):
    """A LinkBatch in PyG's order, whose trees have the numbers of their pairs."""

    @property
    def batch(self):
        trees = super().batch
        if trees is None:
            return None
        pairs, _, of_negatives = self._core.links[0]
        of_pairs, of_negatives = torch.arange(pairs), torch.from_numpy(of_negatives)
        at_sources = of_pairs if self.is_triplet else torch.cat([of_pairs, of_negatives])
        pair_of = self._placed(torch.cat([at_sources, of_pairs, of_negatives]))
        return {t: pair_of[tree] for t, tree in trees.items()} if isinstance(trees, dict) else pair_of[trees]

    @property
    def dst_neg_index(self):
        amount = int(self._links.negatives.amount)
        return super().dst_neg_index.reshape(amount, -1).t().squeeze(-1).contiguous()


def as_links(sampler: RametSampler, edge_label_index, edge_label, edge_label_time, input_id) -> tuple:
    """(edge type, int64 [2, n], whether they are all edges of the type in order, times), as PyG's LinkLoader has them.
    ValueError, TypeError and IndexError name the argument."""
    source = sampler.source
    edge_type, chosen = _pair(source, edge_label_index)
    graph, are_all = source.graph, chosen is None
    if are_all and edge_type not in graph.edge_types:
        raise ValueError(f"edge_label_index names {edge_type}, but edge types are {graph.edge_types}: give pairs")
    pairs = source.edge_index(edge_type) if are_all else _checked(graph, edge_type, chosen)
    count = pairs.shape[1]
    for name, value in (("edge_label", edge_label), ("input_id", input_id)):
        if value is not None and not isinstance(value, torch.Tensor):
            raise TypeError(f"{name} is {shortened(value)}, expected a tensor")
        if value is not None and len(value) != count:
            raise ValueError(f"{name} has {len(value)} rows, expected {count}, one for each pair")
    if edge_label_time is not None and sampler.time is not None:
        times = as_times(on_cpu(edge_label_time), sampler.time.plain(), count, "edge_label_time")
        edge_label_time = torch.tensor(times)
    return edge_type, pairs, are_all, edge_label_time


def as_excluded(exclude, graph: Graph, edge_type: tuple):
    """`exclude` for the engine. The reverses of a type without a reverse type are edges of the type itself."""
    if isinstance(exclude, SpotTarget):
        return replace(exclude, edges=as_excluded(exclude.edges, graph, edge_type))
    is_own_reverse = edge_type[0] == edge_type[2] and edge_type in graph.edge_types
    if exclude != REVERSE or not is_own_reverse or graph._core.reverse_type(edge_type) is not None:
        return exclude
    return {edge_type: edge_type}


def tell_of_leak(graph: Graph, edge_type: tuple, pairs: torch.Tensor) -> None:
    """Once, where pairs are edges, of which some are looked at."""
    if edge_type not in graph.edge_types:
        return
    indptr, indices = graph.indptr(edge_type), graph.indices(edge_type)
    for source, destination in pairs[:, :LOOKED_AT].t().tolist():
        if source in indices[indptr[destination] : indptr[destination + 1]]:
            warn_once(
                "edge_label_index names edges that are also in the batches' edge_index, as with PyG: a model sees what "
                "it is to predict. exclude='reverse' leaves them and their reverses out, exclude='self' them alone"
            )
            return


def _pair(source: Source, asked) -> tuple:
    """(edge type, pairs or None)."""
    is_pair = isinstance(asked, (tuple, list)) and len(asked) == 2 and not isinstance(asked[0], str)
    if not source.is_hetero:
        is_pair = is_pair and asked[0] is None  # of a pair of stores
        return source.graph.edge_types[0], asked[1] if is_pair else asked
    edge_type, chosen = asked if is_pair else (asked, None)
    if not isinstance(edge_type, (tuple, list)) or not all(isinstance(name, str) for name in edge_type):
        raise ValueError(
            f"edge_label_index is {shortened(asked)}, expected an edge type, or a pair of one and pairs of nodes "
            f"[2, n]: {source.graph.edge_types}"
        )
    return source.template._to_canonical(*edge_type), chosen  # noqa: SLF001 (PyG's, of two words)


def _checked(graph: Graph, edge_type: tuple, chosen) -> torch.Tensor:
    for node_type in edge_type[::2]:
        if node_type not in graph.node_types:
            raise ValueError(f"edge_label_index names {edge_type}, but node types are {graph.node_types}")
    chosen = on_cpu(chosen)
    pairs = as_pair_index(chosen, graph, edge_type, "edge_label_index")
    return chosen.to(torch.int64) if isinstance(chosen, torch.Tensor) else torch.from_numpy(np.stack(pairs))
