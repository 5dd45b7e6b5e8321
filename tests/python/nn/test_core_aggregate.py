"""The engine's aggregation as Python gets it: tensors of every dtype, against torch in float64."""

import numpy as np
import pytest
from small_graphs import homogeneous

import ramet
from ramet import _core

torch = pytest.importorskip("torch")

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: 6e-2, torch.float16: 1e-2}
TORCH_REDUCE = {"sum": "sum", "mean": "mean", "max": "amax", "min": "amin"}


@pytest.fixture
def edges():
    """(BlockEdges, sources, destinations): 130 destinations, some of them without edges, 500 sources."""
    generator = torch.Generator().manual_seed(0)
    degrees = torch.randint(0, 11, (130,), generator=generator)
    indptr = torch.cat([torch.zeros(1, dtype=torch.int64), degrees.cumsum(0)])
    indices = torch.randint(0, 500, (int(indptr[-1]),), generator=generator, dtype=torch.int32)
    destinations = torch.repeat_interleave(torch.arange(130), degrees)
    return _core.BlockEdges(indptr, indices, 500), indices.long(), destinations


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("reduce", TORCH_REDUCE)
def test_aggregates_are_torchs(edges, dtype, reduce):
    block, sources, destinations = edges
    x = torch.randn(500, 25, 4).to(dtype)
    out = torch.full((130, 25, 4), 7.0, dtype=dtype)
    _core.aggregate(block, x, out, reduce, threads=2)
    rows = x.double()[sources]
    places = destinations.view(-1, 1, 1).expand_as(rows)
    zeros = torch.zeros(130, 25, 4, dtype=torch.float64)
    expected = zeros.scatter_reduce(0, places, rows, TORCH_REDUCE[reduce], include_self=False)
    torch.testing.assert_close(out.double(), expected, rtol=0, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("mean", [False, True])
def test_gradients_are_autograds(edges, dtype, mean):
    block, sources, destinations = edges
    weights = torch.randn(len(sources), 4).to(torch.float64 if dtype == torch.float64 else torch.float32)
    grad = torch.randn(130, 4, 8).to(dtype)
    out = torch.empty(500, 4, 8, dtype=dtype)
    _core.aggregate_back(block, grad, out, weights, mean, threads=2)
    x = torch.zeros(500, 4, 8, dtype=torch.float64, requires_grad=True)
    sums = torch.zeros(130, 4, 8, dtype=torch.float64).index_add(0, destinations, x[sources] * weights.unsqueeze(-1))
    degrees = destinations.bincount(minlength=130).clamp(min=1).view(-1, 1, 1)
    (sums / degrees if mean else sums).backward(grad.double())
    torch.testing.assert_close(out.double(), x.grad, rtol=0, atol=3 * TOLERANCE[dtype])


def test_the_edges_of_a_batch_are_its_blocks():
    batch = ramet.sample(homogeneous(), [5, 3, 900], [4, 3])
    for block in batch.blocks:
        edges = batch._core.block_edges(block.index, 0)
        assert edges is batch._core.block_edges(block.index, 0)
        assert (edges.num_src, edges.num_dst, edges.num_edges) == (block.num_src, block.num_dst, block.num_edges)
        assert np.array_equal(edges.indices, block.indices.numpy())
        assert not edges.is_transposed
        edges.transpose(threads=2)
        assert edges.is_transposed


def test_pooled_arrays_are_recycled():
    for dtype in ("float32", "float64", "float16", "int32", "int64"):
        array = _core.pooled([300, 7], dtype)
        assert array.shape == (300, 7)
        assert array.dtype == dtype
        assert array.flags.writeable
    with pytest.raises(ValueError, match="dtype is 'complex'"):
        _core.pooled([1], "complex")
