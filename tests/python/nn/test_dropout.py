"""Dropout by node against a twin that is written from docs/semantics.md, section 11."""

import functools

import numpy as np
import pytest
import torch
from comparison import odd
from small_graphs import homogeneous
from twin import absorb, encode_name, fnv1a

import ramet
from ramet.distributed import Dropout, dropout

SEED, EPOCH, STEP = 2**64 - 1, 4, 17


@pytest.fixture(scope="module")
def graph():
    return homogeneous()


def batch_of(graph, seeds=(5, 3, 900), fanouts=(4, 3)):
    return ramet.sample(graph, seeds, list(fanouts), seed=SEED, epoch=EPOCH, step=STEP)


def dropped(nodes, width, hop, salt, node_type, p) -> np.ndarray:
    """The twin."""
    key = functools.reduce(absorb, (SEED, EPOCH, STEP, hop, salt, fnv1a(encode_name(node_type))), 7)
    result = np.zeros((len(nodes), width), bool)
    for i, node in enumerate(nodes):
        for column in range(width):
            word = absorb(absorb(key, node), column // 2)
            bits = word >> 32 if column % 2 else word % 2**32
            result[i, column] = bits < int(p * 2**32)
    return result


def is_dropped(x, block, p, **options) -> np.ndarray:
    """The mask, after a look at the values."""
    out = dropout(x, block, p, **options)
    mask = (out == 0).numpy()
    torch.testing.assert_close(out[~torch.from_numpy(mask)], (x / (1 - p))[~torch.from_numpy(mask)])
    return mask


@pytest.mark.parametrize(("p", "salt", "width"), [(0.5, 0, 8), (0.3, 7, 5), (0.9, 2**63, 1)])
def test_the_mask_is_the_twins(graph, p, salt, width):
    batch = batch_of(graph)
    for hop, block in zip((1, 0), batch.blocks):
        for count in (block.num_src, block.num_dst, 0):
            mask = is_dropped(torch.ones(count, width), block, p, salt=salt)
            assert (mask == dropped(batch.n_id[:count].tolist(), width, hop, salt, "node", p)).all()


def test_types_have_masks_of_their_own():
    graph, _ = odd()
    node_type = graph.node_types[-1]
    batch = ramet.sample(graph, (node_type, [0, 2, 1]), [2], seed=SEED, epoch=EPOCH, step=STEP)
    for name in graph.node_types:
        nodes = batch.n_id[name]
        mask = is_dropped(torch.ones(len(nodes), 6), batch.blocks[0], 0.5, node_type=name)
        assert (mask == dropped(nodes.tolist(), 6, 0, 0, name, 0.5)).all()


def test_the_rest_of_a_rows_shape_is_flattened(graph):
    block = batch_of(graph).blocks[0]
    x = torch.ones(block.num_dst, 3, 4)
    assert (is_dropped(x, block, 0.5).reshape(-1, 12) == is_dropped(x.flatten(1), block, 0.5)).all()
    assert (is_dropped(x[:, 0, 0], block, 0.5) == is_dropped(x[:, :1, 0], block, 0.5)[:, 0]).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_every_floating_dtype(graph, dtype):
    block = batch_of(graph).blocks[0]
    x = torch.randn(block.num_dst, 40).to(getattr(torch, dtype))
    out = dropout(x, block, 0.25)
    assert out.dtype == x.dtype
    kept = dropout(torch.ones(block.num_dst, 40), block, 0.25) != 0
    torch.testing.assert_close(out, torch.where(kept, x / 0.75, 0))


def test_the_gradient_is_dropped_as_the_rows_are(graph):
    block = batch_of(graph).blocks[0]
    x = torch.randn(block.num_dst, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: dropout(x, block, 0.4), x)
    assert torch.autograd.gradgradcheck(lambda x: dropout(x, block, 0.4) ** 2, x)


def test_rows_that_hold_no_numbers_are_dropped_all_the_same(graph):
    block = batch_of(graph).blocks[0]
    assert (dropout(torch.full((block.num_dst, 4), torch.nan), block, 1) == 0).all()


def test_without_training_and_at_the_ends(graph):
    block = batch_of(graph).blocks[0]
    x = torch.randn(block.num_dst, 6, requires_grad=True)
    assert dropout(x, block, 0.5, training=False) is x
    assert dropout(x, block, 0) is x
    nothing = dropout(x, block, 1)
    nothing.sum().backward()
    assert (nothing == 0).all() and (x.grad == 0).all()


def test_the_module(graph):
    block = batch_of(graph).blocks[0]
    x = torch.randn(block.num_dst, 6)
    module = Dropout(0.3, salt=4)
    assert torch.equal(module(x, block), dropout(x, block, 0.3, salt=4))
    assert module.eval()(x, block) is x
    assert repr(module) == "Dropout(p=0.3, salt=4)"


def test_what_is_refused(graph):
    block = batch_of(graph).blocks[0]
    x = torch.ones(block.num_dst, 2)
    for p in (-0.1, 1.5, float("nan")):
        with pytest.raises(ValueError, match=r"p is .*; it must lie in \[0, 1\]"):
            dropout(x, block, p)
        with pytest.raises(ValueError, match=r"p is .*; it must lie in \[0, 1\]"):
            Dropout(p)
    with pytest.raises(ValueError, match=r"x has 5000 rows, but the batch has \d+ nodes"):
        dropout(torch.ones(5000, 2), block)
    cooperative = next(iter(ramet.NeighborLoader(graph, [2], "train", 10, ranks=ramet.Cooperate()))).blocks[0]
    with pytest.raises(ValueError, match=r"x has 7 rows, but this rank has \d+ at the input of the block and 10 at"):
        dropout(torch.ones(7, 2), cooperative)
    with pytest.raises(ValueError, match=r"x is torch\.int64"):
        dropout(x.long(), block)
    with pytest.raises(ValueError, match="salt is -1"):
        dropout(x, block, salt=-1)
    with pytest.raises(ValueError, match="node_type is 'paper', but the graph has one type"):
        dropout(x, block, node_type="paper")
    hetero, _ = odd()
    block = ramet.sample(hetero, (hetero.node_types[0], [0]), [2]).blocks[0]
    with pytest.raises(ValueError, match="node_type is None; the graph has"):
        dropout(torch.ones(1, 2), block)
