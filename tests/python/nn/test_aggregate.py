"""ramet.nn.aggregate against a loop over destinations, and against PyG."""

import pytest
import torch
from block_edges import loop_aggregate, random_edges, rows
from small_graphs import CITES, WRITES, heterogeneous, homogeneous

import ramet
from ramet.nn import aggregate, edges_of

SIZES = [(40, 25, 150), (1, 1, 1), (5, 3, 0), (0, 0, 0), (0, 4, 0), (300, 2, 900)]
REDUCTIONS = ["sum", "mean", "max", "min"]


@pytest.mark.parametrize("heads", [None, 1, 3])
@pytest.mark.parametrize("reduce", ["sum", "mean", "softmax"])
def test_weights_count(reduce, heads):
    edges = random_edges()
    x, weights = rows(edges.num_src, 6), rows(edges.num_edges, *([] if heads is None else [heads]), seed=4)
    wanted = loop_aggregate(edges, x, reduce, weights.view(edges.num_edges, -1))
    torch.testing.assert_close(aggregate(edges, x, reduce, weights), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("heads", [None, 2])
@pytest.mark.parametrize("reduce", ["sum", "mean", "softmax"])
def test_the_gradients_of_rows_and_weights(reduce, heads):
    edges = random_edges(7, 5, 20)
    x = rows(edges.num_src, 4).requires_grad_()
    weights = rows(edges.num_edges, *([] if heads is None else [heads]), seed=4).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, w: aggregate(edges, x, reduce, w), (x, weights))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("reduce", [*REDUCTIONS, "softmax", "weighted"])
