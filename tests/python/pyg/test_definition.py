"""Batches of ramet.pyg.NeighborLoader are what ramet.sample draws, each node once (docs/semantics.md, section 14): by
PyG's arguments, and by the engine's options at PyG's door."""

import pytest
import torch
from pyg_graphs import homogeneous
from torch_geometric.data import HeteroData

import ramet
import ramet.pyg
from ramet.pyg.sampler import random_epoch

TIMES, WINDOWS = torch.arange(100) % 11, torch.stack([torch.arange(100) // 20, torch.arange(100) // 20 + 4], 1)
LATER = ramet.Time("time", comparison=">", window=5)


def timed(is_hetero: bool):
    """Nodes and edges have times, edges have weights, a third of them 0."""
    data = homogeneous(num_edges=2000)
    data.time, data.edge_time, data.w = torch.arange(100) % 10, torch.arange(2000) % 10, torch.arange(2000.0) % 3
    if not is_hetero:
        return data
    typed = HeteroData()
    for key, value in data:
        typed[("v", "to", "v") if "edge" in key or key == "w" else "v"][key] = value
    return typed


CASES = [
    ({}, {}),
    ({"replace": True}, {"sampler": ramet.Uniform(replace=True)}),
    ({"weight_attr": "w"}, {"sampler": ramet.Weighted("w")}),
    ({"weight_attr": "w", "replace": True}, {"sampler": ramet.Weighted("w", replace=True)}),
    ({"disjoint": True}, {"disjoint": True}),
    ({"time_attr": "time"}, {"time": "time"}),
    ({"time_attr": "time", "temporal_strategy": "last"}, {"time": ramet.Time("time", "last")}),
    ({"time_attr": "time", "weight_attr": "w"}, {"time": "time", "sampler": ramet.Weighted("w")}),
    ({"time_attr": "time", "input_time": TIMES}, {"time": "time"}),
    ({"time_attr": "edge_time", "input_time": TIMES}, {"time": "edge_time"}),
    ({"time_attr": LATER}, {"time": LATER}),
    ({"time_attr": "time", "input_time": WINDOWS, "neighbor_sampler": ramet.Labor(1)}, {"time": "time"}),
    *(({"neighbor_sampler": one}, {}) for one in (ramet.Labor(2), ramet.Uniform(dependent=64), ramet.Weighted("w"))),
]


@pytest.mark.parametrize("is_hetero", [False, True])
@pytest.mark.parametrize(("given", "options"), CASES, ids=lambda options: ", ".join(options))
def test_batches_are_those_of_sample(given, options, is_hetero):
    """Sections 8, 9, 13, 15, 16, by the attributes that PyG gives them."""
    data = timed(is_hetero)
    ids = torch.arange(100).flip(0)
    if "neighbor_sampler" in given:
        options = options | {"sampler": given["neighbor_sampler"]}
    loader = ramet.pyg.NeighborLoader(data, [4, 3], ("v", ids) if is_hetero else ids, batch_size=30, **given)
    graph = loader.node_sampler.source.graph
    torch.manual_seed(3)
    epoch = random_epoch()
    torch.manual_seed(3)
    for step, (batch, seeds) in enumerate(zip(loader, ids.split(30), strict=True)):
        nodes, edges = (batch["v"], batch["v", "to", "v"]) if is_hetero else (batch, batch)
        times = given["input_time"][nodes.input_id] if "input_time" in given else None
        alone = ramet.sample(graph, seeds, [4, 3], expand="once", epoch=epoch, step=step, input_time=times, **options)
        assert torch.equal(nodes.n_id, alone.n_id) and nodes.batch_size == len(seeds)
        assert torch.equal(edges.edge_index, alone.edges().edge_index) and torch.equal(edges.e_id, alone.edges().e_id)
        assert ("batch" in nodes) == (alone.batch is not None) and ("seed_time" in nodes) == (times is not None)
        assert "batch" not in nodes or torch.equal(nodes.batch, alone.batch)
        assert times is None or torch.equal(nodes.seed_time, times)
        assert torch.equal(nodes.x, nodes.n_id) and torch.equal(edges.edge_attr, edges.e_id)
        assert torch.equal(nodes.n_id[edges.edge_index], homogeneous(num_edges=2000).edge_index[:, edges.e_id])
        if given.get("time_attr") == "time" and times is None:
            assert bool((nodes.time <= seeds[nodes.batch] % 10).all())


def test_the_times_of_seeds_are_those_of_input_time():
    """One seed per time: ten nodes that exist from 0 to 9 lead to it."""
    data = HeteroData()
    data["a"].x, data["a"].time = torch.arange(10), torch.arange(10)
    data["b"].x = torch.arange(1)
    data["a", "to", "b"].edge_index = torch.stack([torch.arange(10), torch.zeros(10, dtype=torch.int64)])
    loader = ramet.pyg.NeighborLoader(
        data,
        [-1],
        input_nodes=("b", torch.zeros(3, dtype=torch.int64)),
        input_time=torch.tensor([9, -1, 4]),
        time_attr="time",
        batch_size=3,
    )
    batch = next(iter(loader))
    assert batch["b"].n_id.tolist() == [0, 0, 0] and batch["b"].seed_time.tolist() == [9, -1, 4]
    assert torch.bincount(batch["a"].batch, minlength=3).tolist() == [10, 0, 5]
    assert int(batch["a"].time[batch["a"].batch == 2].max()) == 4
