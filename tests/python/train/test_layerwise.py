"""ramet.nn.layerwise: exact inference, and what wrong layers get."""

from functools import partial
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
from torch_geometric.nn import SAGEConv  # noqa: E402

import ramet  # noqa: E402
from ramet import _core, nn  # noqa: E402
from ramet.nn import BlockEdges, aggregate, layerwise  # noqa: E402
from ramet.train import Config  # noqa: E402
from ramet.train.model import build_model  # noqa: E402


def whole(graph) -> BlockEdges:
    """Every node is source and destination, every edge is there."""
    indptr, indices = (torch.from_numpy(array.copy()) for array in (graph.indptr(), graph.indices()))
    return BlockEdges(indptr, indices, graph.num_nodes())


@pytest.mark.parametrize("name", ["sage", "gat", "gin"])
@pytest.mark.parametrize(
    ("depth", "dtype", "within"), [(1, "float32", 1e-5), (3, "float32", 1e-5), (2, "float64", 1e-12)]
)
def test_inference_is_the_full_forward_pass(store, name, depth, dtype, within):
    """Of a model, and of functions."""
    graph = ramet.open(store)
    config = Config(str(store), model=name, hidden=16, num_neighbors=(5,) * depth, dtype=dtype)
    model = build_model(config, 16, 4)
    x = torch.from_numpy(graph.table("feat").numpy().copy()).to(getattr(torch, dtype))
    model.eval()
    with torch.no_grad():
        expected = model(x, [whole(graph)] * depth)
    model.train()
    found = layerwise(graph, model, batch_size=97)
    assert model.training and model.convs[0].training and not found.requires_grad
    assert (found.shape, found.dtype) == ((1500, 4), x.dtype)
    within *= expected.abs().max()
    assert (found - expected).abs().max() <= within
    functions = [partial(model.eval().layer, i) for i in range(depth)]
    assert (layerwise(graph, functions, dtype=x.dtype) - expected).abs().max() <= within

    some = torch.tensor([7, 3, 3, 1499])
    assert (layerwise(graph, model, nodes=some) - expected[some]).abs().max() <= within
    assert layerwise(graph, model, nodes=[]).shape == (0, 4)


IN_PLACE = {
    "sage": nn.SAGEConv(16, 16, normalize=True),
    "graph": nn.GraphConv(16, 16, aggr="max"),
    "gin": nn.GINConv(torch.nn.Linear(16, 16), train_eps=True, aggr="mean"),
    "gcn": nn.GCNConv(16, 16, normalize=False),
    "pair": partial(lambda conv, x, block: conv((x, x[: block.num_dst].relu()), block), nn.SAGEConv(16, 16)),
    "dropout": lambda x, block: aggregate(block, torch.nn.functional.dropout(x, training=False), "sum"),
}
ROUNDED = {  # what follows of a source is computed once for all blocks, not once a block
    "narrow": partial(lambda conv, x, block: conv(x, block).repeat(1, 2), nn.SAGEConv(16, 8)),
    "narrow gcn": partial(lambda conv, x, block: conv(x, block).repeat(1, 2), nn.GCNConv(16, 8, normalize=False)),
    "gat": nn.GATConv(16, 8, heads=2, add_self_loops=False, residual=True),
    "gat of few": nn.GATConv((16, 16), 16, heads=3, concat=False, add_self_loops=False),
    "gat with loops": nn.GATConv(16, 8, heads=2),
}
GATHERED = {
    "all sources": lambda x, block: aggregate(block, x.relu(), "sum"),
    "written": lambda x, block: x[: block.num_dst].mul_(2) + aggregate(block, x, "max"),
    "written whole": lambda x, block: x.mul_(2) is None or aggregate(block, x, "sum"),
    "weighted": lambda x, block: IN_PLACE["graph"](x, block, block.n_id[block.edge_index[0]] / 1500),
    "project": nn.SAGEConv(16, 16, project=True),
    "gcn": nn.GCNConv(16, 16),
    "gat that drops": partial(lambda conv, x, block: conv(x, block) * 0, nn.GATConv(16, 16, dropout=0.5)),
}


