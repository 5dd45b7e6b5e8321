"""layouts.describe() of small folders in the form of each layout, and of wrong ones: what they name is said."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from table_rows import read

import ramet
from ramet.inputs import layouts
from ramet.inputs.tables import EdgeTable


def write(folder, files):
    """Text files by name; what has no suffix becomes .csv.gz."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix:
            path.write_text(content)
        else:
            path.with_suffix(".csv.gz").write_bytes(gzip.compress(content.encode()))
    return folder


def refused(folder, message, error=ValueError):
    """That describing the folder and reading its rows is an error with this message."""
    with pytest.raises(error, match=message):
        found = layouts.describe(folder)
        for table in (*found.nodes, *found.edges):
            if table.rows is not None:
                read(table)


def splits_of(table):
    return {name: np.asarray(ids).tolist() for name, ids in table.split.items()}


@pytest.fixture
def homogeneous(tmp_path):
    """ogbl-collab's and ogbn-arxiv's files in one."""
    folder = tmp_path / "ogbl_collab"
    raw = {"num-node-list": "3\n", "num-edge-list": "2\n", "edge": "0,1\n2,1\n", "edge_weight": "2\n1\n"}
    raw |= {
        "node-feat": "1,2\n3,4\n5,6.5\n",
        "node-label": "7\n8\n9\n",
        "node_year": "1\n2\n3\n",
        "edge_year": "4\n5\n",
    }
    write(folder, {f"raw/{name}": content for name, content in raw.items()})
    return write(folder, {"split/time/train": "0\n2\n", "split/time/valid": "1\n", "split/time/test": ""})


def test_ogb_of_one_type(homogeneous):
    for folder in (homogeneous, homogeneous / "raw"):
        found = layouts.describe(folder)
        (node,), (edge,) = found.nodes, found.edges
        assert node.features == {"feat": (0, 1)} and (node.label, node.time) == (2, 3)
        assert read(node) == [("1", "2", "7", "1"), ("3", "4", "8", "2"), ("5", "6.5", "9", "3")]
        assert splits_of(node) == {"train": [0, 2], "val": [1], "test": []}
        assert (edge.source, edge.destination, edge.weight, edge.time, edge.undirected) == (0, 1, 2, 3, True)
        assert read(edge) == [("0", "1", "2", "4"), ("2", "1", "1", "5")]
    write(homogeneous, {"split/time/train.pt": ""})
    assert [note.partition(":")[0] for note in layouts.describe(homogeneous).notes] == [
        "each edge of ogbl-collab stands for both directions",
        "splits in .pt files are left out; of links, the edges of valid and test are no edges here",
    ]
    (homogeneous / "split/time/train.pt").unlink()
    other = homogeneous.rename(homogeneous.parent / "mine")
    found = layouts.describe(other)
    assert not found.edges[0].undirected and "undirected=True" in found.notes[0]
    write(other, {"RELEASE_v1.txt": "# Release note for ogbn-arxiv\n"})
    assert layouts.describe(other).notes == ()


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("num-edge-list", "3\n", r"edge.csv.gz has 2 rows, but .*num-edge-list.csv.gz says 3"),
        ("num-node-list", "2\n", r"node-feat.csv.gz has at least 3 rows, but .*num-node-list.csv.gz says 2"),
        ("num-node-list", "2\n1\n", r"num-node-list.csv.gz: 2 graphs; a store has one"),
        ("num-node-list", "three\n", r"num-node-list.csv.gz: .*'three'"),
        ("edge", "0,1,2\n", r"edge.csv.gz: 3 columns, expected 2"),
        ("edge", None, r"edge.csv.gz: no such file"),
        ("num-edge-list", None, r"num-edge-list.csv.gz: no such file"),
        ("node_year", "1\n2\n", r"node_year.csv.gz has 2 rows, but .*num-node-list.csv.gz says 3"),
    ],
)
def test_ogb_that_contradicts_itself(homogeneous, name, content, message):
    if content is None:
        (homogeneous / "raw" / f"{name}.csv.gz").unlink()
    else:
        write(homogeneous, {f"raw/{name}": content})
    refused(homogeneous, message, FileNotFoundError if content is None else ValueError)


