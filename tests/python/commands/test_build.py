"""`ramet build` of tables and `ramet describe`: from files to a store by command lines alone."""

import numpy as np
import pytest

from ramet.commands.main import main
from ramet.inputs import toml


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Relative paths begin in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "users.csv").write_text("user_id,age\nu7,30\nu3,41\n")
    (tmp_path / "shop" / "orders.csv").write_text("user_id,item_id,weight\nu3,i1,0.5\nu7,i2,1\nu3,i1,2\nu9,i2,1\n")
    return tmp_path


NODES = ["--nodes", "user=shop/users.csv:user_id"]


def run(capsys, *argv):
    """(exit status, output, errors) of a command line."""
    try:
        status = main(list(argv))
    except SystemExit as stop:
        status = stop.code
    return status, *capsys.readouterr()


def test_a_guess_is_a_file(shop, capsys):
    status, text, err = run(capsys, "describe", "shop")
    assert (status, err) == (0, "")
    assert "# orders: no table has nodes 'item', so they are those that edges name." in text
    (shop / "ramet.toml").write_text(text)
    assert [table.type for table in toml.read("ramet.toml").nodes] == ["user"]


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
        status, out, err = run(capsys, *argv)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert message in err
