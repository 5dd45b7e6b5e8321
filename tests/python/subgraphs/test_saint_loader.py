"""SaintLoader against the twin, its probabilities and norms, and bad input. docs/semantics.md, section 26."""

import json
import re

import numpy as np
import pytest
import twin
from comparison import edge_list
from goodness import STANDARD_ERRORS
from small_graphs import heterogeneous, homogeneous, numpy_of
from twin.subgraphs import induced, norms, saint_nodes

import ramet

NUM_NODES = 40
KINDS = [("node", 12, 0), ("edge", 7, 0), ("walk", 6, 3), ("walk", 9, 0)]


@pytest.fixture(scope="module")
def pair() -> tuple[ramet.Graph, twin.Csc]:
    """Directed, with parallel edges and loops; nodes 38 and 39 have no edges."""
    edges = edge_list(NUM_NODES - 2, NUM_NODES - 2, 150, seed=3, hub=20)
    features = np.arange(NUM_NODES, dtype=np.float32)[:, None]
    graph = ramet.from_edge_index(edges, NUM_NODES, nodes={"feat": features, "label": np.arange(NUM_NODES)})
    return graph, twin.Csc.from_edges(*edges, NUM_NODES)


def make(graph, kind, num_steps=5, **options) -> ramet.SaintLoader:
    sampler, batch_size, length = kind
    return ramet.SaintLoader(graph, sampler, batch_size, num_steps, walk_length=length, **options)


def contents(batch) -> tuple:
    values = (batch.input_id, batch.n_id, batch.edge_index, batch.e_id, batch.x, batch.node_norm, batch.edge_norm)
    return batch.epoch, batch.step, *(numpy_of(value).tolist() for value in values)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 2**64 - 1])
def test_batches_and_norms_are_the_twins(pair, kind, seed):
    graph, csc = pair
    loader = make(graph, kind, sample_coverage=3, seed=seed)
    of_nodes, of_edges = norms(csc, 3, *kind, seed)
    for epoch in range(2):
        for i, batch in enumerate(loader):
            nodes = saint_nodes(csc, *kind, seed, epoch, i)
            edges = induced(csc, nodes)
            assert batch.input_id.tolist() == [i] and batch.n_id.tolist() == nodes
            assert batch.edge_index.T.tolist() == [list(edge[:2]) for edge in edges]
            assert batch.e_id.tolist() == [csc.edge_ids[p] for *_, p in edges]
            assert batch.x[:, 0].tolist() == batch.y.tolist() == nodes
            np.testing.assert_array_equal(batch.node_norm, np.float32([of_nodes[v] for v in nodes]))
            np.testing.assert_array_equal(batch.edge_norm, np.float32([of_edges[p] for *_, p in edges]))
        assert i == 4


@pytest.mark.parametrize("threads", [1, 4])
def test_threads_and_resuming_change_no_batch(threads):
    graph, kind = homogeneous(), ("walk", 50, 2)
    expected = [contents(batch) for batch in make(graph, kind, 6, threads=2)]
    first, second = make(graph, kind, 6, threads=threads, prefetch=5), make(graph, kind, 6)
    batches = iter(first)
    seen = [contents(next(batches)) for _ in range(4)]
    state = json.loads(json.dumps(first.state_dict()))
    second.load_state_dict(state)
    assert seen + [contents(batch) for batch in second] == expected
    for other, message in ((make(graph, ("walk", 50, 3), 6), "walk_length=2"), (make(graph, kind, 7), "num_steps=6")):
        with pytest.raises(ValueError, match=message):
            other.load_state_dict(state)


# ---- statistics


def counted(graph, kind, count: int) -> tuple[np.ndarray, np.ndarray]:
    """In how many of `count` subgraphs each node and each edge was."""
    of_nodes, of_edges = np.zeros(graph.num_nodes()), np.zeros(graph.num_edges())
    for batch in make(graph, kind, count, sample_coverage=0):
        of_nodes[numpy_of(batch.n_id)] += 1
        of_edges[numpy_of(batch.edges().position)] += 1
    return of_nodes, of_edges


def ends_of(graph) -> tuple[np.ndarray, np.ndarray]:
    return graph.indices(), np.repeat(np.arange(graph.num_nodes()), np.diff(graph.indptr()))


def probability_of_a_draw(graph, kind) -> np.ndarray:
    """That a draw gives a node, by the definition."""
    sampler, _, length = kind
    source, destination = ends_of(graph)
    num_nodes = graph.num_nodes()
    outs, ins = np.bincount(source, minlength=num_nodes), np.bincount(destination, minlength=num_nodes)
    if sampler == "node":
        weights = np.bincount(source, 1 / ins[destination] ** 2, num_nodes)
        return weights / weights.sum()
    if sampler == "edge":
        weights, is_loop = 1 / outs[source] + 1 / ins[destination], source == destination
        both = np.bincount(source, weights, num_nodes) + np.bincount(destination, weights * ~is_loop, num_nodes)
        return both / weights.sum()
    found = np.full(num_nodes, 1 / num_nodes)
    if length == 1:  # from another node, which has an edge there
        steps = (1 / outs[source]) * (source != destination)
        found += np.bincount(destination, steps, num_nodes) / num_nodes
    return found


