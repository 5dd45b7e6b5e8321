"""What a job would take, against what loaders take; and the command `ramet estimate`. docs/estimate.md"""

import dataclasses
import json
import time
from functools import partial
from pathlib import Path

import command_line
import numpy as np
import pytest
import slow_caches
from command_line import error_of
from small_graphs import heterogeneous, homogeneous

import ramet
from ramet.costs import Caches, count_hits, count_ranks

FANOUTS, BATCH, SEED = [4, 3], 60, 7
counting = partial(slow_caches.loader_of, batch_size=BATCH)
SMALL = ["--batch-size", BATCH, "--num-neighbors", "4,3", "--seed", SEED]
MEASURED = {"seconds_per_epoch", "available", "sample", "memory", "memory_by_use"}


def bytes_in(folder) -> int:
    return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())


# ---- the function


def test_memory_and_disk(store):
    graph = ramet.open(store)
    found = ramet.estimate(graph, FANOUTS, batch_size=BATCH, seed=SEED)
    by_use, sample = found.memory_by_use, found.sample
    assert found.memory == sum(by_use.values())
    assert by_use["store"] == graph.pages()["mapped"] > 0
    assert by_use["loader"] >= (sample.max_prefetch + 1) * sample.largest_batch_bytes > 0
    assert by_use["loader"] >= sample.pool_bytes
    batches = list(counting(graph))
    assert by_use["model"] == max(batch.blocks[-1].num_src for batch in batches) * 256 * 4 * 2
    assert found.disk == bytes_in(store)
    assert (found.batches_per_epoch, found.device_memory, found.fits) == (len(batches), 0, True)
    assert found.seconds_per_epoch > 0
    assert (found.machine, found.work, found.caches) == (None, None, None)
    assert ramet.estimate(homogeneous(), FANOUTS).disk == homogeneous().pages()["mapped"]


def test_seconds_are_those_of_the_sample_for_all_batches(store):
    begin = time.perf_counter()
    found = ramet.estimate(ramet.open(store), FANOUTS, batch_size=20, batches=4)
    elapsed, sample = time.perf_counter() - begin, found.sample
    assert (found.batches_per_epoch, sample.batches) == (11, 1 + 4)  # the first is not measured
    of_sample = found.seconds_per_epoch * 4 / 11
    assert sample.wait_seconds - sample.first_wait_seconds <= of_sample <= elapsed


def test_ranks_share_the_store_and_nothing_else(store):
    graph = ramet.open(store)
    one, four = (ramet.estimate(graph, FANOUTS, batch_size=size, ranks=ranks) for ranks, size in ((1, 15), (4, 60)))
    assert four.memory_by_use["store"] == one.memory_by_use["store"]
    assert four.memory_by_use["model"] == 4 * one.memory_by_use["model"]
    assert four.memory_by_use["loader"] >= 4 * four.sample.pool_bytes
    assert (one.batches_per_epoch, four.batches_per_epoch) == (14, 4)
    assert ramet.estimate(graph, FANOUTS, batch_size=10, ranks=3).batches_per_epoch == 21  # slices of 4, 3 and 3
    assert four.work == count_ranks(counting(graph, seed=0), 4, batches=8)


def test_what_does_not_fit_is_said():
    needed = ramet.estimate(homogeneous(), FANOUTS, batch_size=BATCH, hidden=1 << 40)
    assert not needed.fits
    assert "DOES NOT FIT" in str(needed)


def test_tables_on_a_disk_are_not_in_memory(tmp_path):
    ramet.save(homogeneous(feat=np.zeros((1000, 2000), np.float32)), tmp_path / "store")
    graph = ramet.open(tmp_path / "store")
    mapped, read = (ramet.estimate(graph, FANOUTS, batch_size=BATCH, placement=p) for p in (None, {"feat": "disk"}))
    assert mapped.memory_by_use["store"] - read.memory_by_use["store"] == 1000 * 2000 * 4
    assert read.sample.rows_read > 0


