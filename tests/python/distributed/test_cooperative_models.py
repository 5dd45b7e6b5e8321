"""Models on cooperative batches, on gloo ranks, against the same models and the plain loader in one process."""

import copy
import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pyg = pytest.importorskip("torch_geometric.nn")

import cooperative_models as models  # noqa: E402  (needs torch)
from cooperative_models import CLASSES  # noqa: E402
from learning import refused  # noqa: E402
from small_graphs import WIDTH  # noqa: E402
from test_cooperative_ranks import assert_close, assert_same_training  # noqa: E402

import ramet  # noqa: E402
from ramet import nn as ours  # noqa: E402
from ramet.distributed import BatchNorm, Cooperative, context, exchange  # noqa: E402
from ramet.nn import cooperation  # noqa: E402

WORLD, TOGETHER = 3, [[0, 1, 2]]
EXAMPLE = Path(__file__).parents[3] / "examples" / "cooperative.py"
pytestmark = pytest.mark.filterwarnings("ignore:There exist node types")  # of the last HeteroConv


def compare(parts, whole):
    """Losses, outputs and gradients of every step, and the state at the end."""
    steps, state = whole
    assert_same_training([of_rank for of_rank, _ in parts], steps)
    for _, of_rank in parts:
        assert of_rank.keys() == state.keys()
        for name, value in state.items():
            assert_close(of_rank[name], value)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [*((name, "float64") for name in models.MODELS), *((name, "float32") for name in ("sage", "gat", "by node type"))],
)
def test_ranks_train_what_one_process_trains(world, name, dtype):
    """Also running statistics, and an evaluation of an ordinary batch."""
    compare(world.call(models.train, name, dtype, TOGETHER), models.train(name, dtype))


@pytest.mark.parametrize("name", ["sage", "gat", "gin", "plain", "by node type", "hgt", "our gin", "our types"])
def test_ranks_that_own_nothing(world, name):
    """Two seeds of three ranks: somebody has no rows, and takes part."""
    compare(world.call(models.train, name, "float64", TOGETHER, 2), models.train(name, "float64", None, 2))


@pytest.mark.parametrize("name", ["sage", "by edge type"])
def test_groups_work_data_parallel(world, name):
    """Two ranks that cooperate beside one that works alone."""
    compare(world.call(models.train, name, "float64", [[0, 1], [2]]), models.train(name, "float64"))


def test_gcn_is_the_layer_of_pyg():
    """With all neighbors, on a graph with self loops, of which PyG counts one per node."""
    graph = models.graph_for("gcn by degrees")
    destination = np.repeat(np.arange(graph.num_nodes()), np.diff(graph.indptr()))
    whole = torch.from_numpy(np.stack([graph.indices(), destination]).astype(np.int64))
    assert (whole[0] == whole[1]).any()
    x, own = torch.from_numpy(graph.table("feat").numpy().copy()), models.Gcn(graph)
    for rows, conv in ((x, own.convs[0]), (own.convs[0](x, whole), own.convs[1])):
        theirs = pyg.GCNConv(conv.in_channels, conv.out_channels)
        theirs.load_state_dict(conv.state_dict())
        (block,) = ramet.sample(graph, np.arange(graph.num_nodes()), [-1]).blocks
        torch.testing.assert_close(own.layer(conv, rows, block), theirs(rows, whole), rtol=1e-5, atol=1e-5)


# ---- what moves


def count_exchanges(name):
    """The blocks of the exchanges of a forward, and of one in which nothing is recorded."""
    calls = []

    def counted(rows, block):
        calls.append(block.index)
        return exchange(rows, block)

    graph = models.graph_for(name)
    model = Cooperative(models.model_for(name, graph, torch.float32))
    with torch.inference_mode():
        loader = models.loader_for(name, graph, ranks=ramet.Cooperate(ownership=models.ownership_for(graph)))
    batch = next(iter(loader))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(context, "exchange", counted)
        out = model(batch.x, batch.blocks)
        with torch.inference_mode():
            again = model(batch.x, batch.blocks)
    assert torch.equal(out, again)
    return calls


@pytest.mark.parametrize(
    ("name", "each"),
    [
        ("sage", 1),
        ("shared", 1),
        ("by node type", 1),
        ("by edge type", 1),
        ("conv per edge type", 2),
        ("our sage", 1),
        ("our types", 1),
    ],
)
def test_nothing_is_pulled_twice(world, name, each):
    """One exchange a block, of all types where the layer has them; one a type where convolutions run one by one."""
    for calls in world.call(count_exchanges, name):
        assert calls == ([0] * each + [1] * each) * 2


