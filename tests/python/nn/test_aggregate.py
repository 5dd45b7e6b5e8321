"""ramet.nn.aggregate against a loop over destinations, and against PyG."""

import pytest

torch = pytest.importorskip("torch")

from block_edges import loop_aggregate, random_edges  # noqa: E402  (needs torch)

from ramet.nn import aggregate  # noqa: E402

SIZES = [(40, 25, 150), (1, 1, 1), (5, 3, 0), (0, 0, 0), (0, 4, 0), (300, 2, 900)]
REDUCTIONS = ["sum", "mean", "max", "min"]


def rows(count: int, *shape: int, dtype=torch.float64, seed=1):
    return torch.randn(count, *shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_a_reduction_is_that_of_the_loop(reduce, size):
    edges = random_edges(*size)
    x = rows(edges.num_src + 2, 6)
    torch.testing.assert_close(aggregate(edges, x, reduce), loop_aggregate(edges, x, reduce), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("heads", [None, 1, 3])
@pytest.mark.parametrize("reduce", ["sum", "mean", "softmax"])
def test_weights_count(reduce, heads):
    edges = random_edges()
    x, weights = rows(edges.num_src, 6), rows(edges.num_edges, *([] if heads is None else [heads]), seed=2)
    wanted = loop_aggregate(edges, x, reduce, weights.view(edges.num_edges, -1))
    torch.testing.assert_close(aggregate(edges, x, reduce, weights), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_the_gradient_of_rows(reduce, size):
    edges = random_edges(*size)
    x = rows(edges.num_src + 2, 3).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: aggregate(edges, x, reduce), x)


@pytest.mark.parametrize("heads", [None, 2])
@pytest.mark.parametrize("reduce", ["sum", "mean", "softmax"])
def test_the_gradients_of_rows_and_weights(reduce, heads):
    edges = random_edges(7, 5, 20)
    x = rows(edges.num_src, 4).requires_grad_()
    weights = rows(edges.num_edges, *([] if heads is None else [heads]), seed=2).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, w: aggregate(edges, x, reduce, w), (x, weights))