def test_ogb_of_several_types(tmp_path):
    raw = {"num-node-dict": "author,paper\n2,3\n", "triplet-type-list": "author,writes,paper\npaper,cites,paper\n"}
    raw |= {"node-feat/paper/node-feat": "1\n2\n3\n", "node-feat/paper/node_year": "9\n8\n7\n"}
    raw |= {"node-label/paper/node-label": "0\n1\n0\n"}
    for relation, edges in (("author___writes___paper", "0,2\n"), ("paper___cites___paper", "0,1\n1,2\n")):
        raw[f"relations/{relation}/edge"] = edges
        raw[f"relations/{relation}/num-edge-list"] = f"{edges.count(',')}\n"
        raw[f"relations/{relation}/edge_reltype"] = "5\n" * edges.count(",")
    write(tmp_path / "ogbn_mag/raw", raw)
    write(tmp_path / "ogbn_mag/split/time/paper", {"train": "2\n", "valid": "0\n"})
    author, paper = (found := layouts.describe(tmp_path / "ogbn_mag")).nodes
    assert (author.type, author.num_nodes, author.split) == ("author", 2, None)
    assert read(paper, paper.label, paper.time) == [("0", "9"), ("1", "8"), ("0", "7")]
    assert splits_of(paper) == {"train": [2], "val": [0]}
    assert [edge.type[1] for edge in found.edges] == ["writes", "cites"] and not found.edges[1].undirected
    assert read(found.edges[1], 1, 0, *found.edges[1].features["reltype"]) == [("1", "0", "5"), ("2", "1", "5")]


def test_ogb_in_arrays(tmp_path):
    raw = tmp_path / "ogbn_papers100M" / "raw"
    raw.mkdir(parents=True)
    arrays = {"num_nodes_list": [3], "num_edges_list": [4], "node_feat": np.arange(6, dtype=np.float16).reshape(3, 2)}
    arrays |= {"edge_index": [[0, 1, 2, 2], [1, 2, 0, 1]], "node_year": np.array([[7], [8], [9]])}
    np.savez_compressed(raw / "data.npz", **arrays)
    labels = np.array([[1], [np.nan], [0]], dtype=np.float32)
    np.savez_compressed(raw / "node-label.npz", node_label=labels)
    write(raw.parent, {"split/time/train": "0\n"})
    (node,), (edge,) = (found := layouts.describe(raw.parent)).nodes, found.edges
    assert read(node, "feat", "label", "year", max_bytes=80) == [([0, 1], 1, 7), ([2, 3], None, 8), ([4, 5], 0, 9)]
    assert (node.label, node.time, node.features, splits_of(node)) == (
        "label",
        "year",
        {"feat": "feat"},
        {"train": [0]},
    )
    assert read(edge, max_bytes=32) == [(0, 1), (1, 2), (2, 0), (2, 1)] and not edge.undirected

    np.savez(raw / "node-label.npz", node_label=labels + 0.5)
    refused(raw.parent, r"node-label.npz, node_label, row 0: the label 1.5 is no integer")
    np.savez(raw / "node-label.npz", node_label=labels[:2])
    refused(raw.parent, r"node-label.npz: node_label is \[2, 1\], but .*\[3, ")
    (raw / "node-label.npz").unlink()
    np.savez(raw / "data.npz", **arrays | {"num_edges_list": [5]})
    refused(raw.parent, r"data.npz: no edge_index of shape \[2, 5\]")
    np.savez(raw / "data.npz", **arrays | {"num_nodes_list": [5]})
    refused(raw.parent, r"data.npz: .* have 3 rows, but num_nodes_list says 5")
    np.savez(raw / "data.npz", **arrays | {"node_feat": np.array([None, 1, 2])})
    refused(raw.parent, r"data.npz: node_feat.npy has dtype object")
    whole = (raw / "data.npz").read_bytes()
    (raw / "data.npz").write_bytes(whole[:-50])
    refused(raw.parent, r"data.npz is damaged")


