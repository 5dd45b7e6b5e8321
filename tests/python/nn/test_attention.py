"""GATConv, GATv2Conv and edge_softmax: against PyG's with the same weights, gradients, threads, and wrong calls."""

import beside_pyg
import pytest
import torch
from beside_pyg import OUT, WIDTH, compare
from block_edges import edge_index_of, random_edges, rows
from small_graphs import homogeneous
from torch_geometric.utils import softmax

import ramet
from ramet import nn
from ramet.nn import BlockEdges, attention

pytestmark = pytest.mark.usefixtures("one_thread")
BLOCKS = beside_pyg.BLOCKS | {"more destinations": (3, 8, 20)}
OPTIONS = {
    "plain": {},
    "heads": {"heads": 6},
    "mean of heads": {"heads": 3, "concat": False},
    "no loops": {"heads": 2, "add_self_loops": False, "bias": False},
    "slope": {"negative_slope": -0.5},
    "residual": {"heads": 2, "residual": True},
    "features": {"heads": 2, "edge_dim": 3},
    "features, no loops": {"edge_dim": 1, "add_self_loops": False},
    "filled": {"heads": 2, "edge_dim": 2, "fill_value": 0.5},
    "filled by a tensor": {"edge_dim": 2, "fill_value": torch.tensor([1.0, 2.0])},
}


def block(kind: str) -> BlockEdges:
    return beside_pyg.block(*BLOCKS[kind])


def pair(name: str, *args, dtype=torch.float64, **options):
    return beside_pyg.pair(lambda m: getattr(m, name)(*args, **options), dtype)


def features_for(options: dict, edges: BlockEdges) -> list:
    return [rows(edges.num_edges, options["edge_dim"])] if "edge_dim" in options else []


@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", ["GATConv", "GATv2Conv"])
def test_a_layer_is_that_of_pyg(name, options, kind):
    edges, options = block(kind), OPTIONS[options]
    if kind == "more destinations" and "edge_dim" in options:
        options = options | {"fill_value": 2.0}  # PyG cannot reduce features of so many destinations
    ours, theirs = pair(name, WIDTH, OUT, **options)
    x = (rows(edges.num_src, WIDTH), rows(edges.num_dst, WIDTH, seed=9))
    compare(ours, theirs, x, edges, *features_for(options, edges))
    if edges.num_dst <= edges.num_src:
        compare(ours, theirs, x[0], edges, *features_for(options, edges))


@pytest.mark.parametrize("fill_value", ["add", "min", "max", "mul"])
def test_features_of_loops_are_those_of_pyg(fill_value):
    options = {"edge_dim": 2, "fill_value": fill_value}
    for kind in "small", "hub", "no edges":
        edges = block(kind)
        ours, theirs = pair("GATv2Conv", WIDTH, OUT, **options)
        compare(ours, theirs, rows(edges.num_src, WIDTH), edges, *features_for(options, edges))


@pytest.mark.parametrize(("width", "channels"), [(64, 3), (3, 64), (33, 47)])
@pytest.mark.parametrize("name", ["GATConv", "GATv2Conv"])
def test_a_layer_in_float32_is_that_of_pyg_whatever_comes_first(name, width, channels):
    for kind in "small", "many sources", "hub":
        edges = block(kind)
        ours, theirs = pair(name, width, channels, heads=4, dtype=torch.float32)
        compare(ours, theirs, rows(edges.num_src, width, dtype=torch.float32) / 8, edges, tolerance=1e-5)


@pytest.mark.parametrize("options", [{}, {"share_weights": True}, {"edge_dim": 2, "bias": False}])
def test_maps_of_two_widths_and_of_unknown_ones(options):
    edges = block("small")
    x = (rows(30, WIDTH), rows(12, 5))
    for name in "GATConv", "GATv2Conv":
        more = {} if name == "GATConv" else {k: v for k, v in options.items() if k == "share_weights"}
        more |= {k: v for k, v in options.items() if k != "share_weights"}
        if more.get("share_weights"):
            compare(*pair(name, WIDTH, OUT, **more), x[0], edges)
            continue
        ours, theirs = pair(name, (WIDTH, 5), OUT, **more)
        compare(ours, theirs, x, edges, *features_for(more, edges))
        lazy = getattr(nn, name)((-1, -1), OUT, **more).double()
        lazy.load_state_dict(ours.state_dict())
        features = features_for(more, edges)
        assert torch.equal(lazy(x, edges, *features), ours(x, edges, *features))


def test_sources_alone_have_scores_too():
    edges = block("small")
    ours, theirs = pair("GATConv", (WIDTH, WIDTH), OUT, heads=2, add_self_loops=False)
    x = rows(30, WIDTH)
    mine = ours((x, None), edges)
    other = theirs((x, None), edge_index_of(edges), size=(30, 12))
    torch.testing.assert_close(mine, other)


