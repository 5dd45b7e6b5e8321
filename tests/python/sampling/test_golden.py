"""Batches recorded as digests: the same bits, whatever changes inside the engine.

golden_batches.txt has them by case: fingerprint, hash of every array, name of the batches. This file as a program,
with pytest's pythonpath in PYTHONPATH, writes them anew: only where docs/semantics.md changed, too.
"""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from comparison import BLOCK_ARRAYS, by_type, labor, thompson, write_store
from small_graphs import numpy_of
from together import Together

import ramet

GOLDEN = Path(__file__).with_name("golden_batches.txt")
NUM_NODES, NUM_EDGES, BATCH = 3000, 60_000, 128
FANOUTS = [7, 5]
A, B = "a", "b"
EDGES = [(A, "to", A), (A, "to", B), (B, "to", A)]
SAMPLERS = {
    "uniform": {},
    "replace": {"sampler": ramet.Uniform(replace=True)},
    "uniform kappa": {"sampler": ramet.Uniform(dependent=8)},
    "labor-0": labor(),
    "labor-1": labor(1),
    "labor-2": labor(2),
    "labor-0 layer_dependent": labor(layer_dependent=True),
    "labor-0 thompson": thompson(),
    "labor-2 thompson": thompson(2),
    "labor-0 kappa": labor(dependent=8),
    "labor-1 kappa": labor(1, dependent=8),
}
WEIGHTED = {
    "weighted": {"sampler": ramet.Weighted("weight")},
    "weighted replace": {"sampler": ramet.Weighted("weight", replace=True)},
    "weighted kappa": {"sampler": ramet.Weighted("weight", dependent=8)},
    "labor-0 by weights": labor(table="weight"),
}


# ---- graphs, from integer arithmetic alone


def words(seed: int, count: int) -> np.ndarray:
    """SplitMix64."""
    x = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed << 32)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def edge_list(seed: int, num_edges: int = NUM_EDGES) -> np.ndarray:
    """In-degrees from 0 to some hundreds, parallel edges, self loops."""
    src, dst = words(seed, num_edges) % NUM_NODES, words(seed + 1, num_edges) % NUM_NODES
    skewed = dst * dst // NUM_NODES * dst // NUM_NODES
    return np.stack([src, skewed]).astype(np.int64)


def rows(seed: int, num_rows: int = NUM_NODES) -> dict:
    feat = (words(seed, num_rows * 4) % 1000).astype(np.float32).reshape(num_rows, 4)
    return {"feat": feat, "label": (words(seed + 1, num_rows) % 10).astype(np.int64)}


def homogeneous(**options) -> ramet.Graph:
    train = np.argsort(words(2, NUM_NODES))[:1000]
    return ramet.from_edge_index(edge_list(3), NUM_NODES, nodes=rows(5), splits={"train": train}, **options)


def weighted() -> ramet.Graph:
    return homogeneous(edges={"weight": (words(7, NUM_EDGES) % 1000).astype(np.float32)})


def heterogeneous() -> ramet.Graph:
    edges = {edge_type: edge_list(10 + 2 * i, 20_000) for i, edge_type in enumerate(EDGES)}
    return ramet.from_edge_index(edges, {A: NUM_NODES, B: NUM_NODES}, nodes={A: rows(20), B: rows(22)})


def wide(folder: Path) -> ramet.Graph:
    """The edges of `homogeneous`, beside a node type so large that all ids inside are 64 bits."""
    graph = homogeneous()
    csc = (graph.indptr(), graph.indices())
    return write_store(folder / "wide", {"node": NUM_NODES, "huge": 2**40}, {("node", "to", "node"): csc})[0]


# ---- digests


def digest(batches: list[ramet.Batch]) -> list[str]:
    """The fingerprint, and a hash of every array."""
    bits = hashlib.sha256()

    def add(array) -> None:
        array = np.ascontiguousarray(numpy_of(array))
        bits.update(f"{array.dtype} {array.shape} ".encode())
        bits.update(array.tobytes())

    for batch in batches:
        graph = batch.graph
        for value in (batch.n_id, batch.tables.get("feat", {})):
            for _, array in sorted(by_type(value, graph.node_types).items()):
                add(array)
        if "label" in batch.tables:
            for _, array in sorted(by_type(batch.y, [A]).items()):
                add(array)
        if batch.batch is not None:
            for _, array in sorted(by_type(batch.batch, graph.node_types).items()):
                add(array)
        if batch.expand == "once":
            for edge_type in sorted(graph.edge_types):
                for name in ("edge_index", "position", "e_id", "edge_weight"):
                    add(getattr(batch.edges(edge_type), name))
            continue
        for block in batch.blocks:
            for name in BLOCK_ARRAYS:
                for _, array in sorted(by_type(getattr(block, name), graph.edge_types).items()):
                    add(array)
    return [ramet.fingerprint(batches), bits.hexdigest()]