def test_results_and_gradients_are_pygs(reduce, size, dtype):
    pyg = pytest.importorskip("torch_geometric")
    edges, tolerance = random_edges(*size), 1e-5 if dtype == torch.float32 else 1e-12
    x = rows(edges.num_src, 6, dtype=dtype).requires_grad_()
    x.data[edges.num_src // 2 :] = 1.0  # ties, too
    weights = rows(edges.num_edges, 1, seed=4, dtype=dtype).requires_grad_()
    of_edges, index = x[edges.indices], edges.destinations
    if reduce in REDUCTIONS:
        weights, theirs = None, pyg.utils.scatter(of_edges, index, 0, edges.num_dst, reduce)
    else:
        alpha = pyg.utils.softmax(weights, index, num_nodes=edges.num_dst) if reduce == "softmax" else weights
        theirs = pyg.utils.scatter(of_edges * alpha, index, 0, edges.num_dst, "sum")
    ours = aggregate(edges, x, {"weighted": "sum"}.get(reduce, reduce), weights)
    grad = rows(*ours.shape, dtype=dtype, seed=3)
    wanted = [x] if weights is None else [x, weights]
    for found, expected in zip(
        [ours, *torch.autograd.grad(ours, wanted, grad)],
        [theirs, *torch.autograd.grad(theirs, wanted, grad, materialize_grads=True)],
    ):
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("reduce", [*REDUCTIONS, "softmax"])
def test_half_rows_are_summed_as_float32_and_rounded_once(reduce, dtype):
    edges = random_edges(300, 2, 900)
    x, scores = rows(edges.num_src, 6, dtype=dtype).requires_grad_(), rows(edges.num_edges, 2, dtype=torch.float32)
    wide, weights = x.detach().float().requires_grad_(), scores if reduce == "softmax" else None
    ours, exact = (aggregate(edges, values, reduce, weights) for values in (x, wide))
    assert ours.dtype == dtype and torch.equal(ours, exact.to(dtype))
    grad = rows(edges.num_dst, 6, dtype=dtype, seed=3)
    ours.backward(grad)
    exact.backward(grad.float())
    assert x.grad.dtype == dtype
    torch.testing.assert_close(x.grad, wide.grad.to(dtype), rtol=1e-2, atol=1e-3)


def test_weights_of_half_rows_have_gradients():
    edges = random_edges()
    x = rows(edges.num_src, 6, dtype=torch.bfloat16)
    weights = rows(edges.num_edges, 2, dtype=torch.bfloat16).requires_grad_()
    aggregate(edges, x, "sum", weights).sum().backward()
    exact = x.float()[edges.indices].view(-1, 2, 3).sum(2)
    assert weights.grad.dtype == torch.bfloat16
    torch.testing.assert_close(weights.grad.float(), exact, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("shape", [(), (1,), (2, 3), (0,), (2, 2, 2)], ids=str)
def test_the_rest_of_a_rows_shape_stays(shape):
    edges = random_edges()
    x = rows(edges.num_src, *shape)
    out = aggregate(edges, x, "mean")
    assert out.shape == (edges.num_dst, *shape)
    torch.testing.assert_close(out, loop_aggregate(edges, x, "mean"))


def test_rows_that_are_not_contiguous():
    edges = random_edges()
    x = rows(6, edges.num_src).t().requires_grad_()
    out = aggregate(edges, x, "mean")
    torch.testing.assert_close(out, loop_aggregate(edges, x.detach(), "mean"))
    (grad,) = torch.autograd.grad(out, x, torch.ones(1).double().expand(edges.num_dst, 6))
    torch.testing.assert_close(grad, torch.autograd.grad(aggregate(edges, x, "mean").sum(), x)[0])


def test_nan_and_infinity_go_where_their_edges_go():
    edges = random_edges()
    x = rows(edges.num_src, 3)
    x[0], x[1] = torch.nan, torch.inf
    for reduce in REDUCTIONS:
        wanted = loop_aggregate(edges, x, reduce)
        torch.testing.assert_close(aggregate(edges, x, reduce), wanted, equal_nan=True)


@pytest.mark.parametrize("sampler", ["uniform", ramet.Labor(iterations=1)], ids=str)
def test_a_blocks_own_weights_count(sampler):
    block = ramet.sample(homogeneous(), list(range(50)), [4, 3], sampler=sampler).blocks[0]
    assert block.has_weights == (sampler != "uniform")
    x, edges = rows(block.num_src, 4), edges_of(block)
    weights = block.edge_weight[:, None]
    torch.testing.assert_close(aggregate(block, x), loop_aggregate(edges, x, "sum", weights))
    degrees = edges.degrees[edges.destinations][:, None]
    torch.testing.assert_close(aggregate(block, x, "sum"), loop_aggregate(edges, x, "sum", weights * degrees))
    torch.testing.assert_close(aggregate(block, x, "max"), loop_aggregate(edges, x, "max"))
    ones = torch.ones(edges.num_edges)
    torch.testing.assert_close(aggregate(block, x, "mean", ones), loop_aggregate(edges, x, "mean"))


def test_types_are_aggregated_one_by_one():
    batch = ramet.sample(heterogeneous(), ("paper", list(range(30))), [4, 3])
    block, types = batch.blocks[0], batch.graph.edge_types
    x = {"paper": rows(block.num_src["paper"], 4), "author": rows(block.num_src["author"], 2)}
    weights = {CITES: torch.rand(block.num_edges[CITES])}
    found = aggregate(block, x, "sum", weights)
    assert list(found) == types
    for t in types:
        of_type = None if t not in weights else weights[t][:, None]
        torch.testing.assert_close(found[t], loop_aggregate(edges_of(block[t]), x[t[0]], "sum", of_type))
    assert list(aggregate(block, {"author": x["author"]})) == [WRITES]


def test_a_batch_lives_as_long_as_backward_needs_it():
    batch = ramet.sample(homogeneous(), list(range(50)), [4, 3])
    x = rows(batch.num_nodes, 2).requires_grad_()
    wanted = torch.autograd.grad(aggregate(batch.blocks[0], x).sum(), x)[0]
    out = aggregate(batch.blocks[0], x)
    del batch
    torch.testing.assert_close(torch.autograd.grad(out.sum(), x)[0], wanted)


EDGES = random_edges()


class Frame:
    """Rows of another library, which have an aggregate() of their own, as pandas' have."""

    def aggregate(self, *_):
        raise AssertionError("called")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((torch.ones(39, 2),), ValueError, r"x has shape \[39, 2\], but the block has 40 sources"),
        ((torch.ones(()),), ValueError, r"x has shape \[\], but the block has 40 sources"),
        ((torch.ones(40, 2).long(),), TypeError, r"x is int64 \[40, 2\], expected a tensor of float32"),
        (([[1.0]],), TypeError, "x is a list, expected a tensor of float32"),
        ((Frame(),), TypeError, "x is a Frame, expected a tensor of float32"),
        ((torch.ones(40, 2, device="meta"),), ValueError, "x lies on meta, but the block's edges on cpu"),
        ((torch.ones(40, 2), "median"), ValueError, "reduce is 'median', expected one of sum, mean, max, min, softmax"),
        ((torch.ones(40, 2), "sum", torch.ones(149)), ValueError, r"edge_weight has shape \[149\], .* 150 edges"),
        ((torch.ones(40, 2), "sum", torch.ones(150, 1, 1)), ValueError, r"edge_weight has shape \[150, 1, 1\]"),
        ((torch.ones(40, 2), "sum", torch.ones(150, 3)), ValueError, "3 columns, which do not divide the 2 elements"),
        ((torch.ones(40, 2), "sum", torch.ones(150, 0)), ValueError, "0 columns, which do not divide the 2 elements"),
        ((torch.ones(40, 2), "sum", torch.ones(150).int()), TypeError, r"edge_weight is int32 \[150\]"),
        ((torch.ones(40, 2), "sum", 2.0), TypeError, "edge_weight is a float, expected a floating tensor"),
        ((torch.ones(40, 2), "sum", torch.ones(150, device="meta")), ValueError, "edge_weight lies on meta"),
        ((torch.ones(40, 2), "max", torch.ones(150)), ValueError, 'edge_weight is given, but reduce="max" has no'),
        ((torch.ones(40, 2), "softmax"), ValueError, "needs scores of the edges"),
        (({"a": torch.ones(40, 2)},), TypeError, r"x is a dict, but the block .* has one type of nodes"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        aggregate(EDGES, *arguments)


def test_what_is_refused_of_types():
    block = ramet.sample(heterogeneous(), ("paper", [1]), [4]).blocks[0]
    with pytest.raises(ValueError, match=r"edges of 3 types: block\[edge_type\] are those of one"):
        aggregate(block, torch.ones(500, 2))
    with pytest.raises(TypeError, match=r"edge_weight is float32 \[3\], expected a dict by edge type"):
        aggregate(block, {"paper": torch.ones(500, 2)}, "sum", torch.ones(3))
    with pytest.raises(ValueError, match=r"edge_weight has the edge types \[\('paper', 'cite', 'paper'\)\], expected"):
        aggregate(block, {"paper": torch.ones(500, 2)}, "sum", {("paper", "cite", "paper"): torch.ones(3)})


@pytest.mark.parametrize("reduce", [*REDUCTIONS, "softmax"])
def test_a_second_derivative_is_refused_by_name(reduce):
    x = rows(EDGES.num_src, 2).requires_grad_()
    scores = rows(EDGES.num_edges, dtype=torch.float64).requires_grad_() if reduce == "softmax" else None
    out = aggregate(EDGES, x, reduce, scores).square().sum()
    with pytest.raises(RuntimeError, match=r"ramet\.nn\.\w+ has a first derivative only: .* create_graph=True"):
        torch.autograd.grad(out, x if scores is None else scores, create_graph=True)


def test_backward_twice_is_torchs_error():
    x = rows(EDGES.num_src, 2).requires_grad_()
    weights = rows(EDGES.num_edges).requires_grad_()
    out = aggregate(EDGES, x, "sum", weights).sum()
    out.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        out.backward()


def test_a_nan_among_extremes_is_in_the_gradient_as_pygs():
    pyg = pytest.importorskip("torch_geometric")
    x = rows(EDGES.num_src, 3).requires_grad_()
    x.data[0, 0], x.data[1, 1], x.data[2, 1] = torch.nan, torch.inf, -torch.inf
    theirs = pyg.utils.scatter(x[EDGES.indices], EDGES.destinations, 0, EDGES.num_dst, "max")
    grads = [torch.autograd.grad(out.sum(), x)[0] for out in (aggregate(EDGES, x, "max"), theirs)]
    assert grads[0].isnan().any()
    torch.testing.assert_close(*grads, equal_nan=True)


def test_forward_mode_is_refused_by_name():
    with torch.autograd.forward_ad.dual_level():
        x = torch.autograd.forward_ad.make_dual(rows(EDGES.num_src, 2), torch.ones(EDGES.num_src, 2).double())
        for reduce in ("sum", "max"):
            with pytest.raises(RuntimeError, match=r"ramet\.nn\.aggregate has no forward-mode derivative"):
                aggregate(EDGES, x, reduce)


def test_rows_whose_sign_is_a_bit_of_the_tensor():
    x, weights = rows(EDGES.num_src, 2), rows(EDGES.num_edges)
    negative, grad = torch._neg_view(x), torch._neg_view(rows(EDGES.num_dst, 2))
    assert torch.equal(aggregate(EDGES, negative), aggregate(EDGES, -x))
    assert torch.equal(aggregate(EDGES, x, "sum", torch._neg_view(weights)), aggregate(EDGES, x, "sum", -weights))
    x.requires_grad_()
    (found,), (wanted,) = (torch.autograd.grad(aggregate(EDGES, x), x, g) for g in (grad, grad.clone()))
    assert torch.equal(found, wanted)