@pytest.mark.parametrize("kind", [("node", 8, 0), ("edge", 4, 0), ("walk", 5, 0), ("walk", 5, 1)])
def test_nodes_are_in_subgraphs_as_often_as_the_definition_says(pair, kind):
    graph, count = pair[0], 6000
    expected = 1 - (1 - probability_of_a_draw(graph, kind)) ** kind[1]
    of_nodes, _ = counted(graph, kind, count)
    errors = np.sqrt(expected * (1 - expected) / count)
    assert (np.abs(of_nodes / count - expected) <= (STANDARD_ERRORS + 1) * errors).all()
    assert expected.std() > 10 * errors.mean() or kind == ("walk", 5, 0)  # so another distribution is refused


@pytest.mark.parametrize("kind", [("node", 12, 0), ("edge", 8, 0), ("walk", 8, 2)])
def test_normalized_sums_are_unbiased(pair, kind):
    graph, count = pair[0], 8000
    loader = make(graph, kind, count, sample_coverage=3000)
    x = np.linspace(-1, 3, NUM_NODES) ** 3
    source, destination = ends_of(graph)
    degree = np.bincount(destination, minlength=NUM_NODES)
    exact = np.bincount(destination, x[source], NUM_NODES) / np.maximum(degree, 1)
    losses, means = [], [[] for _ in range(NUM_NODES)]
    for batch in loader:
        nodes, (rows, columns) = numpy_of(batch.n_id), numpy_of(batch.edge_index)
        losses.append((numpy_of(batch.node_norm) * x[nodes]).sum())
        sums = np.bincount(columns, numpy_of(batch.edge_norm) * x[nodes][rows], len(nodes))
        for v, estimate in zip(nodes, sums / np.maximum(degree[nodes], 1)):
            means[v].append(estimate)
    can_be_drawn = probability_of_a_draw(graph, kind) > 0 if kind[0] != "walk" else np.ones(NUM_NODES, bool)
    expected = x[can_be_drawn].sum() / NUM_NODES
    within = STANDARD_ERRORS * np.sqrt(2)  # the norms are estimates, too, of as many subgraphs or more
    assert abs(np.mean(losses) - expected) < within * np.std(losses) / np.sqrt(count)
    often = [v for v in range(NUM_NODES) if degree[v] > 0 and len(means[v]) > 400]
    assert len(often) > 10
    for v in often:
        error = np.std(means[v]) / np.sqrt(len(means[v]))
        assert abs(np.mean(means[v]) - exact[v]) <= within * error + 1e-6


# ---- what does not fit


def test_nodes_that_no_subgraph_had_count_once():
    edges = np.array([[0, 1], [1, 0]])
    loader = ramet.SaintLoader(ramet.from_edge_index(edges, 4), "edge", 1, 3, sample_coverage=1)
    assert loader.norms.node.tolist() == [0.25, 0.25, 16.0, 16.0]  # of 64 subgraphs
    assert loader.norms.edge.tolist() == [1.0, 1.0]
    alone = ramet.SaintLoader(ramet.from_edge_index(np.zeros((2, 0), int), 4), "walk", 3, 2, walk_length=5)
    assert all(1 <= len(batch.n_id) <= 3 and batch.num_edges == 0 for batch in alone)


def test_bad_input(pair):
    graph, make = pair[0], ramet.SaintLoader
    none, empty = (ramet.from_edge_index(np.zeros((2, 0), int), n) for n in (3, 0))
    for error, message, call in [
        (ValueError, "sampler is 'nodes', expected one of", lambda: make(graph, "nodes", 1, 1)),
        (ValueError, "batch_size is 0", lambda: make(graph, "node", 0, 1)),
        (ValueError, "num_steps is 0", lambda: make(graph, "node", 1, 0)),
        (ValueError, "walk_length is -1", lambda: make(graph, "walk", 1, 1, walk_length=-1)),
        (ValueError, "sample_coverage is -1", lambda: make(graph, "node", 1, 1, sample_coverage=-1)),
        (ValueError, "the graph has no edges, by which", lambda: make(none, "node", 1, 1)),
        (ValueError, "the graph has no edges, by which", lambda: make(none, "edge", 1, 1)),
        (ValueError, "the graph has no nodes", lambda: make(empty, "walk", 1, 1)),
        (ValueError, "expected one of each", lambda: make(heterogeneous(), "walk", 1, 1)),
        (TypeError, "SaintLoader has no 'num_workers'", lambda: make(graph, "walk", 1, 1, num_workers=1)),
    ]:  # fmt: skip
        with pytest.raises(error, match=re.escape(message)):
            call()
    batch = next(iter(make(graph, "node", 5, 1, sample_coverage=0)))
    with pytest.raises(AttributeError, match="sample_coverage above 0"):
        _ = batch.edge_norm
