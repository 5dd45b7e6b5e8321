"""Parts of graphs: what ramet.partition writes, and what may be done with it. docs/format.md, section 7."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from command_line import error_of
from small_graphs import CITES, heterogeneous, homogeneous
from test_paths import largest_file

import ramet
from ramet import _core
from ramet.commands.main import main
from ramet.dtypes import scaled_by

METHODS = ("metis", "range", "hash")


def of_many_dtypes() -> ramet.Graph:
    """Edge ids of the user's, tables of edges, and every form of quantized and small rows."""
    random = np.random.default_rng(1)
    feat = random.standard_normal((300, 6)).astype(np.float32)
    edges = random.integers(0, 300, (2, 2000))
    nodes = {
        "feat": ramet.quantize(feat),
        "by_column": ramet.quantize(feat, "column"),
        "half": feat.astype(np.float16),
        "year": random.integers(0, 99, 300),
    }
    tables = {"weight": random.random(2000, np.float32), "pair": random.integers(0, 9, (2000, 2), np.int8)}
    return ramet.from_edge_index(edges, 300, nodes=nodes, edges=tables, splits={"train": np.arange(70)})


def without_edge_ids() -> ramet.Graph:
    random = np.random.default_rng(2)
    indptr = np.concatenate([[0], np.cumsum(random.integers(0, 9, 1000))])
    indices = random.integers(0, 1000, indptr[-1])
    edges = {"weight": random.random(indptr[-1])}
    return ramet.from_arrays(indptr, indices, nodes={"feat": random.random((1000, 3))}, edges=edges)


GRAPHS = {
    "homogeneous": homogeneous,
    "heterogeneous": heterogeneous,
    "many dtypes": of_many_dtypes,
    "no edge ids": without_edge_ids,
}


def parts_of(out, parts: int) -> list[ramet.Graph]:
    return [ramet.open(out / f"part-{part}") for part in range(parts)]


def split(graph, tmp_path, parts: int = 3, method: str = "hash", **options) -> list[ramet.Graph]:
    ramet.partition(graph, parts, tmp_path / "parts", method=method, **options)
    return parts_of(tmp_path / "parts", parts)


def check_table(table: ramet.Table, whole: ramet.Table, rows: np.ndarray) -> None:
    assert table.dtype == whole.dtype
    np.testing.assert_array_equal(table.numpy().view(np.uint8), whole.numpy()[rows].view(np.uint8))
    if whole.scale is None:
        assert table.scale is None
    else:
        by_row = scaled_by(whole.scale, len(whole)) == "row"
        np.testing.assert_array_equal(table.scale, whole.scale[rows] if by_row else whole.scale)


def positions(graph: ramet.Graph, edge_type, nodes: np.ndarray) -> np.ndarray:
    """Where the in-edges of nodes stand."""
    indptr = graph.indptr(edge_type)
    return np.concatenate([np.arange(indptr[v], indptr[v + 1]) for v in nodes] or [np.zeros(0)]).astype(np.int64)


def check_edges(part: ramet.Graph, whole: ramet.Graph, edge_type) -> None:
    nodes = part.owned(edge_type[2])
    there = positions(whole, edge_type, nodes)
    degrees = np.diff(whole.indptr(edge_type))
    np.testing.assert_array_equal(np.diff(part.indptr(edge_type)), degrees[nodes])
    np.testing.assert_array_equal(part.indices(edge_type), whole.indices(edge_type)[there])
    ids = whole.edge_ids(edge_type)
    np.testing.assert_array_equal(part.edge_ids(edge_type), there if ids is None else ids[there])
    assert part.tables(edge_type) == whole.tables(edge_type)
    for name in whole.tables(edge_type):
        check_table(part.table(name, edge_type), whole.table(name, edge_type), there)


def check_parts(parts: list[ramet.Graph], whole: ramet.Graph) -> None:
    """The slow twin: numpy's indexing."""
    for node_type in whole.node_types:
        owned = np.concatenate([part.owned(node_type) for part in parts])
        np.testing.assert_array_equal(np.sort(owned), np.arange(whole.num_nodes(node_type)))
    for k, part in enumerate(parts):
        assert part.part == (k, len(parts))
        part._core.validate(0)
        for node_type in whole.node_types:
            nodes = part.owned(node_type)
            assert part.num_nodes(node_type) == whole.num_nodes(node_type)
            assert part.num_rows(node_type) == len(nodes)
            assert part.tables(node_type) == whole.tables(node_type)
            for name in whole.tables(node_type):
                check_table(part.table(name, node_type), whole.table(name, node_type), nodes)
        for edge_type in whole.edge_types:
            check_edges(part, whole, edge_type)
        assert part.splits == whole.splits
        for name, node_types in whole.splits.items():
            for node_type in node_types:
                np.testing.assert_array_equal(part.split(name, node_type), whole.split(name, node_type))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", GRAPHS)
