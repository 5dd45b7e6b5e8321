"""Batches of a device are those of the CPU, to the bit: docs/cuda.md, and docs/semantics.md, section 12."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from device_batches import assert_same, contents
from loader_options import OPTIONS
from small_graphs import NUM_NODES, heterogeneous, homogeneous

import ramet
from ramet.loading.combinations import GPU, RANKS_ON_GPU, SUPPORTED


@pytest.fixture(scope="module")
def graph():
    half = np.random.default_rng(0).standard_normal((NUM_NODES, 6)).astype(np.float16)
    return homogeneous(half=half, time=np.arange(NUM_NODES))


@pytest.fixture(scope="module")
def stored(graph, tmp_path_factory):
    """The graph in files."""
    path = tmp_path_factory.mktemp("graph") / "store"
    ramet.save(graph, path)
    return ramet.open(path)


@pytest.fixture(scope="module")
def typed_graph():
    return heterogeneous()


def loader_of(graph, device=None, **arguments):
    options = {"num_neighbors": [4, 3], "input_nodes": "train", "batch_size": 32, "shuffle": True, "seed": 3}
    return ramet.NeighborLoader(graph, **options | arguments, device=device)


SAMPLING = {
    "uniform": {},
    "all neighbors": {"num_neighbors": [-1, 2]},
    "replace": {"sampler": ramet.Uniform(replace=True)},
    "all neighbors, replace": {"num_neighbors": [-1, 2], "sampler": ramet.Uniform(replace=True)},
    "dependent": {"sampler": ramet.Uniform(dependent=4)},
    "LABOR": {"sampler": "labor"},
    "LABOR-1, dependent": {"sampler": ramet.Labor(1, dependent=3)},
    "layer-dependent": {"sampler": ramet.Labor(layer_dependent=True)},
    "once": {"expand": "once"},
    "disjoint": {"disjoint": True},
    "time": {"time": ramet.Time("time", window=400)},
}


@pytest.mark.parametrize("sampling", SAMPLING)
def test_batches_are_those_of_the_cpu(graph, gpu, sampling):
    arguments = SAMPLING[sampling] | {"tables": ("feat", "label", "half")}
    pairs = zip(loader_of(graph, gpu, **arguments), loader_of(graph, **arguments), strict=True)
    for batch, expected in pairs:
        assert_same(batch, expected, gpu)


@pytest.mark.parametrize("place", ["device", "in_place", "staged", "auto"])
def test_placements_do_not_change_batches(graph, gpu, place):
    loader = loader_of(graph, gpu, placement=ramet.Placement(place, place, device_memory=10_000))
    assert list(loader.placement) == ["topology", "feat", "label"]
    for placed in loader.placement.values():
        assert placed.place == place or place == "auto"
        assert placed.nbytes > 0 and placed.why
    for batch, expected in zip(loader, loader_of(graph), strict=True):
        assert_same(batch, expected, gpu)


@pytest.mark.parametrize(
    "placement", [{"tables": "device"}, {"tables": "in_place"}, {"tables": "in_place", "cache_rows": 50}, "staged"]
)
def test_rows_are_rounded_and_hidden_as_by_the_cpu(graph, gpu, placement):
    """Sections 2 and 6."""
    features = ramet.Features(dtype="bfloat16", hide={"feat": [5, 2], "half": None})
    arguments = {"tables": ("feat", "half", "label"), "features": features}
    placement = ramet.Placement(**placement) if isinstance(placement, dict) else placement
    loader = loader_of(graph, gpu, placement=placement, **arguments)
    for batch, expected in zip(loader, loader_of(graph, **arguments), strict=True):
        assert batch.x.dtype == batch.tables["half"].dtype == torch.bfloat16
        assert_same(batch, expected, gpu)


@pytest.mark.parametrize("sampler", ["uniform", "labor"])
@pytest.mark.parametrize("order", ["as_given", "sorted"])
def test_the_order_of_reading_does_not_change_batches(graph, gpu, sampler, order):
    placement = ramet.Placement("in_place", "in_place", order=order)
    loader = loader_of(graph, gpu, placement=placement, sampler=sampler)
    for batch, expected in zip(loader, loader_of(graph, sampler=sampler), strict=True):
        assert_same(batch, expected, gpu)


@pytest.mark.parametrize(
    "cache", [{}, {"cache_rows": 100}, *({"cache_rows": 100, "cache_by": by} for by in ("recency", "presampling"))]
)
def test_rows_of_a_disk_are_copied_to_the_device(stored, gpu, cache):
    """Processors sample and read ahead, through their caches; other tables are on the device."""
    features = ramet.Features(hide={"half": 1})
    placement = ramet.Placement(tables={"feat": "disk", "half": "disk"}, **cache)
    arguments = {"tables": ("feat", "half", "label"), "features": features, "threads": 2}
    loader = loader_of(stored, gpu, placement=placement, **arguments)
    places = {name: placed.place for name, placed in loader.placement.items()}
    assert places == {"topology": "staged", "feat": "disk", "half": "disk", "label": "device"}
    assert "read from a disk" in loader.placement["topology"].why
    for batch, expected in zip(loader, loader_of(stored, **arguments), strict=True):
        assert_same(batch, expected, gpu)
        assert sum(batch.cache_use.values()) == (2 * len(batch.n_id) if cache else 0)
    with pytest.raises(ValueError, match="read from a disk, for which the CPU samples: the topology's placement is"):
        loader_of(stored, gpu, placement=ramet.Placement("device", "disk"))


@pytest.mark.parametrize(("memory", "has_copies"), [(None, False), (0, False), (8_500, False), (20_000, True)])
def test_in_edges_of_a_topology_in_place_are_copied_where_memory_is_given(graph, gpu, memory, has_copies):
    """8 bytes of it are for each row."""
    loader = loader_of(graph, gpu, placement=ramet.Placement("in_place", device_memory=memory, tables="in_place"))
    assert ("have copies on the device" in loader.placement["topology"].why) == has_copies
    for batch, expected in zip(loader, loader_of(graph), strict=True):
        assert_same(batch, expected, gpu)


def test_placement_by_table(graph, gpu):
    loader = loader_of(graph, gpu, placement={"topology": "staged", "feat": "in_place"})
    places = {name: placed.place for name, placed in loader.placement.items()}
    assert places == {"topology": "staged", "feat": "in_place", "label": "device"}


def test_what_does_not_fit_is_not_copied(graph, gpu):
    for placed in loader_of(graph, gpu, placement=ramet.Placement(device_memory=0)).placement.values():
        assert placed.place in ("in_place", "staged")
        assert "too large" in placed.why


def test_heterogeneous_graphs(typed_graph, gpu):
    arguments = {"input_nodes": ("paper", "train"), "num_neighbors": [3, 2]}
    loader = loader_of(typed_graph, gpu, **arguments)
    assert set(loader.placement) == {"topology", ("author", "feat"), ("paper", "feat"), ("paper", "label")}
    for batch, expected in zip(loader, loader_of(typed_graph, **arguments), strict=True):
        assert_same(batch, expected, gpu)


@pytest.mark.parametrize("cache_by", ["degree", "presampling"])
@pytest.mark.parametrize("is_given", [False, True])
def test_a_cache_gives_the_same_rows_and_is_counted(graph, gpu, cache_by, is_given):
    """Also of a Table that is read-only."""
    rows = graph.table("feat").numpy()
    assert not rows.flags.writeable
    arguments = {"tables": {"feat": ramet.Table(rows), "label": None}} if is_given else {}
    placement = ramet.Placement("device", "in_place", 100, cache_by, order="sorted", max_sms=0)
    loader = loader_of(graph, gpu, placement=placement, **arguments)
    hits = misses = 0
    for batch, expected in zip(loader, loader_of(graph), strict=True):
        assert_same(batch, expected, gpu)
        used = batch.cache_use
        assert used["hits"] + used["misses"] == len(batch.n_id)  # of "feat": labels are not cached
        hits, misses = hits + used["hits"], misses + used["misses"]
    assert loader.cache_use == {"hits": hits, "misses": misses}
    assert hits / (hits + misses) > 0.1  # a tenth of the nodes, those that are met most


def test_encoded_rows(gpu):
    values = np.random.default_rng(2).standard_normal((NUM_NODES, 13), np.float32)
    for rows in (values.astype(np.float16), ramet.quantize(values), ramet.quantize(values, "column")):
        graph = homogeneous(feat=rows)
        for decode in (True, False):
            arguments = {"features": ramet.Features(decode=decode)}
            for place in ("device", "in_place"):
                loader = loader_of(graph, gpu, placement=place, **arguments)
                pairs = zip(loader, loader_of(graph, **arguments))
                for batch, expected in itertools.islice(pairs, 3):
                    assert_same(batch, expected, gpu)
                    for name, scale in expected.scales.items():
                        assert torch.equal(batch.scales[name].cpu(), scale)


def test_a_run_goes_on_elsewhere(graph, gpu):
    """A state is of the loader's place in its epoch, not of a device."""
    first = loader_of(graph, gpu)
    batches = iter(first)
    next(batches), next(batches)
    state = first.state_dict()
    second = loader_of(graph)
    second.load_state_dict(state)
    assert [b.fingerprint() for b in second] == [b.fingerprint() for b in batches]


