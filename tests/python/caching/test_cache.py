"""ramet cache: what caches would hit, against slow caches over a loader's batches."""

import dataclasses
import json

import numpy as np
import pytest
from small_graphs import heterogeneous, homogeneous

import ramet
from ramet import cli
from ramet.caching import CacheCount, CacheSize, count_hits
from ramet.caching.advice import advise, best_policy
from ramet.caching.count import PRESAMPLED, out_degrees

FANOUTS, BATCH_SIZE, SEED = [4, 3], 10, 7
POLICIES = ["recency", "degree", "presampling", "look-ahead 1", "look-ahead 4", "look-ahead 16", "optimum"]


@pytest.fixture
def store(tmp_path):
    ramet.save(homogeneous(), tmp_path / "store")
    return str(tmp_path / "store")


def ids_of_epochs(graph, node_type, epochs, batches=None, input_nodes="train", **options) -> list[list[list[int]]]:
    loader = ramet.NeighborLoader(
        graph, FANOUTS, input_nodes, BATCH_SIZE, shuffle=True, seed=SEED, tables=(), distributed=False, **options
    )
    all_ids = []
    for _ in range(epochs):
        ids = [batch.n_id[node_type] if graph.is_hetero else batch.n_id for batch in loader]
        all_ids.append([np.asarray(of_batch).tolist() for of_batch in ids][:batches])
    return all_ids


def slow_degrees(graph, node_type) -> list[int]:
    degrees = [0] * graph.num_nodes(node_type)
    for edge_type in graph.edge_types:
        if edge_type[0] == node_type:
            for source in graph.indices(edge_type).tolist():
                degrees[source] += 1
    return degrees


def hits_of_held(epochs, held: set) -> float:
    """Of all but the first epoch; rows that were read before are there."""
    read = {row for batch in epochs[0] for row in batch}
    hits = rows = 0
    for batch in (batch for epoch in epochs[1:] for batch in epoch):
        hits += sum(row in held and row in read for row in batch)
        rows += len(batch)
        read |= set(batch)
    return hits / rows


def hits_of_recency(epochs, capacity: int) -> float:
    used: dict[int, int] = {}  # row: batch, least recently used first
    hits = rows = number = 0
    for is_counted, epoch in zip([False] + [True] * len(epochs), epochs):
        for batch in epoch:
            number += 1
            missing = []
            for row in batch:
                if row in used:
                    del used[row]
                    used[row] = number
                    hits += is_counted
                else:
                    missing.append(row)
                rows += is_counted
            for row in missing:
                if len(used) == capacity:
                    oldest = next(iter(used), None)
                    if oldest is None or used[oldest] == number:
                        continue
                    del used[oldest]
                used[row] = number
    return hits / rows


def hits_of_min(epochs, capacity: int) -> float:
    """Belady's MIN with bypass over everything."""
    batches = [set(batch) for epoch in epochs for batch in epoch]
    uses: dict[int, list[int]] = {}
    for number, batch in enumerate(batches):
        for row in batch:
            uses.setdefault(row, []).append(number)
    here: set[int] = set()
    hits = rows = 0
    for number, batch in enumerate(batches):
        if number >= len(epochs[0]):
            hits += len(here & batch)
            rows += len(batch)
        later = {row: next((n for n in uses[row] if n > number), len(batches)) for row in here | batch}
        here = set(sorted(later, key=later.__getitem__)[:capacity])
    return hits / rows


def hottest(counts, capacity: int, ties=None) -> set[int]:
    ties = ties or [0] * len(counts)
    return set(sorted(range(len(counts)), key=lambda row: (-counts[row], -ties[row], row))[:capacity])


@pytest.mark.parametrize("options", [{}, {"sampler": "labor"}, {"dependent": 4}], ids=str)
@pytest.mark.parametrize("epochs", [1, 2])
def test_hits_are_those_of_slow_caches(options, epochs):
    graph = homogeneous()
    count = count_hits(graph, FANOUTS, BATCH_SIZE, epochs=epochs, seed=SEED, cache_rows=[0, 50, 200], **options)
    ids = ids_of_epochs(graph, "node", 1 + epochs, **options)
    rows = [len(batch) for epoch in ids[1:] for batch in epoch]
    assert (count.epochs, count.batches, count.rows_per_batch) == (epochs, len(rows), np.mean(rows))
    assert count.touched == len({row for epoch in ids[1:] for batch in epoch for row in batch}) / 1000
    degrees = slow_degrees(graph, "node")
    presampled = np.zeros(1000, int)
    for batch in ids[0][:PRESAMPLED]:
        presampled[batch] += 1
    assert [of.rows for of in count.sizes] == [0, 50, 200]
    for of in count.sizes:
        assert list(of.hits) == POLICIES
        assert (of.share, of.bytes) == (of.rows / 1000, of.rows * 32)
        assert of.hits["recency"] == pytest.approx(hits_of_recency(ids, of.rows))
        assert of.hits["degree"] == pytest.approx(hits_of_held(ids, hottest(degrees, of.rows)))
        held = hottest(presampled.tolist(), of.rows, degrees)
        assert of.hits["presampling"] == pytest.approx(hits_of_held(ids, held))
        assert of.hits["look-ahead 1"] <= of.hits["look-ahead 16"] + 0.02


