"""The graphs of the benchmarks, as stores that are made if they are not there."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from accuracy import default_data
from harness import products, rmat

import ramet

CNR2000 = Path("cnr2000") / "cnr-2000.graph-txt.gz"


def cnr2000(chosen) -> Path | None:
    """A real web graph of 0.3 M pages and 3.2 M links; None where its file is not there."""
    source, store = default_data() / CNR2000, Path(chosen.data) / "cnr-2000"
    if not source.exists():
        return None
    if not store.exists():
        print(f"making {store}", flush=True)
        links = successor_lists(source)
        train = np.unique(links[1])[::10]  # a tenth of the pages that something links to
        ramet.save(ramet.from_edge_index(links, splits={"train": train}), store)
    return store


GRAPHS = {"products": products, "rmat-22": rmat, "cnr-2000": cnr2000}


def stores(chosen, names=None) -> dict[str, Path]:
    """{name: store} of those graphs, or of all, that can be had here."""
    made = {name: make(chosen) for name, make in GRAPHS.items() if not names or name in names}
    return {name: store for name, store in made.items() if store}


def successor_lists(source: Path) -> np.ndarray:
    """[2, edges] of a file that gives the number of nodes, then a line of successors per node."""
    _, *lines = gzip.decompress(source.read_bytes()).decode().split("\n")
    lists = [line.split() for line in lines]
    src = np.repeat(np.arange(len(lists)), [len(found) for found in lists])
    dst = np.array([node for found in lists for node in found], np.int64)
    return np.stack([src, dst]).astype(np.int32)