@pytest.mark.parametrize("name", ["GATConv", "GATv2Conv"])
def test_an_edge_index_in_any_order_with_its_features(name):
    edges = block("square")
    shuffled = torch.randperm(edges.num_edges, generator=torch.Generator().manual_seed(1))
    edge_index, features = edge_index_of(edges)[:, shuffled], rows(edges.num_edges, 3)
    for loops in True, False:
        ours, theirs = pair(name, WIDTH, OUT, heads=2, edge_dim=3, add_self_loops=loops)
        x = rows(20, WIDTH)
        torch.testing.assert_close(ours(x, edge_index, features), theirs(x, edge_index, features))


@pytest.mark.parametrize("name", ["GATConv", "GATv2Conv"])
def test_dropout_and_weights_of_attention_are_those_of_pyg(name):
    edges = block("small")
    ours, theirs = pair(name, WIDTH, OUT, heads=2, dropout=0.4, add_self_loops=False)
    x = rows(30, WIDTH)
    torch.manual_seed(7)
    mine, (edge_index, alpha) = ours(x, edges, return_attention_weights=True)
    torch.manual_seed(7)
    other, (_, expected) = theirs(x, edge_index_of(edges), return_attention_weights=True)
    assert (alpha == 0).any()
    torch.testing.assert_close(alpha, expected)
    torch.testing.assert_close(mine, other[:12])
    assert torch.equal(edge_index, edge_index_of(edges))
    looped, _ = pair(name, WIDTH, OUT)
    _, (edge_index, alpha) = looped(x, edges, return_attention_weights=True)
    assert (edge_index[0] == edge_index[1]).sum() == 12
    sums = torch.zeros(12, 1, dtype=torch.float64).index_add(0, edge_index[1], alpha.detach())
    torch.testing.assert_close(sums, torch.ones_like(sums))


def test_softmax_over_edges_is_that_of_pyg():
    for kind in BLOCKS:
        edges = block(kind)
        at = edges.destinations
        for shape in (), (3,):
            scores = rows(edges.num_edges, *shape) * 30
            torch.testing.assert_close(nn.edge_softmax(edges, scores), softmax(scores, at, num_nodes=edges.num_dst))
    edges = block("small")
    scores = rows(90, 2, dtype=torch.float32)
    expected = softmax(scores, edges.destinations, num_nodes=12)
    torch.testing.assert_close(nn.edge_softmax(edges, scores), expected, rtol=1e-6, atol=1e-6)
    half = nn.edge_softmax(edges, scores.bfloat16())
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half.float(), expected, rtol=2e-2, atol=1e-2)
    huge = nn.edge_softmax(edges, torch.full((90,), -3e38))
    torch.testing.assert_close(huge, (1 / edges.degrees[edges.destinations]).float())
    scores[4, 1] = float("nan")
    own = edges.destinations == edges.destinations[4]
    assert torch.equal(nn.edge_softmax(edges, scores).isnan(), torch.stack([own & False, own], 1))


def test_gradients():
    edges = random_edges(9, 5, 20)
    source, destination, of_edges = (
        rows(count, 2, seed=i).requires_grad_() for i, count in enumerate((9, 5, edges.num_edges))
    )
    check = torch.autograd.gradcheck
    assert check(lambda s: nn.edge_softmax(edges, s), [of_edges])
    assert check(lambda a, b, c: attention.gat_softmax(edges, a, b, c, 0.2), [source, destination, of_edges])
    assert check(lambda a, b: attention.gat_softmax(edges, a, b, None, 0.2), [source, destination])
    x = rows(11, 4).requires_grad_()  # more rows than sources
    assert check(lambda x, w: attention.head_sums(edges, x, w), [x, of_edges])
    wide, weight = rows(5, 2, 4).requires_grad_(), rows(6, 4).requires_grad_()
    assert check(attention.project_heads, [wide, weight])
    parts = [rows(count, 2, 3, seed=i).requires_grad_() for i, count in enumerate((11, 5, edges.num_edges))]
    att = rows(2, 3).requires_grad_()
    assert check(lambda a, b, c, t: attention.gatv2_scores(edges, a, b, t, c, 0.2), [*parts, att])
    assert check(lambda a, b, t: attention.gatv2_scores(edges, a, b, t, None, 0.2), [*parts[:2], att])
    with pytest.raises(RuntimeError, match="first derivative only"):
        torch.autograd.grad(nn.edge_softmax(edges, of_edges)[0].sum(), of_edges, create_graph=True)


def test_autocast_and_half_rows_are_near():
    edges = block("small")
    for name in "GATConv", "GATv2Conv":
        layer = getattr(nn, name)(WIDTH, OUT, heads=2)
        x = rows(30, WIDTH, dtype=torch.float32).requires_grad_()
        exact = layer(x, edges)
        with torch.autocast("cpu", torch.bfloat16):
            near = layer(x, edges)
        near.float().sum().backward()
        torch.testing.assert_close(near.float(), exact, rtol=5e-2, atol=5e-2)
        half = layer.to(torch.bfloat16)(x.detach().bfloat16(), edges)
        assert half.dtype == torch.bfloat16
        torch.testing.assert_close(half.float(), exact, rtol=5e-2, atol=5e-2)


