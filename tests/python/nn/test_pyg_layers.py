"""What docs/layers.md says of layers on blocks, ours and PyG's, against PyG's layers on the whole graph."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
import torch_geometric.nn as nn
from whole import edges_of

import ramet

pytestmark = pytest.mark.usefixtures("one_thread")
PAGE = Path(__file__).parents[3] / "docs" / "layers.md"
RANDOM_EDGES = "edge_index = rng.integers(0, 500, (2, 5_000))"
NUM_NODES, NUM_EDGES, SEEDS = 500, 5000, np.arange(0, 500, 7)


def edges_with(kind: str) -> np.ndarray:
    random = np.random.default_rng(5)
    edges = random.integers(0, NUM_NODES, (2, NUM_EDGES))
    if kind == "no loops":
        edges[1, edges[0] == edges[1]] += 1
        edges %= NUM_NODES
    elif kind == "loops":  # of half of the nodes, of some of them twice
        edges[:, :300] = random.integers(0, NUM_NODES // 2, 300)
    return edges


@pytest.fixture(scope="module", params=["no loops", "loops"])
def page(request) -> dict:
    """The names that the page's code has at its end, over a graph of that kind."""
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE))
    assert code.count(RANDOM_EDGES) == 1
    names = {"given": edges_with(request.param)}
    exec(compile(code.replace(RANDOM_EDGES, "edge_index = given"), PAGE.name, "exec"), names)
    names["whole"] = torch.from_numpy(edges_of(names["graph"]))
    num_loops = (names["whole"][0] == names["whole"][1]).sum()
    assert num_loops >= 300 if request.param == "loops" else num_loops == 0
    names["feat"] = names["graph"].table("feat").torch()
    return names


def at_seeds(graph, layer, feat, hops: int = 1):
    """`layer(x, block)` of each hop, with all neighbors."""
    batch = ramet.sample(graph, SEEDS, [-1] * hops)
    x = feat[batch.n_id]
    for block in batch.blocks:
        x = layer(x, block)
    return x


def check(page, layer, whole, hops: int = 1) -> None:
    torch.testing.assert_close(at_seeds(page["graph"], layer, page["feat"], hops), whole[SEEDS], rtol=0, atol=1e-5)


def test_gcn_is_the_layer_on_the_whole_graph(page):
    torch.manual_seed(0)
    convs = [nn.GCNConv(16, 16) for _ in range(2)]
    ours = [ramet.nn.GCNConv(16, 16, normalize=False) for _ in range(2)]
    for conv, own in zip(convs, ours):
        torch.nn.init.normal_(conv.bias)
        own.load_state_dict(conv.state_dict())
    expected = [page["feat"]]
    for conv in convs:
        expected.append(conv(expected[-1], page["whole"]))
    check(page, lambda x, block: page["gcn"](ours[0], x, block), expected[1])
    left = iter(ours)
    check(page, lambda x, block: page["gcn"](next(left), x, block), expected[2], hops=2)
    # Without the page's weights it is another layer.
    plain = ramet.nn.GCNConv(16, 16)
    plain.load_state_dict(convs[0].state_dict())
    assert (at_seeds(page["graph"], plain, page["feat"]) - expected[1][SEEDS]).abs().max() > 0.1


@pytest.mark.parametrize("sampler", [{}, {"sampler": ramet.Uniform(replace=True)}, {"sampler": "labor"}], ids=str)
def test_the_mean_of_gcn_over_samples_is_gcn(page, sampler):
    torch.manual_seed(0)
    conv = ramet.nn.GCNConv(16, 16, normalize=False, bias=False).requires_grad_(False)
    whole = at_seeds(page["graph"], lambda x, block: page["gcn"](conv, x, block), page["feat"])
    errors = []
    for step in range(100):
        batch = ramet.sample(page["graph"], SEEDS, [4], step=step, **sampler)
        errors.append(page["gcn"](conv, page["feat"][batch.n_id], batch.blocks[0]) - whole)
    errors = torch.stack(errors)
    of_one, of_their_mean = errors.square().mean().sqrt(), errors.mean(0).square().mean().sqrt()
    assert of_one > 0.3 * whole.square().mean().sqrt()
    assert of_their_mean < 1.3 * of_one / 10  # 1 / 10 for independent errors around 0


