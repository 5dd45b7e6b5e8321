"""The graphs of the benchmarks, as stores that are made if they are not there. As a program it makes them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
from harness import arrays, default_data, generated, options, planted, products, rmat, some_of
from temporal_data import random_times

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


def lognormal(chosen) -> Path:
    """Like ogbn-products, too, but by Chung and Lu's model: 2.45 M nodes of log-normal expected degrees (sigma 1.15),
    116 M directed edges, half of them inside communities of 1000."""
    nodes, edges, community = (24_500, 615_000, 1000) if chosen.small else (2_450_000, 61_500_000, 1000)
    store = Path(chosen.data) / ("lognormal-small" if chosen.small else "lognormal")
    if not store.exists():
        print(f"making {store}", flush=True)
        random = np.random.default_rng(0)
        weight_up_to = np.cumsum(np.exp(1.15 * random.standard_normal(nodes)))
        parts = np.array_split(np.empty(edges, np.int32), -(-edges // 4_000_000))
        pairs = [chung_lu(random, weight_up_to, len(part), community) for part in parts]
        name = random.permutation(nodes).astype(np.int32)  # no order in the ids
        links = tuple(name[np.concatenate(ends)] for ends in zip(*pairs))
        splits = {"train": random.permutation(nodes)[: nodes * 8 // 100]}
        ramet.save(ramet.from_edge_index(links, nodes, undirected=True, splits=splits), store)
    return store


def chung_lu(random, weight_up_to, count: int, community: int) -> tuple[np.ndarray, np.ndarray]:
    """`count` edges, ends drawn by weight; a half has the second end in the community of the first."""
    total = weight_up_to[-1]
    src = np.searchsorted(weight_up_to, random.random(count) * total)
    begin = np.zeros(count)
    width = np.full(count, total)
    inside = random.random(count) < 0.5
    first = src[inside] // community * community
    begin[inside] = np.where(first > 0, weight_up_to[first - 1], 0)
    width[inside] = weight_up_to[np.minimum(first + community, len(weight_up_to)) - 1] - begin[inside]
    dst = np.searchsorted(weight_up_to, begin + random.random(count) * width)
    return src.astype(np.int32), np.minimum(dst, len(weight_up_to) - 1).astype(np.int32)


MAG_NODES = {"paper": 736_000, "author": 1_135_000, "institution": 8_700, "field": 60_000}
MAG_EDGES = {
    ("paper", "cites", "paper"): 5_400_000,
    ("author", "writes", "paper"): 7_100_000,
    ("author", "affiliated", "institution"): 1_040_000,
    ("paper", "has_topic", "field"): 7_500_000,
}


def mag(chosen) -> Path:
    """Like ogbn-mag: 1.9 M papers, authors, institutions and fields, and 21 M edges of 4 types with their reverses.
    The density of a node among the ends of edges falls with the square root of its rank. Papers and authors have 128
    float32 features; 0.63 M papers are for training."""
    shrink, width = (100, 16) if chosen.small else (1, 128)
    store = Path(chosen.data) / ("mag-small" if chosen.small else "mag")
    if not store.exists():
        print(f"making {store}", flush=True)
        random = np.random.default_rng(0)
        counts = {node_type: count // shrink for node_type, count in MAG_NODES.items()}
        edges = {}
        for (src, relation, dst), count in MAG_EDGES.items():
            ends = [skewed_ids(random, counts[node_type], count // shrink) for node_type in (src, dst)]
            edges |= {(src, relation, dst): tuple(ends), (dst, f"rev_{relation}", src): tuple(ends[::-1])}
        nodes = {t: {"feat": random.random((counts[t], width), np.float32)} for t in ("paper", "author")}
        train = random.permutation(counts["paper"])[: counts["paper"] * 85 // 100]
        graph = ramet.from_edge_index(edges, counts, nodes=nodes, splits={"train": {"paper": train}})
        ramet.save(graph, store)
    return store


def papers(chosen) -> Path:
    """A sixteenth of the graph like ogbn-papers100M: 6.9 M nodes, 101 M directed edges, 172 classes, 128 float16
    features; 75,000 nodes are for training."""
    whole = {"num_nodes": 6_941_247, "num_edges": 100_980_367, "communities": 694}
    small = {"num_nodes": 5_000, "num_edges": 72_000, "communities": 172, "train_fraction": 0.6, "labeled": 0.7}
    return generated(chosen, "papers-16th", preset="papers100m", **(small if chosen.small else whole))


def reddit(chosen) -> Path:
    """Of Reddit's shape: 232,965 nodes, 602 float32 features, 20 M edges; two thirds of the nodes are for training."""
    nodes, edges, width = (3_000, 60_000, 60) if chosen.small else (232_965, 10_700_000, 602)  # without reverses
    options = {"num_nodes": nodes, "num_edges": edges, "feature_width": width, "train_fraction": 0.66}
    return planted(chosen, f"reddit-{width}", **options)


def skewed_ids(random, num_nodes: int, count: int) -> np.ndarray:
    """`count` ids, few of which are many, in no order."""
    name = random.permutation(num_nodes).astype(np.int32)
    return name[(num_nodes * random.random(count) ** 2).astype(np.int64)]


def with_times(store: Path, kind: str, sort: bool, edges: dict | None = None):
    """A store's topology in memory with random times of its nodes or edges. sort: rows by time. edges: more tables."""
    found = arrays(store)
    tables = {"nodes": {}, "edges": dict(edges or {})}
    tables[kind]["time"] = random_times(found, kind).given
    order = {"sort_by": "time"} if sort else {}
    return ramet.from_arrays(found["indptr"], found["indices"], splits={"train": found["train"]}, **tables, **order)


GRAPHS = {"products": products, "rmat-22": rmat, "cnr-2000": cnr2000}
FOR_LABOR = {"lognormal": lognormal}  # what LABOR saves depends on the graph


def stores(chosen, names=None, graphs: dict = GRAPHS) -> dict[str, Path]:
    """{name: store} of those graphs, or of all, that can be had here."""
    made = {name: make(chosen) for name, make in graphs.items() if not names or name in names}
    return {name: store for name, store in made.items() if store}


def successor_lists(source: Path) -> np.ndarray:
    """[2, edges] of a file that gives the number of nodes, then a line of successors per node."""
    _, *lines = gzip.decompress(source.read_bytes()).decode().split("\n")
    lists = [line.split() for line in lines]
    src = np.repeat(np.arange(len(lists)), [len(found) for found in lists])
    dst = np.array([node for found in lists for node in found], np.int64)
    return np.stack([src, dst]).astype(np.int32)


if __name__ == "__main__":
    chosen = options(__doc__, {"--graph": some_of(GRAPHS)})
    stores(chosen, chosen.graph)
