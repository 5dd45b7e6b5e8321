"""--nodes and --edges: what stands before, between and after the separators."""

import argparse

import pytest

from ramet.commands.tables import edge_table, node_table


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
