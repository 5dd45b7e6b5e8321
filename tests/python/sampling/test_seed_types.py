"""Seeds of several node types in one batch (docs/semantics.md, sections 4 and 15), against the twin."""

import numpy as np
import pytest
from comparison import check, odd, write_store
from methods import METHODS, make
from timed_graphs import timed_types

import ramet

SEEDS = {"b": [7, 19, 0, 7], "a": [50, 42, 50, 119, 3]}


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    return make("heterogeneous", tmp_path_factory.mktemp("types"))[:2]


def ids(value) -> list:
    return np.asarray(value).tolist()


@pytest.mark.parametrize("expand", ["every", "once"])
@pytest.mark.parametrize("method", METHODS)
def test_batches(pair, method, expand):
    options = METHODS[method] | {"seed": 3, "epoch": 1, "step": 6, "expand": expand}
    batch = check(pair, SEEDS, [4, 3], threads=(1, 3), **options)
    assert batch.num_seeds == batch.global_num_seeds == 9
    for node_type, of_type in SEEDS.items():
        assert ids(batch.n_id[node_type])[: len(of_type)] == of_type
        assert ids(batch.input_id[node_type]) == list(range(len(of_type)))
        assert batch.num_sampled_nodes[node_type][0] == len(of_type)


@pytest.mark.parametrize("expand", ["every", "once"])
def test_trees_are_numbered_over_all_types(pair, expand):
    batch = check(pair, SEEDS, [4, 3], disjoint=True, expand=expand)
    assert ids(batch.batch["b"])[:4] == [0, 1, 2, 3]
    assert ids(batch.batch["a"])[:5] == [4, 5, 6, 7, 8]


@pytest.mark.parametrize("expand", ["every", "once"])
def test_times(expand):
    """Times of one type are given, those of the other are its nodes'."""
    pair = timed_types("nodes", False)
    seeds = {"a-b": [4, 4, 70], ".Ärzte/__%_": [0, 49], "a": [7, 119]}
    given = {".Ärzte/__%_": [3, -5], "a-b": [9, -9, 0]}
    batch = check(pair, seeds, [4, 3], time=ramet.Time("time"), input_time=given, expand=expand)
    assert list(batch.seed_time) == list(seeds)
    assert ids(batch.seed_time["a-b"]) == [9, -9, 0] and ids(batch.seed_time[".Ärzte/__%_"]) == [3, -5]
    assert ids(batch.seed_time["a"]) == ids(pair[0].table("time", "a").numpy()[[7, 119]])


def test_types_without_seeds_and_one_type():
    graph, twin_graph = odd()
    batch = check((graph, twin_graph), {"a-b": [], "a": [5, 5]}, [3, 2])
    assert ids(batch.seeds["a-b"]) == [] and ids(batch.input_id["a-b"]) == []
    one = ramet.sample(graph, {"a": [5, 5]}, [3, 2])
    assert ids(one.seeds) == [5, 5] and one.fingerprint() == ramet.sample(graph, ("a", [5, 5]), [3, 2]).fingerprint()


@pytest.mark.parametrize("expand", ["every", "once"])
def test_without_hops(pair, expand):
    batch = ramet.sample(pair[0], SEEDS, [], expand=expand, disjoint=True)
    assert {t: ids(of_type) for t, of_type in batch.n_id.items()} == {"a": SEEDS["a"], "b": SEEDS["b"]}
    assert batch.num_sampled_nodes == {"a": [5], "b": [4]}
    assert all(counts == [] for counts in batch.num_sampled_edges.values())
    if expand == "once":
        assert batch.edges(("a", "to", "b")).edge_index.shape == (2, 0)
    else:
        assert batch.blocks == []


def test_a_graph_without_edges(tmp_path):
    graph, _ = write_store(tmp_path / "store", {"node": 5}, {})
    assert ids(ramet.sample(graph, [4, 1], []).n_id) == [4, 1]
    assert "num_neighbors=[]" in repr(ramet.NeighborLoader(graph, []))
    with pytest.raises(ValueError, match="the graph has no edge types to sample from"):
        ramet.sample(graph, [4, 1], [2])


def test_refusals(pair):
    graph = timed_types("nodes", False)[0]

    def refuse(error, words, seeds, **options):
        with pytest.raises(error, match=words):
            ramet.sample(graph, seeds, [2], **options)

    refuse(ValueError, "seeds is an empty dict", {})
    refuse(ValueError, r"seeds\['c'\] names node type 'c'", {"c": [1]})
    refuse(ValueError, r"seeds\['a'\] is None, expected ids", {"a": None, "a-b": [1]})
    refuse(IndexError, r"seeds\['a-b'\]\[1\] is 80", {"a": [1], "a-b": [1, 80]})
    refuse(TypeError, "input_time is .*, expected a dict", {"a": [1], "a-b": [1]}, time="time", input_time=[1, 2])
    refuse(ValueError, r"names the node types \['b'\]", {"a": [1]}, time="time", input_time={"b": [1]})
    refuse(ValueError, r"input_time\['a'\] has shape \[2\]", {"a": [1]}, time="time", input_time={"a": [1, 2]})
    refuse(ValueError, "no `time` to compare", {"a": [1]}, input_time={"a": [1]})
    refuse(ValueError, "need times of their own", {"a": [1], ".Ärzte/__%_": [1]}, time="time")