@pytest.fixture
def on_disk(tmp_path):
    """A folder for GraphBolt, with the old names of seeds in one set."""
    pytest.importorskip("yaml")
    saved = {"feat": np.arange(6.0).reshape(3, 2), "train": [0, 2], "train-y": [5, 6], "val": [1], "val-y": [7]}
    saved |= {"cites": [[0, 1], [1, 2]], "pairs": [[0, 1]], "weight": [0.5]}
    for name, array in saved.items():
        np.save(tmp_path / f"{name}.npy", np.asarray(array))
    write(tmp_path, {"writes.csv": "0,2\n"})
    data = "- type: paper\n      data:\n      - {name: %s, format: numpy, path: %s.npy}\n"
    text = (
        "graph:\n  nodes:\n  - {type: author, num: 1}\n  - {type: paper, num: 3}\n  edges:\n"
        "  - {type: 'author:writes:paper', format: csv, path: writes.csv}\n"
        "  - {type: 'paper:cites:paper', format: numpy, path: cites.npy}\n"
        "feature_data:\n- {domain: node, type: paper, name: feat, format: numpy, path: feat.npy, in_memory: false}\n"
        "- {domain: edge, type: 'author:writes:paper', name: weight, format: numpy, path: weight.npy}\n"
        "tasks:\n- name: kinds\n  num_classes: 8\n"
        "  train_set:\n    " + data % ("seeds", "train") + "      - {name: labels, format: numpy, path: train-y.npy}\n"
        "  validation_set:\n    "
        + data
        % ("seed_nodes", "val")
        + "      - {name: labels, format: numpy, path: val-y.npy}\n"
        "- name: links\n  train_set:\n  - type: 'paper:cites:paper'\n    data:\n"
        "    - {name: node_pairs, format: numpy, path: pairs.npy}\n"
    )
    return write(tmp_path, {"metadata.yaml": text})


def test_graphbolt(on_disk):
    found = layouts.describe(on_disk)
    author, paper = found.nodes
    assert author.num_nodes == 1 and paper.label == "label" and splits_of(paper) == {"train": [0, 2], "val": [1]}
    assert read(paper, "label", "feat") == [(5, [0, 1]), (7, [2, 3]), (6, [4, 5])]
    writes, cites = found.edges
    assert read(writes, 0, 1, "weight") == [("0", "2", 0.5)] and writes.features == {"weight": "weight"}
    assert read(cites, cites.source, cites.destination) == [(0, 1), (1, 2)]
    assert found.notes == ("the pairs of nodes in train_set of task links are left out",)


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("graph:", "graph: [", "metadata.yaml: no YAML"),
        ("graph:", "graph_topology:", "metadata.yaml: no graph; what DGL has preprocessed"),
        ("graph:", "graph: 7\nx:", "metadata.yaml: graph: int, expected keys and values"),
        ("num: 3", "num: 4", r"metadata.yaml: 'feat' of 'paper' is \[3, 2\], but graph has 4 nodes"),
        ("num: 3", "num: many", "graph: nodes 2: num is 'many'"),
        ("path: feat.npy", "path: x.npy", "x.npy: no such file, but .*metadata.yaml names it"),
        ("path: feat.npy", "file: feat.npy", "feature_data 1: path is None, expected a string"),
        ("numpy, path: feat", "csv, path: feat", "feature_data 1: format is 'csv', not 'numpy' or 'torch'"),
        ("numpy, path: feat.npy", "numpy, path: writes.csv", "writes.csv: no .npy file"),
        ("type: paper, name: feat", "type: pages, name: feat", "data of 'pages', a type that graph does not have"),
        ("author:writes:paper", "author-writes", "type is 'author-writes', not 'source:relation:destination'"),
        ("path: cites.npy", "path: feat.npy", r"feat.npy: edges are \[3, 2\], expected \[2, num_edges\]"),
        ("name: seeds", "name: items", "tasks 1: train_set 1: no data has a name of seeds, seed_nodes, node_pairs"),
        ("path: train-y.npy", "path: val-y.npy", r"tasks 1: labels \[1\] for seeds \[2\]"),
        ("path: train.npy", "path: train-y.npy", r"tasks 1: seeds 5 to 6, not in \[0, 3\)"),
    ],
)
def test_wrong_metadata(on_disk, old, new, message):
    path = on_disk / "metadata.yaml"
    path.write_text(path.read_text().replace(old, new, 1))
    refused(on_disk, message, FileNotFoundError if "no such" in message else ValueError)


