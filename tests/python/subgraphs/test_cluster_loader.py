"""ClusterLoader against the twin, its ranks and states, and bad input. docs/semantics.md, section 26."""

import json
import re

import numpy as np
import pytest
import twin
from comparison import edge_list
from small_graphs import CITES, REVERSE, WRITES, heterogeneous, homogeneous, numpy_of
from twin.subgraphs import induced

import ramet

PARTS = 40


@pytest.fixture(scope="module")
def parts() -> np.ndarray:
    """Of 1,000 nodes; parts 3 and 39 are empty."""
    part_of = np.random.default_rng(1).integers(0, PARTS - 1, 1000)
    part_of[part_of == 3] = 4
    part_of[7] = PARTS  # so part 39 is in the midst
    return part_of


def csc_of(graph, edge_type=None) -> twin.Csc:
    return twin.Csc(graph.indptr(edge_type).tolist(), graph.indices(edge_type).tolist())


def contents(batch: ramet.Subgraph) -> tuple:
    values = (batch.input_id, batch.n_id, batch.edge_index, batch.e_id, batch.x, batch.y)
    return batch.epoch, batch.step, *(numpy_of(value).tolist() for value in values)


@pytest.mark.parametrize("shuffle", [False, True])
def test_batches_are_the_twins(graph, parts, shuffle):
    loader = ramet.ClusterLoader(graph, parts, 6, shuffle=shuffle, seed=5)
    csc, ids = csc_of(graph), graph.edge_ids()
    assert len(loader) == 7 and loader.num_parts == PARTS + 1
    for epoch in range(2):
        clusters = twin.global_batches(range(PARTS + 1), 6, shuffle=shuffle, drop_last=False, seed=5, epoch=epoch)
        for batch, of_batch in zip(loader, clusters, strict=True):
            nodes = [v for c in of_batch for v in np.flatnonzero(parts == c).tolist()]
            edges = induced(csc, nodes)
            assert batch.input_id.tolist() == of_batch
            assert batch.n_id.tolist() == batch.seeds.tolist() == nodes
            assert batch.edge_index.T.tolist() == [list(edge[:2]) for edge in edges]
            assert batch.e_id.tolist() == [ids[p] for *_, p in edges]
            assert (numpy_of(batch.x) == graph.table("feat").numpy()[nodes]).all()
            assert (numpy_of(batch.y) == graph.table("label").numpy()[nodes]).all()


@pytest.mark.parametrize("threads", [1, 4])
def test_threads_and_resuming_change_no_batch(graph, parts, threads):
    def make(part_of=parts, **options):
        return ramet.ClusterLoader(graph, part_of, 5, shuffle=True, **options)

    through = make()
    expected = [contents(batch) for _ in range(2) for batch in through]
    first, second = make(threads=threads, prefetch=7), make()
    batches = iter(first)
    seen = [contents(next(batches)) for _ in range(3)]
    state = json.loads(json.dumps(first.state_dict()))
    second.load_state_dict(state)
    assert seen + [contents(batch) for _ in range(2) for batch in second] == expected
    for other, message in ((make(seed=1), "seed=0, not 1"), (make(parts % 7), "parts=41, not 7")):
        with pytest.raises(ValueError, match=message):
            other.load_state_dict(state)
    with pytest.raises(ValueError, match="another graph"):
        make(np.roll(parts, 1)).load_state_dict(state)


def test_a_heterogeneous_graph():
    graph = heterogeneous()
    part_of = {t: np.arange(graph.num_nodes(t)) % 5 for t in graph.node_types}
    loader = ramet.ClusterLoader(graph, part_of, 2, tables=("feat",), drop_last=True)
    batch = next(iter(loader))
    assert len(loader) == 2
    for edge_type in (CITES, WRITES, REVERSE):
        source, _, destination = edge_type
        for t in (source, destination):
            assert batch.n_id[t].tolist() == [v for c in (0, 1) for v in range(c, graph.num_nodes(t), 5)]
        indices = graph.indices(edge_type)
        ends = np.repeat(np.arange(graph.num_nodes(destination)), np.diff(graph.indptr(edge_type)))
        inside = np.flatnonzero((indices % 5 < 2) & (ends % 5 < 2))
        assert sorted(batch.edges(edge_type).position.tolist()) == inside.tolist()
        rows, columns = (numpy_of(of_end) for of_end in batch.edge_index[edge_type])
        position = numpy_of(batch.edges(edge_type).position)
        assert (numpy_of(batch.n_id[source])[rows] == indices[position]).all()
        assert (numpy_of(batch.n_id[destination])[columns] == ends[position]).all()
    assert batch.tables["feat"]["author"].shape == (80, 3)


