"""Owners by KaMinPar (Gottesbueren et al.: "Deep multilevel graph partitioning", ESA 2021): few edges between parts
whose nodes weigh about the same. Needs the package kaminpar, which reads graphs from files only."""

from __future__ import annotations

import tempfile

import numpy as np

from ramet.graph import Graph
from ramet.stores.undirected import Undirected

# Those that repeat. The terapart presets need compressed graphs, whose reading may not, and hangs on one core.
PRESETS = ("default", "fast", "eco", "strong", "largek", "largek-fast", "largek-eco", "largek-strong")
IMBALANCE = 0.03  # of the heaviest part over the mean
LARGEST_SEED = (1 << 31) - 1
# Of a ParHIP file, whose numbers are of 64 bits: (version, nodes, edges). Bits of the version say what is not there.
HEADER_BYTES, NO_EDGE_WEIGHTS, NO_NODE_WEIGHTS = 24, 1, 2


def owners(graph: Graph, parts: int, balance: str, seed: int, preset: str) -> dict[str, np.ndarray]:
    """The part of each node, by node type. `balance`, few nodes: as of metis.owners(). One thread works, so that
    the result repeats. ImportError without kaminpar."""
    kaminpar = _kaminpar()
    whole = Undirected(graph)
    weights = whole.weights(balance)
    part_of = whole.dealt(parts)
    if part_of is None:
        with tempfile.NamedTemporaryFile(suffix=".parhip") as file:
            _write(file, *whole.adjacency(), weights)
            read = kaminpar.load_graph(file.name, kaminpar.GraphFileFormat.PARHIP)
        kaminpar.reseed(seed % LARGEST_SEED)
        solver = kaminpar.KaMinPar(1, kaminpar.context_by_name(preset))
        part_of = solver.compute_partition(read, k=parts, eps=IMBALANCE)
    return whole.by_type(np.asarray(part_of))


def _write(file, indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray | None) -> None:
    """Offsets of rows are in bytes of the file."""
    version = NO_EDGE_WEIGHTS | (NO_NODE_WEIGHTS if weights is None else 0)
    header = np.array([version, len(indptr) - 1, len(indices)])
    offsets = HEADER_BYTES + 8 * len(indptr) + 8 * indptr
    for part in header, offsets, indices, weights:
        if part is not None:
            part.astype(np.int64).tofile(file)
    file.flush()


def _kaminpar():
    try:
        import kaminpar
    except ImportError:
        raise ImportError(
            "method='kaminpar' needs kaminpar, which is not installed: pip install kaminpar, "
            "or choose method='range' or 'hash'"
        ) from None
    return kaminpar
