"""LightningNodeData: PyG's module of data for Lightning, with our loader."""

from __future__ import annotations

import inspect

from torch_geometric.data import lightning

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
            options = {name: kwargs.pop(name) for name in _OF_SAMPLER & kwargs.keys()}
            node_sampler = RametSampler(data, **options)
        super().__init__(data, *args, loader=loader, node_sampler=node_sampler, **kwargs)

    def dataloader(self, input_nodes, input_time=None, input_id=None, node_sampler=None, **kwargs):
        if self.loader == "full" or not isinstance(node_sampler, RametSampler):
            return super().dataloader(input_nodes, input_time, input_id, node_sampler, **kwargs)
        return NeighborLoader(
            self.data,
            node_sampler.num_neighbors,
            input_nodes,
            input_time,
            time_attr=None if node_sampler.time is None else node_sampler.time.table,
            neighbor_sampler=node_sampler,
            input_id=input_id,
            **kwargs,
        )
