"""`ramet build` of tables and `ramet describe`: from files to a store by command lines alone."""

import argparse

import numpy as np
import pytest
from command_line import error_of, run

import ramet
from ramet.commands.tables import edge_table, node_table


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Relative paths begin in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "users.csv").write_text("user_id,age\nu7,30\nu3,41\n")
    (tmp_path / "shop" / "orders.csv").write_text("user_id,item_id,weight\nu3,i1,0.5\nu7,i2,1\nu3,i1,2\nu9,i2,1\n")
    return tmp_path


NODES = ["--nodes", "user=shop/users.csv:user_id"]
EDGES = ["--edges", "user buys item=shop/orders.csv:user_id->item_id"]


def test_tables_as_options(shop, capsys):
    status, _, err = run(capsys, "build", "store", *NODES, *EDGES)
    assert status == 2 and "u9" in err and "orders.csv, row 3" in err
    assert not (shop / "store").exists()
    drop = ["--missing", "drop", "--memory", "200M"]
    status, out, err = run(capsys, "build", "store", *NODES, *EDGES, *drop)
    assert (status, out) == (0, "store: 4 nodes, 3 edges\n"), err
    assert err.endswith("\nstore: 1 rows of ('user', 'buys', 'item') are no edges: unknown nodes\n")
    assert ramet.open("store").ids("user").find(["u3", "u7"]).tolist() == [1, 0]
    assert run(capsys, "build", "quiet", *NODES, *EDGES, *drop, "--quiet") == (0, "", "")


def test_a_guess_becomes_a_store(shop, capsys):
    status, text, err = run(capsys, "describe", "shop")
    assert (status, err) == (0, "")
    assert "# orders: no table has nodes 'item', so they are those that edges name." in text
    (shop / "ramet.toml").write_text(text)
    status, out, err = run(capsys, "build", "store", "ramet.toml", "--missing", "add", "--order", "degree")
    assert (status, out) == (0, "store: 5 nodes, 4 edges\n"), err
    assert "store: 1 nodes of type 'user' were added, which only edges name\n" in err
    graph = ramet.open("store")
    assert graph.tables("user") == ["feat"]
    assert graph.tables(("user", "orders", "item")) == ["weight"]
    assert graph.ids("user").of([0]).tolist() == ["u3"]  # who buys most


def test_a_plan_builds_nothing(shop, capsys):
    status, out, err = run(capsys, "build", "store", *NODES, *EDGES, "--plan", "--memory", "1G")
    assert status == 0, err
    assert "user buys item" in out and "memory 1.1 GB" in out
    _, larger, _ = run(capsys, "build", "store", *NODES, *EDGES, "--plan", "--memory", "1G", "--out-edges")
    assert out.splitlines()[2].split()[:5] != larger.splitlines()[2].split()[:5]  # the edges' bytes in the store
    assert not (shop / "store").exists()


def test_wrong_uses(shop, capsys):
    np.savez("csr.npz", adj_data=[], adj_indices=[], adj_indptr=[0, 0], adj_shape=[1, 1])
    for argv, message in (
        (["build", "store"], "needs a source"),
        (["build", "store", "shop", *NODES], "not both"),
        (["build", "store", "--edges", "user item=a:b->c"], "is not like 'user buys item=orders"),
        (["build", "store", *NODES, "--train-per-class", "2"], "--train-per-class"),
        (["build", "store", *NODES, "--memory", "1 GiB or so"], "--memory is '1 GiB or so'"),
        (["describe", "nowhere"], "nowhere"),
        (["describe", "csr.npz"], "csr.npz holds no tables: ramet build OUT csr.npz reads it as a whole"),
    ):
        assert message in error_of(capsys, *argv)


# ---- --nodes and --edges: what stands before, between and after the separators


@pytest.mark.parametrize(
    ("text", "type_", "rows", "ids", "header"),
    [
        ("user=users.parquet:user_id", "user", "users.parquet", "user_id", True),
        ("user=users.parquet", "user", "users.parquet", None, True),
        ("a user=users/year=2024/*:id", "a user", "users/year=2024/*", "id", True),
        ("user=s3://bucket/users:id", "user", "s3://bucket/users", "id", True),
        ("user=s3://bucket/users", "user", "s3://bucket/users", None, True),
        ("user=a:b.parquet:", "user", "a:b.parquet", None, True),
        ("user=a:b->c.csv:country,number", "user", "a:b->c.csv", ["country", "number"], True),
        ("user=users.csv:0", "user", "users.csv", 0, False),
        ("user=users.csv:2,0", "user", "users.csv", [2, 0], False),
        ("user=users.csv:0,id", "user", "users.csv", ["0", "id"], True),
    ],
)
def test_nodes(text, type_, rows, ids, header):
    table = node_table(text)
    assert (table.type, table.rows, table.id, table.header) == (type_, rows, ids, header)


@pytest.mark.parametrize(
    ("text", "rows", "source", "destination", "header"),
    [
        ("user buys item=orders/*.parquet:user_id->sku", "orders/*.parquet", "user_id", "sku", True),
        ("user buys item=orders.csv", "orders.csv", "source", "destination", True),
        ("user buys item=a->b:c=d.csv:from->to->at", "a->b:c=d.csv", "from->to", "at", True),
        ("user buys item=gs://b/o:country,number->sku", "gs://b/o", ["country", "number"], "sku", True),
        ("user buys item=orders.tsv.gz:0->2", "orders.tsv.gz", 0, 2, False),
    ],
)
def test_edges(text, rows, source, destination, header):
    table = edge_table(text)
    assert table.type == ("user", "buys", "item")
    assert (table.rows, table.source, table.destination, table.header) == (rows, source, destination, header)


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        *((node_table, text) for text in ("users.parquet", "=users.parquet:id", "user=", "user=:id")),
        *(
            (edge_table, text)
            for text in ("user buys=a.csv:x->y", "user buys item=a.csv:x", "user buys item=a.csv:->y")
        ),
    ],
)
def test_what_cannot_be_read(parse, text):
    with pytest.raises(argparse.ArgumentTypeError, match=f"'{text}' is not like 'user"):
        parse(text)