def test_parts_are_the_whole_graph(kind, method, tmp_path):
    graph = GRAPHS[kind]()
    check_parts(split(graph, tmp_path, 3, method), graph)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("num_nodes", "parts"), [(5, 1), (5, 5), (5, 4), (5, 9), (1, 3), (0, 2), (40, 20), (40, 5)])
def test_few_nodes_and_many_parts(num_nodes, parts, method, tmp_path):
    edges = np.zeros((2, 0), int) if num_nodes == 0 else np.arange(2 * num_nodes).reshape(2, -1) % num_nodes
    graph = ramet.from_edge_index(edges, num_nodes, nodes={"feat": np.ones((num_nodes, 2))})
    check_parts(split(graph, tmp_path, parts, method), graph)


@pytest.mark.parametrize("method", ["metis", "hash"])
def test_more_parts_than_a_byte_counts(method, tmp_path):
    report = ramet.partition(homogeneous(), 300, tmp_path / "out", method=method, only_owner=True)
    owner = np.load(tmp_path / "out" / "owner" / "node.npy")
    assert owner.dtype == np.uint16
    assert [size["nodes"] for size in report["sizes"]] == np.bincount(owner, minlength=300).tolist()


def test_ids_of_64_bits_and_bfloat16(tmp_path):
    indptr, indices = np.array([0, 2, 2, 5]), np.array([1, 2, 0, 1, 2])
    feat = np.arange(6, dtype=np.float32).reshape(3, 2)
    contents = [
        ("node/node/feat", feat),
        ("edge/node__to__node/indptr", indptr),
        ("edge/node__to__node/indices", indices),
        ("edge/node__to__node/edge_ids", np.arange(5) + 2**40),
    ]
    _core.write_store(os.fsencode(tmp_path / "wide"), {"node": 3}, contents)
    ramet.save(ramet.open(tmp_path / "wide"), tmp_path / "whole", dtype="bfloat16")
    graph = ramet.open(tmp_path / "whole")
    parts = split(graph, tmp_path)
    assert parts[0].indices().dtype == np.int64
    assert parts[0].table("feat").dtype == ramet.bfloat16
    check_parts(parts, graph)


def test_parts_are_refused_where_the_whole_graph_is_needed(tmp_path, capfd):
    pytest.importorskip("torch")
    from ramet.nn import layerwise

    part = split(homogeneous(), tmp_path)[1]
    for use in (
        lambda: ramet.sample(part, [0], [2]),
        lambda: ramet.NeighborLoader(part, [2]),
        lambda: layerwise(part, [lambda x, block: x]),
    ):
        with pytest.raises(ValueError, match="part 1 of 3 and has no in-edges of nodes of other parts"):
            use()
    refused = error_of(capfd, "train", tmp_path / "parts" / "part-1", "--out", tmp_path / "run")
    assert "part 1 of 3 and has no in-edges" in refused
    with pytest.raises(ValueError, match="part 1 of 3 already"):
        ramet.partition(part, 2, tmp_path / "again")


def test_a_part_may_be_pickled_saved_written_to_and_shown(tmp_path):
    graph = heterogeneous()
    part = split(graph, tmp_path)[2]
    ramet.save(part, tmp_path / "saved")
    saved = ramet.open(tmp_path / "saved")
    writable = ramet.open(tmp_path / "parts" / "part-2", mode="copy-on-write")
    for same in (pickle.loads(pickle.dumps(part)), saved, writable):
        assert same.part == (2, 3)
        np.testing.assert_array_equal(same.owned("paper"), part.owned("paper"))
        check_edges(same, graph, CITES)
        assert same._core.fingerprint() == part._core.fingerprint()
    writable.table("feat", "paper").numpy()[0] = 7
    assert "part 2 of 3" in repr(part)
    assert graph.part is None
    assert graph.owned("author").tolist() == list(range(200))
    assert part._core.part[2] == graph._core.fingerprint()