def construction(**changes):
    user = {"node_type": "user", "node_id_col": "id", "format": {"name": "parquet"}, "files": "users-*.parquet"}
    user["features"] = [
        {"feature_col": ["age", "rank"], "feature_name": "feat"},
        {"feature_col": "age", "feature_name": "scaled", "transform": {"name": "max_min_norm"}},
        {"feature_col": "bio", "transform": {"name": "bert_hf"}},
    ]
    user["labels"] = [{"label_col": "kind", "task_type": "classification", "split_pct": [0.5, 0.25, 0.25]}]
    more = {
        "node_type": "user",
        "format": {"name": "csv"},
        "files": ["more.csv"],
        "features": [{"feature_col": "height"}],
    }
    knows = {"relation": ["user", "knows", "user"], "source_id_col": "a", "dest_id_col": "b", "format": {"name": "csv"}}
    knows |= {"files": "knows.csv", "labels": [{"task_type": "link_prediction"}]}
    return {"version": "gconstruct-v0.1", "nodes": [user | changes, more], "edges": [knows]}


@pytest.fixture
def graphstorm(tmp_path):
    tmp_path = tmp_path / "[a]"  # no pattern
    tmp_path.mkdir()
    for number in (0, 1):
        ids = pa.array([f"u{number}{i}" for i in range(2)])
        columns = {"id": ids, "age": [1, 2], "rank": [0.5, 1.5], "bio": ["x", "y"], "kind": ["a", "b"]}
        parquet.write_table(pa.table(columns), tmp_path / f"users-{number}.parquet")
    write(tmp_path, {"more.csv": "height\n1\n2\n3\n4\n", "knows.csv": "a,b\nu00,u11\n", "train.json": '"u00"\n"u11"\n'})
    return write(tmp_path, {"graph.json": json.dumps(construction())}) / "graph.json"


def test_graphstorm(graphstorm):
    found = layouts.describe(graphstorm)
    (user,), (knows,) = found.nodes, found.edges
    assert user.features == {"feat": ["age", "rank"], "scaled": "age", "height": "height"}
    assert (user.id, user.label, user.split) == ("id", "kind", {"train": 0.5, "val": 0.25, "test": 0.25})
    assert read(user, "id", "height")[2:] == [("u10", "3"), ("u11", "4")]
    assert knows.split == {"train": 0.8, "val": 0.1, "test": 0.1} and read(knows, "a", "b") == [("u00", "u11")]
    assert [note.partition(": ")[2] for note in found.notes] == [
        "features 2: scaled is as in the files: max_min_norm is not applied",
        "features 3: bio is left out: it needs bert_hf",
    ]
    labels = [{"label_col": "kind", "custom_split_filenames": {"train": "train.json"}}, {"label_col": "rank"}]
    graphstorm.write_text(json.dumps(construction(labels=labels)))
    found = layouts.describe(graphstorm)
    assert found.nodes[0].split == {"train": ["u00", "u11"]} and found.nodes[0].features["rank"] == "rank"
    assert "rank is a table, but gives no splits" in found.notes[-1]


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"format": {"name": "hdf5"}}, "nodes 1: format {'name': 'hdf5'} cannot be read; write the table as Parquet"),
        ({"files": "nothing-*"}, "nothing-.*: no such file, but .*graph.json: nodes 1: files names it"),
        ({"files": 7}, "nodes 1: files is 7, not a path"),
        ({"node_subtype": "x"}, "nodes 1: 'node_subtype' cannot be a part of a Description"),
        ({"features": [{"feature_col": ["age", "rank"]}]}, "nodes 1: features 1: no feature_col, or several and no"),
        ({"labels": [{"label_col": "kind", "separator": ","}]}, "labels 1: 'separator' cannot be a part"),
        ({"labels": [{"label_col": "kind", "split_pct": 0.8}]}, "labels 1: split_pct is 0.8, not three shares"),
        ({"labels": [{"custom_split_filenames": {"test": "more.csv"}}]}, "more.csv: no ids of a split"),
        ({"node_type": None}, "nodes 1: node_type is None, expected a string"),
        ({"node_type": "user2"}, None),
    ],
)
def test_what_of_graphstorm_is_refused(graphstorm, changes, message):
    graphstorm.write_text(json.dumps(construction(**changes)))
    if message is None:
        assert [node.type for node in layouts.describe(graphstorm).nodes] == ["user2", "user"]
    else:
        refused(graphstorm, message, FileNotFoundError if "no such" in message else ValueError)


