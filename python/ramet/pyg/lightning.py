"""LightningNodeData, LightningLinkData: PyG's modules of data for Lightning, with our loaders."""

from __future__ import annotations

import inspect

from torch_geometric.data import lightning

from ramet.pyg.link_loader import LinkNeighborLoader
from ramet.pyg.loader import NeighborLoader
from ramet.pyg.sampler import RametSampler

_OF_SAMPLER = inspect.signature(RametSampler).parameters.keys() - {"data"}


class LightningNodeData(lightning.LightningNodeData):
    """PyG's LightningNodeData, with its arguments: the loaders of its Data or HeteroData are ramet.pyg.NeighborLoader,
    unless loader="full" or a `node_sampler` that is no RametSampler is given.

    ModuleNotFoundError where Lightning is not installed; else errors of NeighborLoader.
    """

    def __init__(self, data, *args, loader: str = "neighbor", node_sampler=None, **kwargs):
        if loader == "neighbor" and node_sampler is None:
            node_sampler = _sampler_of(data, kwargs)
        super().__init__(data, *args, loader=loader, node_sampler=node_sampler, **kwargs)

    def dataloader(self, input_nodes, input_time=None, input_id=None, node_sampler=None, **kwargs):
        if self.loader == "full" or not isinstance(node_sampler, RametSampler):
            return super().dataloader(input_nodes, input_time, input_id, node_sampler, **kwargs)
        kwargs |= {"input_nodes": input_nodes, "input_time": input_time, "input_id": input_id}
        return NeighborLoader(self.data, **_options(node_sampler), **kwargs)


class LightningLinkData(lightning.LightningLinkData):
    """PyG's LightningLinkData, with its arguments: its loaders are ramet.pyg.LinkNeighborLoader, unless loader="full"
    or a `link_sampler` that is no RametSampler is given. Errors: as of LightningNodeData."""

    def __init__(self, data, *args, loader: str = "neighbor", link_sampler=None, **kwargs):
        if loader == "neighbor" and link_sampler is None:
            link_sampler = _sampler_of(data, kwargs)
        super().__init__(data, *args, loader=loader, link_sampler=link_sampler, **kwargs)

    def dataloader(self, input_edges, input_labels=None, input_time=None, input_id=None, link_sampler=None, **kwargs):
        if self.loader == "full" or not isinstance(link_sampler, RametSampler):
            return super().dataloader(input_edges, input_labels, input_time, input_id, link_sampler, **kwargs)
        kwargs |= {"edge_label_index": input_edges, "edge_label": input_labels, "edge_label_time": input_time}
        return LinkNeighborLoader(self.data, **_options(link_sampler), input_id=input_id, **kwargs)


def _sampler_of(data, kwargs: dict) -> RametSampler:
    """With those of `kwargs` that are its options, which are taken out."""
    return RametSampler(data, **{name: kwargs.pop(name) for name in _OF_SAMPLER & kwargs.keys()})


def _options(sampler: RametSampler) -> dict:
    """Arguments of a loader with this sampler."""
    time_attr = None if sampler.time is None else sampler.time.table
    return {"num_neighbors": sampler.num_neighbors, "time_attr": time_attr, "neighbor_sampler": sampler}
