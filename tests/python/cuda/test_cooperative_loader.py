"""Batches that ranks make together on their GPUs, and what layers exchange, are those of their CPUs, to the bit.
docs/cooperative.md, "On GPUs", and docs/semantics.md, sections 10 and 12."""

from dataclasses import replace
from unittest.mock import patch

import emulated_devices
import numpy as np
import pytest
import torch
import torch.distributed as dist
from device_batches import assert_same, tensors_of
from small_graphs import heterogeneous
from timed_graphs import some_times, timed_pair

import ramet
from ramet import _core
from ramet._support import torch_devices as devices
from ramet.distributed import Cooperative, exchange
from ramet.ranks import group as groups
from ramet.ranks.group import Group

WORLD = 2
OPTIONS = {"num_neighbors": [4, 3], "input_nodes": "train", "batch_size": 64, "shuffle": True, "seed": 5}
TYPED = OPTIONS | {"num_neighbors": [3, 2], "input_nodes": ("paper", "train")}


# ---- what ranks do


def pairs(store: str, options: dict, placement, make=ramet.NeighborLoader):
    """(batch of the device, of the CPU) of every step. In the store's folder {rank} stands for the rank."""
    emulated_devices.use_device()
    graph = ramet.open(store.format(rank=dist.get_rank()))
    options = options | {"ranks": ramet.Cooperate(ownership=None if graph.part else "hash")}
    loader = make(graph, **options, device="cuda", placement=placement)
    return zip(loader, make(graph, **options), strict=True)


def compare(store: str, options: dict, placement=None) -> int:
    """The number of batches, which are the same."""
    steps = 0
    for batch, expected in pairs(store, options, placement):
        assert_same(batch, expected, devices.as_device(None))
        there = batch.blocks[0] if batch.expand == "every" else batch.sources
        here = expected.blocks[0] if batch.expand == "every" else expected.sources
        assert_same_exchange(batch.x, there, expected.x, here)
        steps += 1
    return steps


def compare_fused(store: str, placement) -> None:
    """The means that a loader made of fused rows, the ids of the sources, and rows."""
    for batch, expected in pairs(store, TYPED | {"features": ramet.Features(fuse=True)}, placement):
        assert batch.fingerprint() == expected.fingerprint()
        for t, rows in batch.x.items():
            made, others = ([m.rows for m in of._ready.means] for of in (rows, expected.x[t]))
            assert len(made) > 0
            for means, other in zip(made, others, strict=True):
                assert torch.equal(means.cpu(), other)
            assert torch.equal(rows.n_id, expected.x[t].n_id)
            assert torch.equal(rows.destinations.cpu(), expected.x[t].destinations)


def same_edges(store: str, options: dict, placement) -> int:
    """The number of batches, which are the same."""
    batches = list(pairs(store, options, placement))
    for batch, expected in batches:
        assert_same(batch, expected, devices.as_device(None))
    return len(batches)


def assert_same_exchange(x, block, expected_x, expected_block) -> None:
    """Forward and backward."""
    results = []
    for rows, of in ((x, block), (expected_x, expected_block)):
        own = {t: r.clone().requires_grad_() for t, r in (rows if isinstance(rows, dict) else {"": rows}).items()}
        sources = exchange(own if isinstance(rows, dict) else own[""], of)
        sum((s * torch.arange(len(s), device=s.device)[:, None]).sum() for s in tensors_of(sources)).backward()
        results.append([*tensors_of(sources), *(r.grad for r in own.values()), *tensors_of(of.n_id)])
    for tensor, other in zip(*results, strict=True):
        assert torch.equal(tensor.detach().cpu(), other)