def save_keyed(folder, name, columns, primary, foreign, time=None, **more):
    folder.mkdir(exist_ok=True)
    keys = {"pkey_col": primary, "fkey_col_to_pkey_table": foreign, "time_col": time} | more
    table = pa.table(columns).replace_schema_metadata({key: json.dumps(value) for key, value in keys.items()})
    parquet.write_table(table, folder / f"{name}.parquet")


def test_tables_with_keys(tmp_path):
    db = tmp_path / "db"
    stamps = pa.array([1, 2, None], pa.timestamp("ms"))
    save_keyed(db, "users", {"id": [5, 6], "age": [1.5, None], "name": ["a", "b"]}, "id", {})
    orders = {"user": [6, None, 5], "at": stamps, "amount": [1, 2, 3], "paid": [True, False, True]}
    save_keyed(db, "orders", orders, None, {"user": "users"}, "at")
    found = layouts.describe(tmp_path)
    orders, users = found.nodes
    assert (orders.id, orders.time, orders.features) == (None, "at", ["amount", "paid"])
    assert (users.id, users.features) == ("id", ["age"]) and found.notes == (
        "columns of users that are no numbers are left out: name",
    )
    (edge,) = found.edges
    assert edge.type == ("orders", "user", "users") and edge.reverse_type == ("users", "rev_user", "orders")
    assert (edge.source, edge.time, edge.rows) == (None, "at", orders.rows)
    assert read(edge, "user") == [(6,), (None,), (5,)]
    graph = ramet.build(tmp_path / "store", tmp_path)
    assert graph.table("time", "orders").numpy().tolist() == [1, 2, -(2**63)]
    assert graph.table("time", ("orders", "user", "users")).numpy().tolist() == [-(2**63), 1]

    for keys, message in (
        ({"foreign": {"seller": "users"}}, r"orders.parquet: its metadata names the column 'seller'"),
        (
            {"foreign": {"user": "people"}},
            r"orders.parquet: the column 'user' is a key of 'people', which is not among",
        ),
        ({"foreign": {"user": 7}}, r"orders.parquet: fkey_col_to_pkey_table in the metadata .* is b'"),
        ({"foreign": {}, "primary": ["a"]}, r"orders.parquet: pkey_col in the metadata"),
    ):
        save_keyed(db, "orders", {"user": [1]}, **{"primary": None} | keys)
        refused(tmp_path, message)
    parquet.write_table(pa.table({"x": [1]}), db / "users.parquet")
    save_keyed(db, "orders", {"user": [1]}, None, {})
    refused(tmp_path, "users.parquet: no pkey_col in the metadata of its schema")