def test_info_and_verify(tmp_path, capsys):
    graph = homogeneous()
    part = split(graph, tmp_path)[1]
    path = str(tmp_path / "parts" / "part-1")
    assert main(["verify", path]) == 0
    assert main(["info", path]) == 0
    text = capsys.readouterr().out
    assert f"part 1 of 3 of the graph {graph._core.fingerprint():016x}" in text
    assert f"1,000 nodes, {part.num_rows()} of them in this part" in text
    assert main(["info", path, "--json"]) == 0
    info = json.loads(capsys.readouterr().out)
    assert info["part"]["index"] == 1
    assert info["node_types"][0]["owned_nodes"] == part.num_rows()

    assert main(["verify", str(tmp_path / "parts")]) == 0
    report = tmp_path / "parts" / "partition.json"
    report.write_text(report.read_text().replace("1", "2", 1))
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "parts")]) == 1
    assert "partition.json" in capsys.readouterr().err


def test_damaged_parts(tmp_path, capsys):
    """What else there is, tests/graph/part_test.cc says."""
    split(homogeneous(), tmp_path)
    part = tmp_path / "parts" / "part-1"
    (part / "checksums.txt").unlink()
    owned = np.load(part / "owned/node.npy")
    more = owned.copy()
    more[2, 0] += np.uint64(1)
    for wrong, message in (
        (np.full_like(owned, 2**63), "owned/node.npy: the last line makes"),
        (more, "feat.npy: has"),
    ):
        np.save(part / "owned/node.npy", wrong)
        assert main(["verify", str(part)]) == 1
        assert message in capsys.readouterr().err
    np.save(part / "owned/node.npy", owned)
    assert main(["verify", str(part)]) == 0


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("method", METHODS)
def test_the_report_counts(kind, method, tmp_path):
    graph = GRAPHS[kind]()
    report = ramet.partition(graph, 4, tmp_path / "out", method=method, only_owner=True)
    assert sorted(os.listdir(tmp_path / "out")) == ["owner", "partition.json"]
    assert json.loads((tmp_path / "out" / "partition.json").read_text()) == report
    owner = {t: np.load(tmp_path / "out" / "owner" / f"{t}.npy") for t in graph.node_types}
    if method == "range":
        owner = {t: np.repeat(np.arange(4), np.diff(bounds)) for t, bounds in owner.items()}
    cut = 0
    in_edges = np.zeros(4, int)
    for src, relation, dst in graph.edge_types:
        destination = np.repeat(owner[dst], np.diff(graph.indptr((src, relation, dst))))
        cut += int((owner[src][graph.indices((src, relation, dst))] != destination).sum())
        in_edges += np.bincount(destination, minlength=4)
    assert report["cut"] == cut
    assert report["cut_share"] == cut / report["edges"]
    assert [size["in_edges"] for size in report["sizes"]] == in_edges.tolist()
    nodes = sum(np.bincount(of_type, minlength=4) for of_type in owner.values())
    assert [size["nodes"] for size in report["sizes"]] == nodes.tolist()
    assert report["max_over_mean"]["nodes"] == nodes.max() / nodes.mean()
    assert report["fingerprint"] == f"{graph._core.fingerprint():016x}"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"parts": 0}, ValueError, "parts is 0, expected 1 to 65535"),
        ({"parts": 65536}, ValueError, "parts is 65536"),
        ({"parts": 2.0}, TypeError, "parts is 2.0"),
        ({"parts": True}, TypeError, "parts is True"),
        ({"method": "kmeans"}, ValueError, "method is 'kmeans'"),
        ({"balance": "bytes"}, ValueError, "balance is 'bytes'"),
        ({"balance": "edges"}, ValueError, "only metis and kaminpar have a choice"),
        ({"preset": "fast", "method": "metis"}, ValueError, "only method='kaminpar' has a choice"),
        ({"preset": "terapart", "method": "kaminpar"}, ValueError, "preset is 'terapart', expected one of"),
        ({"seed": "one", "method": "metis"}, TypeError, "seed is 'one'"),
        ({"seed": -1, "method": "metis"}, ValueError, "seed is -1"),
    ],
)
def test_bad_arguments(options, error, message, tmp_path):
    arguments = {"parts": 2, "method": "hash", **options}
    with pytest.raises(error, match=message):
        ramet.partition(homogeneous(), out=tmp_path / "out", **arguments)
    assert os.listdir(tmp_path) == []


