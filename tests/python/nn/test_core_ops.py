"""The engine's kernels against their twin of torch's operators: the same bits, by docs/semantics.md, section 20."""

import pytest
import torch
from block_edges import random_edges

from ramet import _core
from ramet.nn import core_ops, torch_ops

DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]
SIZES = [(40, 25, 150), (300, 2, 900), (5, 3, 0), (0, 4, 0)]


def rows(count: int, width: int, dtype, seed: int):
    """Some values twice, and both zeros."""
    x = torch.randn(count, width, generator=torch.Generator().manual_seed(seed)).mul_(4).to(dtype)
    return torch.where(x.abs() < 0.5, x * 0, x)


def weights_of(edges, heads, dtype):
    if heads is None:
        return None
    dtype = torch.float64 if dtype == torch.float64 else torch.float32
    return torch.rand(edges.num_edges, heads, generator=torch.Generator().manual_seed(9)).to(dtype)


def assert_same(function: str, *arguments) -> None:
    ours, twins = (getattr(ops, function)(*arguments) for ops in (core_ops, torch_ops))
    assert ours.dtype == twins.dtype and ours.shape == twins.shape
    assert torch.equal(ours, twins), (ours - twins).abs().max()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("width", [1, 6, 48, 130])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_reductions_and_their_gradients(size, width, dtype):
    edges = random_edges(*size)
    x, grad = rows(edges.num_src + 3, width, dtype, 1), rows(edges.num_dst, width, dtype, 2)
    for reduce in ("sum", "mean", "max", "min"):
        assert_same("aggregate", edges, x, reduce)
    for heads in (None, 1, 2):
        if width % (heads or 1):
            continue
        weights = weights_of(edges, heads, dtype)
        for reduce in ("sum", "mean"):
            assert_same("aggregate", edges, x, reduce, weights)
            assert_same("aggregate_back", edges, grad, len(x), weights, reduce == "mean")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("reduce", ["max", "min"])
def test_the_gradient_of_extremes(reduce, dtype):
    edges = random_edges()
    x, grad = rows(edges.num_src + 3, 48, dtype, 1), rows(edges.num_dst, 48, dtype, 2)
    x = x.round()  # ties
    assert_same("extremes_back", edges, x, core_ops.aggregate(edges, x, reduce), grad)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("heads", [1, 3])
def test_products_of_an_edges_ends(heads, dtype):
    edges = random_edges()
    dst, src = rows(edges.num_dst, 48, dtype, 1), rows(edges.num_src + 3, 48, dtype, 2)
    for mean in (False, True):
        ours, twins = (ops.edge_dots(edges, dst, src, heads, mean) for ops in (core_ops, torch_ops))
        torch.testing.assert_close(ours, twins, rtol=1e-5, atol=1e-4)


def test_memory_that_a_call_writes_to_is_never_converted():
    """A copy would take what is written, and the caller's memory stay as it was."""
    rows, out = torch.ones(4, 3).numpy(), torch.zeros(2, 6).numpy()[:, ::2]
    ids = torch.tensor([0, 3], dtype=torch.int32).numpy()
    _core.take_rows(rows, ids, out.copy(), threads=1)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        _core.take_rows(rows, ids, out, threads=1)
