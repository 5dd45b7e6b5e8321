"""ramet work: what ranks sample, read and send for a batch, together and alone, against a slow count by loaders."""

import dataclasses
import json

import numpy as np
import pytest
from small_graphs import heterogeneous, homogeneous

import ramet
from ramet import cli
from ramet.work import count_work, memory_per_machine

RANKS, PER_RANK, FANOUTS = 3, 20, [4, 3]


@pytest.fixture
def store(tmp_path):
    ramet.save(homogeneous(), tmp_path / "store")
    return str(tmp_path / "store")


@pytest.fixture
def typed_store(tmp_path):
    ramet.save(heterogeneous(), tmp_path / "typed")
    return str(tmp_path / "typed")


def as_dict(value, names) -> dict:
    return value if isinstance(value, dict) else {names[0]: value}


def by_type(batch, graph) -> dict[str, np.ndarray]:
    return {t: np.asarray(ids) for t, ids in as_dict(batch.n_id, graph.node_types).items()}


def loader_of(graph, input_nodes, batch_size, **options):
    options = {"seed": 7, "tables": (), **options}
    return ramet.NeighborLoader(graph, FANOUTS, input_nodes, batch_size, ranks=False, **options)


def first_batches(graph, input_nodes, count, **options) -> list:
    loader = loader_of(graph, input_nodes, RANKS * PER_RANK, shuffle=True, **options)
    return [batch for _, batch in zip(range(count), loader)]


def rows_alone(graph, seed_type, batch, **options) -> int:
    """Rows that each rank reads for its slice of the seeds, in sum, sampled at the batch's step."""
    rows = 0
    for slice_of_rank in np.array_split(np.asarray(batch.seeds), RANKS):
        seeds = (seed_type, slice_of_rank) if graph.is_hetero else slice_of_rank
        alone = ramet.sample(graph, seeds, FANOUTS, seed=7, epoch=0, step=batch.step, **options)
        rows += sum(len(ids) for ids in by_type(alone, graph).values())
    return rows


def rows_sent(graph, batch, owners) -> list[int]:
    """Of each block, the farthest hop first: pairs of a source and another rank that has a destination of it."""
    sent = []
    for block in batch.blocks:
        pairs = set()
        for (src, relation, dst), indptr in as_dict(block.indptr, graph.edge_types).items():
            ids, num_dst = by_type(batch, graph), as_dict(block.num_dst, graph.node_types)[dst]
            indices = np.asarray(as_dict(block.indices, graph.edge_types)[src, relation, dst])
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
    work = count_work(graph, RANKS, PER_RANK, FANOUTS, ownership=ownership, batches=2, seed=7, **options)
    batches = first_batches(graph, input_nodes, 2, **options)
    assert work.batches == len(batches) == (1 if graph.is_hetero else 2)
    assert work.seeds == np.mean([batch.num_seeds for batch in batches])
    assert work.rows_read == np.mean([sum(len(ids) for ids in by_type(b, graph).values()) for b in batches])
    assert work.rows_independent == np.mean([rows_alone(graph, seed_type, b, **options) for b in batches])
    assert work.ratio == work.rows_read / work.rows_independent == pytest.approx(1 / work.redundancy)
    sent = np.mean([rows_sent(graph, batch, owners) for batch in batches], axis=0)
    assert [hop.rows_sent for hop in work.hops] == sent[::-1].tolist()
    assert work.rows_sent == sent[0]
    assert work.bytes["sent_hidden"] == 2 * sent[1] * 256 * 4
    for i, hop in enumerate(work.hops):
        blocks = [batch.blocks[-1 - i] for batch in batches]
        edges = [sum(len(e) for e in as_dict(block.indices, graph.edge_types).values()) for block in blocks]
        assert hop.edges == np.mean(edges)
        assert hop.nodes == np.mean([sum(as_dict(block.num_src, graph.node_types).values()) for block in blocks])
    assert work.hops[-1].nodes_independent == work.rows_independent


def test_ranks_alone_are_loaders_of_a_rank(monkeypatch):
    """The seeds of a rank alone are those of its loader."""
    from ramet.loading import neighbor_loader as loader

    graph = homogeneous()
    work = count_work(graph, RANKS, PER_RANK, FANOUTS, batches=1, seed=7)
    rows = 0
    for rank in range(RANKS):
        monkeypatch.setattr(loader, "rank_and_world", lambda ranks, rank=rank: (rank, RANKS))
        rows += len(first_batches(graph, "train", 1)[0].n_id)
    assert work.rows_independent == rows


