"""What a store says of the reverses of its edges; docs/format.md, section 1."""

import pickle

import numpy as np
import pytest
from small_graphs import CITES, REVERSE, WRITES, heterogeneous
from source_files import parts_of

import ramet
from ramet.commands.main import main
from ramet.storage.checksums import write_checksums
from ramet.stores.build import generate

EDGE = ("node", "to", "node")
BUYS, BOUGHT = ("user", "buys", "item"), ("item", "bought by", "user")
LISTS = {BUYS: [[0, 1], [1, 1]], BOUGHT: [[1, 1], [0, 1]]}


def said_of(graph) -> dict:
    """The reverse type and the number of input edges of each edge type."""
    return {t: (graph._core.reverse_type(t), graph._core.num_input_edges(t)) for t in graph.edge_types}


def undirected():
    return ramet.from_edge_index([[0, 1, 2, 2], [1, 2, 0, 2]], undirected=True)


def named():
    return ramet.from_edge_index(LISTS, reverse_types={BUYS: BOUGHT})


@pytest.mark.parametrize(
    ("make", "expected"),
    [(undirected, {EDGE: (EDGE, 4)}), (named, {BUYS: (BOUGHT, 0), BOUGHT: (BUYS, 0)})],
)
def test_every_form_of_a_graph_says_so(make, expected, in_another_process, tmp_path):
    graph = make()
    ramet.save(graph, tmp_path / "store")
    opened = ramet.open(tmp_path / "store")
    ramet.save(opened, tmp_path / "again")
    ramet.partition(opened, 2, tmp_path / "parts", method="range")
    some = opened.edge_subgraph({opened.edge_types[0]: [1]})
    there = [in_another_process(said_of, each) for each in (graph, opened, some)]
    forms = [graph, pickle.loads(pickle.dumps(graph)), opened, some, ramet.open(tmp_path / "again")]
    forms += [ramet.open(tmp_path / "parts" / f"part-{part}") for part in range(2)]
    assert [said_of(form) for form in forms] + there == [expected] * (len(forms) + 3)


def test_names_that_tell():
    rev = ("item", "rev_buys", "user")
    graph = ramet.from_edge_index({BUYS: LISTS[BUYS], rev: LISTS[BOUGHT], BOUGHT: LISTS[BOUGHT]})
    assert said_of(graph) == {BUYS: (rev, 0), rev: (BUYS, 0), BOUGHT: (None, 0)}
    other = ramet.from_edge_index(
        {BUYS: LISTS[BUYS], rev: LISTS[BOUGHT], BOUGHT: LISTS[BOUGHT]}, reverse_types={BOUGHT: BUYS}
    )
    assert said_of(other) == {BUYS: (BOUGHT, 0), rev: (None, 0), BOUGHT: (BUYS, 0)}
    assert said_of(heterogeneous()) == {CITES: (None, 0), WRITES: (None, 0), REVERSE: (None, 0)}


def test_from_arrays_says_so():
    rows = {BUYS: ([0, 0, 1], [0]), BOUGHT: ([0, 1], [1])}
    indptr, indices = ({t: arrays[i] for t, arrays in rows.items()} for i in range(2))
    graph = ramet.from_arrays(indptr, indices, reverse_types={BOUGHT: BUYS})
    assert said_of(graph) == {BUYS: (BOUGHT, 0), BOUGHT: (BUYS, 0)}


def test_files_and_generated_graphs(tmp_path, capsys):
    """Their edges have no ids of an edge list."""
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix((np.ones(3), ([1, 2, 0], [0, 0, 0])), shape=(3, 3))
    np.savez(tmp_path / "tiny.npz", **parts_of("adj", matrix))
    for is_undirected, reverse in ((True, EDGE), (False, None)):
        graph = ramet.build(tmp_path / "store", tmp_path / "tiny.npz", undirected=is_undirected)
        assert said_of(graph) == {EDGE: (reverse, 0)}
        main(["info", str(tmp_path / "store")])
        assert ("reverses in node to node" in capsys.readouterr().out) == is_undirected
    for model in ({"model": "planted", "num_nodes": 50, "num_edges": 100}, {"model": "rmat", "scale": 4}):
        assert said_of(generate(tmp_path / "generated", **model)) == {EDGE: (EDGE, 0)}


@pytest.mark.parametrize(
    ("reverse_types", "message"),
    [
        ({BUYS: ("item", "sold to", "user")}, "reverse_types names edge type .*'sold to'.*; there are "),
        ({BUYS: BUYS}, "does not lead back from 'item' to 'user'"),
        ({("item", "like", "item"): ("item", "like", "item")}, "is its own reverse type; undirected=True says so"),
        ({BUYS: BOUGHT, BOUGHT: ("user", "likes", "item")}, "'bought by'.* has two reverse types"),
        ({BUYS: BOUGHT, ("user", "likes", "item"): BOUGHT}, "'bought by'.* has two reverse types"),
    ],
)
def test_types_that_are_no_reverses(reverse_types, message):
    lists = {**LISTS, ("item", "like", "item"): [[0], [1]], ("user", "likes", "item"): [[0], [1]]}
    with pytest.raises(ValueError, match=message):
        ramet.from_edge_index(lists, reverse_types=reverse_types)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["reverse user__buys__item item__likes__user"], "there is no such edge type"),
        (["reverse user__buys__item user__buys__item"], "it has other node types"),
        (["reverse user__buys__item item__bought%20by__user 3"], "it is another type, with a number of edges"),
        (["reverse user__buys__item item__bought%20by__user -3"], "line 5: '-3' needs to be a number"),
        (["reverse user__buys__item item__bought%20by__user"] * 2, "line 6: a second line names the reverse type of"),
        (["reverse user__buys__item ."], "line 5: array name 'edge/./indices': a part of it begins with a dot"),
        (["reverse user__buys__item"], "line 5: unknown line"),
    ],
)
def test_lines_that_contradict_the_store(lines, message, tmp_path):
    ramet.save(ramet.from_edge_index(LISTS), tmp_path / "store", checksums=False)
    text = (tmp_path / "store" / "ramet.txt").read_text()
    (tmp_path / "store" / "ramet.txt").write_text(text + "\n".join(lines) + "\n")
    with pytest.raises(ramet.CorruptStoreError, match=message):
        ramet.open(tmp_path / "store")


@pytest.mark.parametrize("place", ["out/user__buys__item", "edge/item__bought%20by__user"])
def test_edges_that_a_store_has_twice_agree(tmp_path, place):
    ramet.save(named(), tmp_path / "store", out_edges=True)
    ramet.save(undirected(), tmp_path / "undirected", out_edges=True)
    assert ramet.verify(tmp_path / "store") == ramet.verify(tmp_path / "undirected") == []
    file = tmp_path / "store" / place / "indices.npy"
    np.save(file, np.zeros_like(np.load(file)))
    write_checksums(tmp_path / "store")
    faults = ramet.verify(tmp_path / "store")
    for node in range(2):
        assert f"{tmp_path}/store/{place}: the edges of node {node} are not its edges in 'user buys item'" in faults
