"""Loaders whose batches are one graph: expand="once", disjoint trees, and which rows their tables have."""

import numpy as np
import pytest
from small_graphs import CITES, NUM_NODES, WRITES, heterogeneous, numpy_of

import ramet


@pytest.fixture(scope="module")
def graph() -> ramet.Graph:
    random = np.random.default_rng(0)
    return ramet.from_edge_index(
        random.integers(0, NUM_NODES, (2, 8000)),
        NUM_NODES,
        nodes={"feat": random.random((NUM_NODES, 3), np.float32), "label": random.integers(0, 5, NUM_NODES)},
        edges={
            "edge_attr": random.random((8000, 2), np.float32),
            "half": random.random((8000, 2)).astype(np.float16),
            "int8": ramet.quantize(random.random((8000, 4)).astype(np.float32)),
        },
        splits={"train": random.permutation(NUM_NODES)[:205]},
    )


def make(graph, **options) -> ramet.NeighborLoader:
    given = {"input_nodes": "train", "batch_size": 10, "shuffle": True, "seed": 3} | options
    return ramet.NeighborLoader(graph, [3, 2, 2], **given)


def test_a_state_is_of_the_same_expansion(graph):
    state = make(graph, expand="once").state_dict()
    with pytest.raises(ValueError, match="a loader with expand=once, not every"):
        make(graph).load_state_dict(state)
    with pytest.raises(ValueError, match="a loader with disjoint=False, not True"):
        make(graph, expand="once", disjoint=True).load_state_dict(state)


@pytest.mark.parametrize("disjoint", [False, True])
def test_labels_are_of_all_nodes_and_y_of_the_seeds(graph, disjoint):
    labels = graph.table("label").numpy()
    for batch in make(graph, expand="once", disjoint=disjoint):
        assert np.array_equal(batch.tables["label"], labels[numpy_of(batch.n_id)])
        assert np.array_equal(batch.y, labels[numpy_of(batch.seeds)])
        assert np.array_equal(batch.x, graph.table("feat").numpy()[numpy_of(batch.n_id)])


def test_labels_of_every_type_that_has_some():
    random = np.random.default_rng(1)
    nodes = {"paper": {"label": random.integers(0, 9, 50)}, "author": {"label": random.integers(0, 9, 20)}}
    written = np.stack([random.integers(0, 20, 200), random.integers(0, 50, 200)])
    several = ramet.from_edge_index({WRITES: written, CITES: random.integers(0, 50, (2, 100))}, nodes=nodes)
    for seed_type in ("paper", "author"):
        for batch in ramet.NeighborLoader(several, [3, 2], (seed_type, None), 7, expand="once"):
            for node_type, ids in batch.n_id.items():
                assert np.array_equal(batch.tables["label"][node_type], nodes[node_type]["label"][numpy_of(ids)])
            assert np.array_equal(batch.y, nodes[seed_type]["label"][numpy_of(batch.seeds)])


def test_seeds_of_a_type_without_labels():
    batch = next(iter(ramet.NeighborLoader(heterogeneous(), [3], ("author", None), 7, expand="once")))
    assert list(batch.tables["label"]) == ["paper"]
    with pytest.raises(AttributeError, match=r"the seeds' types \['author'\] have no table 'label'"):
        batch.y  # noqa: B018
    assert "label" not in next(iter(ramet.NeighborLoader(heterogeneous(), [3], ("author", None), 7))).tables


@pytest.mark.parametrize("decode", [True, False])
@pytest.mark.parametrize("disjoint", [False, True])
def test_rows_of_edges_are_in_the_order_of_the_edges(graph, disjoint, decode):
    names = ("edge_attr", "half", "int8")
    options = {"expand": "once", "disjoint": disjoint, "features": ramet.Features(decode=decode)}
    for ahead, on_access in zip(make(graph, tables=names, **options), make(graph, tables=(), **options)):
        edges = ahead.edges()
        for name in names:
            rows, same = numpy_of(edges.table(name)), numpy_of(on_access.edges().table(name))
            assert rows.dtype == same.dtype and rows.tobytes() == same.tobytes()
        attr = graph.table("edge_attr").gather(numpy_of(edges.position))
        assert np.array_equal(edges.table("edge_attr"), attr)
        assert len(edges) == len(attr) == sum(ahead.num_sampled_edges)


def test_blocks_of_trees_have_their_rows(graph):
    for ahead, on_access in zip(*(make(graph, disjoint=True, tables=names) for names in [("edge_attr",), ()])):
        for one, other in zip(ahead.blocks, on_access.blocks):
            assert np.array_equal(one.table("edge_attr"), other.table("edge_attr"))
        assert ahead.num_sampled_nodes[0] == ahead.num_seeds
