"""Small graphs for tests, and what a batch of them holds."""

import functools

import numpy as np

import ramet

NUM_NODES = 1000
WIDTH = 8
CITES = ("paper", "cites", "paper")
WRITES = ("author", "writes", "paper")
REVERSE = ("paper", "written-by", "author")


def homogeneous(seed: int = 0, feature_type=np.float32, **nodes) -> ramet.Graph:
    """1,000 nodes of which 10 are isolated, 8,000 edges in no order, feat, label, and a split of 205 ids."""
    random = np.random.default_rng(seed)
    return ramet.from_edge_index(
        random.integers(0, NUM_NODES - 10, (2, 8000)),
        NUM_NODES,
        nodes={
            "feat": random.standard_normal((NUM_NODES, WIDTH)).astype(feature_type),
            "label": random.integers(0, 5, NUM_NODES),
            **nodes,
        },
        splits={"train": random.permutation(NUM_NODES)[:205], "val": random.permutation(NUM_NODES)[:50]},
    )


def heterogeneous(seed: int = 0) -> ramet.Graph:
    """Papers that cite papers, and authors who write them; only papers have labels and only authors "age"."""
    random = np.random.default_rng(seed)
    papers, authors = 500, 200

    def edges(num_src, num_dst, count):
        return np.stack([random.integers(0, num_src, count), random.integers(0, num_dst, count)])

    written = edges(authors, papers, 1500)
    return ramet.from_edge_index(
        {CITES: edges(papers, papers, 3000), WRITES: written, REVERSE: written[::-1].copy()},
        nodes={
            "paper": {"feat": random.random((papers, 6), np.float32), "label": random.integers(0, 4, papers)},
            "author": {
                "feat": random.random((authors, 3), np.float32),
                "age": random.integers(20, 70, authors),
            },
        },
        splits={
            "train": {"paper": random.permutation(papers)[:90], "author": np.arange(30)},
            "val": {"paper": [1]},
        },
    )


@functools.cache
def simple():
    """(graph, indptr, indices) of 3,000 nodes. Nodes 0 .. 599 have in-edges, in very different numbers (the last 750),
    none of them parallel."""
    random = np.random.default_rng(2)
    dst = (600 * random.random(15_000) ** 2).astype(int)
    src = random.integers(0, 3000, 15_000)
    hub = np.stack([random.permutation(3000)[:750], np.full(750, 599)])
    edges = np.unique(np.concatenate([np.stack([src, dst]), hub], axis=1), axis=1)
    graph = ramet.from_edge_index(edges, 3000)
    return graph, graph.indptr(), graph.indices()


def numpy_of(value) -> np.ndarray:
    return np.asarray(value)


def sampled(batch: ramet.Batch) -> set[tuple[int, int, int]]:
    """(hop, destination, edge id) of every edge in a homogeneous batch."""
    result = set()
    n_id = numpy_of(batch.n_id)
    for hop, block in enumerate(reversed(batch.blocks)):
        destination = np.repeat(n_id[: block.num_dst], np.diff(numpy_of(block.indptr)))
        result |= {(hop, *pair) for pair in zip(destination.tolist(), numpy_of(block.e_id).tolist())}
    return result


def summary(batch: ramet.Batch) -> tuple:
    """Enough to tell two batches apart."""
    return (
        batch.epoch,
        batch.step,
        batch.global_num_seeds,
        _bytes(batch.seeds),
        _bytes(batch.input_id),
        batch.fingerprint(),
        {name: _bytes(rows) for name, rows in batch.tables.items()},
    )


def _bytes(rows):
    if isinstance(rows, dict):
        return {node_type: _bytes(part) for node_type, part in rows.items()}
    return numpy_of(rows).tobytes()