def test_seeds_where_there_is_no_split():
    plain = ramet.from_arrays([0, 2, 2, 4], [1, 2, 0, 1])
    work = ramet.estimate(plain, [-1], batch_size=10, ranks=2).work
    assert (work.seeds, work.batches, work.rows_read) == (2, 1, 3)  # those with in-edges
    assert work.bytes["read"] == 3 * 512  # no table
    with pytest.raises(ValueError, match="there are no seeds"):
        ramet.estimate(ramet.from_arrays([0, 0], []), [2])
    typed = ramet.estimate(heterogeneous(), FANOUTS, batch_size=10, caches=Caches())
    assert (typed.batches_per_epoch, typed.caches.node_type) == (3, "paper")  # seeds: the first type of the split


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ranks": 0}, "ranks is 0"),
        ({"batches": 0}, "batches is 0"),
        ({"hidden": -1}, "hidden is -1"),
        ({"ranks": 2, "row_bytes": -1}, "row_bytes is -1"),
        ({"ranks": 2, "ownership": "metis"}, "neither 'range', 'hash' nor a file"),
        ({"ranks": 2, "ownership": np.zeros(7, np.uint8)}, "has 7 entries, but there are 1000 nodes"),
        ({"sampler": "neighbour"}, "sampler is 'neighbour'"),
        ({"graph": 5}, "graph is a int"),
    ],
    ids=str,
)
def test_bad_arguments(arguments, message):
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=message):
        ramet.estimate(**{"graph": homogeneous(), "num_neighbors": [2], **arguments})


# ---- the command


def run(capsys, *argv) -> str:
    status, out, err = command_line.run(capsys, "estimate", *argv)
    assert (status, err) == (0, "")
    return out


def json_of(capsys, *argv) -> dict:
    return json.loads(run(capsys, *argv, "--json", "--quiet"))


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ([], {}),
        (["--ranks", 3, "--batches", 2], {"ranks": 3, "batches": 2}),
        (["--ranks", 3, "--ownership", "hash"], {"ranks": 3, "ownership": "hash"}),
        (["--ranks", 3, "--row-bytes", 64, "--hidden", 32], {"ranks": 3, "row_bytes": 64, "hidden": 32}),
        (["--at-nodes", 10**6, "--at-edges", 10**8], {"at": (10**6, 10**8)}),
        (["--ranks", 3, "--sampler", "labor"], {"ranks": 3, "sampler": "labor"}),
        (["--sampler", "labor", "--importance-iterations", 1], {"sampler": ramet.Labor(1)}),
        (["--ranks", 2, "--replace", "--dependent", 8], {"ranks": 2, "sampler": ramet.Uniform(True, dependent=8)}),
        (["--cache-rows", "2.5%,200"], {"caches": Caches(cache_rows=["2.5%", 200])}),
        (["--windows", "0,2", "--epochs", 2], {"caches": Caches(windows=[0, 2], epochs=2)}),
        (["--node-type", "node", "--batches", 2], {"caches": Caches(node_type="node"), "batches": 2}),
        (["--read-costs", "2e-5,3e-9"], {"caches": Caches(read_costs=(2e-5, 3e-9))}),
    ],
    ids=str,
)
def test_every_option(store, capsys, options, arguments):
    result = json_of(capsys, store, *SMALL, *options)
    found = ramet.estimate(ramet.open(store), FANOUTS, batch_size=BATCH, **{"seed": SEED, **arguments})
    expected = dataclasses.asdict(found) | {"store": store}
    assert result.keys() == expected.keys()
    assert {n: result[n] for n in result if n not in MEASURED} == {
        n: expected[n] for n in expected if n not in MEASURED
    }


