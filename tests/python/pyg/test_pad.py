"""Padded batches: fixed shapes, masks, the results of the batch itself, one compilation."""

import re

import numpy as np
import pytest
import torch
from small_graphs import CITES, REVERSE, WRITES
from small_graphs import heterogeneous as papers
from torch_geometric.nn import HeteroConv, SAGEConv

import ramet

PAD = ramet.Pad(nodes={"paper": 60, "author": 45}, edges={CITES: 700, WRITES: 650, REVERSE: 600})
BUDGETS = {"sampler": ramet.Budget(), "seed": 3, "tables": ["feat", "label", "age"]}


def homogeneous() -> ramet.Graph:
    generator = np.random.default_rng(0)
    nodes = {"feat": generator.random((300, 4), np.float32), "label": np.arange(300) % 3}
    return ramet.from_edge_index(
        generator.integers(0, 300, (2, 2000)), 300, nodes=nodes, edges={"w": np.arange(2000.0)}
    )


def loader(graph, **options):
    return ramet.NeighborLoader(graph, [8, 8], ("paper", None), 16, **BUDGETS | options)


def test_shapes_and_masks():
    """What is there stays, in its place; what follows is 0, and edges from the last node to itself."""
    graph, shapes = papers(), set()
    for batch in loader(graph):
        plain, padded = batch.to_pyg(), batch.to_pyg(pad=PAD)
        assert padded.to_dict().keys() == plain.to_dict().keys()
        shapes.add(tuple((key, tuple(x.shape)) for key, x in sorted(flat(padded).items()) if "input_id" not in key))
        for t in graph.node_types:
            count = plain[t].num_nodes
            assert padded[t].pad_node_mask.tolist() == [True] * count + [False] * (PAD.nodes[t] - count)
            for key in ("n_id", "x", *(["age"] if t == "author" else ["y"])):
                assert torch.equal(padded[t][key][:count], plain[t][key])
                assert not padded[t][key][count:].any()
            assert "num_sampled_nodes" not in padded[t]
        for t in graph.edge_types:
            count = plain[t].num_edges
            assert padded[t].pad_edge_mask.tolist() == [True] * count + [False] * (PAD.edges[t] - count)
            assert torch.equal(padded[t].edge_index[:, :count], plain[t].edge_index)
            last = [PAD.nodes[t[0]] - 1, PAD.nodes[t[2]] - 1]
            assert (padded[t].edge_index[:, count:] == torch.tensor(last)[:, None]).all()
            assert torch.equal(padded[t].e_id[:count], plain[t].e_id)
    assert len(shapes) == 1


def flat(data) -> dict:
    of_type = {**dict(data.node_items()), **dict(data.edge_items())}
    return {f"{t} {key}": x for t, store in of_type.items() for key, x in store.items() if isinstance(x, torch.Tensor)}


def test_trees_and_edge_tables_of_one_type():
    """A homogeneous graph, whose nodes and edges share a storage. What is filled up is a tree of its own."""
    graph = homogeneous()
    options = {"sampler": ramet.Budget(nodes_per_tree=6), "tables": ["feat", "w"]}
    pad = ramet.Pad(nodes=61, edges=150)
    for batch in ramet.NeighborLoader(graph, [4, 4], np.arange(40), 10, **options):
        plain, padded = batch.to_pyg(), batch.to_pyg(pad=pad)
        assert (padded.num_nodes, padded.num_edges) == (61, 150)
        assert padded.w.shape == (150,)
        assert torch.equal(padded.w[padded.pad_edge_mask], plain.w)
        assert torch.equal(padded.batch[padded.pad_node_mask], plain.batch)
        assert (padded.batch[~padded.pad_node_mask] == 10).all()


def test_models_compile_once():
    """Outputs of nodes are those of the batch as it is, and torch.compile sees one shape."""
    graph, compiled = papers(), []

    def backend(module, _):
        compiled.append(module)
        return module.forward

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.convs = torch.nn.ModuleList(
                HeteroConv({t: SAGEConv((-1, -1), 8) for t in graph.edge_types}) for _ in range(2)
            )

        def forward(self, x, edges):
            x = {t: of_type.relu() for t, of_type in self.convs[0](x, edges).items()}
            return self.convs[1](x, edges)["paper"]

    first = next(iter(loader(graph))).to_pyg()
    model = Net()
    with torch.no_grad():
        model(first.x_dict, first.edge_index_dict)
        torch._dynamo.reset()
        fast = torch.compile(model, backend=backend, dynamic=False, fullgraph=True)
        for batch in loader(graph):
            plain, padded = batch.to_pyg(), batch.to_pyg(pad=PAD)
            expected = model(plain.x_dict, plain.edge_index_dict)
            found = fast(padded.x_dict, padded.edge_index_dict)
            assert torch.allclose(found[padded["paper"].pad_node_mask], expected, atol=1e-5)
    assert len(compiled) == 1


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        (16, 900, r"pad.nodes of 'author' is 16, but the batch has 16: expected at least 17"),
        (900, 2, r"pad.edges of \('author', 'writes', 'paper'\) is 2, but the batch has \d+: expected at least \d+"),
        ({"paper": 900}, 900, r"pad.nodes names \['paper'\], but not 'author'"),
        (900, {CITES: 900}, r"pad.edges names .* but not \('author', 'writes', 'paper'\)"),
    ],
)
def test_padding_that_is_too_small(nodes, edges, message):
    batch = next(iter(loader(papers())))
    with pytest.raises(ValueError, match=message):
        batch.to_pyg(pad=ramet.Pad(nodes, edges))


@pytest.mark.parametrize(
    ("nodes", "edges", "error", "message"),
    [
        (0, 5, ValueError, "pad.nodes is 0, expected at least 1"),
        ({"paper": -2}, 5, ValueError, "pad.nodes['paper'] is -2, expected at least 1"),
        (5, -1, ValueError, "pad.edges is -1, expected at least 0"),
        (5, {CITES: "7"}, TypeError, "is '7', expected an integer"),
        (None, 5, TypeError, "pad.nodes is None, expected an integer"),
    ],
)
def test_numbers_that_cannot_be(nodes, edges, error, message):
    with pytest.raises(error, match=re.escape(message)):
        ramet.Pad(nodes, edges)


def test_pad_is_an_object():
    with pytest.raises(TypeError, match=r"pad is 128, expected a ramet.Pad"):
        next(iter(loader(papers()))).to_pyg(pad=128)