def test_heco(tmp_path):
    write(tmp_path, {"pa.txt": "0\t1\n1\t0\n"})
    for name, array in {"labels": [5, 6], "train_40": [0], "train_20": [1], "val_20": [0]}.items():
        np.save(tmp_path / f"{name}.npy", array)
    refused(tmp_path, r"labels.npy is \[2\], and one type must have as many nodes: {'p': 2, 'a': 2}")
    with open(tmp_path / "p_feat.npz", "wb") as file:
        np.save(file, np.eye(3))
    a, p = sorted((found := layouts.describe(tmp_path)).nodes, key=lambda node: node.type)
    assert read(a) == [(5,), (6,)] and splits_of(a) == {"train": [1], "val": [0]} and "[40]" in found.notes[0]
    assert p.rows.num_rows == 3 and read(found.edges[0]) == [(0, 1), (1, 0)]
    (tmp_path / "p_feat.npz").write_bytes(b"PK")
    refused(tmp_path, r"p_feat.npz: no matrix")


def test_tgb(tmp_path):
    write(tmp_path / "a", {"tkgl-x_edgelist.csv": "timestamp,head,tail,relation_type\n3,u,v,r\n"})
    (edge,) = layouts.describe(tmp_path / "a").edges
    assert (edge.source, edge.destination, edge.time, edge.weight) == ("head", "tail", "timestamp", None)
    assert edge.features == {"relation_type": "relation_type"} and read(edge, "head") == [("u",)]

    write(tmp_path / "a", {"tkgl-x_nodetype.csv": "node_id,type\nu,1\nv,2\n", "tkgl-x_edgelist.csv": "day,src,dst,w\n"})
    (node,), (edge,) = (found := layouts.describe(tmp_path / "a")).nodes, found.edges
    assert (node.id, node.features, edge.weight) == ("node_id", {"type": "type"}, "w")

    header = "user_id,item_id,timestamp,state_label,comma_separated_list_of_features\n"
    write(tmp_path / "b", {"tgbl-wiki_edgelist_v2.csv": header + "0,0,36.0,0,-0.1,0.2\n1,1,77.0,1,0.3,0.4\n"})
    (edge,) = layouts.describe(tmp_path / "b" / "tgbl-wiki_edgelist_v2.csv").edges
    assert edge.type == ("user", "to", "item") and list(edge.features["feat"]) == [4, 5]
    assert read(edge, edge.source, edge.time, edge.label, 5) == [("0", "36.0", "0", "0.2"), ("1", "77.0", "1", "0.4")]
    graph = ramet.build(tmp_path / "store", tmp_path / "b")
    assert graph.table("time", edge.type)[:].tolist() == [36, 77] and graph.num_nodes("user") == 2
    late = EdgeTable(edge.type, {"u": [0, 1], "i": [0, 0], "t": [36.0, 36.5]}, "u", "i", time="t")
    with pytest.raises(ValueError, match=r"row 1: column 't' is 36.5, no whole number"):
        ramet.build(tmp_path / "store", edges=[late])

    write(tmp_path / "b", {"tgbl-wiki_edgelist_v2.csv": "when,who,whom\n"})
    refused(tmp_path / "b", r"no known time or ends among the columns \['when', 'who', 'whom'\]")


def test_a_layout_is_a_source_of_a_build(homogeneous, tmp_path):
    for name in ("edge_weight", "edge_year"):  # of an edge and its reverse, which differ
        (homogeneous / "raw" / f"{name}.csv.gz").unlink()
    graph = ramet.build(tmp_path / "store", homogeneous)
    assert graph.num_nodes() == 3 and graph.num_edges() == 4  # both directions
    assert graph.table("feat")[:].tolist() == [[1, 2], [3, 4], [5, 6.5]]
    assert graph.table("label")[:].tolist() == [7, 8, 9] and graph.table("time")[:].tolist() == [1, 2, 3]
    assert graph.split("train").tolist() == [0, 2] and graph.split("val").tolist() == [1]
    with pytest.raises(ValueError, match=r"not recognized; known forms: .*Planetoid.*; a raw folder of OGB"):
        ramet.build(tmp_path / "other", tmp_path)
