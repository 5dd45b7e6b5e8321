"""Links between two node types, by PyG's LinkLoader on RametSampler and by ramet.pyg.LinkNeighborLoader, and links
without neighbors."""

import pytest
import torch
from pyg_graphs import CITES, WRITES, WRITTEN, check_edges, heterogeneous
from torch_geometric.data import Data, HeteroData
from torch_geometric.loader import LinkLoader
from torch_geometric.sampler import NegativeSampling

import ramet.pyg

TYPES = (CITES, WRITES, WRITTEN)


def over_sampler(data, num_neighbors, disjoint=False, time_attr=None, **options):
    sampler = ramet.pyg.RametSampler(data, num_neighbors, disjoint=disjoint, time_attr=time_attr)
    return LinkLoader(data, sampler, **options)


makers = pytest.mark.parametrize("make", [over_sampler, ramet.pyg.LinkNeighborLoader])


def timed() -> HeteroData:
    data = heterogeneous()
    data["paper"].time = torch.arange(100) % 50
    data["author"].time = torch.arange(200) % 50
    return data


def ends(batch, mode, count: int):
    """(author, paper) of the links that were asked for, as original ids."""
    author, paper = batch["author"].n_id, batch["paper"].n_id
    if mode == "triplet":
        return torch.stack([author[batch["author"].src_index], paper[batch["paper"].dst_pos_index]])
    row, col = batch[WRITES].edge_label_index[:, :count]
    return torch.stack([author[row], paper[col]])


@makers
@pytest.mark.parametrize("mode", [None, "binary", "triplet"])
@pytest.mark.parametrize("disjoint", [False, True])
def test_links(make, mode, disjoint):
    data = heterogeneous()
    links = data[WRITES].edge_index[:, ::7]
    loader = make(
        data,
        [3, 3],
        disjoint=disjoint,
        edge_label_index=(WRITES, links),
        batch_size=20,
        shuffle=True,
        neg_sampling=None if mode is None else NegativeSampling(mode, 2),
    )
    for batch in loader:
        input_id = batch[WRITES].input_id
        count = len(input_id)
        assert torch.equal(ends(batch, mode, count), links[:, input_id])
        if mode == "triplet":
            assert batch["paper"].dst_neg_index.shape == (count, 2)
        if mode == "binary":
            assert batch[WRITES].edge_label.tolist() == [1.0] * count + [0.0] * 2 * count
        assert batch["author"].num_sampled_nodes[0] > 0 and batch["paper"].num_sampled_nodes[0] > 0
        check_edges(batch, data)
        for t in TYPES if disjoint else ():
            row, col = batch[t].edge_index
            assert torch.equal(batch[t[0]].batch[row], batch[t[2]].batch[col])
        if disjoint:  # both ends of a link, and its negatives, are of one tree
            num_papers = batch["paper"].num_sampled_nodes[0]
            assert torch.equal(batch["paper"].batch[:num_papers], torch.arange(num_papers) % count)
            assert torch.equal(batch["author"].batch[:count], torch.arange(count))


@makers
@pytest.mark.parametrize("mode", ["binary", "triplet"])
def test_links_with_times(make, mode):
    data = timed()
    links = data[WRITES].edge_index[:, ::7]
    author, paper = links
    times = torch.maximum(data["author"].time[author], data["paper"].time[paper])
    loader = make(
        data,
        [4, 4],
        time_attr="time",
        edge_label_index=(WRITES, links),
        edge_label_time=times,
        batch_size=32,
        neg_sampling=NegativeSampling(mode, 1),
    )
    for batch in loader:
        at = batch["author"].seed_time if mode == "triplet" else batch[WRITES].edge_label_time
        for node_type in ("author", "paper"):
            of_type = batch[node_type]
            assert torch.equal(of_type.time, data[node_type].time[of_type.n_id])
            assert (of_type.time <= at[of_type.batch]).all()
        input_id = batch[WRITES].input_id
        assert torch.equal(ends(batch, mode, len(input_id)), links[:, input_id])


@makers
def test_links_without_neighbors(make):
    data = heterogeneous()
    links = data[WRITES].edge_index[:, :40]
    for batch in make(data, [], edge_label_index=(WRITES, links), batch_size=20):
        seeds = links[:, batch[WRITES].input_id]
        for node_type, ids in zip(("author", "paper"), seeds):
            assert batch[node_type].n_id.tolist() == ids.unique().tolist()
            assert batch[node_type].num_sampled_nodes == [len(ids.unique())]
        assert all(batch[t].num_edges == 0 and batch[t].num_sampled_edges == [] for t in TYPES)
    for batch in ramet.pyg.NeighborLoader(data, [], ("paper", torch.arange(10)), batch_size=5):
        assert batch["paper"].num_sampled_nodes == [5] and batch["author"].num_sampled_nodes == [0]


@makers
@pytest.mark.parametrize("is_hetero", [False, True])
def test_links_of_a_graph_without_edges(make, is_hetero):
    links = torch.randint(100, (2, 100))
    data = HeteroData(paper={"x": torch.arange(100), "num_nodes": 100}) if is_hetero else Data(num_nodes=100)
    asked = (("paper", "to", "paper"), links) if is_hetero else links
    for batch in make(data, [], edge_label_index=asked, batch_size=20):
        nodes = batch["paper"] if is_hetero else batch
        input_id = (batch["paper", "to", "paper"] if is_hetero else batch).input_id
        assert len(input_id) == 20 and nodes.num_nodes == len(links[:, input_id].unique())
