"""Ranks of loaders of subgraphs: each has its slice, and another number of ranks goes on from a state.
docs/semantics.md, sections 6 and 26."""

import itertools

import numpy as np
import pytest
import twin
from small_graphs import homogeneous

import ramet

pytest.importorskip("torch")

WORLD = 2
PARTS = np.arange(1000) % 30


def clusters(**options) -> list:
    return [(batch.input_id.tolist(), batch.n_id.tolist(), batch.e_id.tolist()) for batch in make_clusters(**options)]


def make_clusters(**options) -> ramet.ClusterLoader:
    return ramet.ClusterLoader(homogeneous(), PARTS, 7, shuffle=True, **options)


def make_saint(**options) -> ramet.SaintLoader:
    return ramet.SaintLoader(homogeneous(), "walk", 20, 5, sample_coverage=1, **options)


def subgraphs(loader) -> list:
    return [(b.epoch, b.input_id.tolist(), b.n_id.tolist(), b.node_norm.tolist()) for b in loader]


def saint(state: dict | None) -> tuple:
    """(batches, the state after the first of them)."""
    loader = make_saint()
    if state is not None:
        loader.load_state_dict(state)
    batches = iter(loader)
    seen = subgraphs(itertools.islice(batches, 1))
    state = loader.state_dict()
    return seen + subgraphs(batches), state


def test_a_rank_has_its_slice_of_the_clusters(world):
    found = world.call(clusters)
    batches = twin.global_batches(range(30), 7, shuffle=True, drop_last=False, seed=0, epoch=0)
    for rank, of_rank in enumerate(found):
        assert [c for c, *_ in of_rank] == [twin.slice_of(batch, rank, WORLD) for batch in batches]
        for of_batch, nodes, _ in of_rank:
            assert nodes == [v for c in of_batch for v in range(c, 1000, 30)]


def test_ranks_have_the_subgraphs_of_one_process(world):
    alone = subgraphs(make_saint(ranks=False))
    (first, state), (second, other) = world.call(saint, None)
    assert state == other and state["step"] == 2
    assert first == alone[::2]
    assert second[:2] == alone[1::2] and second[2][1:] == ([], [], [])


def test_another_number_of_ranks_goes_on(world):
    (_, state), _ = world.call(saint, None)
    loader = make_saint(ranks=False)
    loader.load_state_dict(state)
    assert subgraphs(loader) == subgraphs(make_saint(ranks=False))[2:]
    first, second = (found for found, _ in world.call(saint, state))
    assert [of for of_rank in (first, second) for _, of, *_ in of_rank] == [[2], [4], [3], []]
    for outcome, message in world.outcomes(saint, state | {"step": 1}):
        assert outcome == "failed" and "the state is at subgraph 1, where no step of 2 ranks begins" in message
