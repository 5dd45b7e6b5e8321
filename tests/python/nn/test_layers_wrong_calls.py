"""What wrong calls and options of the layers of ramet.nn get: an exception that names what is wrong."""

import pytest
import torch
from small_graphs import WIDTH, heterogeneous

import ramet
from ramet import nn

pytestmark = pytest.mark.usefixtures("one_thread")
OUT = 5
WRONG = {
    "too few rows": (lambda c, x, b: c(x[: b.num_src - 1], b), ValueError, r"x has \d+ rows, but the block has \d+ so"),
    "few of two": (lambda c, x, b: c((x, x[:1]), b), ValueError, r"x has 1 rows, but the block has \d+ destinations"),
    "integers": (lambda c, x, b: c(x.long(), b), TypeError, "int64"),
    "three": (lambda c, x, b: c((x, x, x), b), ValueError, "tuple of 3"),
    "no rows": (lambda c, x, b: c(None, b), TypeError, "NoneType"),
    "three dimensions": (lambda c, x, b: c(x[:, None], b), ValueError, r"x has shape \[\d+, 1, 8\], expected"),
    "heads": (lambda c, x, b: c(x, b, torch.ones(b.num_edges, 2)), ValueError, r"edge_weight has shape \[\d+, 2\]"),
    "no block": (lambda c, x, b: c(x, None), TypeError, "block is a NoneType"),
    "edge_index alone": (lambda c, x, b: c((x, None), b.edge_index), ValueError, "pass the block"),
    "few weights": (lambda c, x, b: c(x, b, torch.ones(3)), ValueError, r"edge_weight has shape \[3\]"),
    "few weights of an edge_index": (
        lambda c, x, b: c(x, b.edge_index.flip(1), torch.ones(3)),
        ValueError,
        r"edge_weight has shape \[3\]",
    ),
}


LAYERS = {
    "sage": lambda: nn.SAGEConv(WIDTH, OUT),
    "sage, linear first": lambda: nn.SAGEConv(WIDTH, 1),
    "sage project": lambda: nn.SAGEConv(WIDTH, OUT, project=True),
    "graph": lambda: nn.GraphConv(WIDTH, OUT),
    "gcn": lambda: nn.GCNConv(WIDTH, OUT),
    "gin": lambda: nn.GINConv(torch.nn.Linear(WIDTH, OUT)),
    "gat": lambda: nn.GATConv(WIDTH, OUT),
    "gatv2": lambda: nn.GATv2Conv(WIDTH, OUT),
}


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_names_a_wrong_dtype_and_device(block_and_rows, name):
    (block, x), conv = block_and_rows, LAYERS[name]()
    with pytest.raises(TypeError, match=r"x is int64 \[\d+, 8\], expected rows of float32"):
        conv(x.long(), block)
    with pytest.raises(ValueError, match="x lies on meta, but the block's edges on cpu"):
        conv(x.to("meta"), block)
    if name.startswith("gat"):
        return
    with pytest.raises(ValueError, match="edge_weight lies on meta, but the block's edges on cpu"):
        conv(x, block, torch.ones(block.num_edges, device="meta"))
    with pytest.raises(TypeError, match="edge_weight is a list, expected a floating tensor"):
        conv(x, block, [1.0])


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls(block_and_rows, name):
    (call, error, message), (block, x) = WRONG[name], block_and_rows
    with pytest.raises(error, match=message):
        call(nn.GraphConv(WIDTH, OUT), x, block)


def test_transforms_of_torch_func(block_and_rows):
    block, x = block_and_rows
    conv = nn.GraphConv(WIDTH, OUT)
    for call in (
        lambda: torch.func.grad(lambda rows: conv(rows, block).sum())(x),
        lambda: torch.func.vmap(lambda rows: conv(rows, block))(torch.stack([x, x])),
    ):
        with pytest.raises(NotImplementedError, match="transforms"):
            call()


def test_wrong_options():
    for make, message in {
        lambda: nn.SAGEConv(4, 4, aggr="lstm"): "aggr is 'lstm', expected one of add, sum",
        lambda: nn.SAGEConv(4, 4, flow="target_to_source"): "flow is 'target_to_source'; it can only be",
        lambda: nn.SAGEConv(-1, 4, project=True): "project needs in_channels",
        lambda: nn.GCNConv(4, 4, cached=True): "cached is True.*other edges",
        lambda: nn.GCNConv(4, 4, add_self_loops=True, normalize=False): "add_self_loops needs normalize",
        lambda: nn.RGCNConv(4, 4, 2, is_sorted=True): "is_sorted is True",
        lambda: nn.RGCNConv(4, 4, 2, num_bases=2, num_blocks=2): "both given",
        lambda: nn.RGCNConv(4, 4, 2, num_blocks=3): "does not divide 4 and 4",
        lambda: nn.HeteroConv({}, aggr="mul"): "aggr is 'mul'",
        lambda: nn.HeteroConv({("a", "to", "b"): nn.GCNConv(4, 4)}): "no self loops",
    }.items():
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(TypeError, match="SAGEConv has no argument 'root'"):
        nn.SAGEConv(4, 4, root=True)


def test_wrong_calls_of_some_layers(block_and_rows):
    block, x = block_and_rows
    conv = nn.RGCNConv(WIDTH, OUT, 3)
    for edge_type, message in (
        (None, "missing"),
        (torch.ones(3).long(), r"int64 \[3\]"),
        ([0, 1], "a list"),
        (torch.ones(block.num_edges, device="meta").long(), "lies on meta"),
        (block.table("kind") + 1, r"in \[\d, 3\]; there are 3"),
    ):
        with pytest.raises(ValueError, match=f"edge_type .*{message}"):
            conv(x, block, edge_type)
    for x_of_none, kind in (block.n_id, "torch.int64"), (None, "None"):
        with pytest.raises(ValueError, match=f"x is {kind}; for nodes without features use rows"):
            conv(x_of_none, block, block.table("kind"))
    with pytest.raises(ValueError, match="x is a pair"):
        nn.GCNConv(WIDTH, OUT)((x, x), block)
    hetero = heterogeneous()
    types = next(iter(ramet.NeighborLoader(hetero, [2], ("paper", None), 30)))
    layer = nn.HeteroConv({t: nn.SAGEConv((-1, -1), 4) for t in hetero.edge_types})
    with pytest.raises(KeyError, match="x has no rows of 'author'"):
        layer({"paper": types.x["paper"]}, types.blocks[0])
    for weights, error, message in (
        ({("paper", "cite", "paper"): torch.ones(3)}, ValueError, "HeteroConv: edge_weight has the edge types"),
        (torch.ones(3), TypeError, "HeteroConv: edge_weight is float32"),
    ):
        with pytest.raises(error, match=message):
            layer(types.x, types.blocks[0], edge_weight=weights)
    with pytest.raises(ValueError, match="block has edges of 3 types"):
        nn.SAGEConv(6, 4)(types.x["paper"], types.blocks[0])