def test_batches_outlive_their_loader(graph, gpu):
    expected = [contents(batch) for batch in loader_of(graph)]
    kept = list(loader_of(graph, gpu))
    for batch, wanted in zip(kept, expected, strict=True):
        assert all(torch.equal(a.cpu(), b) for a, b in zip(contents(batch), wanted, strict=True))


def test_memory_of_batches_is_used_again(graph, gpu):
    loader = loader_of(graph, gpu)
    for _ in range(3):
        for batch in loader:
            total = batch.x.sum()
            del batch
    assert total.isfinite()
    assert loader.buffer_bytes["in_use"] == 0
    assert 0 < loader.buffer_bytes["idle"] < 1 << 22


def test_a_loop_left_early_and_two_at_once(graph, gpu):
    loader = loader_of(graph, gpu, threads=2)
    for _ in range(5):
        next(iter(loader))
    loader.set_epoch(7)
    pairs = [(one.fingerprint(), other.fingerprint()) for one, other in zip(loader, loader, strict=True)]
    for epoch, of_one in enumerate(zip(*pairs, strict=True), 7):
        loader.set_epoch(epoch)
        assert tuple(batch.fingerprint() for batch in loader) == of_one


def test_summary_counts_what_the_device_made(graph, gpu):
    loader = loader_of(graph, gpu)
    nodes = sum(batch.num_nodes for batch in loader)
    summary = loader.summary()
    assert summary.nodes == nodes and summary.pool_bytes > 0
    assert str(summary)


