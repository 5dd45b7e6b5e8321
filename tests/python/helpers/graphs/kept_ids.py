"""A store to be whose nodes have ids of every kind."""

import json

import numpy as np

from ramet import _core
from ramet.storage.contents import Contents, Csc
from ramet.storage.node_ids import encoded_tuple

ITEMS = np.array([2**64 - 1, 7, 2**63], np.uint64)
USERS = ["u17", "", "é", "u3", "u1"]
SHOPS = [("a", "bc"), ("ab", "c"), ('"\\\n\x1f\x7f', "1")]
ABOUT = {"node/user/a%2Fb": {"categories": {"colour": ["rot", "grün"]}}}


def text(*ids):
    """Ids as _core takes them: bytes and offsets."""
    encoded = [one.encode() for one in ids]
    return np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([0, *map(len, encoded)])


def give_ids(store, kind: str, given) -> None:
    """To the nodes of a store in a folder that has one type of them."""
    ids, folder = _core.IdMap(kind), store / "ids" / "node"
    ids.add([given])
    folder.mkdir(parents=True)
    for name, array in ids.arrays().items():
        np.save(folder / name, array)


def contents_with_ids() -> Contents:
    """Two cities have no ids."""
    contents = Contents()
    shops = text(*map(encoded_tuple, SHOPS))
    for name, kind, given in ("user", "text", text(*USERS)), ("item", "uint64", ITEMS), ("shop", "tuple", shops):
        kept = _core.IdMap(kind)
        kept.add([given])
        contents.add_node_type(name, kept.size)
        contents.add_ids(name, kept.arrays())
    contents.add_node_type("city", 2)
    contents.add_edge_type(("user", "buys", "item"), Csc(np.array([0, 1, 1, 2]), np.array([3, 4], np.int32)))
    contents.add_node_table("user", "a/b", np.zeros(5), "table")
    contents.add_about(json.dumps(ABOUT))
    return contents