def train(store: str) -> None:
    """Losses and gradients of a model with a BatchNorm. The products of matrices of a GPU are not the CPU's."""
    emulated_devices.use_device()
    error = {"rtol": 0, "atol": 0} if _core.cuda_backend() == "emulated" else {"rtol": 1e-3, "atol": 1e-3}
    models = []
    for device in (devices.as_device(None), "cpu"):
        torch.manual_seed(0)
        layers = [ramet.nn.SAGEConv(8, 8), torch.nn.BatchNorm1d(8), ramet.nn.GATConv(8, 3)]
        models.append(Cooperative(Sequence(*layers).to(device)))
    for batches in pairs(store, OPTIONS, None):
        said = []
        for model, batch in zip(models, batches):
            loss = batch.mean(model(batch.x, batch.blocks).square().sum(1))
            model.zero_grad()
            loss.backward()
            said.append([loss, *(p.grad for p in model.parameters())])
        for tensor, other in zip(*said, strict=True):
            torch.testing.assert_close(tensor.detach().cpu(), other.detach(), **error)


class Sequence(torch.nn.Sequential):
    def forward(self, x, blocks):
        return self[2](self[1](self[0](x, blocks[0])), blocks[1])


def compare_links(store: str, exclude: str | None) -> None:
    options = {"num_neighbors": [4, 3], "edges": None, "batch_size": 1000, "negatives": "binary", "exclude": exclude}
    for batch, expected in pairs(store, options, None, ramet.LinkLoader):
        assert batch.fingerprint() == expected.fingerprint()
        assert_same_exchange(batch.x[: batch.num_seeds], batch.ends, expected.x[: batch.num_seeds], expected.ends)
        assert torch.equal(batch.edge_label_index.cpu(), expected.edge_label_index)


def exchange_uneven() -> list:
    """Of bytes that only rank 0 has on its device: NCCL, which moves none from elsewhere, would move none of them."""
    if _core.cuda_backend() == "emulated":
        emulated_devices.replace()
    group = Group()
    group.compare(dict)
    data = np.arange(5, dtype=np.uint8) + 10 * group.rank
    is_there = group.rank == 0
    sent = devices.move(torch.from_numpy(data), devices.as_device(None)) if is_there else data
    all_to_all, moved = dist.all_to_all_single, []

    def note(received, given, *arguments, **options):
        moved.append(devices.is_on_device(given))
        return all_to_all(received, given, *arguments, **options)

    with patch.object(groups, "has_nccl", lambda _: True), patch.object(dist, "all_to_all_single", note):
        bytes_in, received = group.exchange(([2, 3], sent), group.progress(0, 0))
    assert moved == [False, False] and devices.is_on_device(received) == is_there
    return [bytes_in, np.asarray(devices.on_host(received)).tolist()]


def compare_provided(store: str, placement: str) -> None:
    """Rows of a Table on the ranks' devices."""
    emulated_devices.use_device()
    graph = ramet.open(store)
    where = {"location": "device", "placement": placement, "ownership": "hash"}
    table = ramet.Table.create((graph.num_nodes(), 3), init="normal", seed=1, **where)
    ranks = ramet.Cooperate(ownership=table.ownership)
    for batch in ramet.NeighborLoader(graph, **OPTIONS, tables={"feat": table}, ranks=ranks, device="cuda"):
        own = table.gather(batch.n_id.cpu().numpy())
        np.testing.assert_array_equal(batch.x.cpu().numpy(), own)


def refused(store: str, arguments: dict) -> str:
    """Of rank 1, whose arguments the other does not have."""
    emulated_devices.use_device()
    arguments = arguments if dist.get_rank() == 1 else {}
    with pytest.raises(ValueError) as error:
        ramet.NeighborLoader(ramet.open(store), **OPTIONS, ranks=ramet.Cooperate(), **arguments)
    return str(error.value)


# ---- tests


@pytest.fixture(scope="module")
def typed_store(tmp_path_factory):
    path = tmp_path_factory.mktemp("typed") / "store"
    ramet.save(heterogeneous(), path)
    return str(path)