class Target(torch.nn.Module):
    """A layer that runs on the same rows twice: for a target without gradients, and to be trained."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.lin, self.conv = torch.nn.Linear(WIDTH, 4), pyg.SAGEConv(4, 4)

    def forward(self, x, blocks):
        x, block = self.lin(x), blocks[0]
        with torch.no_grad():
            target = self.conv((x, x[: block.num_dst]), block.edge_index)
        return self.conv((x, x[: block.num_dst]), block.edge_index) - 2 * target


def test_rows_pulled_without_gradients_are_pulled_again_with_them():
    gradients = []
    for ranks in (None, ramet.Cooperate()):
        model, batch = Cooperative(Target()), batch_of(ranks=ranks)
        model(batch.x, batch.blocks).sum().backward()
        gradients.append(model.module.lin.weight.grad)
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rows_have_no_second_gradient(dtype):
    """Gradients travel outside of autograd: an error, not a part of the second gradient."""
    batch = batch_of(ranks=ramet.Cooperate())
    x = batch.x.to(dtype).requires_grad_()
    squares = exchange(x, batch.blocks[0]).square().sum()
    (gradient,) = torch.autograd.grad(squares, x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


# ---- errors, on all ranks alike


class Calls(torch.nn.Module):
    """Calls a layer on the first block as `call` says."""

    def __init__(self, layer, call):
        super().__init__()
        self.layer, self.call = layer, call

    def forward(self, x, blocks):
        return self.call(self.layer, x, blocks[0])


def pulled(x, block):
    return exchange(x, block), block.edge_index


NOT_OWN = "rows of this rank's nodes: x must have these, neither exchanged nor trimmed"
WRONG_CALLS = [
    (
        lambda layer, x, block: layer(x, block.edge_index.clone()),
        "gets an edge_index that is of no block of this batch",
    ),
    (lambda layer, x, block: layer(*pulled(x, block)), NOT_OWN),
    (lambda layer, x, block: layer(x[: block.num_dst], block.edge_index), NOT_OWN),
    (
        lambda layer, x, block: layer(None, block.edge_index),
        "(Positioned) gets x as a NoneType, expected a tensor",
    ),
    (
        lambda layer, x, block: layer(x, edge_index=block.edge_index, pos=[x]),
        "layer (Positioned) gets a tensor as 'pos', and it is unknown whose rows these are",
    ),
    (lambda layer, x, block: BatchNorm(WIDTH)(exchange(x, block)), "they must be all own rows of one layer"),
]


class Positioned(pyg.SAGEConv):
    def forward(self, x, edge_index, pos=None):
        return super().forward(x, edge_index)


def wrong_call(number):
    graph = models.graph_for("sage")
    batch = next(iter(models.loader_for("sage", graph, ranks=ramet.Cooperate(ownership="hash"))))
    model = Cooperative(Calls(Positioned(WIDTH, 2), WRONG_CALLS[number][0]))
    said = refused(lambda: model(batch.x, batch.blocks))
    assert cooperation.current() is None
    right = Cooperative(Calls(Positioned(WIDTH, 2), lambda layer, x, block: layer(x, block.edge_index)))
    return said, len(right(batch.x, batch.blocks)) == batch.blocks[0].num_src


@pytest.mark.parametrize("number", range(len(WRONG_CALLS)))
def test_a_wrong_call_is_an_error_and_leaves_nothing_behind(world, number):
    for said, goes_on in world.call(wrong_call, number):
        assert said.startswith("ValueError: ") and WRONG_CALLS[number][1] in said
        assert goes_on


# ---- models that cannot be made right

GCN_HINT = "normalizes by the degrees of sources.*normalize=False"
REFUSED = {
    "GCNConv": (lambda: pyg.GCNConv(4, 4), GCN_HINT),
    "GCN2Conv": (lambda: pyg.GCN2Conv(4, 0.1), GCN_HINT),
    "LGConv": (lambda: pyg.LGConv(), GCN_HINT),
    "EGConv": (lambda: pyg.EGConv(8, 8), GCN_HINT),
    "SGConv": (lambda: pyg.SGConv(4, 4), "one hop"),
    "TAGConv": (lambda: pyg.TAGConv(4, 4), "one hop"),
    "APPNP": (lambda: pyg.APPNP(2, 0.1), "one hop"),
    "GatedGraphConv": (lambda: pyg.GatedGraphConv(4, 2), "one hop"),
    "HypergraphConv": (lambda: pyg.HypergraphConv(4, 4), "no arguments x and edge_index"),
    "SAGEConv": (lambda: pyg.SAGEConv(4, 4, flow="target_to_source"), "from destinations to sources"),
    "GraphNorm": (lambda: pyg.GraphNorm(4), "across all rows"),
    "PairNorm": (lambda: pyg.PairNorm(), "across all rows"),
    "InstanceNorm": (lambda: pyg.InstanceNorm(4), "across all rows"),
    "LayerNorm": (lambda: pyg.LayerNorm(4), "across all rows"),
    "SyncBatchNorm": (lambda: torch.nn.SyncBatchNorm(4), "only BatchNorm1d"),
    "LazyBatchNorm1d": (lambda: torch.nn.LazyBatchNorm1d(), "only BatchNorm1d"),
    "BatchNorm": (lambda: pyg.BatchNorm(4, allow_single_element=True), "decide differently"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_models_that_are_refused(name):
    make, message = REFUSED[name]
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.BatchNorm1d(4), torch.nn.ModuleDict({"b": make()}))
    with pytest.raises(ValueError, match=rf"Cooperative: 2\.b \({name}\) .*{message}"):
        Cooperative(model)
    assert type(model[1]) is torch.nn.BatchNorm1d  # nothing was changed


def test_our_gcn_conv_is_refused_where_it_normalizes():
    with pytest.raises(ValueError, match=rf"the model \(GCNConv\) {GCN_HINT}"):
        Cooperative(ours.GCNConv(4, 4))


def test_what_looks_like_them_is_taken():
    Cooperative(
        torch.nn.ModuleList(
            [
                ours.GCNConv(4, 4, normalize=False),
                pyg.GCNConv(4, 4, normalize=False),
                pyg.SAGEConv(4, 4, normalize=True),  # of its outputs
                pyg.LayerNorm(4, mode="node"),
                pyg.PNAConv(4, 4, ["mean"], ["identity"], torch.ones(3)),
                torch.nn.LayerNorm(4),
            ]
        )
    )


# ---- one process


def stack():
    torch.manual_seed(1)
    return models.MODELS["norm and dropout"](models.graph_for("sage")).eval()


def batch_of(**options):
    return next(iter(models.loader_for("sage", models.graph_for("sage"), **options)))


@pytest.mark.parametrize("options", [{}, {"ranks": ramet.Cooperate()}], ids=str)
def test_one_process_alone(options):
    """With an ordinary batch the hooks do nothing; a cooperative group of one is the same."""
    model, batch = stack().train(), batch_of()
    expected = model(batch.x, batch.blocks)
    wrapped, batch = Cooperative(stack().train()), batch_of(**options)
    torch.testing.assert_close(wrapped(batch.x, batch.blocks), expected)
    torch.testing.assert_close(wrapped(batch.x, blocks=tuple(batch.blocks)), expected)


def test_it_can_be_copied_saved_and_taken_apart():
    model = stack()
    keys = list(model.state_dict())
    wrapped = Cooperative(model)
    assert wrapped.module is model
    assert list(wrapped.module.state_dict()) == keys
    assert isinstance(model.between.module, BatchNorm)
    batch = batch_of(ranks=ramet.Cooperate())
    expected = wrapped(batch.x, batch.blocks)
    for twin in (copy.deepcopy(wrapped), pickle.loads(pickle.dumps(wrapped))):
        assert torch.equal(twin(batch.x, batch.blocks), expected)
        assert twin.remove()(batch_of().x, batch_of().blocks).shape == expected.shape
    twin = copy.deepcopy(wrapped)
    assert wrapped.remove() is model
    assert not any(module._forward_pre_hooks for module in model.modules())
    assert torch.equal(twin(batch.x, batch.blocks), expected)
    again = Cooperative(model)
    assert torch.equal(again(batch.x, batch.blocks), expected)
    with pytest.raises(ValueError, match=r"convs\.0 \(SAGEConv\) is in a Cooperative already"):
        Cooperative(again)


def test_blocks_have_to_be_there():
    wrapped, batch = Cooperative(stack()), batch_of()
    with pytest.raises(TypeError, match=r"no Block among the arguments: pass batch\.blocks"):
        wrapped(batch.x, [block.edge_index for block in batch.blocks])
    with pytest.raises(ValueError, match="blocks of several batches"):
        wrapped(batch.x, [batch.blocks[0], batch_of().blocks[1]])


def test_a_model_without_layers_of_pyg(monkeypatch):
    """Where there is none: ranks begin without it, too."""
    for name in ("torch_geometric", "torch_geometric.nn"):
        monkeypatch.setitem(sys.modules, name, None)
    wrapped, batch = Cooperative(models.Plain().eval()), batch_of()
    assert wrapped(batch.x, batch.blocks).shape == (batch.num_seeds, CLASSES)


@pytest.mark.slow
def test_the_example(run_script, tmp_path):
    ramet.save(models.graph_for("sage"), tmp_path / "store")
    options = ("--float64", "--model", "gin", "--batch-size", "50", "--steps", "3", "--hidden", "8")
    found = []
    for ranks in (1, 2):
        printed = run_script(EXAMPLE, tmp_path / "store", *options, ranks=ranks)
        found.append(re.findall(r"step (\d): loss ([\d.]+), ([\d,]+) rows read", printed))
    assert len(found[0]) == 3
    for (*alone, rows), (*together, rows_together) in zip(*found, strict=True):
        assert [float(number) for number in together] == pytest.approx([float(n) for n in alone], abs=1e-10)
        assert rows_together == rows  # each once