def test_sums_and_means_are_the_layers_on_the_whole_graph(page):
    torch.manual_seed(0)
    x, whole = page["feat"], page["whole"]

    def on_pairs(conv, *more):
        return lambda x, block: conv((x, x[: block.num_dst]), block.edge_index, *(part(block) for part in more))

    gin = nn.GINConv(torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.ReLU()), eps=0.5)
    ours = ramet.nn.GINConv(gin.nn, eps=0.5)
    check(page, lambda x, block: ours(x, block, page["sum_weights"](block)), gin(x, whole))
    check(page, ours, gin(x, whole))
    check(page, on_pairs(gin), gin(x, whole))
    add = nn.GraphConv(16, 8, aggr="add")
    check(page, on_pairs(add, page["sum_weights"]), add(x, whole))
    check(page, on_pairs(add), add(x, whole))
    mean = nn.GraphConv(16, 8, aggr="mean")
    mean.load_state_dict(add.state_dict())
    check(page, on_pairs(mean), mean(x, whole))
    check(page, on_pairs(add, lambda block: block.edge_weight), mean(x, whole))
    sage = nn.SAGEConv(16, 8)
    check(page, on_pairs(sage), sage(x, whole))
    for kind in (nn.GATConv, nn.GATv2Conv, nn.TransformerConv):
        attention = kind(16, 8, edge_dim=4)
        rows = page["graph"].table("edge_attr").torch()
        check(page, on_pairs(attention, lambda block: block.table("edge_attr")), attention(x, whole, rows))


def test_a_sum_of_samples_is_smaller_than_the_sum(page):
    conv = nn.SimpleConv(aggr="sum")
    ones = torch.ones(NUM_NODES, 1)
    sampled = ramet.sample(page["graph"], SEEDS, [4]).blocks[0]
    sums = conv((ones[: sampled.num_src], ones[: sampled.num_dst]), sampled.edge_index)
    degree = page["degree"][SEEDS].float()
    torch.testing.assert_close(sums[:, 0], degree.clamp(max=4))
    scaled = conv((ones[: sampled.num_src], ones[: sampled.num_dst]), sampled.edge_index, page["sum_weights"](sampled))
    torch.testing.assert_close(scaled[:, 0], degree)


@pytest.mark.parametrize("way", ["ours", "pairs", "rows", "to_hetero"])
def test_types_together_are_the_layers_on_the_whole_graph(page, way):
    graph = page["papers_and_authors"]
    x = {t: graph.table("feat", t).torch() for t in graph.node_types}
    whole = {t: torch.from_numpy(edges_of(graph, t)) for t in graph.edge_types}
    batch = ramet.sample(graph, ("paper", np.arange(0, 300, 9)), [-1])
    block = batch.blocks[0]
    rows = {t: x[t][batch.n_id[t]] for t in x}
    layer = page["layers" if way == "to_hetero" else "convs"][0]
    expected = layer(x, whole)["paper"][::9]
    if way == "ours":
        layer = page["stack"][0]
        layer.load_state_dict(page["convs"][0].state_dict())
        got = layer(rows, block)["paper"]
        torch.testing.assert_close(got, expected, rtol=0, atol=1e-5)
        return
    given = page["pairs"](rows, block) if way == "pairs" else rows
    got = layer(given, block.edge_index)["paper"]
    assert len(got) == (block.num_dst["paper"] if way == "pairs" else block.num_src["paper"])
    torch.testing.assert_close(got[: block.num_dst["paper"]], expected, rtol=0, atol=1e-5)