@pytest.mark.parametrize("nodes", [None, [7, 3, 3, 1499, 8]])
def test_rows_in_place_have_the_bits_of_gathered_rows(store, nodes):
    """A copy of x is a tensor like any other: its layer gets sampled blocks and gathered rows."""
    graph = ramet.open(store)
    feat = graph.table("feat").numpy().copy()
    for layers, is_sampled in [(IN_PLACE, {False}), (ROUNDED, {False}), (GATHERED, {True})]:
        for name, layer in layers.items():
            seen = set()

            def watched(x, block, layer=layer, seen=seen):
                rows = layer(x, block)
                seen.add(getattr(block, "is_sampled", True))
                return rows

            def gathered(x, block, layer=layer):
                return layer(x.clone(), block)

            run = partial(layerwise, graph, nodes=nodes, batch_size=400)
            found, expected = run([watched] * 2), run([gathered] * 2)
            assert seen == is_sampled, name
            if layers is ROUNDED:
                assert torch.allclose(found, expected, atol=1e-5), name
            else:
                assert torch.equal(found, expected), name
    assert np.array_equal(feat, graph.table("feat").numpy())


def test_compiled_layers_run_as_they_are_written(store):
    graph, layer = ramet.open(store), lambda x, block: IN_PLACE["sage"](x, block) + aggregate(block, x.relu(), "sum")
    with torch.inference_mode():
        assert torch.equal(*(layerwise(graph, [f]) for f in (layer, torch.compile(layer, backend="eager"))))


def two_sums(x, block):
    first = aggregate(block, x, "sum").tanh_()
    return first + aggregate(block, x, "min") + aggregate(block, x, "max")


def sums_by_block(x, block):
    return aggregate(block, x, "max" if block.ids[0] % 3 else "sum")


@pytest.mark.parametrize("nodes", [None, [7, 3, 3, 1499, 8]])
def test_rows_that_memory_does_not_hold_are_read_in_passes(store, tmp_path, nodes):
    """By the bits of rows in memory. Each pass reads the rows for a few blocks."""
    graph, passes, paths, blocks_at_once = ramet.open(store), [], set(), {}
    in_one_pass = _core.aggregate_in_one_pass

    def counting(edges, *arguments):
        passes.append(edges.num_dst)
        paths.add(arguments[-1])
        in_one_pass(edges, *arguments)

    for name, layer in {**IN_PLACE, **ROUNDED, "two sums": two_sums, "by block": sums_by_block}.items():
        run = partial(layerwise, graph, [layer] * 2, nodes=nodes, batch_size=100)
        passes.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_core, "aggregate_in_one_pass", counting)
            found = run(folder=tmp_path, memory="45K")
        if name == "gat with loops":  # which come last in memory
            assert torch.allclose(found, run(), atol=1e-5)
        else:
            assert torch.equal(found, run()), name
        assert len(passes) >= 2, name
        blocks_at_once[name] = max(passes) // 100
    assert nodes or blocks_at_once["sage"] == 2
    assert any(paths)  # of the first layer's rows


def test_sums_in_passes_are_in_the_order_of_sources(tmp_path):
    """Also where rows of the store are in another."""
    rng = np.random.default_rng(0)
    source, destination = rng.integers(0, 300, (2, 6000))
    feat = rng.normal(size=(300, 5)).astype(np.float32)
    graph = ramet.from_edge_index(np.stack([source, destination]), nodes={"feat": feat})
    order = np.lexsort([source, destination])
    ascending = ramet.from_edge_index(np.stack([source, destination])[:, order], nodes={"feat": feat})
    mean, gat = lambda x, block: aggregate(block, x, "mean"), nn.GATConv(5, 3, heads=2, add_self_loops=False)
    assert torch.equal(layerwise(graph, [mean], memory=1000), layerwise(ascending, [mean]))
    assert torch.allclose(layerwise(graph, [gat], memory=1000), layerwise(graph, [gat]), atol=1e-5)


