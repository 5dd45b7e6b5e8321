"""Users' ids: the map that makes positions of them, and the ids that a store keeps."""

import os
import pickle

import numpy as np
import pytest
from kept_ids import ABOUT, ITEMS, SHOPS, contents_with_ids
from test_paths import largest_file

import ramet
from ramet import _core
from ramet.commands.main import main


def test_a_map_refuses_what_are_no_ids_of_its_kind():
    ids = _core.IdMap("int64")
    with pytest.raises(ValueError, match="ids are float64"):
        ids.add([np.ones(2)])
    with pytest.raises(ValueError, match="id 1 is not UTF-8"):
        _core.IdMap("text").add([(np.array([97, 255], np.uint8), np.arange(3))])
    with pytest.raises(ValueError, match="cannot be added once"):
        ids.arrays()
        ids.add([np.arange(2)])


def test_a_full_disk_is_an_error(tmp_path):
    ids = _core.IdMap("int64", bytes(tmp_path))
    words = r"cannot reserve .* bytes of the hash table of ids: File too large"
    with largest_file(1 << 20), pytest.raises(OSError, match=words):
        ids.add([np.arange(100_000)])


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("ids") / "store"
    contents_with_ids().save(path)
    return path


def check_ids(graph):
    users, items, shops, cities = map(graph.ids, ("user", "item", "shop", "city"))
    assert users.find(["u3", "é", "", "u3"]).tolist() == [3, 2, 1, 3]
    assert users.of([0, 4]).tolist() == ["u17", "u1"] and users.of([0]).dtype == object
    assert items.find(ITEMS[::-1].copy()).tolist() == items.find([2**63, 7, 2**64 - 1]).tolist() == [2, 1, 0]
    assert items.of([0, 1, 0]).tolist() == [2**64 - 1, 7, 2**64 - 1] and items.of([0]).dtype == np.uint64
    assert shops.find([(SHOPS[2][0], 1), *SHOPS[1::-1]]).tolist() == [2, 1, 0] and shops.of([2, 0]).tolist() == [
        SHOPS[2],
        SHOPS[0],
    ]
    assert cities.find([1, 0]).tolist() == [1, 0] and cities.of([1]).tolist() == [1] and len(cities) == 2
    assert [ids.kind for ids in (users, items, shops, cities)] == ["text", "uint64", "tuple", "int64"]
    assert repr(users) == "<ids of node type 'user': 5 of text>"
    assert graph.about("a/b", "user") == ABOUT["node/user/a%2Fb"] and graph.about("c", "user") == {}


# docs/format.md, section 1.
def test_a_store_keeps_ids(store, tmp_path, capsys):
    graph = ramet.open(store)
    check_ids(graph)
    check_ids(ramet.open(store, "copy-on-write"))
    ramet.save(graph, tmp_path / "again", dtype={})
    assert {p.relative_to(store): p.read_bytes() for p in store.glob("*/**/*.npy")} == {
        p.relative_to(tmp_path / "again"): p.read_bytes() for p in (tmp_path / "again").glob("*/**/*.npy")
    }
    check_ids(graph.edge_subgraph([1]))
    assert pickle.loads(pickle.dumps(graph.ids("user"))).find(["u3"]).tolist() == [3]
    ramet.partition(graph, 2, tmp_path / "parts", method="hash")
    check_ids(ramet.open(tmp_path / "parts" / "part-1"))
    assert main(["verify", str(store)]) == 0 and main(["info", str(store)]) == 0
    assert "node type shop: 3 nodes, ids of tuple" in capsys.readouterr().out
    assert ramet.from_arrays([0, 0], []).about("feat") == {}


def test_unknown_ids_and_those_of_another_kind(store):
    graph = ramet.open(store)
    with pytest.raises(KeyError, match="no node of type 'user' has 2 of 3 ids; the first of these is 'u2'"):
        graph.ids("user").find(np.array(["u3", "u2", "U3"]))
    with pytest.raises(KeyError, match="2 of 2 ids; the first of these is -1"):
        graph.ids("item").find(np.array([-1, 8]))
    for wrong in ([2**64, 7], [-1]):
        with pytest.raises(KeyError, match=f"1 of {len(wrong)} ids"):
            graph.ids("item").find(wrong)
    with pytest.raises(KeyError, match="1 of 1 ids; the first of these is 2"):
        graph.ids("city").find([2])
    for name, wrong in [("user", [3]), ("user", "u3"), ("item", ["7"]), ("item", [7.0]), ("item", np.ones(2))]:
        with pytest.raises(TypeError, match=r"ids|int"):
            graph.ids(name).find(wrong)
    with pytest.raises(TypeError, match="'a', expected tuples"):
        graph.ids("shop").find(["a"])
    with pytest.raises(IndexError, match=r"positions\[1\] is 5, but node type 'user' has 5 nodes"):
        graph.ids("user").of([0, 5])
    with pytest.raises(ValueError, match="several node types"):
        graph.ids()


DAMAGE = {
    "ids/user/order": (lambda a: a[::-1].copy(), r"order.npy, entry 1: \d is a node whose id is not above"),
    "ids/item/order": (lambda a: np.array([1, 2, 7], np.int32), r"order.npy, entry 2: 7 is outside \[0, 3\)"),
    "ids/shop/order": (lambda a: a[:2].copy(), "order.npy: has 2 rows, expected 3"),
    "ids/item/value": (lambda a: a.astype(np.float64), r"value.npy: holds float64\[3\]"),
    "ids/user/offset": (lambda a: np.where(a == 7, 10, a), "the text from .* is outside the 9 bytes"),
    "ids/shop/offset": (lambda a: a + 1, "entry 0: 1 is not 0"),
    "ids/user/text": (lambda a: np.full_like(a, 200), "text.npy: the id of node 0 is not UTF-8"),
    "ids/user/other": (lambda a: np.zeros(1), "other.npy: is no array of users' ids"),
    "ids/planet/order": (lambda a: np.zeros(1, np.int32), "'planet' is not declared"),
    "about/other": (lambda a: np.zeros(1), "other.npy: holds float64"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_ids(store, tmp_path, name):
    change, message = DAMAGE[name]
    path = tmp_path / "store"
    ramet.save(ramet.open(store), path, checksums=False)
    file = path / f"{name}.npy"
    os.makedirs(file.parent, exist_ok=True)
    np.save(file, change(np.load(file) if file.exists() else None))
    with pytest.raises(ramet.CorruptStoreError, match=message):
        graph = ramet.open(path)
        graph._core.validate()
    if name == "ids/user/text":
        with pytest.raises(ramet.CorruptStoreError, match=message):
            graph.ids("user").of([0])
