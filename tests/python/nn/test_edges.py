"""BlockEdges, and which edges a block, a type of a block and an edge_index have."""

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest
import torch
from block_edges import edge_index_of, random_edges
from small_graphs import CITES, WRITES, heterogeneous, homogeneous

import ramet
from ramet.nn import BlockEdges, aggregate, edge_checks, edges_of


@pytest.fixture(scope="module")
def batch():
    return ramet.sample(homogeneous(), list(range(50)), [4, 3])


@pytest.fixture(scope="module")
def typed():
    return ramet.sample(heterogeneous(), ("paper", list(range(30))), [4, 3])


def assert_of(edges, block, edge_index):
    assert (edges.num_src, edges.num_dst, edges.num_edges) == (block.num_src, block.num_dst, edge_index.shape[1])
    assert torch.equal(edge_index_of(edges), edge_index)
    assert edges.edge_order is None


def test_a_block_has_its_edges(batch):
    for block in batch.blocks:
        assert_of(edges_of(block), block, block.edge_index)
        assert edges_of(block) is edges_of(block) is edges_of(edges_of(block))
        assert edges_of(block).edge_weight is None


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


def test_a_type_of_a_block_is_a_block(typed):
    for block in typed.blocks:
        for t in typed.graph.edge_types:
            of_type = block[t]
            assert of_type is block[t]
            assert of_type.edge_type == t
            assert (of_type.num_src, of_type.num_dst) == (block.num_src[t[0]], block.num_dst[t[2]])
            assert of_type.num_edges == block.num_edges[t]
            for name in ("edge_index", "e_id", "position", "edge_weight", "indptr", "indices"):
                assert torch.equal(getattr(of_type, name), getattr(block, name)[t]), name
            assert torch.equal(of_type.n_id, block.n_id[t[0]])
            assert of_type.has_weights == block.has_weights
            assert of_type.plan is of_type.group is None
            assert_of(edges_of(of_type), of_type, of_type.edge_index)
    assert repr(block[CITES]) == f"Block({block.num_src['paper']} -> {block.num_dst['paper']} of paper-cites-paper)"


def test_types_that_are_not_there(batch, typed):
    with pytest.raises(KeyError, match=r"the graph has edges of \[.*'cites'"):
        typed.blocks[0]["paper", "likes", "paper"]
    with pytest.raises(KeyError, match=r"this is the block of .*'writes'.* alone"):
        typed.blocks[0][WRITES][CITES]
    with pytest.raises(ValueError, match=r"the block has edges of 3 types: block\[edge_type\]"):
        edges_of(typed.blocks[0])
    with pytest.raises(TypeError, match="block is a list, expected a Block"):
        edges_of([1])
    with pytest.raises(KeyError, match=r"'w'; there is \[\]"):
        typed.blocks[0][WRITES].table("w")


def test_tables_of_a_type():
    edges = torch.randint(0, 9, (2, 40)).numpy()
    weights = {"w": torch.arange(40.0).numpy()}
    graph = ramet.from_edge_index({CITES: edges, WRITES: edges}, {"paper": 9, "author": 9}, edges={CITES: weights})
    block = ramet.sample(graph, ("paper", [0, 1, 2]), [3]).blocks[0]
    assert torch.equal(block[CITES].table("w"), block.table("w")[CITES])


def test_an_edge_index_is_sorted_by_destination():
    edge_index = torch.tensor([[3, 1, 0, 2, 1], [2, 0, 2, 0, 3]])
    edges = edges_of(edge_index, num_src=4, num_dst=5)
    assert edges.indptr.tolist() == [0, 2, 2, 4, 5, 5]
    assert edges.indices.tolist() == [1, 2, 3, 0, 1]
    assert edges.edge_order.tolist() == [1, 3, 0, 2, 4]
    assert edges_of(edge_index, num_src=4, num_dst=5) is edges
    assert edges_of(edge_index, num_src=6, num_dst=5) is not edges
    edge_index[0, 0] = 0
    assert edges_of(edge_index, num_src=4, num_dst=5).indices.tolist() == [1, 2, 0, 0, 1]
    with pytest.raises(TypeError, match="says neither num_src nor num_dst"):
        edges_of(edge_index)


@pytest.mark.parametrize("inference", [False, True])
def test_an_edge_index_in_order_needs_no_order(inference):
    with torch.inference_mode(inference):
        edges = random_edges()
        found = edges_of(edge_index_of(edges), edges.num_src, edges.num_dst)
        assert found.edge_order is None
        assert torch.equal(found.indptr, edges.indptr) and torch.equal(found.indices, edges.indices)


