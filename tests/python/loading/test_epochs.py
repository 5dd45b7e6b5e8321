"""The epochs of a NeighborLoader, and several iterators at a time."""

import threading

import processes
import pytest
from small_graphs import summary
from small_loaders import STEPS, make, summaries


def test_each_iteration_is_the_next_epoch(graph):
    loader = make(graph, shuffle=True)
    epochs = [summaries(loader) for _ in range(3)]
    assert [[batch[0] for batch in epoch] for epoch in epochs] == [[e] * STEPS for e in range(3)]
    loader.set_epoch(1)
    assert summaries(loader) == epochs[1]
    assert summaries(loader) == epochs[2]
    loader.set_epoch(0)
    assert summaries(loader) == epochs[0]


def test_an_epoch_that_was_left_early_is_over(graph):
    loader = make(graph)
    for batch in loader:
        assert batch.epoch == 0
        break
    assert next(iter(loader)).epoch == 1


def test_an_epoch_counts_from_its_first_batch_on(graph):
    """Iterators that hand out nothing use up no epoch, start no thread, and change no state."""
    loader = make(graph, shuffle=True)
    before, idle_threads = loader.state_dict(), processes.threads()
    kept = [iter(loader) for _ in range(4)]
    kept[3].close()
    assert list(kept[3]) == []
    assert loader.state_dict() == before
    assert processes.threads(idle_threads) == idle_threads
    assert summaries(loader) == summaries(make(graph, shuffle=True))
    assert next(kept[2]).epoch == 1


def test_iterators_take_their_epochs_in_the_order_of_their_first_batches(graph):
    loader = make(graph, shuffle=True)
    first, second, third = iter(loader), iter(loader), iter(loader)
    assert [next(second).epoch, next(first).epoch] == [0, 1]
    loader.set_epoch(7)
    assert [next(third).epoch, next(second).epoch] == [7, 0]
    assert loader.state_dict()["epoch"] == 0  # of the batch that was handed out last


def test_the_epoch_may_be_named_or_loaded_after_iter(graph):
    """As Lightning does."""
    expected = make(graph, shuffle=True)
    expected.set_epoch(4)
    epoch = summaries(expected)
    loader = make(graph, shuffle=True)
    iterator = iter(loader)
    loader.set_epoch(4)
    assert (loader.state_dict()["epoch"], loader.state_dict()["step"]) == (4, 0)
    assert summaries(iterator) == epoch
    iterator = iter(loader)
    loader.load_state_dict(loader.state_dict() | {"epoch": 4, "step": 9})
    assert summaries(iterator) == epoch[9:]


def test_set_epoch_is_where_lightning_looks_for_it(graph):
    loader = make(graph, shuffle=True)
    for number, sampler in enumerate([loader.sampler, loader.batch_sampler.sampler], 3):
        sampler.set_epoch(number)
        assert next(iter(loader)).epoch == number
    with pytest.raises(ValueError, match="epoch is -1"):
        loader.sampler.set_epoch(-1)


def test_two_iterators_at_once(graph):
    expected = make(graph, shuffle=True)
    epochs = [summaries(expected), summaries(expected)]
    loader = make(graph, shuffle=True)
    pairs = list(zip(loader, loader))
    assert [summary(first) for first, _ in pairs] == epochs[0]
    assert [summary(second) for _, second in pairs] == epochs[1]


def test_an_iterator_in_each_of_many_threads(graph):
    loader = make(graph, shuffle=True)
    expected = summaries(make(graph, shuffle=True))
    iterators, results = [], []
    for _ in range(6):
        loader.set_epoch(0)
        iterators.append(iter(loader))
        results.append([summary(next(iterators[-1]))])

    def consume(i):
        results[i] += summaries(iterators[i])

    workers = [threading.Thread(target=consume, args=(i,)) for i in range(len(iterators))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(processes.PATIENCE)
    assert results == [expected] * len(iterators)


def test_an_exhausted_iterator_stays_exhausted(graph):
    iterator = iter(make(graph))
    assert len(list(iterator)) == STEPS
    assert list(iterator) == []
    with pytest.raises(StopIteration):
        next(iterator)
