"""Rows from a disk: the same batches as in place, of stores, parts and given tables. docs/disk.md."""

import numpy as np
import pytest
from comparison import assert_same
from small_graphs import NUM_NODES, heterogeneous, homogeneous

import ramet

NEEDED = {"num_neighbors": [4, 3], "input_nodes": "train", "batch_size": 30, "shuffle": True}
DISK = "disk"


def saved(graph, folder):
    ramet.save(graph, folder)
    return ramet.open(folder)


def pairs(graph, placement=DISK, **options):
    """(batch from a disk, the same in place), of two epochs."""
    options = NEEDED | options
    disk = ramet.NeighborLoader(graph, placement=placement, **options)
    in_place = ramet.NeighborLoader(graph, placement="in_place", **options)
    assert all(placed.place == "disk" for placed in disk.placement.values())
    for _ in range(2):
        yield from zip(disk, in_place, strict=True)


@pytest.mark.parametrize("threads", [1, 3, None])
@pytest.mark.parametrize("cache", [{}, {"cache_rows": 150}, {"cache_rows": 150, "cache_by": "recency"}])
def test_rows_are_those_in_place(tmp_path, cache, threads):
    placement = ramet.Placement(tables="disk", **cache)
    for batch, expected in pairs(saved(homogeneous(), tmp_path / "store"), placement, threads=threads):
        assert_same(batch, expected)
        assert batch.timings["read"] >= 0


def test_several_types_tables_and_dtypes(tmp_path):
    graph = saved(heterogeneous(), tmp_path / "store")
    options = {"input_nodes": ("paper", "train"), "tables": ("feat", "label", "age")}
    for batch, expected in pairs(graph, ramet.Placement(tables="disk", cache_rows=40, look_ahead=2), **options):
        assert_same(batch, expected)
    random = np.random.default_rng(0)
    values = random.standard_normal((NUM_NODES, 5)).astype(np.float32)
    nodes = {"half": values.astype(np.float16), "rows": ramet.quantize(values)}
    graph = saved(homogeneous(**nodes), tmp_path / "encoded")
    for decode in (True, False):
        for batch, expected in pairs(graph, tables=("half", "rows"), features=ramet.Features(decode=decode)):
            assert_same(batch, expected)


@pytest.mark.parametrize("options", [{"expand": "once"}, {"disjoint": True}, {"sampler": ramet.Labor(dependent=4)}])
def test_other_options(tmp_path, options):
    graph = saved(homogeneous(), tmp_path / "store")
    for batch, expected in pairs(graph, ramet.Placement(tables="disk", cache_rows=100, look_ahead=3), **options):
        assert_same(batch, expected)


def test_a_given_table_of_a_file(tmp_path):
    rows = np.random.default_rng(1).standard_normal((NUM_NODES, 3)).astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    given = {"feat": ramet.Table.open(tmp_path / "rows.npy")}
    for batch, expected in pairs(homogeneous(), ramet.Placement(tables="disk", cache_rows=50), tables=given):
        assert_same(batch, expected)
        assert sum(batch.cache_use.values()) == len(batch.n_id)


def test_the_summary_counts_what_was_read(tmp_path):
    graph = saved(homogeneous(), tmp_path / "store")
    placement = ramet.Placement(tables={"feat": "disk"}, cache_rows=100, look_ahead=4)
    loader = ramet.NeighborLoader(graph, placement=placement, threads=1, prefetch=2, **NEEDED)
    for _ in loader:
        pass
    told = loader.summary()
    assert told.rows_read == told.cache_misses == loader.cache_use["misses"] > 0
    assert 0 < told.requests_read <= told.rows_read
    assert told.bytes_read > 0
    assert (told.max_prefetch, told.max_sampled) == (2, 2 + 4 + 4)
    assert told.cache_bytes >= 100 * graph.table("feat").numpy()[0].nbytes
    feat = loader.placement["feat"]
    assert feat.place == "disk"
    assert " thousand single rows a second" in feat.why and feat.why.endswith("looking ahead 4 batches")
    assert loader.placement["label"].place == "in_place"


def test_what_is_refused(tmp_path):
    graph = homogeneous()
    with pytest.raises(ValueError, match="table 'feat' is to be read from a disk, but"):
        ramet.NeighborLoader(graph, placement={"feat": "disk"}, **NEEDED)
    with pytest.raises(ValueError, match=r"placement\.look_ahead is -1, expected at least 0"):
        ramet.Placement(look_ahead=-1)
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match="table 'feat' is to be read from a disk, but fused rows are summed in place"):
        stored = saved(graph, tmp_path / "store")
        ramet.NeighborLoader(stored, placement={"feat": "disk"}, features=ramet.Features(fuse=True), **NEEDED)


def test_a_file_cut_short_is_an_error_in_the_place_of_its_batch(tmp_path):
    graph = saved(homogeneous(), tmp_path / "store")
    loader = ramet.NeighborLoader(graph, placement={"feat": "disk"}, threads=2, **NEEDED)
    path = tmp_path / "store" / "node" / "node" / "feat.npy"
    whole = path.read_bytes()
    with open(path, "r+b") as file:
        file.truncate(len(whole) // 2)
    with pytest.raises(Exception, match=r"feat\.npy"):
        for _ in loader:
            pass
    path.write_bytes(whole)  # the same file
    expected = ramet.NeighborLoader(graph, **NEEDED)
    for batch, same in zip(loader, expected):
        assert np.array_equal(batch.x, same.tables["feat"]) or batch.epoch != same.epoch
