"""Each node once (docs/semantics.md, section 14): the twin's batches, what follows from the definition, refusals."""

import re

import numpy as np
import pytest
from comparison import both, check
from methods import METHODS, SEEDS, WEIGHTED, homogeneous
from small_graphs import CITES, REVERSE, WRITES
from small_graphs import heterogeneous as papers
from small_graphs import homogeneous as with_tables

import ramet

# ---- against the twin


@pytest.mark.parametrize("fanouts", [[4, 3], [-1, 2, 3], [0, 3], [3, 0, 2], [1, 1, 1, 1, 1], [40, -1]], ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_batches(case, method, fanouts):
    """Nodes, edges, weights and counts, with repeated seeds, parallel edges and self loops."""
    kind, graph, twin_graph, seed_type = case
    if kind == "64 bits" and "weighted" in method:
        pytest.skip("the store that is written by hand has no tables")
    options = METHODS[method] | {"seed": 3, "epoch": 1, "step": 6, "expand": "once"}
    check((graph, twin_graph), SEEDS, fanouts, seed_type, threads=(1, 3), **options)


def test_names_and_fanouts_by_edge_type(hetero):
    """The order of edge types is that of their names; a type may have no fanout."""
    graph, _ = hetero
    fanouts = {t: [3, i % 3, 2] for i, t in enumerate(graph.edge_types)}
    check(hetero, [3, 70, 3, 11], fanouts, "a-b", expand="once", sampler=ramet.Uniform(replace=True), seed=9)


# ---- what follows from the definition


def test_repeated_seeds_have_the_edges_of_the_graph():
    """Both occurrences of node 5 have its edge; node 6 is not taken for it."""
    batch = check(both(9, np.array([[7, 8, 5], [5, 6, 7]])), [5, 5, 6], [-1, -1], expand="once")
    edges, n_id = batch.edges(), np.asarray(batch.n_id)
    assert n_id.tolist() == [5, 5, 6, 7, 8]
    assert np.asarray(edges.edge_index).tolist() == [[3, 3, 4, 0], [0, 1, 2, 3]]
    assert n_id[np.asarray(edges.edge_index)].tolist() == [[7, 7, 8, 5], [5, 5, 6, 7]]
    assert np.asarray(edges.e_id).tolist() == [0, 0, 1, 2]


def test_slices_do_not_add_up():
    """Node 1 is a seed of the whole batch, and found by hop 0 in the slice of node 0."""
    pair = both(3, np.array([[1, 2], [0, 1]]))
    whole = check(pair, [0, 1], [-1, -1], expand="once")
    slices = [check(pair, [seed], [-1, -1], expand="once") for seed in (0, 1)]
    assert ramet.fingerprint(slices) != whole.fingerprint()


# ---- the loader, tables, refusals


def test_edge_tables():
    graph, _ = homogeneous()
    edges = ramet.sample(graph, SEEDS, [4, 3], expand="once", **WEIGHTED["weighted"]).edges()
    e_id = np.asarray(edges.e_id)
    assert np.asarray(edges.table("w")).tolist() == (e_id % 3 * (1.0 + e_id % 7)).tolist()
    assert np.asarray(edges.table("w")).tolist() == graph.table("w").gather(np.asarray(edges.position)).tolist()
    with pytest.raises(KeyError, match="has no table 'v'"):
        edges.table("v")


def test_types():
    batch = ramet.sample(papers(), ("paper", [3, 4]), [4, 3], expand="once")
    assert set(batch.num_sampled_nodes) == {"paper", "author"}
    assert set(batch.num_sampled_edges) == {CITES, WRITES, REVERSE}
    assert batch.edges(CITES).edge_type == CITES
    assert repr(batch.edges(list(CITES))) == f"Edges({sum(batch.num_sampled_edges[CITES])} of paper-cites-paper)"
    for wrong in (None, ("paper", "likes", "paper"), "cites"):
        with pytest.raises(ValueError, match=re.escape(f"edge_type is {wrong!r}, expected one of")):
            batch.edges(wrong)


def test_counts_of_blocks():
    """With expand="every" the same words mean the same, of blocks."""
    batch = ramet.sample(with_tables(), [3, 4, 5], [4, 3])
    far, near = batch.blocks
    assert batch.expand == "every"
    assert batch.num_sampled_nodes == [3, near.num_src - 3, far.num_src - near.num_src]
    assert batch.num_sampled_edges == [near.num_edges, far.num_edges]


def test_what_is_refused():
    graph = with_tables()
    once = ramet.sample(graph, [3, 4, 5], [4, 3], expand="once")
    with pytest.raises(ValueError, match=r"expand='once' gives one graph, not blocks: use batch\.edges\(\)"):
        _ = once.blocks
    with pytest.raises(ValueError, match=r"expand='every' .* use batch\.blocks"):
        ramet.sample(graph, [3, 4, 5], [4, 3]).edges()
    with pytest.raises(ValueError, match="expand is 'twice', expected 'every' or 'once'"):
        ramet.sample(graph, [3], [4], expand="twice")
    with pytest.raises(TypeError, match="expand is 1, expected 'every' or 'once'"):
        ramet.NeighborLoader(graph, [4], expand=1)
    assert f"edges={once.num_sampled_edges}" in repr(once)
    assert "3 seeds" in once._repr_html_()