def test_the_twin_of_other_devices(monkeypatch):
    """What runs where the engine's kernels do not, by torch's operators."""
    edges = block("small")
    results = []
    for by_torch in False, True:
        monkeypatch.setattr(attention, "by_torch", lambda _, answer=by_torch: answer)
        for name in "GATConv", "GATv2Conv":
            torch.manual_seed(1)
            layer = getattr(nn, name)(WIDTH, OUT, heads=2, edge_dim=2).double()
            x = rows(30, WIDTH).requires_grad_()
            layer(x, edges, rows(90, 2)).square().sum().backward()
            results += [x.grad, *(parameter.grad for parameter in layer.parameters())]
    half = len(results) // 2
    for mine, other in zip(results[:half], results[half:], strict=True):
        torch.testing.assert_close(mine, other)


def test_on_a_batch():
    batch = next(iter(ramet.NeighborLoader(homogeneous(), [5, 5], input_nodes="train", batch_size=50)))
    x = rows(batch.blocks[0].num_src, WIDTH)
    for name in "GATConv", "GATv2Conv":
        first, theirs = pair(name, WIDTH, OUT, heads=2)
        last, other = pair(name, 2 * OUT, 3)
        mine, their = x, x
        for ours, of_pyg, of_batch in zip((first, last), (theirs, other), batch.blocks, strict=True):
            mine = ours(mine, of_batch)
            their = of_pyg((their, their[: of_batch.num_dst]), of_batch.edge_index)
        torch.testing.assert_close(mine, their)


WRONG = {
    "aggr": (dict(aggr="mean"), ValueError, "aggr can only be 'add'"),
    "flow": (dict(flow="target_to_source"), ValueError, "flow is 'target_to_source'"),
    "unknown": (dict(head=2), TypeError, "no argument 'head'"),
    "heads": (dict(heads=0), ValueError, "heads 0"),
    "fill": (dict(fill_value="median"), ValueError, "fill_value is 'median'"),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", ["GATConv", "GATv2Conv"])
def test_wrong_options_are_refused_by_name(name, wrong):
    options, error, message = WRONG[wrong]
    with pytest.raises(error, match=message):
        getattr(nn, name)(WIDTH, OUT, **options)


def test_wrong_calls_are_refused_with_value_and_bound():
    edges = block("small")
    x = rows(30, WIDTH, dtype=torch.float32)
    with pytest.raises(ValueError, match="29 rows, but the block has 30 sources"):
        nn.GATConv(WIDTH, OUT)(x[:29], edges)
    with pytest.raises(ValueError, match="edge_attr is given, but edge_dim is None"):
        nn.GATConv(WIDTH, OUT)(x, edges, rows(90, 2))
    with pytest.raises(ValueError, match="edge_attr has 89 rows, but the block has 90 edges"):
        nn.GATv2Conv(WIDTH, OUT, edge_dim=2)(x, edges, rows(89, 2))
    for features, error, message in (
        (torch.ones(90, 3), ValueError, r"edge_attr has shape \[90, 3\], expected \[num_edges, 2\]"),
        (torch.ones(90, 2).long(), TypeError, r"edge_attr is int64 \[90, 2\]"),
        ([[1.0]], TypeError, "edge_attr is a list"),
        (torch.ones(90, 2, device="meta"), ValueError, "edge_attr lies on meta"),
    ):
        with pytest.raises(error, match=message):
            nn.GATConv(WIDTH, OUT, edge_dim=2)(x, edges, features)
    for conv in nn.GATv2Conv(WIDTH, OUT), nn.GATConv((WIDTH, WIDTH), OUT, add_self_loops=False, residual=True):
        with pytest.raises(ValueError, match="no rows of destinations"):
            conv((x, None), edges)
    with pytest.raises(ValueError, match=r"scores has shape \[89\], but the block has 90 edges"):
        nn.edge_softmax(edges, rows(89))
    with pytest.raises(TypeError, match=r"scores is int64"):
        nn.edge_softmax(edges, torch.arange(90))
    with pytest.raises(ValueError, match="scores lies on meta"):
        nn.edge_softmax(edges, torch.empty(90, device="meta"))


@pytest.mark.parametrize("name", ["GATConv", "GATv2Conv"])
def test_forward_mode_is_refused_by_name(name):
    edges, x = block("small"), rows(30, WIDTH, dtype=torch.float32)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
        with pytest.raises(RuntimeError, match=r"GAT.* has no forward-mode derivative"):
            getattr(nn, name)(WIDTH, OUT)(dual, edges)
