"""Ramet: one copy of a graph and its features on a machine, and mini-batches from it at memory speed.

Importing this package loads neither torch nor PyG and changes no global state.
"""

import importlib

from ramet import evaluate
from ramet._core import CorruptStoreError, __version__
from ramet._support import foreign_words
from ramet._support.affinity import affinity
from ramet._support.memory import keep_memory
from ramet.costs.job import estimate
from ramet.dtypes import Quantized, bfloat16
from ramet.graph import Graph, open
from ramet.inputs.tables import EdgeTable, NodeTable
from ramet.loading.batch import Batch, fingerprint
from ramet.loading.block import Block
from ramet.loading.edges import Edges
from ramet.loading.exclusions import SpotTarget
from ramet.loading.features import Features
from ramet.loading.link_loader import LinkLoader, sample_links
from ramet.loading.negatives import Negatives
from ramet.loading.neighbor_loader import NeighborLoader
from ramet.loading.pad import Pad
from ramet.loading.placement import Placement
from ramet.loading.ranks import Cooperate
from ramet.loading.samplers import Budget, Labor, Uniform, Weighted
from ramet.loading.sampling import sample
from ramet.loading.summary import Summary
from ramet.loading.times import Time
from ramet.stores.build import build, generate
from ramet.stores.build_tables import plan
from ramet.stores.convert import from_arrays, from_edge_index, from_pyg, from_scipy, quantize, save
from ramet.stores.partition import partition
from ramet.stores.verify import verify
from ramet.subgraphs.cluster_loader import ClusterLoader
from ramet.subgraphs.saint_loader import SaintLoader
from ramet.subgraphs.subgraph import Subgraph
from ramet.tables.table import Table
from ramet.walks.walks import node2vec_walk, pinsage_neighbors, ppr_neighbors, random_walk


def __getattr__(name: str):
    if name in ("cuda", "distributed", "nn", "optim", "pyg"):  # these import torch
        return importlib.import_module(f"ramet.{name}")
    raise foreign_words.no_member("ramet", foreign_words.MODULE, name)


__all__ = [
    "Batch",
    "Block",
    "Budget",
    "ClusterLoader",
    "Cooperate",
    "CorruptStoreError",
    "EdgeTable",
    "Edges",
    "Features",
    "Graph",
    "Labor",
    "LinkLoader",
    "Negatives",
    "NeighborLoader",
    "NodeTable",
    "Pad",
    "Placement",
    "Quantized",
    "SaintLoader",
    "SpotTarget",
    "Subgraph",
    "Summary",
    "Table",
    "Time",
    "Uniform",
    "Weighted",
    "__version__",
    "affinity",
    "bfloat16",
    "build",
    "estimate",
    "evaluate",
    "fingerprint",
    "from_arrays",
    "from_edge_index",
    "from_pyg",
    "from_scipy",
    "generate",
    "keep_memory",
    "node2vec_walk",
    "open",
    "partition",
    "pinsage_neighbors",
    "plan",
    "ppr_neighbors",
    "quantize",
    "random_walk",
    "sample",
    "sample_links",
    "save",
    "verify",
]
