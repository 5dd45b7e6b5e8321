"""Loaders whose batches have seeds of several node types."""

import numpy as np
import pytest
from small_graphs import heterogeneous, numpy_of, summary
from whole import edges_of

import ramet
from ramet.loading.batch import Batch

PAPERS, AUTHORS = np.arange(7, 190, 3), [5, 5, 199, 0]


@pytest.fixture(scope="module")
def graph() -> ramet.Graph:
    return heterogeneous()


def make(graph, **options) -> ramet.NeighborLoader:
    given = {"input_nodes": {"paper": PAPERS, "author": AUTHORS}, "batch_size": 10, "shuffle": True, "seed": 3}
    return ramet.NeighborLoader(graph, [3, 2], **given | options)


def by_type(value) -> dict:
    assert list(value) == ["paper", "author"]
    return {t: numpy_of(of_type).tolist() for t, of_type in value.items()}


def described(batch) -> tuple:
    return by_type(batch.seeds), by_type(batch.input_id), batch.fingerprint()


def test_items_are_the_ids_of_all_types(graph):
    found = {"paper": [], "author": []}
    sizes, mixed = [], 0
    for batch in make(graph):
        seeds, input_id = by_type(batch.seeds), by_type(batch.input_id)
        assert seeds["paper"] == PAPERS[input_id["paper"]].tolist()
        assert seeds["author"] == [AUTHORS[i] for i in input_id["author"]]
        sizes.append(batch.num_seeds)
        mixed += bool(seeds["paper"] and seeds["author"])
        for t in found:
            found[t] += input_id[t]
    assert sizes == [10] * 6 + [5] and mixed > 1
    assert {t: sorted(ids) for t, ids in found.items()} == {"paper": list(range(61)), "author": list(range(4))}
    assert found["paper"] != sorted(found["paper"])
    assert len(make(graph, drop_last=True)) == 6


def test_without_shuffle_types_follow_each_other(graph):
    batches = list(make(graph, shuffle=False))
    assert by_type(batches[6].seeds) == {"paper": PAPERS[60:].tolist(), "author": AUTHORS}
    assert by_type(batches[0].seeds) == {"paper": PAPERS[:10].tolist(), "author": []}


@pytest.mark.parametrize("expand", ["every", "once"])
def test_tables_are_those_of_the_seeds(graph, expand):
    labels, ages = graph.table("label", "paper").numpy(), graph.table("age", "author").numpy()
    for batch in make(graph, expand=expand, tables=("feat", "label", "age")):
        assert list(batch.y) == ["paper"]  # authors have none
        assert np.array_equal(batch.y["paper"], labels[numpy_of(batch.seeds["paper"])])
        assert np.array_equal(batch.tables["age"]["author"], ages[numpy_of(batch.n_id["author"])])
        expected = batch.seeds if expand == "every" else batch.n_id
        assert len(batch.tables["label"]["paper"]) == len(expected["paper"])


def test_labels_of_every_type():
    edges = {("a", "to", "b"): [[0, 1], [1, 0]], ("b", "to", "a"): [[0, 1], [1, 0]]}
    labels = {"a": {"label": np.arange(2)}, "b": {"label": np.arange(10, 12)}}
    graph = ramet.from_edge_index(edges, nodes=labels)
    (batch,) = ramet.NeighborLoader(graph, [1], {"b": [1], "a": [1, 0]}, 3)
    assert {t: numpy_of(y).tolist() for t, y in batch.y.items()} == {"b": [11], "a": [1, 0]}


@pytest.mark.parametrize("threads", [1, 3])
def test_ranks_take_slices_and_threads_change_nothing(graph, monkeypatch, threads):
    expected = [described(batch) for batch in make(graph)]
    assert [described(batch) for batch in make(graph, threads=threads)] == expected
    of_ranks = []
    for rank in range(2):
        monkeypatch.setattr("ramet.loading.config.rank_and_world", lambda ranks, rank=rank: (rank, 2))
        of_ranks.append(list(make(graph, threads=threads)))
    for (seeds, _, fingerprint), *slices in zip(expected, *of_ranks):
        parts = [by_type(batch.seeds) for batch in slices]
        assert {t: parts[0][t] + parts[1][t] for t in seeds} == seeds
        assert ramet.fingerprint(slices) == fingerprint
        assert abs(slices[0].num_seeds - slices[1].num_seeds) <= 1


def test_listed_batches_count_over_all_types(graph):
    loader = make(graph)
    core = loader._core.make(np.array([62, 0, 61, 3]), 0, 0)
    batch = Batch(core, loader.origin)
    assert by_type(batch.seeds) == {"paper": [7, 16], "author": [5, 5]}
    assert by_type(batch.input_id) == {"paper": [0, 3], "author": [1, 0]}


def test_splits_masks_and_all_nodes(graph):
    mask = np.arange(200) % 50 == 3
    batches = list(make(graph, input_nodes={"paper": "train", "author": mask}, batch_size=94, shuffle=False))
    assert by_type(batches[0].seeds) == {"paper": graph.split("train", "paper").tolist(), "author": [3, 53, 103, 153]}
    assert len(make(graph, input_nodes={"author": None, "paper": None}, batch_size=70)) == 10


def test_times_of_each_type(graph):
    random = np.random.default_rng(1)
    times = {t: random.integers(0, 9, graph.num_nodes(t)) for t in graph.node_types}
    timed = ramet.from_edge_index(
        {t: edges_of(graph, t) for t in graph.edge_types},
        nodes={t: {"time": of_type} for t, of_type in times.items()},
    )
    given = np.array([3, 8, 0, 5])
    for batch in make(timed, time="time", input_time={"author": given}):
        assert np.array_equal(batch.seed_time["author"], given[numpy_of(batch.input_id["author"])])
        assert np.array_equal(batch.seed_time["paper"], times["paper"][numpy_of(batch.seeds["paper"])])


def test_states_and_refusals(graph):
    loader = make(graph)
    for other in ({"author": AUTHORS, "paper": PAPERS}, {"paper": PAPERS}, {"paper": PAPERS, "author": [5, 5, 199, 1]}):
        with pytest.raises(ValueError, match="other input nodes"):
            make(graph, input_nodes=other).load_state_dict(loader.state_dict())
    assert "seed_type=paper and author" in repr(loader)


def test_one_type_is_no_dict(graph):
    one, pair = (make(graph, input_nodes=nodes) for nodes in ({"paper": PAPERS}, ("paper", PAPERS)))
    assert [summary(batch) for batch in one] == [summary(batch) for batch in pair]


def test_to_pyg(graph):
    pytest.importorskip("torch_geometric")
    for batch in make(graph, expand="once"):
        data = batch.to_pyg()
        for t, seeds in batch.seeds.items():
            assert data[t].batch_size == len(seeds) and np.array_equal(data[t].n_id[: len(seeds)], seeds)
            assert np.array_equal(data[t].input_id, batch.input_id[t])