def test_layers_that_run_again(tmp_path):
    """What they catch changes nothing, and what they ask for must not change."""
    edges = np.sort(np.random.default_rng(0).integers(0, 300, (2, 900)))
    graph = ramet.from_edge_index(edges, nodes={"feat": np.ones((300, 8), np.float32)})
    reductions = cycle(["sum", "mean"])

    def catching(x, block):
        try:
            return aggregate(block, x, "sum")
        except BaseException:
            return aggregate(block, x, "max")

    def changing(x, block):
        return aggregate(block, x, next(reductions))

    run = partial(layerwise, graph, batch_size=50)
    assert torch.equal(run([catching], memory=1000), run([catching]))
    with pytest.raises(ValueError, match="asks for other sums when it runs again"):
        run([changing], memory=1000)


def test_encoded_rows_that_memory_does_not_hold(tmp_path):
    rng = np.random.default_rng(0)
    feat = rng.normal(size=(300, 8)).astype(np.float16)
    edges = np.sort(rng.integers(0, 300, (2, 900)))
    graph = ramet.from_edge_index(edges, nodes={"feat": feat})
    layers = [lambda x, block: aggregate(block, x)] * 2
    assert torch.equal(layerwise(graph, layers, folder=tmp_path, memory=1000), layerwise(graph, layers))
    with pytest.raises(ValueError, match="memory is 0, expected at least 1"):
        layerwise(graph, layers, memory=0)


def test_rows_on_a_disk_are_the_same_and_leave_nothing(store, tmp_path):
    graph = ramet.open(store)
    layers = [nn.SAGEConv(16, 40), nn.GATConv(40, 16)]
    found = layerwise(graph, layers, batch_size=400, folder=tmp_path)
    assert torch.equal(found, layerwise(graph, layers, batch_size=400))
    assert not list(tmp_path.iterdir())
    mapped = f"{tmp_path}/"
    assert Path("/proc/self/maps").read_text().count(mapped) == 1  # the last layer's rows
    del found
    assert mapped not in Path("/proc/self/maps").read_text()


def test_inference_restores_modes_after_an_error(store):
    model = build_model(Config(str(store)), 16, 4)
    model.convs[1].eval()

    def layers():
        def fail(x, block):
            assert not model.training
            raise RuntimeError("in a layer")

        return [fail]

    model.layers = layers
    with pytest.raises(RuntimeError, match="in a layer"):
        layerwise(ramet.open(store), model)
    assert model.training and not model.convs[1].training


def test_inference_names_what_is_missing(store):
    with pytest.raises(KeyError, match="no node table 'year'"):
        layerwise(ramet.open(store), [lambda x, block: x], table="year")
    for options in ({"batch_size": 0}, {"threads": 0}):
        with pytest.raises(ValueError, match=f"{next(iter(options))} is 0, expected at least 1"):
            layerwise(ramet.open(store), [nn.SAGEConv(16, 4)], **options)
    with pytest.raises(ValueError, match="no layers"):
        layerwise(ramet.open(store), [])


def take_destinations(x, block):
    return x[: block.num_dst]


class Plain(torch.nn.Module):
    def forward(self, x):
        return x