def test_the_optimum_is_min_and_nothing_exceeds_it():
    graph = homogeneous()
    count = count_hits(graph, FANOUTS, BATCH_SIZE, seed=SEED, cache_rows=[1000, 20, 100, 100], windows=[0, 1000])
    ids = ids_of_epochs(graph, "node", 2)
    assert [of.rows for of in count.sizes] == [20, 100, 1000]
    for of in count.sizes:
        # MIN has the most hits in both epochs together; others may have a few more in the second alone.
        assert max(of.hits.values()) <= of.hits["optimum"] + 0.01
        assert of.hits["look-ahead 1000"] >= of.hits["degree"]
    whole = count_hits(graph, FANOUTS, BATCH_SIZE, seed=SEED, cache_rows=[20, 100])
    for of in whole.sizes:
        # Rows whose next uses are in one batch are alike, and rows without one: which of them stays changes nothing.
        assert of.hits["optimum"] == pytest.approx(hits_of_min(ids, of.rows))


def test_rows_of_one_type_of_several():
    graph = heterogeneous()
    count = count_hits(graph, FANOUTS, BATCH_SIZE, input_nodes=("paper", "train"), seed=SEED, windows=[2])
    assert (count.node_type, count.num_rows, count.row_bytes) == ("paper", 500, 24)
    assert [of.rows for of in count.sizes] == [10, 25, 50, 100]
    assert list(count.sizes[0].hits) == ["recency", "degree", "presampling", "look-ahead 2", "optimum"]
    authors = count_hits(
        graph, FANOUTS, BATCH_SIZE, node_type="author", input_nodes=("paper", "train"), seed=SEED, cache_rows=[30]
    )
    ids = ids_of_epochs(graph, "author", 2, input_nodes=("paper", "train"))
    assert out_degrees(graph, "author").tolist() == slow_degrees(graph, "author")
    assert authors.sizes[0].hits["recency"] == pytest.approx(hits_of_recency(ids, 30))
    assert authors.rows_per_batch == np.mean([len(batch) for batch in ids[1]])
    assert count_hits(graph, FANOUTS, BATCH_SIZE, batches=2).batches == 2  # seeds: the first type of the split


def test_few_batches_of_each_epoch():
    graph = homogeneous()
    count = count_hits(graph, FANOUTS, BATCH_SIZE, seed=SEED, batches=3, epochs=2, cache_rows=[100])
    ids = ids_of_epochs(graph, "node", 3, batches=3)
    assert count.batches == 6
    assert count.sizes[0].hits["recency"] == pytest.approx(hits_of_recency(ids, 100))


def test_a_graph_without_tables_and_splits():
    plain = ramet.from_arrays([0, 2, 2, 4], [1, 2, 0, 1])
    count = count_hits(plain, [-1], 5)
    assert (count.row_bytes, count.batches, count.rows_per_batch) == (512, 1, 3)
    assert count.sizes[-1].rows == 1
    assert count_hits(plain, [-1], 5, cache_rows=[3]).sizes[0].hits["recency"] == 1
    with pytest.raises(ValueError, match="there are no seeds"):
        count_hits(ramet.from_arrays([0, 0], []), [2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch_size": 0}, "batch_size is 0"),
        ({"epochs": 0}, "epochs is 0"),
        ({"batches": 0}, "batches is 0"),
        ({"row_bytes": -1}, "row_bytes is -1"),
        ({"windows": [-1]}, "windows is -1"),
        ({"windows": [2**21]}, "windows is 2097152, expected at most 1048576"),
        ({"cache_rows": [-1]}, "cache_rows is -1"),
        ({"cache_rows": []}, "cache_rows is empty"),
        ({"node_type": "paper"}, "there is no node type 'paper'; there is 'node'"),
        ({"sampler": "neighbour"}, "sampler is 'neighbour'"),
    ],
    ids=str,
)
def test_bad_arguments(arguments, message):
    with pytest.raises((ValueError, KeyError), match=message):
        count_hits(homogeneous(), **{"num_neighbors": [2], "batch_size": 5, **arguments})


