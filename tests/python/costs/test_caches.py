"""What caches would hit, against slow caches over a loader's batches. docs/caches.md"""

import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
import slow_caches as slow
from small_graphs import heterogeneous, homogeneous

import ramet
from ramet.costs.caches import CacheCount, CacheSize, out_degrees
from ramet.costs.disk import Disk, Reads
from ramet.costs.replay import PRESAMPLED
from ramet.costs.words import advise, best_policy


@pytest.mark.parametrize("options", [{}, {"sampler": "labor"}, {"sampler": ramet.Uniform(dependent=4)}], ids=str)
@pytest.mark.parametrize("epochs", [1, 2])
def test_hits_are_those_of_slow_caches(options, epochs):
    graph = homogeneous()
    found = slow.count(graph, slow.loader_of(graph, **options), epochs=epochs, cache_rows=[0, 50, 200])
    ids = slow.ids_of_epochs(graph, "node", 1 + epochs, **options)
    rows = [len(batch) for epoch in ids[1:] for batch in epoch]
    assert (found.epochs, found.batches, found.rows_per_batch) == (epochs, len(rows), np.mean(rows))
    assert found.touched == len({row for epoch in ids[1:] for batch in epoch for row in batch}) / 1000
    degrees = slow.out_degrees(graph, "node")
    presampled = np.zeros(1000, int)
    for batch in ids[0][:PRESAMPLED]:
        presampled[batch] += 1
    assert [of.rows for of in found.sizes] == [0, 50, 200]
    for of in found.sizes:
        assert list(of.hits) == slow.POLICIES
        assert (of.share, of.bytes) == (of.rows / 1000, of.rows * 32)
        assert of.hits["recency"] == pytest.approx(slow.hits_of(slow.missed_by_recency(ids, of.rows), ids))
        assert of.hits["degree"] == pytest.approx(
            slow.hits_of(slow.missed_by_held(ids, slow.hottest(degrees, of.rows)), ids)
        )
        held = slow.hottest(presampled.tolist(), of.rows, degrees)
        assert of.hits["presampling"] == pytest.approx(slow.hits_of(slow.missed_by_held(ids, held), ids))
        assert of.hits["look-ahead 1"] <= of.hits["look-ahead 16"] + 0.02


def test_the_optimum_is_min_and_nothing_exceeds_it():
    graph = homogeneous()
    found = slow.count(graph, cache_rows=[1000, 20, "10%", 100], windows=[0, 1000])
    ids = slow.ids_of_epochs(graph, "node", 2)
    assert [of.rows for of in found.sizes] == [20, 100, 1000]
    for of in found.sizes:
        # MIN has the most hits in both epochs together; others may have a few more in the second alone.
        assert max(of.hits.values()) <= of.hits["optimum"] + 0.01
        assert of.hits["look-ahead 1000"] >= of.hits["degree"]
    whole = slow.count(graph, cache_rows=["2%", 100])
    for of in whole.sizes:
        # Rows whose next uses are in one batch are alike, and rows without one: which of them stays changes nothing.
        assert of.hits["optimum"] == pytest.approx(slow.hits_of_min(ids, of.rows))


def test_rows_of_one_type_of_several():
    graph = heterogeneous()
    loader = slow.loader_of(graph, ("paper", "train"))
    found = slow.count(graph, loader, windows=[2])
    assert (found.node_type, found.num_rows, found.row_bytes) == ("paper", 500, 24)
    assert [of.rows for of in found.sizes] == [10, 25, 50, 100]
    assert list(found.sizes[0].hits) == ["recency", "degree", "presampling", "look-ahead 2", "optimum"]
    authors = slow.count(graph, loader, node_type="author", cache_rows=[30])
    ids = slow.ids_of_epochs(graph, "author", 2, input_nodes=("paper", "train"))
    assert out_degrees(graph, "author").tolist() == slow.out_degrees(graph, "author")
    assert authors.sizes[0].hits["recency"] == pytest.approx(slow.hits_of(slow.missed_by_recency(ids, 30), ids))
    assert authors.rows_per_batch == np.mean([len(batch) for batch in ids[1]])


