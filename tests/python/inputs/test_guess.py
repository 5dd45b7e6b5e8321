"""What is guessed of tables that nothing describes, and what is said of it."""

import io

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from ramet.inputs import toml
from ramet.inputs.guess import describe


@pytest.fixture
def folder(tmp_path):
    """A shop: users and orders have ids, orders have keys."""
    (tmp_path / "users.csv").write_text(
        "user_id,name,age,joined,split\nu1,Ann,30,2024-01-01,train\nu2,Bob,,2024-01-02,val\nu3,Cyd,41,2024-01-03,test\n"
    )
    (tmp_path / "user_labels.csv").write_text("user_id,label\nu1,0\nu2,1\n")
    for part in range(2):
        orders = {
            "order_id": np.arange(3) + 3 * part,
            "user_id": ["u1", "u1", "u2"],
            "coupon_id": [1, None, 1],
            "amount": [1.5, 2.5, 3.5],
            "at": pa.array([1, 2, 3], pa.timestamp("s")),
        }
        parquet.write_table(pa.table(orders), tmp_path / f"orders-{part}.parquet")
    (tmp_path / "follows").mkdir()
    (tmp_path / "follows" / "part-0.tsv").write_text("from\tto\tweight\nu1\tu2\t0.5\nu2\tu1\t1\n")
    (tmp_path / "views.csv").write_text("user_id,page_id\nu1,p1\nu1,p2\nu2,p1\n")
    (tmp_path / "links.csv").write_text("3,4\n4,5\n3,4\n")
    (tmp_path / "words.csv").write_text("word,count,other\na,1,2\nb,1,2\n")
    (tmp_path / "README.md").write_text("A shop.")
    return tmp_path


def test_a_folder_of_tables(folder):
    described = describe(folder)
    nodes = {table.type: table for table in described.nodes}
    edges = {table.type: table for table in described.edges}
    assert set(nodes) == {"user", "order"}
    user, order = nodes["user"], nodes["order"]
    assert (user.rows, user.id, user.features) == (str(folder / "users.csv"), "user_id", ["age"])
    assert (user.time, user.split, user.label) == ("joined", "split", None)
    assert (order.rows, order.id, order.features) == (str(folder / "orders-*.parquet"), "order_id", ["amount"])
    assert order.time == "at"

    bought = edges.pop(("order", "user_id", "user"))
    assert (bought.rows, bought.source, bought.destination) == (order.rows, "order_id", "user_id")
    follows = edges.pop(("user", "follows", "user"))
    assert (follows.rows, follows.source, follows.destination) == (str(folder / "follows"), "from", "to")
    assert follows.weight == "weight"
    views = edges.pop(("user", "views", "page"))
    assert (views.source, views.destination) == ("user_id", "page_id")
    links = edges.pop(("order", "links", "order"))
    assert (links.source, links.destination, links.header) == (0, 1, False)
    assert not edges

    notes = "\n".join(described.notes)
    for doubt in (
        "Check every line",
        "orders: 2 files whose names differ by numbers are parts of one table",
        "orders: 'coupon_id' may be a key of a table that is not here",
        "users: left out: 'name', not of numbers",
        "user_labels: left out: nodes 'user' have a table",
        "follows: 'from' has ids of 'user': 100% of its first values are among theirs",
        "links: 0 has ids of 'order': 100%",
        "views: no table has nodes 'page'",
        "links: its two columns, 0, 1, are taken as source and destination",
        "links: the first line has numbers, so it is a row",
        "words: left out: none of its columns, 'word', 'count', 'other', looks like an id",
    ):
        assert doubt in notes
    toml.write(described, io.StringIO())  # all of it can stand in a file


def test_rows_without_ids_are_nodes_by_number(tmp_path):
    for name in ("drivers", "races"):
        (tmp_path / f"{name}.csv").write_text("id,wins\n1,3\n2,4\n")
    (tmp_path / "results.csv").write_text("driver_id,race_id,judge_id,place\n1,1,1,1\n1,1,1,1\n")
    (tmp_path / "prices.csv").write_text("sku,price\n1,2.5\n1,3.5\n")  # which are no edges from skus to prices
    described = describe(tmp_path)
    assert [(t.type, t.id) for t in described.nodes] == [("drivers", "id"), ("races", "id"), ("results", None)]
    assert {t.type: t.source for t in described.edges} == {
        ("results", "driver_id", "drivers"): (),
        ("results", "race_id", "races"): (),
    }
    assert any("a node's id is the number of its row" in note for note in described.notes)


def test_nothing_to_guess_from(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there are no tables in it: files of \.parquet, "):
        describe(tmp_path)
