"""ramet.toml: what is written is read again, and what is wrong is an error that names its place."""

import io
from dataclasses import fields

import numpy as np
import pytest

from ramet.inputs import layouts, toml
from ramet.inputs.tables import Description, EdgeTable, NodeTable

NODES = NodeTable(
    "user",
    "users/*.parquet",
    id=["country", "number"],
    features={"feat": ["age", 'a "quoted" \\ name\x7f'], "two words": "income"},
    label="churn",
    split=("at", 10, 20),
    seed=7,
    normalize=True,
)
EDGES = EdgeTable(
    ("user", "buys", "item"),
    ["orders/part-1.csv", "s3://bucket/part-2.csv"],
    source=None,
    destination=[1, 3],
    weight=2,
    split={"train": 0.75, "val": 0.25},
    reverse="rev_buys",
    header=False,
    duplicates="drop",
)


def contents(description):
    return [
        {field.name: getattr(table, field.name) for field in fields(table)}
        for table in (*description.nodes, *description.edges)
    ]


def test_what_is_written_is_read_again(tmp_path, monkeypatch):
    folder = tmp_path / "a [folder]"
    folder.mkdir()
    monkeypatch.chdir(folder)
    items = NodeTable("item", num_nodes=3)
    toml.write(Description((NODES, items), (EDGES,), ("a\nnote",)), "ramet.toml")
    text = (folder / "ramet.toml").read_text()
    assert text.startswith('# a note\n\n[[nodes]]\ntype = "user"\nrows = "users/*.parquet"\n')
    stream = io.StringIO()
    toml.write(toml.read("ramet.toml"), stream)  # of a stream nobody knows the folder
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.toml").write_text(stream.getvalue())
    for path in (folder / "ramet.toml", "other.toml"):
        user, item, buys = contents(toml.read(path))
        assert user.pop("rows") == f"{tmp_path}/a [[]folder]/users/*.parquet"  # the folder is no pattern
        assert buys.pop("rows") == [str(folder / "orders/part-1.csv"), "s3://bucket/part-2.csv"]
        assert item == contents(Description((items,)))[0]
        assert buys.pop("source") == []  # TOML has no None
        assert buys == {k: v for k, v in contents(Description((), (EDGES,)))[0].items() if k not in ("rows", "source")}
        expected = contents(Description((NODES,)))[0]
        assert user == {k: v for k, v in expected.items() if k != "rows"}


def test_only_paths_can_be_written(tmp_path):
    for rows in ({"id": np.arange(3)}, [np.arange(3)]):
        with pytest.raises(TypeError, match=r"NodeTable\('user'\): rows: a \w+ cannot stand in a file, only paths"):
            toml.write(Description((NodeTable("user", rows),)), tmp_path / "ramet.toml")
    assert not (tmp_path / "ramet.toml").exists()


def test_rows_of_a_known_layout_are_named_by_their_source(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "web.graph-txt").write_text("2\n1\n0\n")
    toml.write(layouts.describe("web.graph-txt"), "ramet.toml", source="web.graph-txt")
    text = (tmp_path / "ramet.toml").read_text()
    assert text == '# nodes: node\n# edges: node to node\n\nsource = "web.graph-txt"\n'
    monkeypatch.chdir("/")
    assert toml.read(tmp_path / "ramet.toml").nodes[0].num_nodes == 2


USER = '[[nodes]]\ntype = "user"\nrows = "users.csv"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = ?", "line 1, column 5"),
        ("[[node]]", "the file: 'node' is not a key; keys are edges, nodes, source"),
        ('source = "."', "source: .* has no layout that is known"),
        ('source = "."\nnodes = []', "source is '.', expected the path of the tables, and no other key"),
        ("[nodes]", "nodes is {}, expected tables that begin with"),
        (USER + '[[nodes]]\ntype = "item"\nfeature = ["a"]', r'\[\[nodes\]\] 2 \("item"\): \'feature\' is not a key'),
        (USER + "seed = 1.5", r'\[\[nodes\]\] 1 \("user"\): seed is 1.5, expected an integer of at least 0'),
        (USER + "id = [true]", r"id is \[True\], expected a column, its name or its number"),
        (USER + 'header = "yes"', "header is 'yes', expected true or false"),
        (USER + 'duplicates = "all"', "duplicates is 'all', not one of"),
        (USER + USER, "nodes: type 'user' has 2 tables"),
        ('[[nodes]]\nrows = "a"', r"\[\[nodes\]\] 1: type is missing"),
        ('[[edges]]\ntype = "buys"', r'\[\[edges\]\] 1 \("buys"\): type is \'buys\', expected a list'),
        ('[[edges]]\ntype = ["a", "b", "c"]', "rows is missing"),
    ],
)
def test_wrong_files(text, message, tmp_path):
    path = tmp_path / "ramet.toml"
    path.write_text(text)
    with pytest.raises((ValueError, TypeError), match=f"^{path}: .*{message}"):
        toml.read(path)