def test_bytes_follow_the_rows():
    graph = homogeneous()
    plain = count_work(graph, RANKS, PER_RANK, FANOUTS)
    assert plain.bytes["read"] == plain.rows_read * 8 * 4
    assert plain.bytes["sent_rows"] == plain.rows_sent * 8 * 4
    wider = count_work(graph, RANKS, PER_RANK, FANOUTS, row_bytes=100, hidden=10)
    assert wider.bytes["read_independent"] == plain.rows_independent * 100
    assert wider.bytes["sent_rows"] == plain.rows_sent * 100
    assert wider.bytes["sent_hidden"] == plain.bytes["sent_hidden"] * 10 / 256
    assert wider.bytes["sent_ids"] == plain.bytes["sent_ids"] > 0
    half = count_work(homogeneous(feature_type=np.float16), RANKS, PER_RANK, FANOUTS)
    assert half.bytes["read"] == plain.bytes["read"] / 2
    assert half.bytes["sent_rows"] == plain.bytes["sent_rows"]  # decoded


def test_one_rank_sends_nothing_and_saves_nothing():
    work = count_work(homogeneous(), 1, PER_RANK, FANOUTS)
    assert work.ratio == work.redundancy == 1
    assert work.rows_sent == work.bytes["sent_ids"] == work.bytes["sent_hidden"] == 0