def test_bad_places(tmp_path):
    with pytest.raises(FileNotFoundError):
        ramet.partition(tmp_path / "none", 2, tmp_path / "out", method="hash")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("")
    with pytest.raises(FileExistsError, match=r"holds 'thesis.tex'"):
        ramet.partition(homogeneous(), 2, tmp_path / "full", method="hash")
    split(homogeneous(), tmp_path, 4)
    with pytest.raises(FileExistsError, match=r"holds 'part-[23]', which is not of 2 parts"):
        split(homogeneous(), tmp_path, 2)
    check_parts(split(without_edge_ids(), tmp_path, 4), without_edge_ids())
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        ramet.partition(homogeneous(), 2, tmp_path / "file", method="hash")


def test_new_owners_are_refused_beside_stores_of_others(tmp_path):
    split(homogeneous(), tmp_path)
    with pytest.raises(FileExistsError, match=r"holds 'part-[012]', which is not of the owners of 3 parts"):
        ramet.partition(homogeneous(), 3, tmp_path / "parts", method="range", only_owner=True)
    check_parts(parts_of(tmp_path / "parts", 3), homogeneous())


def test_a_damaged_graph_is_refused(tmp_path):
    ramet.save(homogeneous(), tmp_path / "whole", checksums=False)
    edges = tmp_path / "whole" / "edge" / "node__to__node"
    for name, value in (("indptr", 2**40), ("indptr", -1), ("indices", 1000), ("indices", -5)):
        array = np.load(edges / f"{name}.npy")
        broken = array.copy()
        broken[500] = value
        np.save(edges / f"{name}.npy", broken)
        for method in METHODS:
            with pytest.raises((ramet.CorruptStoreError, IndexError)):
                ramet.partition(tmp_path / "whole", 3, tmp_path / "out", method=method)
        np.save(edges / f"{name}.npy", array)
    assert not (tmp_path / "out").exists()


def test_the_command(tmp_path, capsys):
    store = str(tmp_path / "graph")
    ramet.save(homogeneous(), store)
    assert main(["partition", store, "--parts", "3", "--method", "range", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["parts"] == 3
    check_parts(parts_of(tmp_path / "graph-parts-3", 3), ramet.open(store))
    out = str(tmp_path / "owners")
    assert main(["partition", store, "--parts", "2", "--out", out, "--method", "hash", "--only-owner"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{out}: 2 parts by hash, ")
    assert "part 1: " in text and "largest part over mean: nodes " in text
    assert main(["partition", store, "--parts", "2", "--out", out, "--method", "hash", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    zero = error_of(capsys, "partition", store, "--parts", 0, "--method", "hash")
    assert "parts is 0, expected 1 to 65535" in zero
    part = f"{store}-parts-3/part-1"
    assert "part 1 of 3 already" in error_of(capsys, "partition", part, "--parts", 2, "--method", "hash")


def test_a_full_disk_leaves_nothing(tmp_path):
    """Part 1 does not fit, after part 0 has been written."""
    nodes = {"feat": np.zeros((2000, 32), np.float32)}
    graph = ramet.from_edge_index(np.zeros((2, 3000), int), 2000, nodes=nodes)
    with largest_file(64 << 10), pytest.raises(OSError, match=r"parts/.*part-1.*File too large"):
        ramet.partition(graph, 2, tmp_path / "parts", method="range")
    assert not (tmp_path / "parts").exists()


def test_interrupted_in_the_middle(tmp_path):
    """Parts are whole, and a folder that is not finished is no problem for the next command."""
    feat = np.zeros((200_000, 64), np.float32)
    graph = ramet.from_edge_index(np.zeros((2, 1), int), len(feat), nodes={"feat": feat})
    ramet.save(graph, tmp_path / "graph", checksums=False)
    out = tmp_path / "graph-parts-8"
    command = [sys.executable, "-m", "ramet", "partition", str(tmp_path / "graph"), "--parts", "8"]
    child = subprocess.Popen([*command, "--method", "hash"], stderr=subprocess.PIPE, text=True)
    while not (out / "part-1").exists():
        assert child.poll() is None, child.stderr.read()
        time.sleep(0.001)
    child.send_signal(signal.SIGINT)
    assert child.communicate()[1].endswith("ramet: interrupted\n")
    assert child.returncode == 130
    entries = os.listdir(out)
    assert "partition.json" not in entries and not any(entry.startswith(".") for entry in entries)
    for entry in entries:
        assert not entry.startswith("part-") or main(["verify", str(out / entry), "--quiet"]) == 0
    ramet.partition(tmp_path / "graph", 8, out, method="hash")
    assert (out / "partition.json").exists()
