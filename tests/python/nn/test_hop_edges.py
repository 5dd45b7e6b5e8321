"""An edge_index knows its hops as long as it is what the loader made (docs/pyg.md, "Rows that nobody needs")."""

import gc

import pytest
import torch

from ramet.loading import hops
from ramet.loading.hops import Hops, hop_edges_of, remember_hops
from ramet.nn import edges_of

HOPS = Hops.of_counts([2, 2, 1], [2, 2, 1], [3, 2])


def edges(ends=((2, 3, 2, 4, 0), (0, 0, 1, 2, 3))):
    """2 seeds, 0 and 1; then 2 and 3; then 4."""
    return remember_hops(torch.tensor(ends), HOPS)


def test_counts_add_up():
    assert HOPS == ((2, 4, 5), (2, 4, 5), (0, 3, 5))
    assert HOPS.of_first(3) == HOPS.within(1) == ((2, 4), (2, 4), (0, 3))
    assert HOPS.of_first(4) is None


def test_views_of_first_edges_know_their_hops():
    given = edges()
    assert hop_edges_of(given).hops == hop_edges_of(given[:, :]).hops == HOPS
    assert hop_edges_of(given[:, :3]).hops == hop_edges_of(given.narrow(1, 0, 3)).hops == HOPS.within(1)
    with torch.inference_mode():
        assert hop_edges_of(given[:, :3]).hops == HOPS.within(1)


def test_nothing_else_does():
    given = edges()
    others = [given[:, 1:4], given[:, :4], given[0], given[:, [0, 1]], given.flip(0), given.clone(), given[:1, :3]]
    others += [given.t(), given.float(), given[:, ::2], torch.stack([given[0], given[1]]), given.view(torch.int32)]
    assert not any(hop_edges_of(other) for other in [*others, None, {}])


@pytest.mark.parametrize("write", [lambda e: e[0].fill_(0), lambda e: e.add_(0), lambda e: e[:, 4:].zero_()])
def test_writes_end_it(write):
    given = edges()
    first = given[:, :3]
    write(given)
    assert hop_edges_of(given) is hop_edges_of(first) is None


def test_blocks_are_those_of_the_same_edges():
    given = edges()
    for count, nodes in ((5, (5, 5)), (3, (4, 2)), (3, (5, 4)), (3, (5, 5)), (0, (3, 3))):
        block = edges_of(given[:, :count], *nodes)
        expected = edges_of(given[:, :count].clone(), *nodes)
        assert torch.equal(block.indptr, expected.indptr)
        assert torch.equal(block.indices, expected.indices)
        assert (block.num_src, block.num_dst, block.edge_order) == (*nodes, None)
    assert edges_of(given, 5, 5) is edges_of(given, 5, 5)
    with pytest.raises(IndexError, match="outside"):
        edges_of(given[:, :3], 3, 2)


def test_edges_in_another_order_within_their_hops():
    block = edges_of(edges(((2, 2, 3, 0, 4), (1, 0, 0, 3, 2)))[:, :3], 4, 2)
    assert block.edge_order.tolist() == [1, 2, 0]
    assert block.indices.tolist() == [2, 3, 2]


def test_nothing_is_kept_alive():
    before = len(hops._known)
    given = edges()
    edges_of(given, 5, 5)
    edges_of(given[:, :3], 4, 2)
    del given
    gc.collect()
    assert len(hops._known) == before
