"""Loaders on the CPU with a placement: caches in front of tables give the rows of the tables."""

import numpy as np
import pytest
from comparison import assert_same
from small_graphs import NUM_NODES, heterogeneous, homogeneous

import ramet

NEEDED = {"num_neighbors": [4, 3], "input_nodes": "train", "batch_size": 30, "shuffle": True}
CACHES = ["degree", "presampling", "recency", "look-ahead"]
THREADS = [1, 2, 5, None]


def pairs(graph, placement, **options):
    """(batch with the placement, the same without), of two epochs."""
    options = NEEDED | options
    loader = ramet.NeighborLoader(graph, placement=placement, **options)
    plain = ramet.NeighborLoader(graph, **options)
    for _ in range(2):
        yield from zip(loader, plain, strict=True)


def most_out_edges(graph, count: int) -> set:
    degrees = np.bincount(graph.indices(), minlength=NUM_NODES)
    return set(np.lexsort((np.arange(NUM_NODES), -degrees))[:count].tolist())


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("cache_rows", [1, 100, NUM_NODES, 10**9])
@pytest.mark.parametrize("cache_by", CACHES)
def test_rows_are_those_of_the_tables(cache_by, cache_rows, threads):
    graph = homogeneous()
    placement = ramet.Placement(cache_rows=cache_rows, cache_by=cache_by)
    for batch, expected in pairs(graph, placement, threads=threads):
        assert_same(batch, expected)
        use = batch.cache_use
        assert use["hits"] + use["misses"] == len(batch.n_id)  # of "feat": labels are those of the seeds alone
        if cache_rows >= NUM_NODES and cache_by in ("degree", "presampling"):
            assert use["misses"] == 0


def test_rows_kept_by_degree_are_those_of_most_out_edges():
    graph = homogeneous()
    kept = most_out_edges(graph, 70)
    loader = ramet.NeighborLoader(graph, placement=ramet.Placement(cache_rows=70, cache_by="degree"), **NEEDED)
    totals = {"hits": 0, "misses": 0}
    for batch in loader:
        hits = sum(v in kept for v in batch.n_id.tolist())
        assert batch.cache_use == {"hits": hits, "misses": len(batch.n_id) - hits}
        totals = {name: totals[name] + batch.cache_use[name] for name in totals}
    assert loader.cache_use == totals


@pytest.mark.parametrize("cache_by", CACHES)
def test_hits_do_not_depend_on_threads(cache_by):
    graph, placement = homogeneous(), ramet.Placement(cache_rows=200, cache_by=cache_by)
    uses = []
    for threads in THREADS:
        loader = ramet.NeighborLoader(graph, placement=placement, threads=threads, **NEEDED)
        uses.append([batch.cache_use for _ in range(2) for batch in loader])
    assert sum(use["hits"] for use in uses[0]) > 0
    assert all(use == uses[0] for use in uses)


def test_rows_used_last_stay_for_the_next_epoch():
    loader = ramet.NeighborLoader(homogeneous(), placement=ramet.Placement(cache_rows=NUM_NODES), threads=1, **NEEDED)
    read = sum(batch.cache_use["misses"] for batch in loader)
    assert 0 < read <= NUM_NODES
    assert read + sum(batch.cache_use["misses"] for batch in loader) <= NUM_NODES


@pytest.mark.parametrize("cache_by", CACHES)
def test_several_types_and_tables(cache_by):
    placement = ramet.Placement(tables={"feat": "in_place"}, cache_rows=40, cache_by=cache_by)
    options = {"input_nodes": ("paper", "train"), "tables": ("feat", "label", "age")}
    for batch, expected in pairs(heterogeneous(), placement, **options):
        assert_same(batch, expected)
        nodes = sum(map(len, batch.n_id.values())) + len(batch.n_id["author"])  # "feat" of both, and "age"
        assert sum(batch.cache_use.values()) == nodes


@pytest.mark.parametrize("decode", [True, False])
@pytest.mark.parametrize("cache_by", CACHES)
def test_every_dtype(cache_by, decode):
    random = np.random.default_rng(0)
    values = random.standard_normal((NUM_NODES, 5)).astype(np.float32)
    nodes = {
        "half": values.astype(np.float16),
        "rows": ramet.quantize(values),
        "columns": ramet.quantize(values, "column"),
    }
    nodes |= {"double": values.astype(np.float64), "flags": values[:, 0] > 0, "bytes": values.astype(np.int8)}
    placement = ramet.Placement(cache_rows=50, cache_by=cache_by)
    options = {"tables": ("feat", *nodes), "features": ramet.Features(decode=decode), "threads": 2}
    for batch, expected in pairs(homogeneous(**nodes), placement, **options):
        assert_same(batch, expected)


@pytest.mark.parametrize(
    "options",
    [{"expand": "once"}, {"disjoint": True}, {"features": ramet.Features(transpose=True)}, {"sampler": "labor"}],
)
def test_other_options(options):
    if "features" in options:
        pytest.importorskip("torch")
    for cache_by in CACHES:
        for batch, expected in pairs(homogeneous(), ramet.Placement(cache_rows=50, cache_by=cache_by), **options):
            assert_same(batch, expected)


def test_rows_as_bfloat16():
    torch = pytest.importorskip("torch")
    for cache_by in CACHES:
        placement = ramet.Placement(cache_rows=50, cache_by=cache_by)
        for batch, expected in pairs(homogeneous(), placement, features=ramet.Features(dtype="bfloat16")):
            assert batch.x.dtype == torch.bfloat16
            assert batch.x.view(torch.int16).equal(expected.x.view(torch.int16))


def test_the_decision_says_why():
    graph = homogeneous()
    loader = ramet.NeighborLoader(graph, **NEEDED)
    assert list(loader.placement) == ["feat", "label"]
    feat = loader.placement["feat"]
    assert (feat.place, feat.nbytes) == ("in_place", graph.table("feat").numpy().nbytes)
    assert feat.why == "memory could hold it when the store was opened"
    said = {"degree": "most out-edges", "presampling": "first batches", None: "used last"}
    for cache_by, words in (said | {"look-ahead": "looking ahead 16 batches"}).items():
        asked = ramet.Placement(tables="in_place", cache_rows=70, cache_by=cache_by)
        loader = ramet.NeighborLoader(graph, placement=asked, **NEEDED)
        assert loader.placement["feat"].why.startswith("as asked; a cache has 70 rows ")
        assert loader.placement["feat"].why.endswith(words)
        assert loader.placement["label"].why == "as asked"
    loader = ramet.NeighborLoader(heterogeneous(), **NEEDED | {"input_nodes": ("paper", "train")})
    assert set(loader.placement) == {("author", "feat"), ("paper", "feat"), ("paper", "label")}


def test_what_does_not_go_together():
    graph = homogeneous()
    with pytest.raises(ValueError, match=r"placement\.tables names 'fear'; there is \['feat', 'label'\]"):
        ramet.NeighborLoader(graph, placement={"fear": "in_place"}, **NEEDED)
    pytest.importorskip("torch")
    with pytest.raises(
        ValueError, match=r"features.fuse is True, which sums rows where they lie, but placement\.cache_rows is 5"
    ):
        ramet.NeighborLoader(
            graph, placement=ramet.Placement(cache_rows=5), features=ramet.Features(fuse=True), **NEEDED
        )
