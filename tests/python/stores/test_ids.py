"""Users' ids: the map that makes positions of them, and the ids that a store keeps."""

import numpy as np
import pytest

from ramet import _core


def text(*ids):
    """Ids as _core takes them: bytes and offsets."""
    encoded = [one.encode() for one in ids]
    return np.frombuffer(b"".join(encoded), np.uint8), np.cumsum([0, *map(len, encoded)])


def test_a_map_gives_positions_by_first_occurrence(tmp_path):
    for folder in (b"", bytes(tmp_path)):
        ids = _core.IdMap("uint64", folder)
        positions, is_new = ids.add(np.array([2**64 - 1, 7, 2**63, 7], np.uint64))
        assert positions.tolist() == [0, 1, 2, 1] and is_new == 3 and ids.size == 3
        assert ids.find(np.array([2**63, 5], np.uint64), threads=2).tolist() == [2, -1]
        arrays = ids.arrays()
        assert arrays["value"].tolist() == [2**64 - 1, 7, 2**63] and arrays["order"].tolist() == [1, 2, 0]

        ids = _core.IdMap("text", folder)
        assert ids.add(text("u17", "", "é"))[0].tolist() == [0, 1, 2]
        positions, is_new = ids.add(text("u3", "u17"))
        assert positions.tolist() == [3, 0] and is_new == 1
        assert ids.find(text("é", "e", "u3")).tolist() == [2, -1, 3]
        assert (ids.memory == 0) == bool(folder)
        arrays = ids.arrays()
        del ids
        assert bytes(arrays["text"]) == "u17éu3".encode() and arrays["offset"].tolist() == [0, 3, 3, 5, 7]
        assert arrays["order"].tolist() == [1, 0, 3, 2] and not list(tmp_path.iterdir())


def test_a_map_refuses_what_are_no_ids_of_its_kind():
    ids = _core.IdMap("int64")
    with pytest.raises(ValueError, match="ids are float64"):
        ids.add(np.ones(2))
    with pytest.raises(ValueError, match="id 1 is not UTF-8"):
        _core.IdMap("text").add((np.array([97, 255], np.uint8), np.arange(3)))
    with pytest.raises(ValueError, match="cannot be added once"):
        ids.arrays()
        ids.add(np.arange(2))