@pytest.mark.parametrize(
    ("layer", "error", "words"),
    [
        (lambda x, block: x[: block.num_dst - 1], ValueError, ["[6, 16]", "[7, ...]", "num_dst=7"]),
        (lambda x, block: x[:1], ValueError, ["[1, 16]", "[7, ...]"]),
        (lambda x, block: x.mean(), ValueError, ["[]", "[7, ...]"]),
        (lambda x, block: torch.cat([x, x]), ValueError, [", 16]", "[7, ...]"]),
        (lambda x, block: None, TypeError, ["returned None, expected a tensor with a row for each"]),
        (lambda x, block: (x[: block.num_dst], None), TypeError, ["returned a tuple, expected a tensor"]),
        (lambda x, block: [[1.0]] * block.num_dst, TypeError, ["returned a list, expected a tensor"]),
        (lambda x: x, TypeError, ["takes (x), expected f(x, block)"]),
        (Plain(), TypeError, ["is a Plain that takes (x), expected f(x, block)"]),
        (torch.nn.Linear(16, 4), TypeError, ["is a Linear that takes (input: torch.Tensor)"]),
        (
            SAGEConv(16, 4),
            TypeError,
            ["is a SAGEConv that takes (x:", "conv((x, x[: block.num_dst]), block.edge_index)"],
        ),
        (7, TypeError, ["is a int, expected a function f(x, block)"]),
    ],
)
def test_a_layer_that_returns_no_row_for_each_destination(store, layer, error, words):
    """Its number, what it gave and what was expected."""
    with pytest.raises(error) as raised:
        layerwise(ramet.open(store), [take_destinations, layer], nodes=range(7))
    for part in ["layerwise: layer 2 of 2", *words]:
        assert part in str(raised.value)


def test_layers_that_change_their_minds(store):
    """Rows of one width and dtype in every batch."""
    graph = ramet.open(store)

    def second(result):
        calls = []

        def layer(x, block):
            calls.append(block)
            return x[: block.num_dst] if len(calls) == 1 else result(x[: block.num_dst])

        return layer

    for result, words in [
        (lambda x: x[:, :1], r"the shape \[500, 1\], expected \[500, 16\], as in the batches before"),
        (lambda x: x.double(), "torch.float64, but torch.float32 in the batches before"),
    ]:
        with pytest.raises(ValueError, match=f"layer 1 of 1 returned {words}"):
            layerwise(graph, [second(result)], batch_size=500)


def test_layers_may_return_arrays_other_types_and_nan(store):
    graph = ramet.open(store)
    feat = graph.table("feat").numpy()

    def as_array(x, block):
        return np.asfortranarray(x[: block.num_dst].double().numpy())

    found = layerwise(graph, [as_array])
    assert found.dtype == torch.float64 and np.array_equal(found, feat.astype(np.float64))
    found = layerwise(graph, [lambda x, block: x[: block.num_dst, 0] > 0])
    assert found.dtype == torch.bool and np.array_equal(found, feat[:, 0] > 0)
    assert layerwise(graph, [lambda x, block: x[: block.num_dst] * torch.nan]).isnan().all()


def test_a_module_without_layers_is_told_what_is_expected(store):
    with pytest.raises(TypeError, match=r"model is a Plain, expected a module with a method layers\(\)"):
        layerwise(ramet.open(store), Plain())
    with pytest.raises(TypeError, match=r"graph is a str, expected a ramet\.Graph"):
        layerwise(str(store), Plain())


def test_wrong_layers_of_several_types():
    edges = {("author", "writes", "paper"): np.array([[0, 1], [2, 0]])}
    nodes = {"author": {"feat": np.ones((2, 3), np.float32)}, "paper": {"feat": np.ones((4, 3), np.float32)}}
    graph = ramet.from_edge_index(edges, num_nodes={"author": 2, "paper": 4}, nodes=nodes)
    for layer, error, words in [
        (lambda x, block: x["paper"], TypeError, "layer 1 of 1 returned a Tensor, expected a dict by node type"),
        (lambda x, block: {"paper": x["paper"][:1]}, ValueError, r"the shape \[1, 3\], expected \[4, \.\.\.\]"),
        (lambda x, block: {"author": x["author"]}, ValueError, r"returned no rows for \['paper'\]"),
        (lambda x, block: {"paper": 1}, TypeError, "returned a int for 'paper', expected a tensor"),
    ]:
        with pytest.raises(error, match=words):
            layerwise(graph, [layer], nodes=("paper", None))


