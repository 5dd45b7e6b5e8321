"""Ramet: one copy of a graph and its features on a machine, and mini-batches from it at memory speed.

Importing this package loads neither torch nor PyG and changes no global state.
"""

from ramet._core import CorruptStoreError, __version__
from ramet.batch import Batch, Block, fingerprint
from ramet.build import build
from ramet.convert import from_arrays, from_edge_index, from_pyg, from_scipy, quantize, save
from ramet.dtypes import Quantized, bfloat16
from ramet.graph import Graph, Table, open
from ramet.loader import NeighborLoader
from ramet.memory import keep_memory
from ramet.partition import partition
from ramet.sampling import sample
from ramet.summary import Summary


def __getattr__(name: str):
    if name in ("cuda", "distributed"):  # these import torch
        import importlib

        return importlib.import_module(f"ramet.{name}")
    raise AttributeError(f"module 'ramet' has no attribute {name!r}")


__all__ = [
    "Batch",
    "Block",
    "CorruptStoreError",
    "Graph",
    "NeighborLoader",
    "Quantized",
    "Summary",
    "Table",
    "__version__",
    "bfloat16",
    "build",
    "fingerprint",
    "from_arrays",
    "from_edge_index",
    "from_pyg",
    "from_scipy",
    "keep_memory",
    "open",
    "partition",
    "quantize",
    "sample",
    "save",
]