def test_seeds_where_there_is_no_split():
    plain = ramet.from_arrays([0, 2, 2, 4], [1, 2, 0, 1])
    work = count_work(plain, 2, 5, [-1], batches=9)
    assert (work.seeds, work.batches, work.rows_read) == (2, 1, 3)  # those with in-edges
    assert work.bytes["read"] == 3 * 512  # no table
    with pytest.raises(ValueError, match="there are no seeds"):
        count_work(ramet.from_arrays([0, 0], []), 2, 5, [2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ranks": 0}, "ranks is 0"),
        ({"batch_size_per_rank": 0}, "batch_size_per_rank is 0"),
        ({"batches": 0}, "batches is 0"),
        ({"row_bytes": -1}, "row_bytes is -1"),
        ({"hidden": -1}, "hidden is -1"),
        ({"ownership": "metis"}, "neither 'range', 'hash' nor a file"),
        ({"ownership": np.zeros(7, np.uint8)}, "has 7 entries, but there are 1000 nodes"),
        ({"sampler": "neighbour"}, "sampler is 'neighbour'"),
    ],
    ids=str,
)
def test_bad_arguments(arguments, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        count_work(homogeneous(), **{"ranks": 2, "batch_size_per_rank": 5, "num_neighbors": [2], **arguments})


# ---- memory


@pytest.mark.parametrize("method", ["range", "hash"])
@pytest.mark.parametrize("kind", ["ids of 32 bits", "quantized", "several types"])
def test_memory_is_what_parts_weigh(kind, method, tmp_path, capsys):
    random = np.random.default_rng(0)
    feat = random.standard_normal((20_000, 12), np.float32)
    if kind == "several types":
        graph = heterogeneous()
    else:
        rows = ramet.quantize(feat) if kind == "quantized" else feat
        nodes = {"feat": rows, "label": random.integers(0, 9, 20_000)}
        edges = random.integers(0, 20_000, (2, 100_000))
        graph = ramet.from_edge_index(edges, 20_000, nodes=nodes, splits={"train": np.arange(999), "val": [1, 2]})
    ramet.save(graph, tmp_path / "store")
    ramet.partition(graph, 4, tmp_path / "parts", method=method)
    weight = sum(np.load(file).nbytes for file in (tmp_path / "parts").glob("part-*/**/*.npy"))
    options = ["--ranks", 4, "--num-neighbors", 2, "--ownership", method]
    memory = json_of(capsys, tmp_path / "store", *options)["memory_per_machine"]
    assert 4 * memory["total"] == pytest.approx(weight, rel=0.01)


def test_memory_at_other_sizes():
    small = memory_per_machine(4, 1000, 10_000, 100)
    assert small["tables"] == 25_000
    assert small["indices"] == small["edge_ids"] == 10_000
    assert small["owners"] == 1000 + 1000 * 64 // 448
    assert small["total"] == sum(size for name, size in small.items() if name != "total")
    assert memory_per_machine(4, 1000, 10_000, 100, ranges=True)["owners"] == 0
    assert memory_per_machine(300, 1000, 10_000, 100)["owners"] == 2000 + 1000 * 64 // 448
    large = memory_per_machine(8, 3 * 10**9, 10**10, 100)
    assert large["indices"] == large["edge_ids"] == 10**10
    assert memory_per_machine(8, 10**9, 10**10, 100)["indices"] == 5 * 10**9


# ---- the command


def json_of(capsys, *argv) -> dict:
    assert cli.main(["work", *map(str, argv), "--json", "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


SMALL = ["--ranks", RANKS, "--batch-size-per-rank", PER_RANK, "--num-neighbors", "4,3"]


def test_json_is_all_that_is_printed(store, capsys):
    result = json_of(capsys, store, *SMALL, "--seed", 7)
    work = count_work(ramet.open(store), RANKS, PER_RANK, FANOUTS, seed=7)
    memory = result.pop("memory_per_machine")
    assert result == {"store": store, **dataclasses.asdict(work)}
    names = ["nodes", "edges", "row_bytes", "tables", "indptr", "indices", "edge_ids", "owners", "splits", "total"]
    assert list(memory) == names
    assert (memory["nodes"], memory["edges"], memory["row_bytes"]) == (1000, 8000, 8 * 4 + 8)


def test_text(store, capsys):
    assert cli.main(["work", store, *map(str, SMALL)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith(
        f"{store}: 3 ranks, 20 seeds each, [4, 3], Uniform(replace=False, dependent=1); "
        "means of 1 global batch(es) of 60 seeds"
    )
    for words in ("hop 1: nodes so far", "rows read", "redundancy", "bytes sent: ids", "largest rank over mean: rows"):
        assert words in out
    assert "memory of a machine with one of 3 parts of 1,000 nodes and 8,000 edges, 40 bytes a row" in out


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (["--sampler", "labor"], {"sampler": "labor"}),
        (["--sampler", "labor", "--importance-iterations", 1], {"sampler": ramet.Labor(1)}),
        (["--sampler", "labor", "--layer-dependent"], {"sampler": ramet.Labor(layer_dependent=True)}),
        (["--replace"], {"sampler": ramet.Uniform(replace=True)}),
        (["--dependent", 8, "--batches", 3], {"sampler": ramet.Uniform(dependent=8), "batches": 3}),
        (["--ownership", "hash"], {"ownership": "hash"}),
        (["--row-bytes", 64, "--hidden", 32], {"row_bytes": 64, "hidden": 32}),
        (["--seed", 5], {"seed": 5}),
    ],
    ids=str,
)
def test_every_option(store, capsys, options, arguments):
    result = json_of(capsys, store, *SMALL, *options)
    work = dataclasses.asdict(count_work(ramet.open(store), RANKS, PER_RANK, FANOUTS, **arguments))
    assert {name: result[name] for name in work} == work


@pytest.mark.parametrize("method", ["range", "hash"])
def test_owners_of_a_partition(store, typed_store, tmp_path, capsys, method):
    ramet.partition(store, RANKS, tmp_path / "out", method=method, only_owner=True)
    expected = json_of(capsys, store, *SMALL, "--ownership", method)
    for path in ("out", "out/owner", "out/owner/node.npy"):
        result = json_of(capsys, store, *SMALL, "--ownership", tmp_path / path)
        assert result["bytes"] == expected["bytes"]
    ramet.partition(typed_store, RANKS, tmp_path / "typed-out", method=method, only_owner=True)
    expected = json_of(capsys, typed_store, *SMALL, "--ownership", method)
    assert json_of(capsys, typed_store, *SMALL, "--ownership", tmp_path / "typed-out")["bytes"] == expected["bytes"]


def test_another_size(store, capsys):
    at = ["--at-nodes", 10**6, "--at-edges", 10**8]
    memory = json_of(capsys, store, *SMALL, *at, "--ownership", "hash", "--row-bytes", 256)["memory_per_machine"]
    splits = (205 + 50) * 8 * 1000
    assert memory == {"nodes": 10**6, "edges": 10**8, "row_bytes": 264} | memory_per_machine(
        RANKS, 10**6, 10**8, 264, split_bytes=splits
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ranks", 0], "ranks is 0"),
        (["--batch-size-per-rank", 0], "--batch-size-per-rank is 0"),
        (["--num-neighbors", "a,b"], "--num-neighbors"),
        (["--num-neighbors", "4,-2"], "-2"),
        (["--sampler", "best"], "--sampler"),
        (["--importance-iterations", 1], "--importance-iterations is given with --sampler uniform"),
        (["--ownership", "metis"], "neither 'range', 'hash' nor a file"),
        (["--batches", 0], "batches is 0"),
        (["--at-nodes", 5], "--at-nodes and --at-edges"),
        (["--at-nodes", -5, "--at-edges", 5], "--at-nodes is -5"),
    ],
    ids=str,
)
def test_bad_input_is_one_line(store, capsys, options, message):
    try:
        status = cli.main(["work", store, *map(str, [*SMALL, *options])])
    except SystemExit as stop:  # argparse's way
        status = stop.code
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert err.startswith("ramet: error: ")
    assert message in err
    assert err.count("\n") == 1


def test_no_store(tmp_path, capsys):
    assert cli.main(["work", str(tmp_path / "none"), "--ranks", "2"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
