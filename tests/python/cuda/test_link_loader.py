"""Batches of links of a device are those of the CPU, to the bit: docs/semantics.md, sections 12 and 27."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from refusals import error_of
from small_graphs import CITES, NUM_NODES, WRITES, heterogeneous, homogeneous

import ramet


@pytest.mark.parametrize("exclude", [None, "self"])
@pytest.mark.parametrize("mode", ["binary", "triplet"])
def test_batches_are_those_of_the_cpu(gpu, exclude, mode):
    graph = homogeneous(time=np.arange(NUM_NODES))
    options = {"num_neighbors": [4, 3], "batch_size": 64, "shuffle": True, "exclude": exclude, "negatives": mode}
    loader = ramet.LinkLoader(graph, **options, device=gpu)
    assert loader.placement["topology"].place == "device"
    for batch, expected in zip(loader, ramet.LinkLoader(graph, **options), strict=True):
        assert batch.fingerprint() == expected.fingerprint()
        names = ["n_id", "x", "input_id", "edge_label_index"]
        names += ["edge_label"] if mode == "binary" else ["src_index", "dst_pos_index", "dst_neg_index"]
        for name in names:
            tensor, other = getattr(batch, name), getattr(expected, name)
            assert tensor.device.type == gpu.type
            assert torch.equal(tensor.cpu(), other)


def dense_graph() -> ramet.Graph:
    """Of 24 nodes, some of which have edges to all others but few: rejected draws end with a list of what remains. The
    last nodes have no edges."""
    random = np.random.default_rng(5)
    edge_index = np.unique(np.stack([random.integers(0, 4, 90), random.integers(0, 22, 90)]), axis=1)
    edge_index = np.concatenate([edge_index, random.integers(0, 22, (2, 60))], axis=1)
    nodes = {"w": random.random(24), "born": np.arange(24) % 3}
    return ramet.from_edge_index(edge_index, 24, edges={"t": random.integers(0, 9, edge_index.shape[1])}, nodes=nodes)


NEGATIVES = [
    {"amount": 1.5},
    {"amount": 3, "corrupt": "source", "loops": False},
    {"mode": "triplet", "amount": 2, "corrupt": "both"},
    {"amount": 4, "corrupt": "pair"},
    {"amount": 3, "source": "degree", "power": 0.75},
    {"amount": 2, "source": "w", "corrupt": "both"},
    {"amount": 2, "source": "in-batch", "missing": "drop"},
    {"amount": 2, "exact": False, "fixed": True},
    {"amount": 3, "known": np.array([[0, 1, 2], [1, 2, 3]])},
]


@pytest.mark.parametrize("negatives", NEGATIVES, ids=str)
def test_negatives_are_those_of_the_cpu(gpu, negatives):
    """Section 23."""
    assert_same_links(gpu, dense_graph(), ramet.Negatives(**negatives))


IN_TIME = [{}, {"exists": "born"}, {"source": "historical"}, {"amount": 2, "corrupt": "both"}]


@pytest.mark.parametrize("negatives", IN_TIME, ids=str)
def test_negatives_in_time_are_those_of_the_cpu(gpu, negatives):
    assert_same_links(gpu, dense_graph(), ramet.Negatives(**{"amount": 3} | negatives), time="t")


def test_negatives_between_types_are_those_of_the_cpu(gpu):
    edges = (CITES, None), (WRITES, None)
    for of_type in edges:
        assert_same_links(gpu, heterogeneous(), ramet.Negatives(amount=2), of_type, batch_size=256)


def test_a_pair_without_a_negative_is_the_error_of_the_cpu(gpu):
    star = ramet.from_edge_index(np.stack([np.zeros(9, int), np.arange(9)]), 9)
    options = {"edges": np.array([[0], [3]]), "negatives": "binary"}
    errors = [error_of(lambda d=d: next(iter(ramet.LinkLoader(star, [2], **options, device=d)))) for d in (gpu, None)]
    assert errors[0] == errors[1]
    assert "has an edge with each of the 9 candidates" in errors[0]


def test_a_search_of_many_candidates_is_the_cpus(gpu):
    """Of a node with edges to all others but one."""
    hub = ramet.from_edge_index(np.stack([np.zeros(1200, int), np.arange(1200)]), 1201)
    pairs = np.stack([np.zeros(60, int), np.arange(60)])
    assert_same_links(gpu, hub, ramet.Negatives("triplet", 2), pairs)


def test_negatives_take_device_memory(gpu):
    """None for edges whose rows are sorted, and 8 bytes for each weight."""
    graph = ramet.from_edge_index(np.stack([np.arange(20), np.arange(20) // 5]), 24, nodes={"w": np.arange(24)})
    assert_same_links(gpu, graph, ramet.Negatives(amount=2), device_memory=0)
    who = "; processors draw negatives: 192 bytes"
    assert_same_links(gpu, graph, ramet.Negatives(source="w"), device_memory=0, who=who)


DEVICE = "; the device draws negatives"


def assert_same_links(gpu, graph, negatives, edges=None, batch_size=32, *, device_memory=None, who=DEVICE, **options):
    options = {"num_neighbors": [2], "edges": edges, "batch_size": batch_size, "shuffle": True, **options}
    placement = ramet.Placement("device", device_memory=device_memory)
    loader = ramet.LinkLoader(graph, **options, negatives=negatives, device=gpu, placement=placement)
    on_cpu = ramet.LinkLoader(graph, **options, negatives=negatives)
    assert who in loader.placement["topology"].why
    for _ in range(2):  # epochs
        for batch, expected in zip(loader, on_cpu, strict=True):
            assert batch.fingerprint() == expected.fingerprint()
            assert torch.equal(batch.edge_label_index.cpu(), expected.edge_label_index)
