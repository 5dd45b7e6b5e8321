"""Layers on blocks, with PyG's parameters and results. None of these modules imports PyG."""

from ramet.nn.conv.gat import GATConv
from ramet.nn.conv.gatv2 import GATv2Conv
from ramet.nn.conv.gcn import GCNConv
from ramet.nn.conv.gin import GINConv
from ramet.nn.conv.graph import GraphConv
from ramet.nn.conv.hetero import HeteroConv
from ramet.nn.conv.rgcn import RGCNConv
from ramet.nn.conv.sage import SAGEConv

__all__ = ["GATConv", "GATv2Conv", "GCNConv", "GINConv", "GraphConv", "HeteroConv", "RGCNConv", "SAGEConv"]