def test_a_blocks_edge_index_is_the_block(batch, typed):
    for block in (batch.blocks[0], typed.blocks[1][WRITES]):
        edge_index = block.edge_index
        edges = edges_of(edge_index, block.num_src, block.num_dst)
        assert_of(edges, block, edge_index)
        shared = edges_of(block)
        assert edges.indices.data_ptr() == shared.indices.data_ptr()
        assert edges_of(edge_index, block.num_src, block.num_src).num_dst == block.num_src  # as PyG counts
    edge_index = typed.blocks[1].edge_index[WRITES]
    assert_of(edges_of(edge_index, block.num_src, block.num_dst), block, edge_index)


def test_nothing_keeps_a_batch_alive():
    batch = ramet.sample(homogeneous(), list(range(50)), [4, 3])
    block = batch.blocks[0]
    edges, edge_index = edges_of(block), block.edge_index
    alive = [weakref.ref(batch), weakref.ref(block)]
    gc.disable()
    try:
        del batch, block
        assert [ref() for ref in alive] == [None, None]  # without the collector: there are no cycles
    finally:
        gc.enable()
    again = edges_of(edge_index, edges.num_src, edges.num_dst)  # sorts
    assert torch.equal(again.indptr, edges.indptr) and torch.equal(again.indices, edges.indices)


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        (([0, 1], [0.0], 1), TypeError, r"indices is float32 \[1\], expected a tensor of torch\.int32"),
        (([0, 1], [[0]], 1), TypeError, r"indices is int32 \[1, 1\]"),
        (([], [], 1), ValueError, r"indptr is int64\[0\], expected int64\[num_dst \+ 1\]"),
        (([0, 1], [0, 0], 1), ValueError, "indptr ends with 1, but there are 2 indices"),
        (([1, 1], [0], 1), ValueError, r"indptr\[0\] is 1, expected 0"),
        (([0, 2, 1, 2], [0, 0], 1), ValueError, r"indptr\[2\] is 1, expected at least 2"),
        (([0, 2], [0, 3], 3), IndexError, r"indices\[1\] is 3, outside \[0, 3\)"),
        (([0, 2], [0, -1], 3), IndexError, r"indices\[1\] is -1, outside \[0, 3\)"),
        (([0], [], -1), ValueError, "num_src is -1, expected an integer from 0"),
        (([0], [], 2.0), ValueError, "num_src is 2.0, expected an integer from 0"),
    ],
    ids=str,
)
def test_arrays_that_are_no_edges(parts, error, message):
    indptr, indices, num_src = parts
    is_float = bool(indices) and isinstance(indices[0], float)
    indices = torch.tensor(indices, dtype=torch.float32 if is_float else torch.int32)
    with pytest.raises(error, match=message):
        BlockEdges(torch.tensor(indptr, dtype=torch.int64), indices, num_src)


@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        (torch.ones(3), ValueError, r"edge_weight has shape \[3\], expected \[2\]"),
        (torch.ones(2, 1), ValueError, r"edge_weight has shape \[2, 1\]"),
        (torch.ones(2).int(), TypeError, r"edge_weight is int32 \[2\]"),
        ([1.0, 2.0], TypeError, "edge_weight is a list"),
        (torch.ones(2, device="meta"), ValueError, "edge_weight lies on meta, but indices on cpu"),
    ],
    ids=str,
)
def test_weights_that_are_none(weight, error, message):
    with pytest.raises(error, match=message):
        BlockEdges(torch.tensor([0, 2]), torch.tensor([0, 1], dtype=torch.int32), 2, weight)


def test_counts_may_be_numpys():
    edges = BlockEdges(torch.tensor([0, 2]), torch.tensor([0, 1], dtype=torch.int32), np.int64(2))
    assert type(edges.num_src) is int and edges.num_src == 2
    assert edges_of(torch.tensor([[0], [1]]), np.int64(4), np.int32(3)).num_dst == 3


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        (([], [], 1), ValueError, r"indptr has the ends \[\], expected \[0, 0\]"),
        (([0, 1], [0, 0], 1), ValueError, r"indptr has the ends \[0, 1\], expected \[0, 2\]"),
        (([1, 1], [0], 1), ValueError, r"indptr has the ends \[1, 1\], expected \[0, 1\]"),
        (([0, 2, 1, 2], [0, 0], 1), ValueError, r"indptr falls after indptr\[1\]"),
        (([0, 2], [0, 3], 3), IndexError, r"indices\[1\] is 3, but num_src is 3"),
        (([0, 2], [0, -1], 3), IndexError, r"indices\[1\] is -1, but num_src is 3"),
    ],
    ids=str,
)
def test_values_of_a_device_that_are_no_edges(parts, error, message):
    indptr, indices, num_src = parts
    with pytest.raises(error, match=message):
        edge_checks.check_values(torch.tensor(indptr, dtype=torch.int64), torch.tensor(indices), num_src)