# ---- advice


def counted(*hits_by_size: dict[str, float]) -> CacheCount:
    sizes = [
        CacheSize(rows=10 * 2**i, share=0.01 * 2**i, bytes=1000 * 2**i, hits=hits)
        for i, hits in enumerate(hits_by_size)
    ]
    facts = {"node_type": "node", "num_rows": 1000, "row_bytes": 100, "num_neighbors": [2], "sampler": "uniform"}
    return CacheCount(
        **facts, batch_size=5, epochs=1, batches=9, rows_per_batch=200.0, touched=0.5, sizes=sizes, advice=""
    )


def test_the_simplest_policy_that_is_as_good_is_advised():
    hits = {"recency": 0.5, "degree": 0.6, "presampling": 0.61, "look-ahead 1": 0.612, "look-ahead 16": 0.614}
    assert best_policy(counted(hits).sizes[0]) == "presampling"
    assert best_policy(counted(hits | {"degree": 0.61}).sizes[0]) == "degree"
    assert best_policy(counted(hits | {"recency": 0.9}).sizes[0]) == "recency"
    assert best_policy(counted(hits | {"look-ahead 16": 0.7, "optimum": 0.9}).sizes[0]) == "look-ahead 16"


def test_a_larger_cache_is_advised_where_it_saves_much():
    small, larger, largest = ({"degree": hits, "look-ahead 4": hits + 0.1, "optimum": 0.9} for hits in (0.3, 0.5, 0.55))
    assert advise(counted(small, larger, largest)) == (
        "A cache of 20 rows (2.0%, 2.0 kB) by looking ahead 4 batches hits 60.0%, 30.0 points below the optimum: "
        "a batch reads 8.0 kB instead of 20.0 kB."
    )


# ---- the command


def output_of(capsys, *argv) -> str:
    assert cli.main(["cache", *map(str, argv)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


SMALL = ["--batch-size", BATCH_SIZE, "--num-neighbors", "4,3", "--seed", SEED]


def test_json_is_all_that_is_printed(store, capsys):
    result = json.loads(output_of(capsys, store, *SMALL, "--json", "--quiet", "--cache-rows", "2.5%,200"))
    count = count_hits(ramet.open(store), FANOUTS, BATCH_SIZE, seed=SEED, cache_rows=[25, 200])
    assert result == {"store": store, **dataclasses.asdict(count)}


def test_text(store, capsys):
    out = output_of(capsys, store, *SMALL, "--windows", "0,2")
    count = count_hits(ramet.open(store), FANOUTS, BATCH_SIZE, seed=SEED, windows=[0, 2])
    lines = out.splitlines()
    assert lines[0] == f"{store}: 1,000 rows of type 'node', 32 bytes each; 10 seeds, [4, 3], Uniform(replace=False)"
    assert lines[1].startswith(f"21 batches, after an epoch that fills the caches; {count.rows_per_batch:,.0f} rows")
    assert lines[3].split()[-3:] == ["look-ahead", "2", "optimum"]
    for of, line in zip(count.sizes, lines[4:8]):
        assert line.split()[4:] == [f"{100 * hits:.1f}" for hits in of.hits.values()]
    assert lines[-1] == count.advice
    assert len({len(line) for line in lines[3:8] + lines[9:14]}) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cache-rows", "x"], "--cache-rows is 'x', expected sizes like 5%,100000"),
        (["--cache-rows", "101%"], "--cache-rows has 101%, expected 0% to 100%"),
        (["--cache-rows", "nan%"], "--cache-rows has nan%"),
        (["--windows", "a"], "'a' is not a list of numbers like 1,4,16"),
        (["--epochs", "0"], "--epochs is 0, expected at least 1"),
        (["--node-type", "x"], "there is no node type 'x'"),
        (["--sampler", "uniform", "--importance-iterations", "1"], "only labor has it"),
    ],
    ids=str,
)
def test_wrong_options_get_a_sentence(store, options, message, capsys):
    try:
        status = cli.main(["cache", store, *options])
    except SystemExit as stop:
        status = stop.code
    out, err = capsys.readouterr()
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
