"""ramet cache: what caches would hit, against slow caches over a loader's batches; and by which requests the rows that
they miss are read, against a slow reader. docs/caches.md, docs/disk.md"""

import dataclasses
import json
import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
from small_graphs import heterogeneous, homogeneous

import ramet
from ramet import cli
from ramet.caching import CacheCount, CacheSize, Disk, Reads, count_hits
from ramet.caching.advice import advise, best_policy, shown_rate
from ramet.caching.count import out_degrees
from ramet.caching.replay import PRESAMPLED
from ramet.stores.info import size

FANOUTS, BATCH_SIZE, SEED = [4, 3], 10, 7
POLICIES = ["recency", "degree", "presampling", "look-ahead 1", "look-ahead 4", "look-ahead 16", "optimum"]


@pytest.fixture
def store(tmp_path):
    ramet.save(homogeneous(), tmp_path / "store")
    return str(tmp_path / "store")


def ids_of_epochs(graph, node_type, epochs, batches=None, input_nodes="train", **options) -> list[list[list[int]]]:
    loader = ramet.NeighborLoader(
        graph, FANOUTS, input_nodes, BATCH_SIZE, shuffle=True, seed=SEED, tables=(), ranks=False, **options
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


def missed_by_held(epochs, held: set) -> list[list[int]]:
    """The rows that each batch of all but the first epoch reads; those that were read before are there."""
    read = {row for batch in epochs[0] for row in batch}
    missed = []
    for batch in (batch for epoch in epochs[1:] for batch in epoch):
        missed.append([row for row in batch if row not in held or row not in read])
        read |= set(batch)
    return missed


def missed_by_recency(epochs, capacity: int) -> list[list[int]]:
    used: dict[int, int] = {}  # row: batch, least recently used first
    all_missed = []
    for number, batch in enumerate(batch for epoch in epochs for batch in epoch):
        missed = [row for row in batch if row not in used]
        for row in batch:
            if row in used:
                del used[row]
                used[row] = number
        for row in missed:
            if len(used) == capacity:
                oldest = next(iter(used), None)
                if oldest is None or used[oldest] == number:
                    continue
                del used[oldest]
            used[row] = number
        all_missed.append(missed)
    return all_missed[len(epochs[0]) :]


def hits_of(missed: list[list[int]], epochs) -> float:
    return 1 - sum(map(len, missed)) / sum(len(batch) for epoch in epochs[1:] for batch in epoch)


def hits_of_held(epochs, held: set) -> float:
    return hits_of(missed_by_held(epochs, held), epochs)


def hits_of_recency(epochs, capacity: int) -> float:
    return hits_of(missed_by_recency(epochs, capacity), epochs)


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


@pytest.mark.parametrize("options", [{}, {"sampler": "labor"}, {"sampler": ramet.Uniform(dependent=4)}], ids=str)
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
        ({"read_costs": (1e-5,)}, r"read_costs is \(1e-05,\), expected seconds of a request and of a byte"),
        ({"read_costs": 1e-5}, "read_costs is 1e-05"),
        ({"read_costs": (-1.0, 0.0)}, "read_costs has -1.0, expected at least 0 seconds"),
        ({"read_costs": (0.0, float("nan"))}, "read_costs has nan"),
        ({"node_type": "paper"}, "there is no node type 'paper'; there is 'node'"),
        ({"sampler": "neighbour"}, "sampler is 'neighbour'"),
    ],
    ids=str,
)
def test_bad_arguments(arguments, message):
    with pytest.raises((ValueError, KeyError), match=message):
        count_hits(homogeneous(), **{"num_neighbors": [2], "batch_size": 5, **arguments})


# ---- what a disk reads

MOST_BYTES = 256 << 10  # of a request


