"""Programs written for PyG: its loaders, sampler and stores, over Ramet. Needs torch and torch_geometric.

docs/pyg.md says what is the same, and what differs.
"""

from ramet._support import foreign_words
from ramet.pyg.cluster import ClusterLoader
from ramet.pyg.hgt import HGTLoader
from ramet.pyg.link_loader import LinkNeighborLoader
from ramet.pyg.loader import NeighborLoader
from ramet.pyg.saint import GraphSAINTEdgeSampler, GraphSAINTNodeSampler, GraphSAINTRandomWalkSampler
from ramet.pyg.sampler import RametSampler
from ramet.pyg.shadow import ShaDowKHopSampler
from ramet.pyg.stores import FeatureStore, GraphStore
from ramet.pyg.trim import trim_to_layer

__all__ = [
    "ClusterLoader",
    "FeatureStore",
    "GraphSAINTEdgeSampler",
    "GraphSAINTNodeSampler",
    "GraphSAINTRandomWalkSampler",
    "GraphStore",
    "HGTLoader",
    "LightningLinkData",
    "LightningNodeData",
    "LinkNeighborLoader",
    "NeighborLoader",
    "RametSampler",
    "ShaDowKHopSampler",
    "trim_to_layer",
]


def __getattr__(name: str):
    if name in ("LightningLinkData", "LightningNodeData"):  # which import Lightning
        from ramet.pyg import lightning

        return getattr(lightning, name)
    raise foreign_words.no_member(__name__, foreign_words.PYG_MODULE, name)
