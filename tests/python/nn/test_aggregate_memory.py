"""What ramet.nn.aggregate promises beside its values: the same bits for any threads, recycled memory, no cycles."""

import gc
import resource
import weakref

import pytest
import torch
from block_edges import random_edges
from tries import least

from ramet import _core
from ramet._support.old_torch import IS_OLD
from ramet.nn import BlockEdges, aggregate, edge_softmax

REDUCTIONS = ["sum", "mean", "max", "min", "softmax", "weighted sum", "weighted mean"]


@pytest.fixture(scope="module")
def edges() -> BlockEdges:
    """Large enough for several threads, with one destination that has a third of the edges."""
    edges = random_edges(3_000, 1_000, 30_000)
    hub = torch.arange(15_000, dtype=torch.int32) % 3_000
    indptr = torch.cat([torch.zeros(1, dtype=torch.int64), edges.indptr + len(hub)])
    return BlockEdges(indptr, torch.cat([hub, edges.indices]), 3_000)


@pytest.fixture(scope="module")
def many_edges() -> BlockEdges:
    """Enough to be transposed by three threads, which begins with 65,536 for each."""
    return random_edges(70_000, 5_000, 200_000)


def bits_of(edges, x, weights, reduce, grad) -> list[bytes]:
    """Of the result and of all gradients."""
    x, weights = x.clone().requires_grad_(), weights.clone().requires_grad_()
    with_weights = [] if reduce in ("sum", "mean", "max", "min") else [weights]
    out = aggregate(edges, x, reduce.removeprefix("weighted "), *with_weights)
    found = [out, *torch.autograd.grad(out, [x, *with_weights], grad)]
    return [tensor.detach().view(torch.uint8).numpy().tobytes() for tensor in found]


def assert_same_for_any_threads(edges, reduce, dtype, width) -> None:
    generator = torch.Generator().manual_seed(0)
    x, grad = (torch.randn(count, width, generator=generator).to(dtype) for count in (edges.num_src, edges.num_dst))
    weights = torch.rand(edges.num_edges, 2, generator=generator)
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            fresh = BlockEdges(edges.indptr, edges.indices, edges.num_src)  # transposed by as many
            found.append(bits_of(fresh, x, weights, reduce, grad))
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_bits_do_not_depend_on_threads(edges, reduce, dtype):
    assert_same_for_any_threads(edges, reduce, dtype, width=12)


@pytest.mark.parametrize("reduce", ["sum", "max", "weighted mean"])
def test_bits_of_many_edges_do_not_depend_on_threads(many_edges, reduce):
    assert_same_for_any_threads(many_edges, reduce, torch.float32, width=4)


def assert_recycled(nbytes: int, step) -> None:
    """A step, whose results have so many bytes, takes few page faults after the first ones."""

    def faults_of_ten_steps() -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(10):
            step()
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    faults_of_ten_steps()
    fresh = 10 * nbytes // resource.getpagesize()
    assert least(faults_of_ten_steps, fresh / 20) < fresh / 20


def test_large_results_and_gradients_are_recycled(edges):
    x = torch.ones(edges.num_src, 256, requires_grad=True)
    grad = torch.ones(edges.num_dst, 256)
    assert_recycled(x.nbytes + grad.nbytes, lambda: torch.autograd.grad(aggregate(edges, x), x, grad))


def test_what_belongs_to_edges_is_recycled(edges):
    scores = torch.linspace(-1, 1, 8 * edges.num_edges).view(-1, 8).requires_grad_()
    x, grad = torch.ones(edges.num_src, 8), torch.ones(edges.num_edges, 8)
    of_rows = torch.ones(edges.num_dst, 8)

    def step():
        torch.autograd.grad(edge_softmax(edges, scores), scores, grad)
        torch.autograd.grad(aggregate(edges, x, "sum", scores), scores, of_rows)

    assert_recycled(3 * scores.nbytes, step)


def test_a_view_keeps_memory_from_being_reused(edges):
    x = torch.ones(edges.num_src, 256)
    view = aggregate(edges, x, "max")[5:6, 3:]
    others = [aggregate(edges, x * 2, "max") for _ in range(3)]
    assert (view == 1).all()
    assert all(other.data_ptr() != view.data_ptr() for other in others)


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_nothing_waits_for_the_garbage_collector(edges, reduce):
    x, weights = torch.ones(edges.num_src, 8, requires_grad=True), torch.ones(edges.num_edges, requires_grad=True)
    with_weights = [] if reduce in ("sum", "mean", "max", "min") else [weights]
    fresh = BlockEdges(edges.indptr.clone(), edges.indices.clone(), edges.num_src)
    gc.collect()
    gc.disable()
    try:
        out = aggregate(fresh, x, reduce.removeprefix("weighted "), *with_weights)
        out.sum().backward()
        alive = [weakref.ref(fresh), weakref.ref(fresh.indices), weakref.ref(out)]
        del out, fresh
        assert [ref() for ref in alive] == [None] * 3
    finally:
        gc.enable()


@pytest.mark.skipif(IS_OLD, reason="needs torch.library.custom_op")
def test_operators_keep_no_edges_alive(edges):
    indptr, indices = edges.indptr.clone(), edges.indices.clone()
    x = torch.ones(edges.num_src, 8, requires_grad=True)
    torch.ops.ramet.aggregate(indptr, indices, edges.num_src, x, None, "mean").sum().backward()
    alive = [weakref.ref(indptr), weakref.ref(indices)]
    del indptr, indices
    assert [ref() for ref in alive] == [None] * 2


def test_pooled_arrays_are_recycled():
    for dtype in ("float32", "float64", "float16", "int32", "int64"):
        array = _core.pooled([300, 7], dtype)
        assert array.shape == (300, 7)
        assert array.dtype == dtype
        assert array.flags.writeable
    with pytest.raises(ValueError, match="dtype is 'complex'"):
        _core.pooled([1], "complex")