def test_few_batches_of_each_epoch():
    graph = homogeneous()
    found = slow.count(graph, batches=3, epochs=2, cache_rows=[100])
    ids = slow.ids_of_epochs(graph, "node", 3, batches=3)
    assert found.batches == 6
    assert found.sizes[0].hits["recency"] == pytest.approx(slow.hits_of(slow.missed_by_recency(ids, 100), ids))


def test_a_graph_without_tables():
    plain = ramet.from_arrays([0, 2, 2, 4], [1, 2, 0, 1])
    loader = slow.loader_of(plain, [0, 2], [-1])
    found = slow.count(plain, loader)
    assert (found.row_bytes, found.batches, found.rows_per_batch) == (512, 1, 3)
    assert found.sizes[-1].rows == 1
    assert slow.count(plain, loader, cache_rows=[3]).sizes[0].hits["recency"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epochs": 0}, "epochs is 0"),
        ({"batches": 0}, "batches is 0"),
        ({"row_bytes": -1}, "row_bytes is -1"),
        ({"windows": [-1]}, "windows is -1"),
        ({"windows": [2**21]}, "windows is 2097152, expected at most 1048576"),
        ({"cache_rows": [-1]}, "cache_rows is -1"),
        ({"cache_rows": []}, "cache_rows is empty"),
        ({"cache_rows": ["101%"]}, "cache_rows has '101%', expected rows, or 0% to 100% of all"),
        ({"cache_rows": ["nan%"]}, "cache_rows has 'nan%'"),
        ({"cache_rows": ["5"]}, "cache_rows has '5'"),
        ({"read_costs": (1e-5,)}, r"read_costs is \(1e-05,\), expected seconds of a request and of a byte"),
        ({"read_costs": 1e-5}, "read_costs is 1e-05"),
        ({"read_costs": (-1.0, 0.0)}, "read_costs is -1.0, expected at least 0"),
        ({"read_costs": (0.0, float("nan"))}, "read_costs is nan"),
        ({"node_type": "paper"}, "there is no node type 'paper'; there is 'node'"),
    ],
    ids=str,
)
def test_bad_arguments(arguments, message):
    with pytest.raises((ValueError, KeyError), match=message):
        slow.count(homogeneous(), **arguments)


# ---- advice


def counted(*hits_by_size: dict[str, float]) -> CacheCount:
    sizes = [
        CacheSize(rows=10 * 2**i, share=0.01 * 2**i, bytes=1000 * 2**i, hits=hits, reads={})
        for i, hits in enumerate(hits_by_size)
    ]
    facts = {"node_type": "node", "num_rows": 1000, "row_bytes": 100}
    return CacheCount(**facts, epochs=1, batches=9, rows_per_batch=200.0, touched=0.5, sizes=sizes)


def test_the_simplest_policy_that_is_as_good_is_advised():
    hits = {"recency": 0.5, "degree": 0.6, "presampling": 0.61, "look-ahead 1": 0.612, "look-ahead 16": 0.614}
    assert best_policy(counted(hits).sizes[0]) == "presampling"
    assert best_policy(counted(hits | {"degree": 0.61}).sizes[0]) == "degree"
    assert best_policy(counted(hits | {"recency": 0.9}).sizes[0]) == "recency"
    assert best_policy(counted(hits | {"look-ahead 16": 0.7, "optimum": 0.9}).sizes[0]) == "look-ahead 16"


def test_a_larger_cache_is_advised_where_it_saves_much():
    small, larger, largest = ({"degree": hits, "look-ahead 4": hits + 0.1, "optimum": 0.9} for hits in (0.3, 0.5, 0.55))
    assert advise(counted(small, larger, largest)) == (
        "A cache of 20 rows (2.0%, 2.0 kB) by look-ahead 4 hits 60.0%, 30.0 points below the optimum: "
        "a batch reads 8.0 kB instead of 20.0 kB."
    )