def test_an_edge_index_of_a_device():
    """Whose edges torch's operators check and sort."""
    edge_index = torch.randint(0, 30, (2, 400), generator=torch.Generator().manual_seed(0))
    edge_checks.check_ends(edge_index, 30, 30)
    ours, torchs = BlockEdges.from_edge_index(edge_index, 30, 32), BlockEdges._sorted(edge_index, 30, 32)
    for name in ("indptr", "indices", "edge_order"):
        assert torch.equal(getattr(ours, name), getattr(torchs, name)), name
    for num_src, num_dst, message in (
        (29, 30, r"edge_index\[0\]\[\d+\] is 29"),
        (30, 29, r"edge_index\[1\]\[\d+\] is 29"),
    ):
        with pytest.raises(IndexError, match=message):
            edge_checks.check_ends(edge_index, num_src, num_dst)


@pytest.mark.parametrize(
    ("edge_index", "error", "message"),
    [
        (torch.zeros(2, 3), TypeError, r"edge_index is float32 \[2, 3\], expected integers \[2, num_edges\]"),
        (torch.zeros(3, dtype=torch.int64), TypeError, r"edge_index is int64 \[3\]"),
        (torch.zeros(3, 2, dtype=torch.int64), ValueError, r"edge_index has shape \[3, 2\]"),
        (torch.tensor([[0, 4], [0, 0]]), IndexError, r"edge_index\[0, 1\] is 4, outside \[0, 4\)"),
        (torch.tensor([[0, 0], [5, 0]]), IndexError, r"edge_index\[1, 0\] is 5, outside \[0, 5\)"),
        (torch.tensor([[0, 0], [-1, 0]]), IndexError, r"edge_index\[1, 0\] is -1"),
    ],
    ids=str,
)
def test_tensors_that_are_no_edge_index(edge_index, error, message):
    with pytest.raises(error, match=message):
        BlockEdges.from_edge_index(edge_index, 4, 5)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("is_sorted", [False, True])
def test_an_edge_index_is_not_kept(dtype, is_sorted):
    edge_index = torch.tensor([[0, 1, 2, 0], [0, 0, 1, 2] if is_sorted else [2, 0, 1, 0]], dtype=dtype)
    edges = edges_of(edge_index, 3, 3)
    before, alive = edges.indices.clone(), weakref.ref(edge_index)
    edge_index.zero_()
    assert torch.equal(edges.indices, before)
    del edge_index
    assert alive() is None


def test_what_inference_mode_derives_can_be_trained_on():
    edge_index = torch.tensor([[0, 1, 2, 0], [2, 0, 1, 0]])
    block = ramet.sample(homogeneous(), list(range(50)), [4], sampler=ramet.Labor(iterations=1)).blocks[0]
    with torch.inference_mode():
        edges, own = edges_of(edge_index, 3, 3), edges_of(block)
        derived = [edges.edge_order, edges.destinations, own.edge_weight, own.sum_weight, own.with_self_loops[1]]
    assert not any(tensor.is_inference() for tensor in derived)


def test_edges_can_be_copied_and_pickled():
    edges = random_edges()
    assert edges.degrees.sum() == edges.num_edges
    for copied in (copy.deepcopy(edges), pickle.loads(pickle.dumps(edges))):
        assert torch.equal(edge_index_of(copied), edge_index_of(edges)) and copied.num_src == edges.num_src
        assert torch.equal(aggregate(copied, torch.eye(40)), aggregate(edges, torch.eye(40)))


def test_an_indptr_that_was_written_to_is_refused():
    for position, value in ((2, 10**12), (2, -1), (-1, 1_000), (0, 1)):
        edges = random_edges()
        edges.indptr[position] = value
        with pytest.raises(ValueError, match=r"indptr (has the ends|falls after)"):
            _ = edges.destinations


@pytest.mark.parametrize("inference", [False, True])
def test_edges_of_an_edge_index_are_never_old(inference):
    """Also where torch counts no writes."""
    with torch.inference_mode(inference):
        edge_index = torch.tensor([[0, 1, 2], [0, 1, 2]])
        assert edges_of(edge_index, 3, 3).indices.tolist() == [0, 1, 2]
        edge_index[0] = 0
        assert edges_of(edge_index, 3, 3).indices.tolist() == [0, 0, 0]
        block = ramet.sample(homogeneous(), list(range(50)), [4]).blocks[0]
        edge_index = block.edge_index
        edge_index[0] = 0
        assert not edges_of(edge_index, block.num_src, block.num_dst).indices.any()
