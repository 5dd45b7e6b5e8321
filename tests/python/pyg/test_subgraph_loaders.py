"""ramet.pyg's ClusterLoader and GraphSAINT samplers: what batches hold, beside PyG's own loader of clusters."""

import copy
import pickle
import re

import pytest
import torch
from pyg_graphs import heterogeneous, homogeneous, pairs, pairs_of
from torch_geometric.data import Data
from torch_geometric.loader import ClusterData, GraphSAINTSampler
from torch_geometric.loader import ClusterLoader as PygLoader

import ramet
import ramet.pyg
from ramet.pyg import ClusterLoader, GraphSAINTEdgeSampler, GraphSAINTNodeSampler, GraphSAINTRandomWalkSampler


class Clusters(ClusterData):
    """PyG's own would need pyg-lib."""

    def _metis(self, edge_index: torch.Tensor, num_nodes: int) -> torch.Tensor:
        return (torch.arange(num_nodes) * 7) % self.num_parts


@pytest.fixture
def data() -> Data:
    data = homogeneous()
    data.edge_weight, data.name = torch.rand(500, 2), "text"
    return data


def check_induced(batch: Data, data: Data) -> None:
    """The batch has all edges among its nodes, and the rows of its nodes and edges."""
    inside = torch.isin(data.edge_index, batch.n_id).all(0)
    assert sorted(batch.e_id.tolist()) == inside.nonzero().flatten().tolist()
    assert torch.equal(data.edge_index[:, batch.e_id], batch.n_id[batch.edge_index])
    assert torch.equal(batch.x, data.x[batch.n_id]) and batch.num_nodes == len(batch.n_id)
    assert torch.equal(batch.edge_attr, data.edge_attr[batch.e_id])
    assert torch.equal(batch.edge_weight, data.edge_weight[batch.e_id]) and batch.name == "text"


@pytest.mark.parametrize("sparse_format", ["csr", "csc"])
def test_batches_of_pygs_clusters_are_pygs(data, sparse_format):
    clusters = Clusters(data, 10, log=False, sparse_format=sparse_format)
    order = {"batch_sampler": [[3, 9], [0], [8, 1, 2]]}
    for ours, theirs in zip(ClusterLoader(clusters, **order), PygLoader(clusters, **order), strict=True):
        assert ours.x.tolist() == theirs.x.tolist()
        assert ours.edge_index.dtype == theirs.edge_index.dtype
        assert pairs(ours.edge_index) == pairs(theirs.edge_index)
        by_number = ours.edge_attr.argsort(), theirs.edge_attr.argsort()
        for name in ("edge_attr", "edge_weight"):
            assert torch.equal(*(batch[name][of] for batch, of in zip((ours, theirs), by_number)))
        assert torch.equal(clusters.partition.node_perm[ours.n_id], ours.x)
    assert isinstance(ClusterLoader(clusters), PygLoader) and len(ClusterLoader(clusters, batch_size=4)) == 3


def test_clusters_of_a_data_and_of_a_graph(data):
    pytest.importorskip("pymetis")
    graph = ramet.from_pyg(data)
    for of in (data, graph):
        torch.manual_seed(3)
        loader = ClusterLoader(of, 8, batch_size=3, shuffle=True)
        batches = list(loader)
        assert sorted(torch.cat([batch.n_id for batch in batches]).tolist()) == list(range(100))
        torch.manual_seed(3)
        assert all(torch.equal(again.n_id, batch.n_id) for again, batch in zip(loader, batches, strict=True))
        assert len(batches) == 3
    loader = ClusterLoader(data, 8, batch_size=3)
    for batch in loader:
        check_induced(batch, data)
    data.edge_index = data.edge_index.flip(0)
    for batch in loader:
        check_induced(batch, data)


@pytest.mark.parametrize(
    "make",
    [
        lambda data, **options: GraphSAINTNodeSampler(data, 20, **options),
        lambda data, **options: GraphSAINTEdgeSampler(data, 15, **options),
        lambda data, **options: GraphSAINTRandomWalkSampler(data, 12, 3, **options),
    ],
)
@pytest.mark.parametrize("num_workers", [0, 2])
def test_saint(data, make, num_workers):
    loader = make(data, num_steps=6, sample_coverage=4, log=False, num_workers=num_workers)
    assert isinstance(loader, GraphSAINTSampler) and len(loader) == 6 and loader.data is data
    torch.manual_seed(1)
    batches = list(loader)
    assert len(batches) == 6 and len({tuple(batch.n_id.tolist()) for batch in batches}) == 6
    for batch in batches:
        check_induced(batch, data)
        assert batch.node_norm.shape == (batch.num_nodes,) and batch.edge_norm.shape == (batch.num_edges,)
        assert batch.node_norm.min() > 0 and batch.edge_norm.min() >= 1
    again = list(loader)
    torch.manual_seed(1)
    assert all(torch.equal(one.n_id, other.n_id) for one, other in zip(loader, batches, strict=True))
    assert not all(torch.equal(one.n_id, other.n_id) for one, other in zip(again, batches, strict=True))
    assert "node_norm" not in next(iter(make(data, num_steps=6)))
    torch.manual_seed(1)
    first = next(iter(pickle.loads(pickle.dumps(loader))))
    assert torch.equal(first.n_id, batches[0].n_id) and torch.equal(first.edge_norm, batches[0].edge_norm)
    data.edge_index = data.edge_index[:, :200]
    data.edge_attr, data.edge_weight = data.edge_attr[:200], data.edge_weight[:200]
    for batch in loader:
        check_induced(batch, data)


def test_a_loader_that_collates_itself_has_the_same_form(data):
    class Own(GraphSAINTNodeSampler):
        def _get_iterator(self):
            return super()._get_iterator()

    for batch in Own(data, 20, num_steps=2, sample_coverage=1):
        check_induced(batch, data)
    one = copy.deepcopy(ClusterLoader(Clusters(data, 10, log=False)))
    batch = one.collate_fn([2, 5])
    assert pairs_of(batch.edge_index, batch.x, batch.x) <= pairs(data.edge_index)


def test_bad_input(data):
    clusters = Clusters(data, 4, log=False)
    for error, message, call in [
        (ValueError, "num_parts is 3 with a Clusters", lambda: ClusterLoader(clusters, 3)),
        (ValueError, "num_parts is None with a Data", lambda: ClusterLoader(data)),
        (ValueError, "num_parts is 0", lambda: ClusterLoader(data, 0)),
        (TypeError, "expected a Data with edge_index", lambda: ClusterLoader(heterogeneous(), 2)),
        (ValueError, "batch_size is 0", lambda: GraphSAINTNodeSampler(data, 0)),
        (ValueError, "walk_length is -1", lambda: GraphSAINTRandomWalkSampler(data, 1, -1)),
        (ValueError, "num_steps is 0", lambda: GraphSAINTEdgeSampler(data, 1, 0)),
    ]:  # fmt: skip
        with pytest.raises(error, match=re.escape(message)):
            call()
