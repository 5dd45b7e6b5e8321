"""By which requests the rows that caches miss are read, against a slow reader. docs/caches.md, docs/disk.md"""

import re
import tempfile
from pathlib import Path

import numpy as np
import pytest
import slow_caches as slow
from small_graphs import homogeneous

import ramet
from ramet.costs.disk import Reads
from ramet.costs.words import advise

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