DEVICE, IN_PLACE, STAGED = (ramet.Placement(place, place) for place in ("device", "in_place", "staged"))
CASES = {
    "staged": (OPTIONS, STAGED),
    "in place, sorted": (OPTIONS | {"sampler": ramet.Uniform(dependent=3)}, replace(IN_PLACE, order="sorted")),
    "once, cached": (
        OPTIONS | {"expand": "once", "sampler": "labor"},
        replace(IN_PLACE, cache_rows=20, cache_by="presampling"),
    ),
    "rows of a disk, cached": (OPTIONS, ramet.Placement(tables="disk", cache_rows=20)),
    "disjoint": (OPTIONS | {"disjoint": True}, DEVICE),
    "budgets": (OPTIONS | {"sampler": ramet.Budget(), "num_neighbors": [40, 60]}, ramet.Placement(tables="device")),
    "LABOR-2": (OPTIONS | {"sampler": ramet.Labor(2), "features": ramet.Features(transpose=True)}, DEVICE),
}


@pytest.mark.parametrize("case", CASES)
def test_batches_are_those_of_the_cpu(gpu, world, store, case):
    assert min(world.call(compare, store, *CASES[case])) > 1


@pytest.mark.parametrize("expand, placement", [("every", DEVICE), ("once", DEVICE), ("once", STAGED)])
def test_of_several_types(gpu, world, typed_store, expand, placement):
    assert min(world.call(compare, typed_store, TYPED | {"expand": expand}, placement)) > 1


@pytest.mark.parametrize("method, placement", [("hash", DEVICE), ("range", replace(IN_PLACE, cache_rows=20))])
def test_parts_of_a_graph(gpu, world, method, placement, tmp_path):
    ramet.partition(heterogeneous(), WORLD, tmp_path, method=method)
    options = TYPED if method == "hash" else TYPED | {"sampler": ramet.Uniform(dependent=3)}
    assert min(world.call(compare, f"{tmp_path}/part-{{rank}}", options, placement)) > 1


def test_parts_whose_edges_have_times(gpu, world, tmp_path):
    """Each seed has a tree of its own, of edges before its time: sections 15 and 16."""
    ramet.save(timed_pair("edges", True)[0], tmp_path / "whole")
    ramet.partition(ramet.open(tmp_path / "whole"), WORLD, tmp_path / "parts", method="hash")
    seeds = np.random.default_rng(0).integers(0, 200, 60)
    time = ramet.Time("time", monotonic=True)
    timed = {"input_nodes": seeds, "input_time": some_times(60, 1), "time": time, "tables": ()}
    options = OPTIONS | {"batch_size": 20, "shuffle": False} | timed
    assert world.call(same_edges, f"{tmp_path}/parts/part-{{rank}}", options, DEVICE) == [3] * WORLD


@pytest.mark.parametrize("placement", [DEVICE, IN_PLACE])
def test_fused_rows(gpu, world, typed_store, placement):
    """Averaged by the device that has them, else by threads."""
    world.call(compare_fused, typed_store, placement)


def test_training_has_the_bits_of_the_cpu(gpu, world, store):
    world.call(train, store)


@pytest.mark.parametrize("exclude", [None, "self"])
def test_links(gpu, world, store, exclude):
    world.call(compare_links, store, exclude)


def test_ids_of_a_rank_that_samples_on_its_cpu(gpu, world):
    assert world.call(exchange_uneven) == [[[2, 2], [0, 1, 10, 11]], [[3, 3], [2, 3, 4, 12, 13, 14]]]


@pytest.mark.parametrize("placement", ["chunked", "distributed"])
def test_tables_on_the_devices(gpu, world, store, placement):
    world.call(compare_provided, store, placement)


def test_what_ranks_cannot_do_is_refused(gpu, world, store):
    said = world.call(refused, store, {"device": "cuda"})
    assert all("rank 1 has device='a GPU', but rank 0 of its group has 'the CPU'" in words for words in said)
    on_disk = ramet.Placement("device", "disk")
    said = world.call(refused, store, {"device": "cuda", "placement": on_disk})
    assert all("rows are read from a disk, for which the CPU samples: the topology's" in words for words in said)