def test_a_layer_may_ask_for_types_that_no_target_depends_on():
    """With two layers papers depend on authors' input alone, but the second layer asks for rows of tags, too."""
    types = ("author", "writes", "paper"), ("tag", "of", "author"), ("paper", "has", "tag")
    nodes = {t: {"feat": np.ones((3, 2), np.float32)} for t in ("author", "paper", "tag")}
    graph = ramet.from_edge_index({t: np.array([[0, 1], [2, 0]]) for t in types}, nodes=nodes)
    layer = nn.HeteroConv({t: nn.SAGEConv((2, 2), 2) for t in types})
    expected = layerwise(graph, [layer] * 2)["paper"][[2, 0]]
    assert torch.equal(layerwise(graph, [layer] * 2, nodes=("paper", [2, 0])), expected)


def test_heterogeneous_inference(tmp_path):
    """Means over in-neighbors, type by type, against sums over edges done by hand."""
    rng = np.random.default_rng(1)
    writes = ("author", "writes", "paper")
    cites = ("paper", "cites", "paper")
    written = ("paper", "written", "author")
    sizes = {"author": 40, "paper": 60}
    edges = {(a, r, b): rng.integers(0, [[sizes[a]], [sizes[b]]], (2, 200)) for a, r, b in (writes, cites, written)}
    x = {t: rng.normal(size=(n, 3)).astype(np.float32) for t, n in sizes.items()}
    nodes_of = {t: {"feat": rows} for t, rows in x.items()}
    graph = ramet.from_edge_index(edges, num_nodes=sizes, nodes=nodes_of)

    def layer(x, block):
        out = {t: x[t][: block.num_dst[t]].clone() for t in x}
        for (a, _, b), pairs in block.edge_index.items():
            out[b].index_add_(0, pairs[1], x[a][pairs[0]])
        return out

    expected = {t: torch.from_numpy(rows) for t, rows in x.items()}
    for _ in range(2):
        before = expected
        expected = {t: rows.clone() for t, rows in before.items()}
        for (a, _, b), pairs in edges.items():
            expected[b].index_add_(0, torch.from_numpy(pairs[1]), before[a][pairs[0]])
    found = layerwise(graph, [layer, layer], batch_size=7)
    assert set(found) == {"author", "paper"}
    for t, rows in found.items():
        assert torch.allclose(rows, expected[t], rtol=1e-4, atol=1e-3)
    some = layerwise(graph, [layer, layer], nodes=("paper", [5, 2]), batch_size=7)
    assert torch.allclose(some, expected["paper"][[5, 2]], rtol=1e-4, atol=1e-3)

    torch.manual_seed(0)
    graph = ramet.from_edge_index(  # rows are sorted by source
        {t: pairs[:, pairs[0].argsort()] for t, pairs in edges.items()}, num_nodes=sizes, nodes=nodes_of
    )
    convs = {writes: nn.SAGEConv((3, 3), 3), cites: nn.SAGEConv(3, 3), written: nn.GraphConv((3, 3), 3)}
    relational, seen = nn.HeteroConv(convs), set()

    def in_place(x, block):
        rows = {t: out.relu() for t, out in relational(x, block).items()}
        seen.add(getattr(block, "is_sampled", True))
        return rows

    def gathered(x, block):
        return in_place({t: rows.clone() for t, rows in x.items()}, block)

    for nodes in (None, ("paper", [5, 2, 2])):
        run = partial(layerwise, graph, nodes=nodes, batch_size=7)
        found = [run([in_place] * 2), run([in_place] * 2, folder=tmp_path, memory=400)]
        assert seen == {False}
        found.append(run([gathered] * 2))
        seen.clear()
        for rows in zip(*(out.values() if nodes is None else [out] for out in found), strict=True):
            assert torch.equal(rows[0], rows[1]) and torch.equal(rows[0], rows[2])

    def skips(first):  # the layer itself needs the papers' rows, which are gathered then
        def layer(x, block):
            before, rows = 2 * x["paper"], first(x, block)
            return rows | {"paper": rows["paper"] + before[: block.num_dst["paper"]]}

        return layer

    found = [layerwise(graph, [skips(layer)] * 2, batch_size=7) for layer in (in_place, gathered)]
    assert all(torch.equal(found[0][t], found[1][t]) for t in found[0])