def test_parts_of_ramet_partition(graph, tmp_path):
    for method in ("hash", "range"):
        ramet.partition(graph, 8, tmp_path / method, method=method, only_owner=True)
        loader = ramet.ClusterLoader(graph, tmp_path / method, 3)
        sizes = [part["nodes"] for part in json.loads((tmp_path / method / "partition.json").read_text())["sizes"]]
        assert [len(batch.n_id) for batch in loader] == [sum(sizes[i : i + 3]) for i in (0, 3, 6)]
    (tmp_path / "hash" / "partition.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no partition\.json"):
        ramet.ClusterLoader(graph, tmp_path / "hash")


def test_edge_tables_blocks_and_pyg(parts):
    pytest.importorskip("torch_geometric")
    edges = edge_list(1000, 1000, 5000, seed=2)
    graph = ramet.from_edge_index(edges, 1000, edges={"w": np.arange(edges.shape[1], dtype=np.float32)})
    batch = next(iter(ramet.ClusterLoader(graph, parts, 9, tables=("w",))))
    assert batch.edges().table("w").tolist() == batch.e_id.tolist()
    (block,) = batch.blocks
    assert block.num_src == block.num_dst == batch.num_nodes
    assert block.edge_index.tolist() == batch.edge_index.tolist()
    data = batch.to_pyg()
    assert data.edge_index.tolist() == batch.edge_index.tolist() and data.n_id.tolist() == batch.n_id.tolist()
    assert data.w.tolist() == batch.e_id.tolist() and "num_sampled_edges" not in data and "batch_size" not in data


def test_clusters_without_nodes(parts):
    pytest.importorskip("torch")
    (empty,) = [batch for batch in ramet.ClusterLoader(homogeneous(), parts) if batch.input_id.tolist() == [3]]
    assert (empty.num_nodes, empty.num_edges, tuple(empty.x.shape)) == (0, 0, (0, 8))
    assert empty.mean(empty.x.sum(1)) == 0
    with pytest.raises(AttributeError, match="SaintLoader"):
        _ = empty.node_norm
    none = ramet.from_edge_index(np.zeros((2, 0), int), 0)
    assert [batch.num_nodes for batch in ramet.ClusterLoader(none, np.zeros(0, int))] == [0]


def test_bad_input(graph, parts, tmp_path):
    loader, hetero = ramet.ClusterLoader, heterogeneous()
    bad = parts.copy()
    bad[5] = -1
    for error, message, call in [
        (ValueError, "parts has shape [999], expected [1000]", lambda: loader(graph, parts[1:])),
        (TypeError, "parts has dtype float64", lambda: loader(graph, parts / 2)),
        (IndexError, "parts[5] is -1, but expected a part from 0", lambda: loader(graph, bad)),
        (IndexError, "parts[0] is 1000000000", lambda: loader(graph, np.full(1000, 10**9))),
        (ValueError, "batch_size is 0", lambda: loader(graph, parts, 0)),
        (FileNotFoundError, "partition.json", lambda: loader(graph, str(tmp_path))),
        (ValueError, "expected a dict by node type", lambda: loader(hetero, parts)),
        (ValueError, "of the node types ['paper'], expected", lambda: loader(hetero, {"paper": parts})),
        (TypeError, "ClusterLoader has no 'num_workers'", lambda: loader(graph, parts, num_workers=2)),
        (TypeError, "unexpected keyword argument 'num_neighbors'", lambda: loader(graph, parts, num_neighbors=[2])),
        (ValueError, "loaders of subgraphs do not take", lambda: loader(graph, parts, ranks=ramet.Cooperate())),
        (KeyError, "tables names 'age'", lambda: loader(graph, parts, tables=("age",))),
    ]:  # fmt: skip
        with pytest.raises(error, match=re.escape(message)):
            call()