def test_the_gain_on_a_disk_is_named():
    found = counted({"degree": 0.5, "optimum": 0.5})
    found.disk, found.uncached = Disk("threads", 1e-5, 1e-9), Reads(200.0, 20e3, 1234.5)
    rates = [(2.3456e4, "23,456"), (62.0, "62.0"), (3.14159, "3.14"), (1.2345e-3, "0.00123"), (None, "any number of")]
    for rate, shown in rates:
        found.sizes[0].reads["degree"] = Reads(100.0, 10e3, rate)
        assert advise(found).endswith(
            f"instead of 20.0 kB, and the disk gives {shown} batches a second instead of 1,234."
        )


# ---- requests by which missed rows are read, against a slow reader: docs/disk.md


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
    found = slow.count(graph, cache_rows=[50, 1000], read_costs=costs)
    assert found.no_disk == ""
    assert (found.disk.request_seconds, found.disk.byte_seconds) == costs
    where = place_of_rows(store, found.disk.how, 32)
    ids, degrees = slow.ids_of_epochs(graph, "node", 2), slow.out_degrees(graph, "node")
    check_reads(found.uncached, ids[1], costs, **where)
    for of in found.sizes:
        assert list(of.reads) == slow.POLICIES
        check_reads(of.reads["recency"], slow.missed_by_recency(ids, of.rows), costs, **where)
        check_reads(of.reads["degree"], slow.missed_by_held(ids, slow.hottest(degrees, of.rows)), costs, **where)
        assert of.reads["optimum"].bytes <= found.uncached.bytes


@pytest.mark.parametrize(("dtype", "row_bytes"), [("float16", 16), ("bfloat16", 16), ("int8", 8)])
def test_rows_of_every_dtype_are_planned(tmp_path, dtype, row_bytes):
    costs = (6e-7, 1e-9)
    ramet.save(homogeneous(), tmp_path / "store", dtype=dtype)
    graph = ramet.open(tmp_path / "store")
    found = slow.count(graph, cache_rows=[50], read_costs=costs)
    assert found.no_disk == ""
    where = place_of_rows(tmp_path, found.disk.how, row_bytes)
    check_reads(found.uncached, slow.ids_of_epochs(graph, "node", 2)[1], costs, **where)


def test_the_disk_is_measured_where_no_costs_are_given(tmp_path):
    wide = np.zeros((1000, 2000), np.float32)
    ramet.save(homogeneous(feat=wide), tmp_path / "store")
    found = slow.count(ramet.open(tmp_path / "store"), cache_rows=[50], batches=3)
    if "lies in memory" in found.no_disk or "page cache" in found.no_disk:
        pytest.skip(found.no_disk)
    assert min(found.disk.request_seconds, found.disk.byte_seconds) > 0
    reads = found.sizes[0].reads["recency"]
    seconds = reads.requests * found.disk.request_seconds + reads.bytes * found.disk.byte_seconds
    assert reads.batches_per_second == pytest.approx(1 / seconds)
    assert 0 < reads.requests <= found.uncached.requests


def why_no_disk(graph, loader=None, **options) -> str:
    found = slow.count(graph, loader, batches=2, cache_rows=[50], **options)
    assert (found.disk, found.uncached, found.sizes[0].reads) == (None, None, {})
    assert "second" not in advise(found)
    return found.no_disk


def test_without_a_disk_the_reason_is_said(store):
    plain = ramet.from_arrays([0, 2, 2, 4], [1, 2, 0, 1])
    assert why_no_disk(plain, slow.loader_of(plain, [0, 2])) == "type 'node' has no table 'feat'"
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
        assert slow.count(graph, batches=2, read_costs=(1e-5, 1e-9)).disk.request_seconds == 1e-5
