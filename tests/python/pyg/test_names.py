"""Tables of a graph whose names meet each other, or PyG's, in a storage: every one is in batches."""

import pytest
import torch
from torch_geometric.data import Data, HeteroData

import ramet
import ramet.pyg
from ramet._support import log
from ramet.loading.pyg_data.names import OF_PYG

EDGES = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 5, 5]])
NODES = EDGES.shape[1]  # PyG tells nodes' attributes from edges' by their number, else by their names


def graph(nodes: dict, edges: dict, is_hetero: bool) -> ramet.Graph:
    """Tables by name; a number in them tells them apart."""
    nodes = {name: torch.arange(NODES) + 100 * of for name, of in nodes.items()}
    edges = {name: torch.arange(EDGES.shape[1]) + 100 * of for name, of in edges.items()}
    if not is_hetero:
        return ramet.from_edge_index(EDGES, NODES, nodes=nodes, edges=edges)
    t = ("a", "to", "a")
    return ramet.from_edge_index({t: EDGES}, {"a": NODES, "b": 1}, nodes={"a": nodes}, edges={t: edges})


def batches(of: ramet.Graph):
    """(storage of nodes, storage of edges) of a batch of each door."""
    seeds = ("a", None) if of.is_hetero else None
    (t,) = of.edge_types
    tables = [*((t[0], name) for name in of.tables(t[0])), *((t, name) for name in of.tables(t))]
    native = ramet.NeighborLoader(of, [-1], seeds, 4, expand="once", tables=tables)
    found = [next(iter(ramet.pyg.NeighborLoader(of, [-1], seeds, batch_size=4))), next(iter(native)).to_pyg()]
    for batch in found:
        yield (batch[t[0]], batch[t]) if of.is_hetero else (batch, batch)


@pytest.mark.parametrize("is_hetero", [False, True])
@pytest.mark.parametrize(
    ("nodes", "edges"),
    [
        ({"x": "x", "feat": "feat", "label": "label", "y": "y"}, {"w": "w"}),
        ({"feat": "x"}, {"feat": "feat", "x": "edge_x"}),
        ({"time": "time"}, {"edge_time": "edge_time", "time": "edge_edge_time"}),
        *(({name: f"node_{name}"}, {name: f"edge_{name}"}) for name in sorted(OF_PYG)),
    ],
    ids=str,
)
def test_every_table_is_in_a_batch(nodes, edges, is_hetero):
    numbers_of_nodes, numbers_of_edges = ({name: i + 1 for i, name in enumerate(of)} for of in (nodes, edges))
    for of_nodes, of_edges in batches(graph(numbers_of_nodes, numbers_of_edges, is_hetero)):
        for name, attribute in nodes.items():
            assert torch.equal(of_nodes[attribute], of_nodes.n_id + 100 * numbers_of_nodes[name])
        for name, attribute in edges.items():
            free = is_hetero and name not in OF_PYG  # nodes and edges have storages of their own
            rows = of_edges[name if free else attribute]
            assert torch.equal(rows, of_edges.e_id + 100 * numbers_of_edges[name])


def test_a_renamed_table_is_said_once(caplog, monkeypatch):
    monkeypatch.setattr(log, "_warned", set())
    for _ in range(2):
        ramet.pyg.NeighborLoader(graph({"batch": 1, "feat": 2}, {"only_here": 3, "ptr": 4}, False), [1])
    lines = [record.message for record in caplog.records]
    assert [line for line in lines if "'batch'" in line] == [
        "the table 'batch' of 'node' is the attribute 'node_batch' of batches: its own name is taken"
    ]
    assert not [line for line in lines if "feat" in line or "only_here" in line]


def test_names_of_a_feature_store():
    features = ramet.pyg.FeatureStore(graph({"x": 1, "feat": 2, "batch": 3}, {"x": 4}, False))
    known = [attribute.attr_name for attribute in features.get_all_tensor_attrs()]
    assert sorted(known) == ["feat", "node_batch", "x"]
    for number, name in ((1, "x"), (2, "feat"), (3, "node_batch"), (3, "batch")):
        assert features[None, name, torch.tensor([5])].tolist() == [5 + 100 * number]
    assert features.get_tensor_size(group_name=None, attr_name="nothing") is None


@pytest.mark.parametrize("is_hetero", [False, True])
def test_tables_may_have_the_names_of_methods(is_hetero):
    words = sorted({*dir(Data()), *dir(HeteroData()["a"])} - {"x", "y"})
    numbers = {name: i for i, name in enumerate(words)}
    for of_nodes, _ in batches(graph(numbers, {}, is_hetero)):
        for name, number in numbers.items():
            attribute = f"node_{name}" if name in OF_PYG else name
            assert torch.equal(of_nodes[attribute], of_nodes.n_id + 100 * number)


@pytest.mark.parametrize("name", ["batch", "ptr", "edge_w", "w"])
def test_every_table_is_in_a_batch_of_subgraphs(name):
    of = graph({name: 1}, {f"{name}_too": 2, name: 3}, False)
    batch = next(iter(ramet.pyg.ShaDowKHopSampler(of, 2, -1, batch_size=NODES)))
    attribute = f"node_{name}" if name in OF_PYG else name
    assert batch[attribute].min() >= 100 and len(batch[attribute]) == batch.num_nodes
    for other, of_edges in ((f"{name}_too", 200), (f"edge_{name}", 300)):
        assert batch[other].min() >= of_edges and len(batch[other]) == batch.num_edges


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"x": torch.zeros(4), "feat": torch.ones(4)}, "data has both 'x' and 'feat', and each would be 'feat'"),
        ({"label": torch.zeros(4), "y": torch.ones(4)}, "data has both 'y' and 'label', and each would be 'label'"),
        (
            {"a_mask": torch.ones(4, 2, dtype=torch.bool), "a_1_mask": torch.ones(4, dtype=torch.bool)},
            "data has both 'a_mask' and 'a_1_mask', and each would be 'a_1'",
        ),
    ],
)
def test_attributes_that_would_be_one_table(attributes, message):
    with pytest.raises(ValueError, match=message):
        ramet.from_pyg(Data(edge_index=EDGES[:, :3], **attributes))


def test_errors_name_the_attribute():
    with pytest.raises(TypeError, match=r"data\.x is sparse"):
        ramet.from_pyg(Data(edge_index=EDGES[:, :3], x=torch.eye(4).to_sparse()))