def some_seeds(count: int = 150) -> np.ndarray:
    return (words(1, count) % NUM_NODES).astype(np.int64)  # a few of them twice


def of_both_types(count: int = 150) -> dict:
    return {B: some_seeds(count), A: some_seeds(count // 3)}


def samples_of(graph, seeds, samplers=SAMPLERS, **extent) -> dict:
    """One batch of `ramet.sample` per sampler."""
    return {
        name: digest([ramet.sample(graph, seeds, FANOUTS, seed=4, epoch=1, step=11, **sampler, **extent)])
        for name, sampler in samplers.items()
    }


def epochs(graph, input_nodes, **options) -> dict:
    """Epochs 0 and 1 of a loader per sampler, as one digest."""
    result = {}
    for name, sampler in SAMPLERS.items():
        loader = ramet.NeighborLoader(graph, FANOUTS, input_nodes, BATCH, shuffle=True, seed=9, **sampler, **options)
        result[name] = digest([batch for _ in range(2) for batch in loader])
    return result


def ranks_apart(graph, monkeypatch) -> dict:
    result = {}
    for rank in range(2):
        monkeypatch.setattr("ramet.loading.config.rank_and_world", lambda ranks, rank=rank: (rank, 2))
        result |= {f"{name}, rank {rank}": value for name, value in epochs(graph, "train").items()}
    return result


def ranks_together(graph) -> dict:
    result = {}
    for name, sampler in SAMPLERS.items():
        group = Together(graph, 2, num_neighbors=FANOUTS, input_nodes="train", batch_size=BATCH, seed=9, **sampler)
        result[name] = digest([batch for step in range(3) for batch in group.batches(step=step)])
    return result


def all_neighbors(graph) -> dict:
    many = {"-1 then 5": [-1, 5], "2 then -1": [2, -1], "0": [0], "500": [500]}
    return {
        f"{name}, {fanouts}": digest([ramet.sample(graph, some_seeds(20), many[fanouts], seed=4, **SAMPLERS[name])])
        for name in ("uniform", "replace", "labor-0", "labor-2 thompson")
        for fanouts in many
    }


def trees(graph) -> dict:
    samplers = {name: sampler for name, sampler in SAMPLERS.items() if "labor" not in name}
    return {
        f"{name}, {expand}": value
        for expand in ("every", "once")
        for name, value in samples_of(graph, (A, some_seeds()), samplers, disjoint=True, expand=expand).items()
    }


MAKERS = {
    "sample": lambda folder, patch: samples_of(homogeneous(), some_seeds()),
    "sample, several types": lambda folder, patch: samples_of(heterogeneous(), (A, some_seeds())),
    "sample, weights": lambda folder, patch: samples_of(weighted(), some_seeds(), WEIGHTED),
    "sample, 64 bits": lambda folder, patch: samples_of(wide(folder), ("node", some_seeds())),
    "sample, all neighbors": lambda folder, patch: all_neighbors(homogeneous()),
    "sample, each node once": lambda folder, patch: samples_of(heterogeneous(), (A, some_seeds()), expand="once"),
    "sample, disjoint trees": lambda folder, patch: trees(heterogeneous()),
    "sample, seeds of two types": lambda folder, patch: samples_of(heterogeneous(), of_both_types()),
    "loader, seeds of two types": lambda folder, patch: epochs(heterogeneous(), of_both_types(300)),
    "loader, drop_last": lambda folder, patch: epochs(homogeneous(), "train", drop_last=True, threads=2),
    "loader, several types": lambda folder, patch: epochs(heterogeneous(), (A, some_seeds(400))),
    "loader, ranks": lambda folder, patch: ranks_apart(homogeneous(), patch),
    "loader, ranks that cooperate": lambda folder, patch: ranks_together(homogeneous()),
}


@pytest.mark.parametrize("case", MAKERS)
def test_batches_are_those_recorded(case, tmp_path, monkeypatch):
    """Sections 1 to 10, 13: every bit of them."""
    made = MAKERS[case](tmp_path, monkeypatch)
    recorded = read()[case]
    assert list(made) == list(recorded)
    assert [name for name in made if made[name] != recorded[name]] == []


def read() -> dict[str, dict]:
    recorded = {}
    for line in GOLDEN.read_text().splitlines():
        first, rest = line.split(" ", 1)
        if first == "#":
            recorded[rest] = of_case = {}
        else:
            hash_of_all, name = rest.split(" ", 1)
            of_case[name] = [first, hash_of_all]
    return recorded


def record() -> None:
    import tempfile

    lines = []
    for case, make in MAKERS.items():
        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            made = make(Path(folder), patch)
        lines += [f"# {case}", *(" ".join([*digests, name]) for name, digests in made.items())]
    GOLDEN.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    record()
