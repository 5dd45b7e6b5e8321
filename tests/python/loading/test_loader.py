"""Which seeds a NeighborLoader takes, in which order, of one node type and of several."""

import itertools

import numpy as np
import pytest
from methods import METHODS, homogeneous
from small_graphs import CITES, NUM_NODES, REVERSE, WRITES, heterogeneous, numpy_of
from small_loaders import STEPS, make, seeds_of, summaries
from whole import arrays_of

import ramet

torch = ramet._support.tensors.torch_or_none()


# ---- order


def test_batches_come_in_the_order_of_the_split(graph):
    loader = make(graph)
    assert len(loader) == STEPS
    batches = list(loader)
    assert [batch.step for batch in batches] == list(range(STEPS))
    assert {batch.epoch for batch in batches} == {0}
    train = graph.split("train").tolist()
    assert [numpy_of(batch.seeds).tolist() for batch in batches] == [train[i : i + 10] for i in range(0, 205, 10)]
    assert [batch.num_seeds for batch in batches] == [10] * 20 + [5]
    assert [batch.global_num_seeds for batch in batches] == [10] * 20 + [5]


def test_drop_last(graph):
    loader = make(graph, drop_last=True)
    assert len(loader) == 20
    assert [len(seeds) for seeds in seeds_of(loader)] == [10] * 20
    assert list(make(graph, drop_last=True, batch_size=206)) == []
    assert len(make(graph, drop_last=True, batch_size=205)) == 1


def test_a_batch_larger_than_the_split(graph):
    assert seeds_of(make(graph, batch_size=10**12)) == [graph.split("train").tolist()]


@pytest.mark.parametrize("chosen", ["all", "ids", "mask", "repeats", "int32", "list", "tensor", "none"])
def test_input_nodes(graph, chosen):
    ids = {
        "all": np.arange(NUM_NODES),
        "mask": np.arange(0, NUM_NODES, 7),
        "repeats": np.array([5, 5, 7, 5, 999, 7]),
        "none": np.array([], np.int64),
    }.get(chosen, np.array([3, 1, 2]))
    given = {
        "all": None,
        "mask": np.isin(np.arange(NUM_NODES), ids),
        "int32": ids.astype(np.int32),
        "list": ids.tolist(),
        "tensor": torch.tensor(ids) if torch else ids,
    }.get(chosen, ids)
    loader = make(graph, input_nodes=given, batch_size=4)
    assert list(itertools.chain(*seeds_of(loader))) == ids.tolist()
    assert len(loader) == -(-len(ids) // 4)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"shuffle": True},
        {"sampler": ramet.Uniform(replace=True)},
        {"sampler": ramet.Uniform(dependent=3)},
        {"num_neighbors": [-1, 0, 2]},
    ],
)
def test_threads_and_prefetching_change_nothing(graph, options):
    expected = summaries(make(graph, threads=1, prefetch=1, **options))
    for threads, prefetch in [(1, 5), (2, None), (8, 1), (3, 64)]:
        assert summaries(make(graph, threads=threads, prefetch=prefetch, **options)) == expected


EXTENTS = [{}, {"expand": "once"}, {"disjoint": True}, {"expand": "once", "disjoint": True}]
SAMPLED = [METHODS[name] | extent for name in ("uniform", "labor-2", "weighted") for extent in EXTENTS]
SAMPLED += [{"sampler": ramet.Budget()}, {"sampler": ramet.Budget(nodes_per_tree=20)}]


def seeds_of_two_types():
    return heterogeneous(), {"paper": np.arange(7, 190, 3), "author": [5, 5, 199, 0]}


@pytest.mark.parametrize("make_inputs", [lambda: (homogeneous()[0], np.arange(100)), seeds_of_two_types])
@pytest.mark.parametrize("options", SAMPLED, ids=str)
def test_a_batch_is_what_sample_gives(make_inputs, options):
    graph, nodes = make_inputs()
    if graph.is_hetero and isinstance(options.get("sampler"), ramet.Weighted):
        pytest.skip("there are no weights")
    options = options | {"seed": 9}
    for batch in ramet.NeighborLoader(graph, [4, 3], nodes, 32, shuffle=True, threads=2, **options):
        alone = ramet.sample(graph, batch.seeds, [4, 3], epoch=batch.epoch, step=batch.step, **options)
        assert alone.fingerprint() == batch.fingerprint()
        for array, other in zip(arrays_of(batch), arrays_of(alone), strict=True):
            np.testing.assert_array_equal(array, other)


# ---- several types


def test_loading_a_heterogeneous_graph():
    graph = heterogeneous()
    fanouts = {CITES: [3, 2], WRITES: [2, 2], REVERSE: [1, 0]}
    loader = ramet.NeighborLoader(graph, fanouts, ("paper", "train"), 16, tables=("feat", "label", "age"))
    seeds = []
    for batch in loader:
        seeds += numpy_of(batch.seeds).tolist()
        assert set(batch.n_id) == {"author", "paper"}
        for node_type, rows in batch.x.items():
            np.testing.assert_array_equal(rows, graph.table("feat", node_type).numpy()[numpy_of(batch.n_id[node_type])])
        np.testing.assert_array_equal(batch.y, graph.table("label", "paper").numpy()[numpy_of(batch.seeds)])
        assert set(batch.tables["age"]) == {"author"}
        alone = ramet.sample(graph, ("paper", batch.seeds), fanouts, step=batch.step)
        for array, other in zip(arrays_of(batch), arrays_of(alone), strict=True):
            np.testing.assert_array_equal(array, other)
        assert len(batch.blocks[0].indices[REVERSE]) == 0
    assert seeds == graph.split("train", "paper").tolist()


def test_a_split_of_one_type_names_it():
    graph = heterogeneous()
    assert seeds_of(ramet.NeighborLoader(graph, [2], "val")) == [[1]]
    with pytest.raises(ValueError, match=r"is 'train', expected a node type, one of \['author', 'paper'\]"):
        ramet.NeighborLoader(graph, [2], "train")
    for named in ("author", ("author", None)):
        authors = ramet.NeighborLoader(graph, [2], named, 64)
        assert list(itertools.chain(*seeds_of(authors))) == list(range(200))
    assert "label" not in next(iter(authors)).tables
    assert seeds_of(ramet.NeighborLoader(graph, [2], ("author", [7, 3]), 64)) == [[7, 3]]
