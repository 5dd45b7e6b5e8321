"""undirected=True where edges are parallel: one of them stays, and no value is lost in silence."""

import numpy as np
import pytest

import ramet


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        (np.array([5.0, 2.0, 4.0, 3.0]), "5.0 and 4.0"),
        (np.array([[1, 2], [0, 0], [1, 3], [0, 0]]), r"\[1, 2\] and \[1, 3\]"),
        (ramet.quantize(np.array([[127.0], [0.0], [254.0], [0.0]])), r"\[127.0\] and \[254.0\]"),
        (np.array([16256, 0, 16128, 0], "u2").view(ramet.bfloat16), "1.0 and 0.5"),
    ],
)
def test_parallel_edges_with_different_rows(rows, shown):
    """Edges 0 and 2 go from 3 to 1. The two between 0 and 2 have one direction each: both stay."""
    edge_index = [[3, 0, 3, 2], [1, 2, 1, 0]]
    message = rf"keeps one of parallel edges, but edges 0 and 2, from 3 to 1, have {shown} in edges\['w'\]"
    with pytest.raises(ValueError, match=message):
        ramet.from_edge_index(edge_index, undirected=True, edges={"w": rows})
    assert ramet.from_edge_index(edge_index, edges={"w": rows}).num_edges() == 4
    assert ramet.from_edge_index(edge_index, undirected=True).num_edges() == 4


@pytest.mark.parametrize(("edge_index", "rows"), [([[0, 0], [0, 0]], [7.0]), ([[1], [0]], [7.0, 7.0])])
def test_undirected_edges_that_are_in_order_already(edge_index, rows):
    graph = ramet.from_edge_index(edge_index, undirected=True, edges={"w": np.full(len(edge_index[0]), 7.0)})
    assert graph.table("w", graph.edge_types[0]).numpy().tolist() == rows
