"""What ranks sample, read and send for a batch, together and alone, against a slow count by loaders."""

from functools import partial

import numpy as np
import pytest
import slow_caches
from comparison import by_type
from small_graphs import heterogeneous, homogeneous

import ramet
from ramet.costs import count_ranks
from ramet.costs.memory import memory_per_machine

RANKS, BATCH_SIZE, FANOUTS = 3, 60, [4, 3]
loader_of = partial(slow_caches.loader_of, batch_size=BATCH_SIZE)


def nodes_of(batch, graph) -> dict[str, np.ndarray]:
    return {t: np.asarray(ids) for t, ids in by_type(batch.n_id, graph.node_types).items()}


def first_batches(loader, count) -> list:
    return [batch for _, batch in zip(range(count), loader)]


def rows_alone(graph, seed_type, batch, **options) -> int:
    """Rows that each rank reads for its slice of the seeds, in sum, sampled at the batch's step."""
    rows = 0
    for slice_of_rank in np.array_split(np.asarray(batch.seeds), RANKS):
        seeds = (seed_type, slice_of_rank) if graph.is_hetero else slice_of_rank
        alone = ramet.sample(graph, seeds, FANOUTS, seed=7, epoch=0, step=batch.step, **options)
        rows += sum(len(ids) for ids in nodes_of(alone, graph).values())
    return rows


def rows_sent(graph, batch, owners) -> list[int]:
    """Of each block, the farthest hop first: pairs of a source and another rank that has a destination of it."""
    sent = []
    for block in batch.blocks:
        pairs = set()
        for (src, relation, dst), indptr in by_type(block.indptr, graph.edge_types).items():
            ids, num_dst = nodes_of(batch, graph), by_type(block.num_dst, graph.node_types)[dst]
            indices = np.asarray(by_type(block.indices, graph.edge_types)[src, relation, dst])
            of_destination = np.repeat(owners[dst][ids[dst][:num_dst]], np.diff(np.asarray(indptr)))
            sources = ids[src][indices]
            away = owners[src][sources] != of_destination
            pairs |= {(src, *pair) for pair in zip(sources[away].tolist(), of_destination[away].tolist())}
        sent.append(len(pairs))
    return sent


