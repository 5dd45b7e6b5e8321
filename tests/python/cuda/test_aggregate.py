"""ramet.nn.aggregate on CUDA tensors: the CPU's results to 1e-4, and the same bits each time."""

import pytest
import torch
from block_edges import edge_index_of, random_edges

from ramet._support import torch_devices as devices
from ramet.nn import BlockEdges, aggregate, device_sums, edges_of

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch has no GPU")


def on_gpu(edges: BlockEdges) -> BlockEdges:
    return BlockEdges(edges.indptr.cuda(), edges.indices.cuda(), edges.num_src)


def results(edges, x, weights, reduce, grad) -> list:
    x, weights = x.clone().requires_grad_(), weights.clone().requires_grad_()
    with_weights = [] if reduce in ("sum", "mean", "max", "min") else [weights]
    out = aggregate(edges, x, reduce.removeprefix("weighted "), *with_weights)
    return [out.detach(), *torch.autograd.grad(out, [x, *with_weights], grad)]


@needs_cuda
@pytest.mark.parametrize("size", [(400, 250, 5_000), (300, 2, 900), (5, 3, 0), (0, 4, 0)], ids=str)
@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "softmax", "weighted sum", "weighted mean"])
def test_a_gpu_has_the_cpus_results_each_time(reduce, size):
    edges, generator = random_edges(*size), torch.Generator().manual_seed(0)
    x, grad = (torch.randn(count, 32, generator=generator) for count in (edges.num_src, edges.num_dst))
    weights = torch.rand(edges.num_edges, 4, generator=generator)
    wanted = results(edges, x, weights, reduce, grad)
    runs = [results(on_gpu(edges), x.cuda(), weights.cuda(), reduce, grad.cuda()) for _ in range(3)]
    for first, *others in zip(*runs, strict=True):
        assert all(torch.equal(first, other) for other in others)
    for found, expected in zip(runs[0], wanted, strict=True):
        torch.testing.assert_close(found.cpu(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_sums_of_rows_have_the_bits_of_the_cpus(gpu, dtype):
    """docs/semantics.md, section 20."""
    edges, generator = random_edges(400, 250, 5_000), torch.Generator().manual_seed(0)
    x, weights = (torch.randn(count, 12, generator=generator) for count in (edges.num_src, edges.num_edges))
    for of_edges in (None, weights[:, :3].contiguous()):
        there = [devices.move(tensor, gpu) for tensor in (edges.indptr, edges.indices, x.to(dtype))]
        assert device_sums.takes(*there)
        found = device_sums.sums_of_rows(*there, None if of_edges is None else devices.move(of_edges, gpu))
        wanted = aggregate(edges, x.to(dtype).float(), "sum", of_edges)
        assert torch.equal(devices.on_host(found), wanted)


@needs_cuda
def test_edges_of_a_gpus_edge_index():
    edges = random_edges()
    edge_index = edge_index_of(edges)[:, torch.randperm(edges.num_edges)]
    on_cpu, on_device = (edges_of(e, edges.num_src, edges.num_dst) for e in (edge_index, edge_index.cuda()))
    for name in ("indptr", "indices", "edge_order"):
        assert torch.equal(getattr(on_device, name).cpu(), getattr(on_cpu, name)), name
    with pytest.raises(ValueError, match="x lies on cpu, but the block's edges on cuda"):
        aggregate(on_device, torch.ones(edges.num_src, 2))
