"""What the engine can do, at the door of PyG's loader: samplers, placement, features (docs/pyg.md, "The engine's
options")."""

import pickle

import pytest
import torch
from torch_geometric.data import Data, HeteroData

import ramet
import ramet.pyg


@pytest.fixture(scope="module")
def data():
    torch.manual_seed(0)
    return Data(x=torch.randn(2000, 6), edge_index=torch.randint(2000, (2, 80_000)), w=torch.rand(80_000))


def nodes(loader):
    return [batch.num_nodes for batch in loader]


def test_arguments_that_say_the_same_are_refused(data):
    with pytest.raises(ValueError, match="replace is True, but the sampler is Labor"):
        ramet.pyg.NeighborLoader(data, [3], replace=True, neighbor_sampler=ramet.Labor())
    with pytest.raises(ValueError, match="weight_attr is 'w', but the sampler is Labor"):
        ramet.pyg.NeighborLoader(data, [3], weight_attr="w", neighbor_sampler=ramet.Labor())


def test_rows_on_a_disk(data, tmp_path):
    ramet.save(ramet.from_pyg(data), tmp_path / "store")
    graph = ramet.open(tmp_path / "store")
    arguments = {"num_neighbors": [5, 5], "batch_size": 300}
    loader = ramet.pyg.NeighborLoader(graph, **arguments, placement={"feat": "disk"}, threads=2, prefetch=3)
    assert "disk" in str(loader._engine.placement["feat"])
    for batch in loader:
        assert torch.equal(batch.x, data.x[batch.n_id])


def test_features_of_a_graph(data):
    arguments = {"num_neighbors": [5], "batch_size": 300, "features": ramet.Features(dtype="bfloat16")}
    for batch in ramet.pyg.NeighborLoader(ramet.from_pyg(data), **arguments):
        assert torch.equal(batch.x, data.x[batch.n_id].bfloat16())
    with pytest.raises(ValueError, match=r"features is Features\(.*pass a ramet.Graph"):
        iter(ramet.pyg.NeighborLoader(data, **arguments))
    with pytest.raises(ValueError, match=r"features\.fuse is True, which expand='once' does not take"):
        iter(ramet.pyg.NeighborLoader(ramet.from_pyg(data), [5], features=ramet.Features(fuse=True)))


def test_features_from_tables(data):
    edges = Data(edge_index=data.edge_index, num_nodes=2000)
    rows, more = ramet.Table(data.x), ramet.Table(torch.arange(4000).view(2000, 2))
    loader = ramet.pyg.NeighborLoader(edges, [5], batch_size=300, tables={"x": rows, "place": more})
    for batch in loader:
        assert torch.equal(batch.x, data.x[batch.n_id])
        assert torch.equal(batch.place[:, 0], 2 * batch.n_id)
    assert torch.equal(loader(torch.tensor([3])).x[0], data.x[3])


def test_features_by_node_type():
    hetero = HeteroData()
    hetero["a"].num_nodes, hetero["b"].x = 50, torch.randn(40, 3)
    hetero["a", "to", "b"].edge_index = torch.stack([torch.randint(50, (300,)), torch.randint(40, (300,))])
    x = torch.randn(50, 4)
    arguments = {"num_neighbors": [4], "input_nodes": "b", "batch_size": 10}
    loader = ramet.pyg.NeighborLoader(hetero, **arguments, tables={"x": {"a": ramet.Table(x)}})
    for batch in loader:
        assert torch.equal(batch["a"].x, x[batch["a"].n_id])
        assert torch.equal(batch["b"].x, hetero["b"].x[batch["b"].n_id])
    with pytest.raises(ValueError, match=r"tables\['x'\]\['c'\]: there is no node type 'c'"):
        iter(ramet.pyg.NeighborLoader(hetero, **arguments, tables={"x": {"c": ramet.Table(x)}}))


def test_wrong_values_are_named(data):
    table = ramet.Table(data.x[:7])
    for error, options, message in (
        (ValueError, {"tables": {"x": table}}, r"tables\['x'\] has 7 rows, expected 2000"),
        (TypeError, {"tables": {"x": data.x}}, r"tables\['x'\] is tensor.*, expected a ramet.Table"),
        (TypeError, {"tables": ["x"]}, "tables is .*, expected a dict"),
        (ValueError, {"threads": 0}, "threads is 0"),
        (ValueError, {"prefetch": 0}, "prefetch is 0"),
        (ValueError, {"placement": "nowhere"}, "placement"),
        (ValueError, {"threads": 2, "subgraph_type": "induced"}, "threads is given, but PyG's code makes"),
    ):
        with pytest.raises(error, match=message):
            ramet.pyg.NeighborLoader(data, [3], **options)


def test_samplers_and_tables_are_pickled(data):
    loader = ramet.pyg.NeighborLoader(data, [3], batch_size=500, neighbor_sampler=ramet.Labor(dependent=4), threads=1)
    copied = pickle.loads(pickle.dumps(loader))
    torch.manual_seed(1)
    expected = nodes(loader)
    torch.manual_seed(1)
    assert nodes(copied) == expected
