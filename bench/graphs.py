"""The graphs of the benchmarks, as stores that are made if they are not there."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from accuracy import default_data
from harness import products

from ramet.convert import edge_list_contents

CNR2000 = Path("cnr2000") / "cnr-2000.graph-txt.gz"


def rmat(chosen) -> Path:
    """R-MAT, scale 22, 16 edges per node before reverses are added and repeats dropped, with the parameters of
    Graph500 (0.57, 0.19, 0.19, 0.05): few large hubs, most degrees small."""
    scale = 14 if chosen.small else 22
    return made(Path(chosen.data) / f"rmat-{scale}", lambda: rmat_edges(scale, 16 << scale), undirected=True)


def cnr2000(chosen) -> Path | None:
    """A real web graph of 0.3 M pages and 3.2 M links; None where its file is not there."""
    source = default_data() / CNR2000
    return made(Path(chosen.data) / "cnr2000", lambda: successor_lists(source)) if source.exists() else None


def all_graphs(chosen) -> dict[str, Path]:
    stores = {"products": products(chosen), "rmat-22": rmat(chosen), "cnr-2000": cnr2000(chosen)}
    return {name: store for name, store in stores.items() if store}


def made(store: Path, edges, undirected: bool = False) -> Path:
    """The store of these edges, with a tenth of the nodes that have neighbors to train on."""
    if store.exists():
        return store
    print(f"making {store}", flush=True)
    store.parent.mkdir(parents=True, exist_ok=True)
    edge_index = edges()
    connected = np.unique(edge_index[1])
    train = np.random.default_rng(0).permutation(connected)[: len(connected) // 10]
    splits = {"train": np.sort(train)}
    nodes = 1 + max(int(ends.max()) for ends in edge_index)
    edge_list_contents(edge_index, nodes, undirected, splits=splits, edge_ids=False).save(store, checksums=False)
    return store


def rmat_edges(scale: int, count: int, chunk: int = 1 << 22) -> np.ndarray:
    """[2, count]: one random byte says to which quarter of the matrix an edge goes at a level; ids are shuffled."""
    rng = np.random.default_rng(1)
    edges = np.zeros((2, count), np.int32)
    for begin in range(0, count, chunk):
        src, dst = edges[:, begin : begin + chunk]
        for _ in range(scale):
            byte = rng.integers(0, 256, len(src), np.uint8)
            src += src + (byte >= 195)
            dst += dst + (((byte >= 146) & (byte < 195)) | (byte >= 243))
    return rng.permutation(1 << scale).astype(np.int32)[edges]


def successor_lists(source: Path) -> np.ndarray:
    """[2, edges] of a file that gives the number of nodes, then a line of successors per node."""
    _, *lines = gzip.decompress(source.read_bytes()).decode().split("\n")
    lists = [line.split() for line in lines]
    src = np.repeat(np.arange(len(lists)), [len(found) for found in lists])
    dst = np.array([node for found in lists for node in found], np.int64)
    return np.stack([src, dst]).astype(np.int32)
