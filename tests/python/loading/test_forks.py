"""Loaders, iterators and batches before and after a fork."""

import gc
import os
import pickle

import processes
import pytest
from small_graphs import NUM_NODES, summary
from small_loaders import STEPS, make, summaries


def test_loaders_before_and_after_a_fork(graph):
    loader = make(graph, shuffle=True)
    expected = summaries(loader)
    loader.set_epoch(0)
    assert processes.in_fork(summaries, loader) == expected
    assert processes.in_fork(lambda: summaries(make(graph, shuffle=True))) == expected
    assert summaries(loader) == expected
    assert processes.in_fork(lambda: processes.in_fork(summaries, make(graph, shuffle=True))) == expected


def test_an_iterator_that_crosses_a_fork_raises_and_a_new_one_works(graph):
    loader = make(graph, shuffle=True)
    expected = summaries(make(graph, shuffle=True))
    iterator = iter(loader)
    first = next(iterator)

    def child():
        with pytest.raises(ValueError, match=f"made in process {os.getppid()} .*{os.getpid()}; start a new one"):
            next(iterator)
        loader.set_epoch(0)
        return summaries(loader)

    assert processes.in_fork(child) == expected
    assert [summary(batch) for batch in [first, *iterator]] == expected


def test_a_batch_in_a_forked_child_may_be_read_and_dropped(graph):
    loader = make(graph)
    batches = [next(iterator) for iterator in [iter(loader)] * 3]
    expected = [summary(batch) for batch in batches]

    def child():
        seen = [summary(batch) for batch in batches]
        batches.clear()
        gc.collect()
        return seen, summaries(loader)

    seen, of_next_epoch = processes.in_fork(child)
    assert seen == expected
    assert [summary(batch) for batch in batches] == expected
    assert summaries(loader) == of_next_epoch


def test_forking_while_threads_make_batches(graph):
    """Again and again, so that some thread holds some lock at the time."""
    loader = make(graph, num_neighbors=[-1, -1], threads=4, prefetch=4)
    alone = make(graph, num_neighbors=[-1, -1])
    expected = next(iter(alone)).fingerprint()
    batches = iter(loader)
    for _ in range(15):
        next(batches)

        def child():
            own = make(graph, num_neighbors=[-1, -1], threads=3)
            result = next(iter(own)).fingerprint()
            loader.set_epoch(0)
            return result, next(iter(loader)).fingerprint()

        assert processes.in_fork(child) == (expected, expected)
    assert len(list(batches)) == STEPS - 15


def test_a_loader_and_its_batches_are_not_pickled_but_its_graph_is(graph):
    with pytest.raises(TypeError, match="NeighborLoader"):
        pickle.dumps(make(graph))
    batch = next(iter(make(graph)))
    for of_batch in (batch, batch.blocks[0]):
        with pytest.raises(TypeError, match="pickle the tensors that are needed"):
            pickle.dumps(of_batch)
    assert pickle.loads(pickle.dumps(make(graph).graph)).num_nodes() == NUM_NODES