@pytest.mark.parametrize("method", ["range", "hash"])
@pytest.mark.parametrize("make", [homogeneous, heterogeneous])
def test_owners_of_a_partition(tmp_path, capsys, make, method):
    ramet.save(make(), tmp_path / "store")
    ramet.partition(tmp_path / "store", 3, tmp_path / "out", method=method, only_owner=True)
    command = [tmp_path / "store", *SMALL, "--ranks", 3, "--ownership"]
    expected = json_of(capsys, *command, method)
    for path in ("out", "out/owner", *([] if make == heterogeneous else ["out/owner/node.npy"])):
        assert json_of(capsys, *command, tmp_path / path)["work"] == expected["work"]


def test_text(store, capsys):
    lines = run(capsys, store, *SMALL).splitlines()
    assert lines[0] == f"{store}: batches of 60 seeds, [4, 3], {ramet.Uniform()}, 1 rank"
    names = [line[:14].rstrip() for line in lines[1:8]]
    assert names == ["memory", "  store", "  loader", "  model", "device memory", "disk", "epoch"]
    assert "  fits: " in lines[1]
    assert " 4 batches of " in lines[7]
    assert "batches ahead, the largest" in lines[-1]
    of_ranks = run(capsys, store, *SMALL, "--ranks", 3, "--batches", 1)
    assert "means of 1 batch of 60 seeds, by 3 ranks" in of_ranks
    for words in ("hop 1: nodes so far", "rows read", "redundancy", "bytes sent: ids", "largest rank over mean: rows"):
        assert words in of_ranks
    assert "memory of a machine with one of 3 parts of 1,000 nodes and 8,000 edges, 40 bytes a row: " in of_ranks


@pytest.mark.parametrize(("costs", "titles"), [(None, 2), ("2e-5,3e-9", 4)])
def test_text_of_caches(store, capsys, costs, titles):
    options = [] if costs is None else ["--read-costs", costs]
    out = run(capsys, store, *SMALL, "--cache-rows", "0,1000", "--windows", "0,2", *options)
    caches = Caches(cache_rows=[0, 1000], windows=[0, 2], read_costs=costs and (2e-5, 3e-9))
    count = count_hits(counting(ramet.open(store)), caches)
    text = out[out.index("caches of 1,000 rows of type 'node', 32 bytes each") :]
    lines = text.splitlines()
    assert lines[1].startswith(f"4 batches, after an epoch that fills the caches; {count.rows_per_batch:,.0f} rows")
    start = (
        f"no rate of a disk: {count.no_disk}" if costs is None else f"{count.disk.how}: 20 us a request, 3 ns a byte"
    )
    assert lines[2].startswith(start)
    tables = [lines[i : i + 3] for i, line in enumerate(lines) if line.endswith("optimum")]
    shown = ["rows that hit, %", "read per batch", "requests per batch", "batches per second"][:titles]
    assert [table[0][:28].rstrip() for table in tables] == shown
    assert len({len(line) for table in tables for line in table}) == 1
    for i, of in enumerate(count.sizes):
        assert tables[0][1 + i].split()[4:] == [f"{100 * hits:.1f}" for hits in of.hits.values()]
        if costs is not None:
            assert tables[2][1 + i].split()[4:] == [f"{reads.requests:,.0f}" for reads in of.reads.values()]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--batch-size", 0], "--batch-size is 0"),
        (["--num-neighbors", "a,b"], "'a,b' is not a list of numbers like 10,10,10"),
        (["--sampler", "best"], "--sampler"),
        (["--importance-iterations", 1], "--importance-iterations is given with --sampler uniform"),
        (["--at-nodes", 5], "--at-nodes and --at-edges"),
        (["--at-nodes", -5, "--at-edges", 5], "--at-nodes is -5"),
        (["--cache-rows", "x"], "'x' is not a list of numbers like 5%,100000"),
        (["--windows", "a"], "'a' is not a list of numbers"),
        (["--read-costs", "fast"], "'fast' is not a list of numbers like 1e-5,1e-9"),
        (["--node-type", "x"], "there is no node type 'x'"),
    ],
    ids=str,
)
def test_bad_input_is_one_line(store, capsys, options, message):
    assert message in error_of(capsys, "estimate", store, *SMALL, *options)
