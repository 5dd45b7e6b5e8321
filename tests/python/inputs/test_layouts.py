"""layouts.describe() of whole data sets, and of lists of edges in text: their Descriptions, and the rows of these."""

from __future__ import annotations

import gzip
import subprocess
import sys

import pytest
from table_rows import batches, read

from ramet.inputs import layouts
from ramet.inputs.layouts import text, triples


def test_triples_of_aifb(data_dir):
    found = layouts.describe(data_dir / "aifb")
    assert len(found.edges) == 45 and all(edge.duplicates == "drop" for edge in found.edges)
    edges = {edge.type: set(read(edge, "subject", "object")) for edge in found.edges}
    assert sum(map(len, edges.values())) == 29043
    year = '"1994"^^<http://www.w3.org/2001/XMLSchema#string>'
    paper = "http://www.aifb.uni-karlsruhe.de/Publikationen/viewPublikationOWL/id647instance"
    assert (paper, year) in edges["node", "year", "node"]
    (node,) = found.nodes
    assert (node.id, node.label, node.split, node.duplicates) == ("id", "label", "split", "first")
    ids, labels, splits = zip(*{row[0]: row for row in reversed(read(node))}.values())
    assert set(ids) == {end for pairs in edges.values() for pair in pairs for end in pair} and len(ids) == 8285
    assert (splits.count("train"), splits.count("test"), len(set(labels) - {None})) == (140, 36, 4)


def test_heco_dblp(data_dir):
    pytest.importorskip("scipy")
    found = layouts.describe(data_dir / "heco_dblp")
    assert [edge.type for edge in found.edges] == [("p", "pa", "a"), ("p", "pc", "c"), ("p", "pt", "t")]
    nodes = {node.type: node for node in found.nodes}
    assert nodes["c"].num_nodes == 20 and nodes["p"].rows.num_rows == 14328 and nodes["t"].rows.num_rows == 7723
    batch = next(batches(nodes["a"], "feat", "label"))
    assert batch.column(0).type.list_size == 334 and batch.column(1)[:3].to_pylist() == [2, 2, 3]
    assert {name: len(ids) for name, ids in nodes["a"].split.items()} == {"train": 80, "val": 1000, "test": 1000}


@pytest.fixture
def small_pieces(monkeypatch):
    """Files are read a few bytes at a time, so that numbers, lines and characters lie across pieces."""
    monkeypatch.setattr(text, "PIECE", 5)
    monkeypatch.setattr(triples, "KEPT_BYTES", 0)


@pytest.mark.parametrize("ending", ["\n", "", "\r\n"])
def test_successor_lists_in_pieces(tmp_path, small_pieces, ending):
    with gzip.open(tmp_path / "w.graph-txt.gz", "wt") as file:
        file.write("12\n1 2\n\n 11 0 \n" + "\n" * 8 + "11" + ending)
    found = layouts.describe(tmp_path / "w.graph-txt.gz")
    assert read(found.edges[0]) == read(found.edges[0]) == [(0, 1), (0, 2), (2, 11), (2, 0), (11, 11)]


@pytest.mark.parametrize(
    "content, message",
    [
        ("x\n1\n", r"line 1: 'x' is not the number of nodes"),
        ("2\n1\n0 2\n", r"line 3: node 2 is outside \[0, 2\)"),
        ("2\n1\n0 -1\n", r"line 3: node -1 is outside"),
        ("2\n1\nzero\n", r"line 3: 'zero' is no number of a node"),
        ("2\n1\n0\n1\n", r"3 lists for the 2 nodes of line 1"),
        ("3\n1\n0\n", r"2 lists for the 3 nodes of line 1"),
        ("2\n" + "1" * 99 + "\n\n", r"line 2: '1+' is no number of a node"),
    ],
)
def test_wrong_successor_lists_name_the_line(tmp_path, content, message, small_pieces):
    (tmp_path / "w.graph-txt").write_text(content)
    with pytest.raises(ValueError, match=message):
        read(layouts.describe(tmp_path).edges[0])


TRIPLES = r"""# a comment
<http://x/a> <http://x/p#knows> <http://x/b> .
<http://x/a> <http://x/p#knows> <http://x/b> . # again
_:n1 <http://y/knows> "a \"quoted\" <http://x/p#knows>"@en-GB .

<http://x/b>	<http://x/p#age>	"7"^^<http://www.w3.org/2001/XMLSchema#int>.
<http://x/b> <http://x/p#name> "Z\u00fcrich" .
<http://x/b> <http://x/p#n\u0061me> "Zürich" .
"""