@pytest.mark.parametrize("sampling", SAMPLING)
def test_sample(graph, gpu, sampling):
    arguments = {"num_neighbors": [5, 4]} | SAMPLING[sampling]
    seeds = np.array([3, 9, 3, 400, 7])
    batch = ramet.sample(graph, seeds, **arguments, seed=4, epoch=1, step=2, device=gpu)
    expected = ramet.sample(graph, seeds, **arguments, seed=4, epoch=1, step=2)
    assert_same(batch, expected, gpu)


def test_bad_arguments(graph, gpu):
    with pytest.raises(ValueError, match="by a budget of nodes runs on the CPU, not on a device"):
        ramet.sample(graph, [3], [5], sampler="budget", device=gpu)
    with pytest.raises(ValueError, match=r"placement\.tables\['feat'\] is 'gpu', expected one of"):
        loader_of(graph, gpu, placement={"feat": "gpu"})
    with pytest.raises(ValueError, match=r"placement\.tables names 'feta'; there is"):
        loader_of(graph, gpu, placement={"feta": "device"})
    with pytest.raises(ValueError, match="cache_by='recency', which a loader with a device takes only with"):
        loader_of(graph, gpu, placement=ramet.Placement(cache_rows=3, cache_by="recency"))
    with pytest.raises(TypeError, match="placement is 3"):
        loader_of(graph, gpu, placement=3)


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("kind, ranks", [(GPU, None), (RANKS_ON_GPU, ramet.Cooperate())])
def test_loaders_with_a_device_take_what_the_table_says(graph, stored, gpu, kind, ranks, option):
    arguments = {"ranks": ranks, **OPTIONS[option]}
    graph = stored if "disk" in str(arguments.get("placement")) else graph
    if kind in SUPPORTED[option]:
        assert next(iter(loader_of(graph, gpu, **arguments))).num_seeds > 0
    else:
        with pytest.raises(ValueError, match=f"^{option}( is .*)?, which {kind} does not take"):
            loader_of(graph, gpu, **arguments)


def test_an_estimate_has_the_memory_of_the_device(graph, gpu):
    found = ramet.estimate(graph, [4, 3], batch_size=32, device=gpu, placement="device", hidden=16)
    by_use, rows = found.memory_by_use, graph.table("feat").numpy().nbytes
    assert (by_use["loader"], by_use["model"], found.fits) == (0, 0, True)
    assert found.device_memory >= rows + found.sample.largest_batch_bytes
    in_place = ramet.estimate(graph, [4, 3], batch_size=32, device=gpu, placement="in_place", hidden=16)
    assert in_place.device_memory >= graph.indptr().nbytes + in_place.sample.pool_bytes
    wider = ramet.estimate(graph, [4, 3], batch_size=32, device=gpu, placement="device", hidden=1 << 40)
    assert wider.device_memory > found.device_memory
    assert not wider.fits
