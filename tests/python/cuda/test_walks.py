"""Walks of a GPU are the CPU's. docs/semantics.md, section 22."""

import numpy as np
import pytest
import torch
from comparison import edge_list
from refusals import error_of
from small_graphs import CITES, REVERSE, WRITES, heterogeneous

import ramet
from ramet._support import torch_devices as devices

NUM_NODES = 60
LARGEST = 2**64 - 1


@pytest.fixture(scope="module")
def graph():
    """Some nodes have no edges, a third of the weights are 0, and many times are equal."""
    random = np.random.default_rng(3)
    edges = edge_list(NUM_NODES - 5, NUM_NODES - 5, 400, seed=1, hub=30)
    count = edges.shape[1]
    weights = np.exp(random.normal(0, 2, count)) * random.integers(0, 3, count)
    return ramet.from_edge_index(edges, NUM_NODES, edges={"w": weights, "t": random.integers(-9, 9, count)})


@pytest.fixture(scope="module")
def starts():
    return torch.from_numpy(np.random.default_rng(0).integers(0, NUM_NODES, 300))


def assert_same(device, walk, graph, starts, *args, **options):
    """Of ids, and of a pair with a node type."""
    there = devices.move(starts[1] if isinstance(starts, tuple) else starts, device)
    there = (starts[0], there) if isinstance(starts, tuple) else there
    found, wanted = walk(graph, there, *args, **options), walk(graph, starts, *args, **options)
    if not options.get("return_edges"):
        found, wanted = [found], [wanted]
    for tensor, expected in zip(found, wanted, strict=True):
        assert devices.is_on_device(tensor)
        assert torch.equal(devices.on_host(tensor), expected)


@pytest.mark.parametrize("direction", ["out", "in"])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("time, decreasing", [(None, False), ("t", False), ("t", True)])
def test_walks(gpu, graph, starts, direction, weight, time, decreasing):
    options = {"direction": direction, "weight": weight, "time": time, "decreasing": decreasing}
    for restart, stop, seed in [(0, 0, 0), (0.2, 0.1, LARGEST), (1, 0, 1), (0, 1, 2)]:
        walk = {"restart": restart, "stop": stop, "seed": seed, "return_edges": seed != 1, **options}
        assert_same(gpu, ramet.random_walk, graph, starts, 6, **walk)


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("p, q", [(1, 1), (0.25, 4), (1e-6, 1e6), (1e6, 1)])
def test_node2vec_walks(gpu, graph, starts, weight, p, q):
    assert_same(gpu, ramet.node2vec_walk, graph, starts, 6, p, q, weight=weight, return_edges=True, seed=5)


def test_walks_along_metapaths(gpu):
    graph, path = heterogeneous(), [WRITES, CITES, REVERSE]
    authors = "author", torch.arange(200).repeat_interleave(2)
    assert_same(gpu, ramet.random_walk, graph, authors, 7, metapath=path, restart=0.3, return_edges=True)
    assert_same(gpu, ramet.random_walk, graph, authors, 2, metapath=path[:2])


@pytest.mark.parametrize("of", [torch.arange(0), torch.arange(NUM_NODES), torch.arange(NUM_NODES) % 3 == 0], ids=len)
def test_starts(gpu, graph, of):
    for length in (0, 3):
        assert_same(gpu, ramet.random_walk, graph, of, length, return_edges=True)
    if of.dtype == torch.int64:
        assert_same(gpu, ramet.random_walk, graph, of.int(), 2)


def test_wrong_starts(gpu, graph):
    for wrong in (torch.tensor([0, 60]), torch.tensor([-1])):
        with pytest.raises(IndexError, match=rf"a start is {wrong[-1]}, outside \[0, 60\)"):
            ramet.random_walk(graph, devices.move(wrong, gpu), 2)
    for wrong in (torch.zeros(3), torch.zeros(2, 2, dtype=torch.int64), torch.arange(NUM_NODES) % 2, torch.ones(3) > 0):
        there = devices.move(wrong, gpu)
        of_host = error_of(lambda wrong=wrong: ramet.random_walk(graph, wrong, 2))
        assert error_of(lambda there=there: ramet.random_walk(graph, there, 2)) == of_host


def test_rows_that_do_not_fit(gpu, tmp_path, graph):
    """The CPU's error, in the place of a read out of bounds."""
    ramet.save(graph, tmp_path / "bad")
    (indices,) = (tmp_path / "bad").rglob("indices.npy")
    ids = np.load(indices)
    ids[:] = NUM_NODES + 1
    np.save(indices, ids)
    bad = ramet.open(tmp_path / "bad")
    of_host = error_of(lambda: ramet.random_walk(bad, [30], 2, direction="in"))
    there = devices.move(torch.tensor([30]), gpu)
    assert "is outside [0, 60)" in str(of_host)
    assert error_of(lambda: ramet.random_walk(bad, there, 2, direction="in")) == of_host
