"""Which seeds a batch has: their positions in `input_nodes`, and batches of positions that a caller chooses."""

import gc
import weakref

import numpy as np
import pytest
from small_graphs import NUM_NODES, heterogeneous, homogeneous, numpy_of, summary

import ramet
from ramet.loading.batch import Batch


def make(graph, **options) -> ramet.NeighborLoader:
    given = {"input_nodes": "train", "batch_size": 10, "shuffle": True, "seed": 3} | options
    return ramet.NeighborLoader(graph, [3, 2], **given)


def listed(loader, order, offsets, *, epoch=0, first_step=0) -> list[tuple]:
    stream = loader._core.start(epoch, first_step, np.asarray(order), np.asarray(offsets))
    return [summary(Batch(core, loader.origin)) for core in iter(stream.next, None)]


def test_input_ids_are_positions_of_the_input_nodes(graph):
    batches = list(make(graph))
    order = np.concatenate([numpy_of(batch.input_id) for batch in batches])
    assert order.dtype == np.int64 and sorted(order) == list(range(205)) and list(order) != sorted(order)
    seeds = np.concatenate([numpy_of(batch.seeds) for batch in batches])
    assert np.array_equal(graph.split("train")[order], seeds)


def test_input_ids_of_all_nodes_of_a_mask_and_of_a_type(graph):
    for batch in make(graph, input_nodes=None):
        assert np.array_equal(batch.input_id, batch.seeds)
    mask = np.arange(graph.num_nodes()) % 7 == 3
    for batch in make(graph, input_nodes=mask):
        assert np.array_equal(np.flatnonzero(mask)[numpy_of(batch.input_id)], batch.seeds)
    several = heterogeneous()
    for batch in ramet.NeighborLoader(several, [2], ("author", [7, 7, 3]), 2):
        assert np.array_equal(np.array([7, 7, 3])[numpy_of(batch.input_id)], batch.seeds)


def test_input_ids_of_one_sample_are_in_order(graph):
    assert numpy_of(ramet.sample(graph, [5, 5, 9], [2]).input_id).tolist() == [0, 1, 2]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_listed_batches_are_those_of_the_epoch(graph, threads):
    loader = make(graph)
    loader.set_epoch(4)
    batches = list(loader)
    expected = [summary(batch) for batch in batches]
    order = np.concatenate([numpy_of(batch.input_id) for batch in batches])
    offsets = [*range(0, 205, 10), 205]
    again = make(graph, threads=threads)
    assert listed(again, order, offsets, epoch=4) == expected
    assert listed(again, order, offsets, epoch=4, first_step=17) == expected[17:]
    core = again._core
    made = [core.make(numpy_of(batch.input_id), 4, batch.step) for batch in batches]
    assert [summary(Batch(one, again.origin)) for one in made] == expected


def test_a_list_has_an_order_and_offsets(graph):
    with pytest.raises(ValueError, match="order and offsets go together"):
        make(graph)._core.start(0, 0, order=np.array([0]))


def test_a_loader_keeps_none_of_the_arrays_that_it_was_given():
    """The engine has copies: two would be 8 bytes more for each seed."""
    graph = homogeneous(time=np.arange(NUM_NODES))
    ids, times = np.arange(50), np.arange(50)
    given = [weakref.ref(ids), weakref.ref(times)]
    loader = ramet.NeighborLoader(graph, [2], ids, 10, time="time", input_time=times)
    del ids, times
    gc.collect()
    assert [array() for array in given] == [None, None]
    assert [len(batch.seeds) for batch in loader] == [10] * 5
    assert "seed_type=node" in repr(loader)
