"""Equality with the twin, bit by bit, on graphs of several types. Every test names the sections of docs/semantics.md
that it checks."""

import numpy as np
import pytest
import twin
from comparison import ODD_EDGES, ODD_NODES, by_type, check_weights, labor
from methods import PLAIN

import ramet


@pytest.mark.parametrize("options", PLAIN.values(), ids=PLAIN)
@pytest.mark.parametrize("seed_type", ODD_NODES)
@pytest.mark.parametrize("fanouts", [[3], [4, 3], [2, 2, 2], [40, 2], [0, 3], [3, 0, 2], [-1, 2, -1]])
def test_hetero(hetero, seed_type, fanouts, options):
    """Sections 3, 4, 5, 8: lists per node type, edge types in the order of their encoded names; the key of LABOR is of
    the source's node type."""
    seeds = [3, 1, ODD_NODES[seed_type] - 1, 3, 20]
    check_weights(hetero, seeds, fanouts, seed_type, seed=11, epoch=2, step=5, **options)


LAYER_DEPENDENT = {f"labor-{i} layer_dependent": labor(i, layer_dependent=True) for i in (0, 1, 3)}


@pytest.mark.parametrize("options", (PLAIN | LAYER_DEPENDENT).values(), ids=PLAIN | LAYER_DEPENDENT)
def test_hetero_fanout_per_edge_type(hetero, options):
    """Sections 5, 8: a fanout per edge type and hop; 0 leaves an edge type out, also of importances."""
    fanouts = {edge_type: [i % 4, (5 * i) % 7 - 1, i] for i, edge_type in enumerate(ODD_EDGES)}
    assert {-1, 0} <= {fanout for hops in fanouts.values() for fanout in hops}
    check_weights(hetero, [3, 1, 40], fanouts, ".Ärzte/__%_", seed=1, **options)
    del fanouts[ODD_EDGES[2]]
    with pytest.raises(ValueError, match="To"):
        ramet.sample(hetero[0], ("a", [0]), fanouts)


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
