"""ramet.pyg.HGTLoader: what PyG's has, on graphs whose edges tell what they are."""

import re

import pytest
import torch
from pyg_graphs import CITES, TwoLayers, check_edges, heterogeneous, homogeneous
from torch_geometric.data import HeteroData
from torch_geometric.nn import to_hetero
from torch_geometric.utils import k_hop_subgraph

import ramet
import ramet.pyg

PAPERS = {"paper": [5] * 4, "author": [3] * 4}
NO_AUTHORS = {"paper": [5] * 4, "author": [0] * 4}


@pytest.mark.parametrize("of_graph", [False, True], ids=["data", "graph"])
@pytest.mark.parametrize("num_samples", [[5] * 4, PAPERS, NO_AUTHORS], ids=["list", "dict", "none of a type"])
def test_what_a_batch_holds(num_samples, of_graph):
    """Nodes by budget, seeds first, and all edges among them, with their attributes."""
    data = heterogeneous()
    loader = ramet.pyg.HGTLoader(
        ramet.from_pyg(data) if of_graph else data, num_samples, ("paper", None), batch_size=20
    )
    assert str(loader) == "HGTLoader()"
    assert len(loader) == 5
    of_authors = 4 * 5 if isinstance(num_samples, list) else sum(num_samples["author"])
    for i, batch in enumerate(loader):
        assert type(batch) is HeteroData
        assert set(batch.node_types) == {"paper", "author"}
        assert set(batch.edge_types) == set(data.edge_types)
        papers, authors = batch["paper"], batch["author"]
        assert len(papers) == 4 + of_graph  # x, n_id, input_id and batch_size; of a graph num_nodes, too
        assert len(authors) == 2 + of_graph
        assert papers.batch_size == papers.input_id.numel() == 20
        assert torch.equal(papers.n_id[:20], torch.arange(20 * i, 20 * i + 20))
        assert (papers.num_nodes, authors.num_nodes) == (20 + 4 * 5, of_authors)
        assert torch.equal(papers.x, papers.n_id)
        assert torch.equal(authors.x, authors.n_id + 100)
        for t in data.edge_types:
            store, whole = batch[t], data[t].edge_index
            assert len(store) == 3
            ids = batch[t[0]].n_id, batch[t[2]].n_id
            inside = torch.isin(whole[0], ids[0]) & torch.isin(whole[1], ids[1])
            assert sorted(store.e_id.tolist()) == inside.nonzero().view(-1).tolist()
        check_edges(batch, data)


def test_all_nodes_of_two_hops():
    """Budgets that are large enough give the whole neighborhood, and its results; a node of 90 in-edges is not cut."""
    one = homogeneous(num_nodes=200, num_edges=900)
    one.edge_index[1, :90] = 5
    weight = torch.rand(one.num_edges)
    data = HeteroData()
    data["paper"].x = torch.randn(200, 8)
    data["paper", "to", "paper"].edge_index = one.edge_index
    data["paper", "to", "paper"].edge_weight = weight
    seeds = torch.arange(5, 8)
    (batch,) = ramet.pyg.HGTLoader(data, [200] * 2, ("paper", seeds), batch_size=3)
    n_id, _, _, inside = k_hop_subgraph(seeds, 2, one.edge_index, num_nodes=200)
    assert batch["paper"].n_id.sort().values.tolist() == n_id.tolist()
    assert batch["paper", "paper"].num_edges == int(inside.sum())
    model = TwoLayers(8)
    expected = model(data["paper"].x, one.edge_index, weight)[seeds]
    found = to_hetero(model, data.metadata())(batch.x_dict, batch.edge_index_dict, batch.edge_weight_dict)
    assert torch.allclose(found["paper"][:3], expected, atol=1e-5)


def test_types_that_are_not_reached():
    data = heterogeneous()
    alone = HeteroData()
    for name in ("paper", "author"):
        alone[name].x = torch.randn(10, 16)
        alone[name, "to", name].edge_index = data[CITES].edge_index[:, :15] % 10
        alone[name, "to", name].edge_attr = torch.randn(15, 8)
    for batch in ramet.pyg.HGTLoader(alone, [2], "paper", batch_size=2):
        assert set(batch.node_types) == {"paper", "author"}
        assert set(batch.edge_types) == set(alone.edge_types)
        assert batch["author"].num_nodes == 0
        assert batch["author"].x.shape == (0, 16)
        edges = batch["author", "author"]
        assert edges.num_edges == 0
        assert edges.edge_index.shape == (2, 0)
        assert edges.edge_attr.shape == (0, 8)


def test_transforms_and_seeds_of_epochs():
    """The path through PyG's own code gives the same nodes."""
    outputs = []

    def note(output):
        outputs.append(output)
        return output

    torch.manual_seed(3)
    plain = list(ramet.pyg.HGTLoader(heterogeneous(), PAPERS, "paper", batch_size=50))
    torch.manual_seed(3)
    noted = list(ramet.pyg.HGTLoader(heterogeneous(), PAPERS, "paper", batch_size=50, transform_sampler_output=note))
    assert len(outputs) == 2
    assert outputs[0].num_sampled_nodes is None
    for one, other in zip(plain, noted):
        assert one["author"].n_id.tolist() == other["author"].n_id.tolist()
        assert one[CITES].e_id.tolist() == other[CITES].e_id.tolist()


@pytest.mark.parametrize(
    ("num_samples", "error", "message"),
    [
        ([-1], ValueError, "num_samples[0] is -1, expected at least 0"),
        ({"paper": [2, -1], "author": [1, 1]}, ValueError, "num_samples['paper'][1] is -1, expected at least 0"),
        ({"paper": [2]}, ValueError, "num_samples must name every node type; missing: ['author'], unknown: []"),
        ({"paper": [2], "author": [2, 2]}, ValueError, "num_neighbors of node type 'paper' has 1 hops, but that of"),
        (5, TypeError, "num_samples is 5, expected a list of numbers of nodes, one per hop"),
    ],
)
def test_bad_budgets(num_samples, error, message):
    with pytest.raises(error, match=re.escape(message)):
        ramet.pyg.HGTLoader(heterogeneous(), num_samples, "paper")