def slow_reads(rows: list[int], offset: int, row_bytes: int, block: int, costs: tuple) -> np.ndarray:
    """Requests and bytes: a gap that costs less than another request is read through. docs/disk.md"""
    requests: list[list[int]] = []  # begin, end
    for row in sorted(rows):
        begin = (offset + row * row_bytes) // block * block
        end = -(-(offset + (row + 1) * row_bytes) // block) * block
        first, last = requests[-1] if requests else (0, 0)
        is_close = begin < last or (begin - last) * costs[1] < costs[0]
        if requests and is_close and end - first <= MOST_BYTES // block * block:
            requests[-1][1] = end
        else:
            requests.append([begin, end])
    return np.array([len(requests), sum(end - begin for begin, end in requests)])


def check_reads(reads: Reads, missed: list[list[int]], costs: tuple, **where) -> None:
    requests, num_bytes = np.mean([slow_reads(rows, costs=costs, **where) for rows in missed], axis=0)
    assert (reads.requests, reads.bytes) == pytest.approx((requests, num_bytes))
    seconds = requests * costs[0] + num_bytes * costs[1]
    assert reads.batches_per_second == (pytest.approx(1 / seconds) if seconds else None)


def place_of_rows(store, how: str, row_bytes: int) -> dict[str, int]:
    (file,) = Path(store).rglob("feat.npy")
    block = re.search(r"blocks of (\d+) bytes", how)
    offset = np.load(file, mmap_mode="r").offset
    return {"offset": offset, "row_bytes": row_bytes, "block": int(block[1]) if block else 1}


@pytest.mark.parametrize("costs", [(0.0, 1e-9), (6e-7, 1e-9), (1.0, 1e-9), (1e-5, 0.0), (0.0, 0.0)], ids=str)
def test_requests_are_those_of_a_slow_reader(store, costs):
    graph = ramet.open(store)
    count = count_hits(graph, FANOUTS, BATCH_SIZE, seed=SEED, cache_rows=[50, 1000], read_costs=costs)
    assert count.no_disk == ""
    assert (count.disk.request_seconds, count.disk.byte_seconds) == costs
    where = place_of_rows(store, count.disk.how, 32)
    ids, degrees = ids_of_epochs(graph, "node", 2), slow_degrees(graph, "node")
    check_reads(count.uncached, ids[1], costs, **where)
    for of in count.sizes:
        assert list(of.reads) == POLICIES
        check_reads(of.reads["recency"], missed_by_recency(ids, of.rows), costs, **where)
        check_reads(of.reads["degree"], missed_by_held(ids, hottest(degrees, of.rows)), costs, **where)
        assert of.reads["optimum"].bytes <= count.uncached.bytes


@pytest.mark.parametrize(("dtype", "row_bytes"), [("float16", 16), ("bfloat16", 16), ("int8", 8)])
def test_rows_of_every_dtype_are_planned(tmp_path, dtype, row_bytes):
    costs = (6e-7, 1e-9)
    ramet.save(homogeneous(), tmp_path / "store", dtype=dtype)
    graph = ramet.open(tmp_path / "store")
    count = count_hits(graph, FANOUTS, BATCH_SIZE, seed=SEED, cache_rows=[50], read_costs=costs)
    assert count.no_disk == ""
    where = place_of_rows(tmp_path, count.disk.how, row_bytes)
    check_reads(count.uncached, ids_of_epochs(graph, "node", 2)[1], costs, **where)


def test_the_disk_is_measured_where_no_costs_are_given(tmp_path):
    wide = np.zeros((1000, 2000), np.float32)
    ramet.save(homogeneous(feat=wide), tmp_path / "store")
    count = count_hits(ramet.open(tmp_path / "store"), FANOUTS, BATCH_SIZE, seed=SEED, cache_rows=[50], batches=3)
    if "lies in memory" in count.no_disk or "page cache" in count.no_disk:
        pytest.skip(count.no_disk)
    assert min(count.disk.request_seconds, count.disk.byte_seconds) > 0
    reads = count.sizes[0].reads["recency"]
    cached, uncached = (
        of.requests * count.disk.request_seconds + of.bytes * count.disk.byte_seconds for of in (reads, count.uncached)
    )
    assert reads.batches_per_second == pytest.approx(1 / cached)
    assert reads.requests > 0
    assert cached <= uncached  # of fewer rows; their requests may be more, since what lies between is not read


def why_no_disk(graph, **options) -> str:
    count = count_hits(graph, FANOUTS, BATCH_SIZE, seed=SEED, batches=2, cache_rows=[50], **options)
    assert (count.disk, count.uncached, count.sizes[0].reads) == (None, None, {})
    assert "second" not in count.advice
    return count.no_disk


def test_without_a_disk_the_reason_is_said(store):
    assert why_no_disk(ramet.from_arrays([0, 2, 2, 4], [1, 2, 0, 1])) == "type 'node' has no table 'feat'"
    assert why_no_disk(homogeneous()).startswith("table 'feat' is not read from a disk: the rows are in memory")
    opened = ramet.open(store)
    assert why_no_disk(opened, row_bytes=512) == "rows of table 'feat' have 32 bytes, not 512"
    assert why_no_disk(opened) == "table 'feat': no file has 4 MiB of rows to measure it with"


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no file system in memory")
def test_a_store_in_memory_has_no_rate():
    with tempfile.TemporaryDirectory(prefix="ramet-test-", dir="/dev/shm") as folder:
        ramet.save(homogeneous(feat=np.zeros((1000, 2000), np.float32)), f"{folder}/store")
        graph = ramet.open(f"{folder}/store")
        assert why_no_disk(graph).endswith("feat.npy lies in memory")
        assert count_hits(graph, FANOUTS, BATCH_SIZE, batches=2, read_costs=(1e-5, 1e-9)).disk.request_seconds == 1e-5


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


def test_the_gain_on_a_disk_is_named():
    count = counted({"degree": 0.5, "optimum": 0.5})
    count.disk, count.uncached = Disk("threads", 1e-5, 1e-9), Reads(200.0, 20e3, 1234.5)
    rates = [(2.3456e4, "23,456"), (62.0, "62.0"), (3.14159, "3.14"), (1.2345e-3, "0.00123"), (None, "any number of")]
    for rate, shown in rates:
        count.sizes[0].reads["degree"] = Reads(100.0, 10e3, rate)
        assert advise(count).endswith(
            f"instead of 20.0 kB, and the disk gives {shown} batches a second instead of 1,234."
        )


# ---- the command


def output_of(capsys, *argv) -> str:
    assert cli.main(["cache", *map(str, argv)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


SMALL = ["--batch-size", BATCH_SIZE, "--num-neighbors", "4,3", "--seed", SEED]


def test_json_is_all_that_is_printed(store, capsys):
    for options, asked in [([], None), (["--read-costs", "2e-5,3e-9"], (2e-5, 3e-9))]:
        out = output_of(capsys, store, *SMALL, "--json", "--quiet", "--cache-rows", "2.5%,200", *options)
        count = count_hits(ramet.open(store), FANOUTS, BATCH_SIZE, seed=SEED, cache_rows=[25, 200], read_costs=asked)
        assert json.loads(out) == {"store": store, **dataclasses.asdict(count)}
        assert (count.disk is None) == (asked is None)


def test_text(store, capsys):
    out = output_of(capsys, store, *SMALL, "--windows", "0,2")
    count = count_hits(ramet.open(store), FANOUTS, BATCH_SIZE, seed=SEED, windows=[0, 2])
    lines = out.splitlines()
    assert (
        lines[0]
        == f"{store}: 1,000 rows of type 'node', 32 bytes each; 10 seeds, [4, 3], Uniform(replace=False, dependent=1)"
    )
    assert lines[1].startswith(f"21 batches, after an epoch that fills the caches; {count.rows_per_batch:,.0f} rows")
    assert lines[2] == f"no rate of a disk: {count.no_disk}"
    assert lines[4].split()[-3:] == ["look-ahead", "2", "optimum"]
    for of, line in zip(count.sizes, lines[5:9]):
        assert line.split()[4:] == [f"{100 * hits:.1f}" for hits in of.hits.values()]
    assert lines[-1] == count.advice
    assert len({len(line) for line in lines[4:9] + lines[10:15]}) == 1
    assert len(lines) == 17


def test_text_of_a_disk(store, capsys):
    out = output_of(capsys, store, *SMALL, "--cache-rows", "0,1000", "--windows", "2", "--read-costs", "2e-5,3e-9")
    options = {"cache_rows": [0, 1000], "windows": [2], "read_costs": (2e-5, 3e-9)}
    count = count_hits(ramet.open(store), FANOUTS, BATCH_SIZE, seed=SEED, **options)
    lines = out.splitlines()
    uncached = count.uncached
    assert lines[2] == (
        f"{count.disk.how}: 20 us a request, 3 ns a byte; without a cache {uncached.requests:,.0f} requests and "
        f"{size(uncached.bytes)} a batch, {shown_rate(uncached.batches_per_second)} batches a second"
    )
    titles = [line[:28].rstrip() for line in lines if line.endswith("optimum")]
    assert titles == ["rows that hit, %", "read per batch", "requests per batch", "batches per second"]
    first = lines.index(next(line for line in lines if line.startswith("requests per batch")))
    for of, line in zip(count.sizes, lines[first + 1 : first + 3]):
        assert line.split()[4:] == [f"{reads.requests:,.0f}" for reads in of.reads.values()]
    rates = [float(cell.replace(",", "")) for cell in lines[first + 5].split()[4:]]
    assert rates == pytest.approx([of.batches_per_second for of in count.sizes[0].reads.values()], rel=5e-3)
    assert len({len(line) for line in lines[4:-2] if line}) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cache-rows", "x"], "--cache-rows is 'x', expected sizes like 5%,100000"),
        (["--cache-rows", "101%"], "--cache-rows has 101%, expected 0% to 100%"),
        (["--cache-rows", "nan%"], "--cache-rows has nan%"),
        (["--windows", "a"], "'a' is not a list of numbers like 1,4,16"),
        (["--read-costs", "fast"], "'fast' is not seconds of a request and of a byte like 1e-5,1e-9"),
        (["--read-costs", "1e-5"], "--read-costs is (1e-05,), expected seconds of a request and of a byte"),
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