OPTIONS = [
    {},
    {"sampler": ramet.Uniform(replace=True)},
    {"sampler": "labor"},
    {"sampler": ramet.Labor(layer_dependent=True)},
    {"sampler": ramet.Uniform(dependent=4)},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("make", [homogeneous, heterogeneous])
def test_the_counts_are_those_of_loaders(make, options):
    graph = make()
    seed_type = "author" if graph.is_hetero else "node"  # the first with a split "train"
    input_nodes = ("author", "train") if graph.is_hetero else "train"
    random = np.random.default_rng(0)
    owners = {t: random.integers(0, RANKS, graph.num_nodes(t)).astype(np.uint8) for t in graph.node_types}
    ownership = owners if graph.is_hetero else owners["node"]
    work = count_ranks(loader_of(graph, input_nodes, **options), RANKS, ownership=ownership, batches=2)
    batches = first_batches(loader_of(graph, input_nodes, **options), 2)
    assert work.batches == len(batches) == (1 if graph.is_hetero else 2)
    assert work.seeds == np.mean([batch.num_seeds for batch in batches])
    assert work.rows_read == np.mean([sum(len(ids) for ids in nodes_of(b, graph).values()) for b in batches])
    assert work.rows_independent == np.mean([rows_alone(graph, seed_type, b, **options) for b in batches])
    assert work.ratio == work.rows_read / work.rows_independent
    sent = np.mean([rows_sent(graph, batch, owners) for batch in batches], axis=0)
    assert [hop.rows_sent for hop in work.hops] == sent[::-1].tolist()
    assert work.rows_sent == sent[0]
    assert work.bytes["sent_hidden"] == 2 * sent[1] * 256 * 4
    for i, hop in enumerate(work.hops):
        blocks = [batch.blocks[-1 - i] for batch in batches]
        edges = [sum(len(e) for e in by_type(block.indices, graph.edge_types).values()) for block in blocks]
        assert hop.edges == np.mean(edges)
        assert hop.nodes == np.mean([sum(by_type(block.num_src, graph.node_types).values()) for block in blocks])
    assert work.hops[-1].nodes_independent == work.rows_independent


def test_bytes_follow_the_rows():
    graph = homogeneous()
    plain = count_ranks(loader_of(graph), RANKS)
    assert plain.bytes["read"] == plain.rows_read * 8 * 4
    assert plain.bytes["sent_rows"] == plain.rows_sent * 8 * 4
    wider = count_ranks(loader_of(graph), RANKS, row_bytes=100, hidden=10)
    assert wider.bytes["read_independent"] == plain.rows_independent * 100
    assert wider.bytes["sent_rows"] == plain.rows_sent * 100
    assert wider.bytes["sent_hidden"] == plain.bytes["sent_hidden"] * 10 / 256
    assert wider.bytes["sent_ids"] == plain.bytes["sent_ids"] > 0
    half = count_ranks(loader_of(homogeneous(feature_type=np.float16)), RANKS)
    assert half.bytes["read"] == plain.bytes["read"] / 2
    assert half.bytes["sent_rows"] == plain.bytes["sent_rows"]  # decoded


def test_one_rank_sends_nothing_and_saves_nothing():
    work = count_ranks(loader_of(homogeneous()), 1)
    assert work.ratio == 1
    assert work.rows_sent == work.bytes["sent_ids"] == work.bytes["sent_hidden"] == 0


# ---- memory


@pytest.mark.parametrize("method", ["range", "hash"])
@pytest.mark.parametrize("kind", ["ids of 32 bits", "quantized", "several types"])
def test_memory_is_what_parts_weigh(kind, method, tmp_path):
    random = np.random.default_rng(0)
    feat = random.standard_normal((20_000, 12), np.float32)
    if kind == "several types":
        graph = heterogeneous()
    else:
        rows = ramet.quantize(feat) if kind == "quantized" else feat
        nodes = {"feat": rows, "label": random.integers(0, 9, 20_000)}
        edges = random.integers(0, 20_000, (2, 100_000))
        graph = ramet.from_edge_index(edges, 20_000, nodes=nodes, splits={"train": np.arange(999), "val": [1, 2]})
    ramet.partition(graph, 4, tmp_path / "parts", method=method)
    weight = sum(np.load(file).nbytes for file in (tmp_path / "parts").glob("part-*/**/*.npy"))
    memory = memory_per_machine(graph, 4, ranges=method == "range")
    assert 4 * memory["total"] == pytest.approx(weight, rel=0.01)


def test_memory_at_other_sizes():
    graph = homogeneous()
    small = memory_per_machine(graph, 4, at=(1000, 10_000), row_bytes=92)
    assert (small["nodes"], small["edges"], small["row_bytes"]) == (1000, 10_000, 92 + 8)  # labels
    assert small["tables"] == 25_000
    assert small["indices"] == small["edge_ids"] == 10_000
    assert small["owners"] == 1000 + 1000 * 64 // 448
    assert small["splits"] == (205 + 50) * 8
    uses = ("tables", "indptr", "indices", "edge_ids", "owners", "splits")
    assert small["total"] == sum(small[use] for use in uses)
    assert memory_per_machine(graph, 4, ranges=True)["owners"] == 0
    assert memory_per_machine(graph, 300)["owners"] == 2000 + 1000 * 64 // 448
    large = memory_per_machine(graph, 8, at=(3 * 10**9, 10**10))
    assert large["indices"] == large["edge_ids"] == 10**10
    assert memory_per_machine(graph, 8, at=(10**9, 10**10))["indices"] == 5 * 10**9
