"""ramet.pyg.LinkNeighborLoader: exclude=, what it tells, and bad input."""

import logging
import pickle
import re

import pytest
import torch
from pyg_graphs import CITES, WRITES, WRITTEN, heterogeneous, homogeneous, pairs, pairs_of
from torch_geometric.data import Data, HeteroData
from torch_geometric.sampler import NegativeSampling
from torch_geometric.transforms import ToUndirected

import ramet
import ramet.pyg
from ramet._support import log


def make(data=None, links=None, **options):
    data = homogeneous() if data is None else data
    return ramet.pyg.LinkNeighborLoader(data, [-1, -1], links, **({"batch_size": 20} | options))


def undirected() -> Data:
    return ToUndirected()(Data(x=torch.arange(100), edge_index=homogeneous().edge_index))


@pytest.mark.parametrize("exclude", ["self", "reverse"])
@pytest.mark.parametrize("disjoint", [False, True])
def test_seed_edges_are_in_no_batch(exclude, disjoint):
    data = undirected()
    links = data.edge_index[:, ::3]
    for given in (None, links):
        for batch in make(data, given, exclude=exclude, disjoint=disjoint, neg_sampling="binary", shuffle=True):
            row, col = batch.n_id[batch.edge_label_index[:, :20]]
            found = pairs_of(batch.edge_index, batch.n_id, batch.n_id)
            hidden = pairs(torch.stack([row, col]))
            assert found and not found & hidden
            reverses = {(v, u) for u, v in hidden}
            assert bool(found & reverses) == (exclude == "self")
            assert torch.equal(batch.n_id[batch.edge_index], data.edge_index[:, batch.e_id])


def test_reverse_types():
    data = heterogeneous()
    one_way = HeteroData(author={"num_nodes": 200}, paper={"num_nodes": 100})
    one_way[WRITES].edge_index = data[WRITES].edge_index
    for graph, back, exclude in (
        (ToUndirected()(one_way), ("paper", "rev_writes", "author"), "reverse"),
        (data, WRITTEN, {WRITES: WRITTEN}),
    ):
        for batch in make(graph, WRITES, exclude=exclude):
            author, paper = batch["author"].n_id, batch["paper"].n_id
            row, col = batch[WRITES].edge_label_index
            hidden = pairs(torch.stack([author[row], paper[col]]))
            assert not pairs_of(batch[WRITES].edge_index, author, paper) & hidden
            there_and_back = pairs_of(batch[back].edge_index, paper, author)
            assert there_and_back and not {(v, u) for u, v in there_and_back} & hidden


def test_parallel_edges_are_told_apart_by_number_alone():
    data = Data(edge_index=torch.tensor([[1, 1, 2], [0, 0, 0]]), num_nodes=3)
    by_number = make(data, exclude="self", batch_size=1)
    for loader in (by_number, pickle.loads(pickle.dumps(by_number))):
        assert sorted(loader([1]).e_id.tolist()) == [0, 2]
    assert make(data, data.edge_index, exclude="self", batch_size=1)([1]).e_id.tolist() == [2]


def test_one_line_tells_of_seeds_among_the_messages(caplog, monkeypatch):
    monkeypatch.setattr(log, "_warned", set())
    data = homogeneous()
    hidden = Data(x=data.x, edge_index=data.edge_index[:, :400])
    with caplog.at_level(logging.WARNING, "ramet"):
        make(hidden, data.edge_index[:, 400:])
        make(data, exclude="self")
        assert not caplog.records
        for _ in range(2):
            make(data)
    (line,) = caplog.messages
    assert "exclude='reverse'" in line and "edge_label_index" in line


def test_bad_input():
    data, hetero, links = homogeneous(), heterogeneous(), torch.randint(100, (2, 50))
    not_a_number = torch.ones(100)
    not_a_number[7] = torch.nan
    timed = Data(x=data.x, edge_index=data.edge_index, time=torch.arange(100))
    times = torch.arange(50)

    class Overrides(ramet.pyg.LinkNeighborLoader):
        def collate_fn(self, index):
            return super().collate_fn(index)

    for error, message, options in [
        (ValueError, "needs to be positive", {"neg_sampling": {"mode": "binary", "amount": 0}}),
        (ValueError, "needs to be positive", {"neg_sampling_ratio": -1.0}),
        (ValueError, "needs to be an integer", {"neg_sampling": {"mode": "triplet", "amount": 1.5}}),
        (ValueError, "'edge_label' needs to be undefined", {"neg_sampling": "triplet", "edge_label": torch.ones(50)}),
        (ValueError, "'edge_label_time' is not set", {"data": timed, "time_attr": "time"}),
        (ValueError, "'time_attr' is not set", {"edge_label_time": times}),
        (ValueError, "edge_label_time has shape [49]",
         {"data": timed, "time_attr": "time", "edge_label_time": times[1:]}),
        (ValueError, "edge_label has 3 rows, expected 50", {"edge_label": torch.ones(3)}),
        (TypeError, "edge_label is [1, 2]", {"edge_label": [1, 2]}),
        (ValueError, "input_id has 3 rows, expected 50", {"input_id": torch.ones(3)}),
        (ValueError, "edge_label_index has shape [50, 2]", {"links": links.t()}),
        (IndexError, "edge_label_index", {"links": links + 100}),
        (TypeError, "edge_label_index", {"links": links.float() + 0.5}),
        (ValueError, "number of nodes 100 (got 3, dst_weight)",
         {"neg_sampling": NegativeSampling("triplet", dst_weight=torch.ones(3))}),
        (ValueError, "src_weight has the weight nan of node 7",
         {"neg_sampling": NegativeSampling("binary", src_weight=not_a_number)}),
        (ValueError, "weights of destinations are all 0",
         {"neg_sampling": NegativeSampling("triplet", dst_weight=torch.zeros(100))}),
        (ValueError, "edge_label_index is None, expected an edge type", {"data": hetero, "links": None}),
        (ValueError, "edge_label_index names ('paper', 'to', 'venue'), but node types are",
         {"data": hetero, "links": (("paper", "venue"), links)}),
        (ValueError, "give pairs", {"data": hetero, "links": ("paper", "likes", "author")}),
        (ValueError, "exclude is 'all'", {"exclude": "all"}),
        (ValueError, "names no reverse of", {"data": hetero, "links": WRITES, "exclude": "reverse"}),
        (ValueError, "exclude names edge type", {"data": hetero, "links": CITES, "exclude": {CITES: ("a", "b", "c")}}),
        (ValueError, "exclude is 'self', but PyG's code", {"exclude": "self", "subgraph_type": "bidirectional"}),
        (ValueError, "exclude is 'self', but PyG's code", {"exclude": "self", "kind": Overrides}),
        (TypeError, "transform is 3", {"transform": 3}),
    ]:  # fmt: skip
        given = {"data": data, "links": links, "kind": ramet.pyg.LinkNeighborLoader} | options
        kind = given.pop("kind")
        with pytest.raises(error, match=re.escape(message)):
            list(kind(given.pop("data"), [2, 2], given.pop("links"), batch_size=20, **given))


def test_no_node_exists_at_a_pairs_time():
    data = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), time=torch.tensor([5, 6]))
    options = {"time_attr": "time", "edge_label_time": torch.tensor([4, 4]), "neg_sampling": "triplet"}
    with pytest.raises(KeyError, match="no destination of 2 exists at the time 4 of pair 0"):
        list(make(data, **options))
