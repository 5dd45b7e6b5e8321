"""Ranks that cooperate, with disjoint trees and times: what they make is what one process makes. docs/semantics.md,
sections 10, 15 and 16."""

import itertools

import numpy as np
import pytest
from small_graphs import NUM_NODES, homogeneous
from timed_graphs import some_times, timed_pair, timed_types
from together import Together, assert_same, random_ownership

import ramet

SAMPLERS = (
    ramet.Uniform(),
    ramet.Labor(2, table="w"),
    ramet.Uniform(replace=True),
    ramet.Weighted("w", dependent=3),
    ramet.Labor(1),
)
TIMES = (
    None,
    ramet.Time("time"),
    ramet.Time("time", monotonic=True),
    ramet.Time("time", window=12, comparison=">", monotonic=True),
    ramet.Time("time", "last", monotonic=True),
)


def windows(count: int) -> np.ndarray:
    return np.sort(np.stack([some_times(count, 1), some_times(count, 2)], 1), axis=1)


@pytest.mark.parametrize("case", range(20))
def test_trees_of_ranks_are_those_of_one_process(case):
    """Times of edges and of nodes, in sorted rows or not; seeds with times or windows of their own."""
    random = np.random.default_rng(case)
    time, num_ranks = TIMES[case // 4], (2, 3, 3, 7)[case % 4]
    sampler = SAMPLERS[0 if time is not None and time.strategy == "last" else case % 5]
    graph, _ = timed_pair("edges" if case % 2 else "nodes", case % 3 == 0)
    seeds = random.integers(0, 200, 30)
    given = None
    if time is not None:
        given = some_times(30, 9) if time.window is not None or case % 3 > 0 else windows(30)
    group = Together(
        graph,
        num_ranks,
        ownership=random_ownership(random, 200, num_ranks),
        num_neighbors=[4, 3, 2],
        input_nodes=seeds,
        batch_size=11,
        sampler=sampler,
        disjoint=True,
        expand=("every", "once")[(case + case // 4) % 2],
        time=time,
        input_time=given,
    )
    for together, alone in group.pairs():
        assert_same(together, alone)


@pytest.mark.parametrize("of, sort", list(itertools.product(("edges", "nodes"), (False, True))))
def test_trees_of_several_types(of, sort):
    random = np.random.default_rng(sort)
    graph, _ = timed_types(of, sort)
    seeds = {t: random.integers(0, graph.num_nodes(t), 9) for t in graph.node_types}
    group = Together(
        graph,
        3,
        ownership={t: random_ownership(random, graph.num_nodes(t), 3) for t in graph.node_types},
        num_neighbors=[3, 2, 2],
        input_nodes=seeds,
        input_time={t: some_times(9, 3) for t in seeds},
        batch_size=13,
        shuffle=True,
        expand="every" if sort else "once",
        time=ramet.Time("time", monotonic=True),
    )
    for together, alone in group.pairs():
        assert_same(together, alone)


def test_own_trees_have_the_numbers_of_own_seeds():
    """The trees of rank 0 come first; sources of blocks have ids."""
    group = Together(homogeneous(), 3, num_neighbors=[3, 2], input_nodes="train", batch_size=20, disjoint=True)
    first = 0
    for batch in group.batches():
        assert np.array_equal(batch.batch[: batch.num_seeds], np.arange(first, first + batch.num_seeds))
        assert all((np.asarray(block.n_id) < NUM_NODES).all() for block in batch.blocks)
        first += batch.num_seeds
    assert first == 20
