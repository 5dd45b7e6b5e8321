"""ramet.pyg.NeighborLoader with time: neighbors are never later than the seed."""

import pytest
import torch
from pyg_graphs import homogeneous
from torch_geometric.data import Data, HeteroData
from torch_geometric.datasets import KarateClub

import ramet
import ramet.pyg

LABOR = ramet.Labor(1)


def karate() -> HeteroData:
    given = KarateClub()[0]
    data = HeteroData()
    data["v"].x, data["v"].time = given.x, torch.arange(34).flip(0)
    data["v", "to", "v"].edge_index = given.edge_index
    return data


@pytest.mark.parametrize("strategy", ["uniform", "last"])
def test_no_node_is_later_than_its_seed(strategy):
    data = karate()
    loader = ramet.pyg.NeighborLoader(
        data, [5, 5], input_nodes="v", time_attr="time", temporal_strategy=strategy, batch_size=4
    )
    found = 0
    for batch in loader:
        v = batch["v"]
        assert v.batch.shape == v.n_id.shape and torch.equal(v.batch[: v.batch_size], torch.arange(v.batch_size))
        assert "seed_time" not in v
        assert bool((v.time <= v.time[: v.batch_size][v.batch]).all())
        row, col = batch["v", "to", "v"].edge_index
        assert torch.equal(v.batch[row], v.batch[col])
        found += len(row)
    assert found > 50


def test_a_time_of_ours_has_options_that_pyg_has_not():
    """Neighbors after the seed, and windows of seeds."""
    loader = ramet.pyg.NeighborLoader(
        karate(), [5, 5], input_nodes="v", time_attr=ramet.Time("time", comparison=">"), batch_size=34
    )
    v = next(iter(loader))["v"]
    found = v.time > v.time[: v.batch_size][v.batch]
    assert bool(found[v.batch_size :].all()) and found.sum() > 50
    windows = torch.stack([torch.arange(34) // 2, torch.arange(34) + 9], 1)
    loader = ramet.pyg.NeighborLoader(
        karate(), [9], "v", windows, time_attr="time", batch_size=34, neighbor_sampler=LABOR
    )
    v = next(iter(loader))["v"]
    first, last = v.seed_time[v.batch[v.batch_size :]].T
    assert torch.equal(v.seed_time, windows) and len(first) > 10
    assert bool(((first <= v.time[v.batch_size :]) & (v.time[v.batch_size :] <= last)).all())
    with pytest.raises(ValueError, match="temporal_strategy is 'last', but time_attr is Time"):
        ramet.pyg.RametSampler(karate(), [5], time_attr=ramet.Time("time"), temporal_strategy="last")


@pytest.mark.parametrize("is_hetero", [False, True])
def test_edges_are_not_later_than_the_seed(is_hetero):
    data = homogeneous()
    data.edge_time = torch.arange(500) % 10
    store = data
    if is_hetero:
        store, data = data, HeteroData()
        data["v"].x = store.x
        data["v", "to", "v"].edge_index, data["v", "to", "v"].edge_time = store.edge_index, store.edge_time
    loader = ramet.pyg.NeighborLoader(
        data,
        [10, 10],
        input_nodes=("v", torch.arange(100)) if is_hetero else None,
        input_time=torch.full((100,), 4),
        time_attr="edge_time",
        batch_size=32,
    )
    for batch in loader:
        times = batch["v", "to", "v"].edge_time if is_hetero else batch.edge_time
        seeds = batch["v"] if is_hetero else batch
        assert len(times) > 0 and int(times.max()) == 4
        assert seeds.seed_time.tolist() == [4] * seeds.batch_size


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


def test_the_last_are_the_most_recent():
    data = Data(
        num_nodes=6, time=torch.tensor([5, 1, 4, 3, 9, 2]), edge_index=torch.tensor([[1, 2, 3, 4, 5], [0, 0, 0, 0, 0]])
    )
    loader = ramet.pyg.NeighborLoader(data, [2], input_nodes=[0], time_attr="time", temporal_strategy="last")
    assert sorted(next(iter(loader)).n_id[1:].tolist()) == [2, 3]


def test_weights_decide_among_neighbors_in_time():
    data = Data(
        time=torch.tensor([5, 1, 4, 9]),
        edge_index=torch.tensor([[1, 2, 3], [0, 0, 0]]),
        weight=torch.tensor([0.0, 1.0, 1.0]),
        num_nodes=4,
    )
    loader = ramet.pyg.NeighborLoader(data, [3], input_nodes=[0], time_attr="time", weight_attr="weight")
    batch = next(iter(loader))
    assert batch.n_id.tolist() == [0, 2] and batch.weight.tolist() == [1.0]


def test_disjoint_trees_share_no_node():
    data = homogeneous()
    for batch in ramet.pyg.NeighborLoader(data, [4, 4], batch_size=10, disjoint=True):
        assert torch.equal(batch.batch[:10], torch.arange(10))
        assert torch.equal(batch.batch[batch.edge_index[0]], batch.batch[batch.edge_index[1]])
        keys = batch.batch * 100 + batch.n_id
        assert len(keys.unique()) == len(keys)
        assert torch.equal(batch.x, batch.n_id) and torch.equal(batch.edge_attr, batch.e_id)