@pytest.mark.parametrize("kept", [True, False])
def test_triples_are_edges_and_terms_are_nodes(tmp_path, request, kept):
    if not kept:
        request.getfixturevalue("small_pieces")
    (tmp_path / "g.nt").write_text(TRIPLES)
    (tmp_path / "trainingSet.tsv").write_text("thing\tid\tlabel_kind\nhttp://x/b\t1\tgood\n")
    (tmp_path / "completeDataset.tsv").write_text("label_kind\tthing\ngood\thttp://x/b\nbad\t_:n1\n")
    found = layouts.describe(tmp_path)
    assert {edge.type[1]: sorted(set(read(edge))) for edge in found.edges} == {
        "http://x/p#knows": [("http://x/a", "http://x/b")],
        "http://y/knows": [("_:n1", r'"a \"quoted\" <http://x/p#knows>"@en-GB')],
        "age": [("http://x/b", '"7"^^<http://www.w3.org/2001/XMLSchema#int>')],
        "name": [("http://x/b", '"Zürich"')],
    }
    rows = read(found.nodes[0])
    assert rows[:3] == [("http://x/b", "good", "train"), ("_:n1", "bad", None), ("http://x/a", None, None)]
    assert len({row[0] for row in rows}) == 6
    (tmp_path / "testSet.tsv").write_text("thing\tlabel_kind\nhttp://x/b\tbad\n")
    with pytest.raises(ValueError, match=r"'http://x/b' is also in .*trainingSet.tsv, there with the label 'good'"):
        layouts.describe(tmp_path)


@pytest.mark.parametrize("line", ["<a> <b> c .", '<a> "b" <c> .', "<a> <b> <c>", '<a> <b> "c .', "<a b> <c> <d> ."])
def test_what_is_no_triple_names_the_line(tmp_path, line):
    (tmp_path / "g.nt").write_text(f"<http://a> <http://b> <http://c> .\n\n{line}\n")
    with pytest.raises(ValueError, match=r"g.nt, line 3: .* is no triple"):
        layouts.describe(tmp_path / "g.nt")
    (tmp_path / "g.nt").write_bytes(b'<http://a> <http://b> <http://c> .\n<http://a> <http://b> "\xff" .\n')
    with pytest.raises(ValueError, match=r"g.nt, line 2: not UTF-8"):
        layouts.describe(tmp_path / "g.nt")


def test_edge_lists_of_snap(tmp_path, small_pieces):
    path = tmp_path / "com-x.txt.gz"
    with gzip.open(path, "wt") as file:
        file.write("# Undirected graph: x\n# Nodes: 3 Edges: 4\n# FromNodeId\tToNodeId\tSign\n")
        file.write("5\t70 -1\n 70  5  1\n# more\n\n9007199254740993 5\t1\n5 5 1")
    found = layouts.describe(path)
    (edge,) = found.edges
    assert edge.undirected and edge.features == {"sign": "sign"} and "Nodes: 3 Edges: 4" in found.notes
    assert read(edge) == [(5, 70, -1), (70, 5, 1), (9007199254740993, 5, 1), (5, 5, 1)]
    plain = tmp_path / "plain.txt"
    plain.write_text("0 1 0.5\n")
    (edge,) = layouts.describe(plain).edges
    assert not edge.undirected and read(edge, "value", "source") == [(0.5, 0)]
    for wrong in ("1", "1 x", "007 1 1", "1 2 3 4", "1 99999999999999999999 1", "1 2 0.x"):
        plain.write_text(f"0 1 0.5\n# c\n{wrong}\n")
        with pytest.raises(ValueError, match=r"plain.txt, line 3: '.*', expected source \(int64\), destination"):
            read(layouts.describe(plain).edges[0])


def test_other_files(tmp_path):
    (tmp_path / "letter.txt").write_text("Dear all,\n1 2\n")
    (tmp_path / "other.json").write_text("[1")
    (tmp_path / "zeros.txt").write_bytes(bytes(99))
    for path in (tmp_path, tmp_path / "nothing", *tmp_path.iterdir()):
        assert layouts.describe(path) is None
    assert "N-Triples" in layouts.forms() and "GraphBolt" in layouts.forms()
    code = "import sys; sys.modules['pyarrow'] = None; from ramet.inputs import layouts; print(layouts.describe('.'))"
    run = [sys.executable, "-c", f"{code}; print(layouts.forms())"]
    printed = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    assert printed == "None\nothers with pyarrow (pip install ramet[tables])\n"


def test_endless_lines_and_damaged_files(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "LONGEST_LINE", 1000)
    monkeypatch.setattr(text, "PIECE", 100)
    (tmp_path / "g.nt").write_bytes(b"<" + b"a" * 2000)
    with pytest.raises(ValueError, match=r"g.nt: a line is longer than 1000 bytes"):
        layouts.describe(tmp_path / "g.nt")
    (tmp_path / "w.graph-txt.gz").write_bytes(gzip.compress(b"2\n1\n0\n")[:-9])
    with pytest.raises(ValueError, match=r"w.graph-txt.gz"):
        read(layouts.describe(tmp_path / "w.graph-txt.gz").edges[0])
