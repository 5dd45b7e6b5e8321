"""Equality with the twin, bit by bit, on graphs of several types. Every test names the sections of docs/semantics.md
that it checks."""

import numpy as np
import pytest
import twin
from comparison import ODD_EDGES, ODD_NODES, by_type, check

import ramet


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize("seed_type", ODD_NODES)
@pytest.mark.parametrize("fanouts", [[3], [4, 3], [2, 2, 2], [40, 2], [0, 3], [3, 0, 2]])
def test_hetero(hetero, seed_type, fanouts, replace):
    """Sections 4, 5: lists per node type, edge types in the order of their encoded names."""
    seeds = [3, 1, ODD_NODES[seed_type] - 1, 3, 20]
    check(hetero, seeds, fanouts, seed_type, sampler=ramet.Uniform(replace), seed=11, epoch=2, step=5)


def test_hetero_all_neighbors(hetero):
    """Sections 3, 5: -1 with several types."""
    check(hetero, [3, 1, 3], [-1, 2, -1], "a-b")


def test_hetero_fanout_per_edge_type(hetero):
    """Section 5: a fanout per edge type and hop; 0 leaves an edge type out."""
    fanouts = {edge_type: [i % 4, (5 * i) % 7 - 1] for i, edge_type in enumerate(ODD_EDGES)}
    assert any(-1 in hops for hops in fanouts.values())
    check(hetero, [3, 1, 40], fanouts, ".Ärzte/__%_", seed=1)
    del fanouts[ODD_EDGES[2]]
    with pytest.raises(ValueError, match="To"):
        ramet.sample(hetero[0], ("a", [0]), fanouts)


def test_hetero_no_seeds(hetero):
    """Sections 4, 5: empty lists of every type."""
    check(hetero, [], [3, 2], "a")


def test_order_of_edge_types(hetero):
    """Section 4, step 2: ascending byte order of the whole encoded name, which is not that of its parts."""
    ordered = sorted(ODD_EDGES, key=lambda name: twin.encode_edge_type(name).encode())
    assert hetero[0].edge_types == ordered
    assert ordered != sorted(ODD_EDGES, key=lambda name: tuple(twin.encode_name(part) for part in name))
    assert ordered != sorted(ODD_EDGES, key=lambda name: "__".join(name).encode())


def test_other_edge_types_do_not_matter(hetero):
    """Section 5: adding an edge type does not change what is drawn for the others; two edge types between the
    same node types draw apart."""
    graph, _ = hetero
    to, other = ("a", "to", "a-b"), ("a", "To", "a-b")
    csc = {to: (graph.indptr(to), graph.indices(to)), other: (graph.indptr(to), graph.indices(to))}

    def positions(edge_types):
        few = ramet.from_arrays(
            {t: csc[t][0] for t in edge_types},
            {t: csc[t][1] for t in edge_types},
            num_nodes={"a": 120, "a-b": 80},
        )
        position = ramet.sample(few, ("a-b", np.arange(80)), [5]).blocks[0].position
        return by_type(position, few.edge_types)

    two = positions([to, other])
    np.testing.assert_array_equal(positions([to])[to], two[to])
    np.testing.assert_array_equal(ramet.sample(graph, ("a-b", np.arange(80)), [5]).blocks[0].position[to], two[to])
    assert two[to].tolist() != two[other].tolist()


def test_dependent_hetero(hetero):
    """Sections 5, 9: the same with several types."""
    for step in range(5):
        check(hetero, [3, 1, 20], [3, 2], "a", sampler=ramet.Uniform(dependent=4), step=step)
