"""What a user may say about who owns a node, and every way in which that is refused."""

import numpy as np
import pytest
from small_graphs import NUM_NODES, heterogeneous, homogeneous

import ramet
from ramet.stores.ownership import as_owners

ALL = np.arange(NUM_NODES)


def owners_of(ownership, parts=3, graph=None):
    (owners,) = as_owners(ownership, graph or homogeneous(), parts)
    return owners.owners(ALL)


def test_ranges_are_the_default_and_contiguous():
    owners = owners_of(None)
    assert owners.tolist() == owners_of("range").tolist() == np.sort(owners).tolist()
    assert set(owners) == {0, 1, 2}


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int32, np.int64, np.uint64, ">i4"])
def test_vectors_of_any_integers(dtype):
    vector = (ALL % 3).astype(dtype)
    assert owners_of(vector).tolist() == vector.tolist()
    assert owners_of(vector[::-1][::-1]).tolist() == vector.tolist()


def test_a_vector_that_lies_in_strides_or_is_a_list_or_a_tensor():
    vector = ALL % 3
    wide = np.repeat(vector, 2)
    assert owners_of(wide[::2]).tolist() == vector.tolist()
    assert owners_of(vector.tolist()).tolist() == vector.tolist()
    torch = pytest.importorskip("torch")
    assert owners_of(torch.from_numpy(vector)).tolist() == vector.tolist()


def test_files(tmp_path):
    path = tmp_path / "owner.npy"
    np.save(path, (ALL % 3).astype(np.uint8))
    assert owners_of(path).tolist() == owners_of(str(path)).tolist() == (ALL % 3).tolist()
    np.save(path, np.array([0, 5, 5, NUM_NODES]))
    assert owners_of(path).tolist() == [0] * 5 + [2] * (NUM_NODES - 5)


def test_equal_owners_have_equal_digests(tmp_path):
    graph = homogeneous()

    def digest(ownership, parts=3):
        return as_owners(ownership, graph, parts)[0].digest()

    path = tmp_path / "owner.npy"
    np.save(path, (ALL % 3).astype(np.uint16))
    assert digest(ALL % 3) == digest((ALL % 3).astype(np.uint8)) == digest(path)
    others = ["range", "hash", ALL % 3, np.roll(ALL % 3, 1), ALL % 2, np.array([0, 1, 2, NUM_NODES])]
    assert len({digest(one) for one in others} | {digest("range", 4), digest("hash", 4)}) == len(others) + 2


def test_types_may_differ(tmp_path):
    graph = heterogeneous()
    owners = as_owners({"paper": "hash", "author": np.arange(200) % 3}, graph, 3)
    assert [one.num_nodes for one in owners] == [graph.num_nodes(t) for t in graph.node_types]
    assert len(as_owners("hash", graph, 3)) == len(as_owners(None, graph, 3)) == 2


NOT_OWNERS = {
    "a float": (np.zeros(NUM_NODES), ValueError, r"ownership is float64\[1000\], expected one dimension of integers"),
    "a mask": (ALL > 3, ValueError, r"ownership is bool\[1000\], expected one dimension of integers"),
    "a matrix": (np.zeros((10, 100), int), ValueError, r"int64\[10, 100\], expected one dimension of integers"),
    "short": (ALL[1:] % 3, ValueError, "ownership has 999 entries, but there are 1000 nodes"),
    "empty": (np.zeros(0, int), ValueError, "ownership has 0 entries, but there are 1000 nodes"),
    "too large": (np.where(ALL == 7, 3, 0), ValueError, r"ownership\[7\] = 3 is outside \[0, 3\), the ranks"),
    "negative": (np.where(ALL == 9, -1, 0), ValueError, r"ownership\[9\] = -1 is outside \[0, 3\), the ranks"),
    "bounds": (np.array([0, 20, 10, NUM_NODES]), ValueError, "10"),
    "no file": ("nowhere.npy", FileNotFoundError, "ownership is 'nowhere.npy': neither 'range', 'hash' nor a file"),
    "a word": ("ranges", FileNotFoundError, "ownership is 'ranges': neither 'range', 'hash' nor a file"),
    "another type": ({"paper": "hash"}, ValueError, r"must name every node type; missing: \['node'\]"),
    "a number": (3, (TypeError, ValueError), "ownership"),
    "an object": (object(), (TypeError, ValueError), "ownership"),
}


@pytest.mark.parametrize("what", NOT_OWNERS)
def test_what_covers_no_graph_is_refused(what):
    ownership, error, words = NOT_OWNERS[what]
    with pytest.raises(error, match=words):
        owners_of(ownership)


def test_files_that_are_no_owners_are_refused(tmp_path):
    path = tmp_path / "owner.npy"
    np.save(path, np.full(NUM_NODES, 200, np.uint8))
    with pytest.raises(ValueError, match=r"owner.npy\[0\] = 200 is outside \[0, 3\), the ranks"):
        owners_of(path)
    np.save(path, np.array([None]), allow_pickle=True)
    np.savez(tmp_path / "zip.npz", ALL)
    for content in (path.read_bytes(), b"", b"no array", b"\x93NUMPY\x01\x00", (tmp_path / "zip.npz").read_bytes()):
        path.write_bytes(content)
        with pytest.raises((ValueError, TypeError), match=r"owner\.npy"):
            owners_of(path)
    with pytest.raises((ValueError, OSError), match=str(tmp_path)):
        owners_of(tmp_path)


def test_types_that_are_missing_are_named():
    graph = heterogeneous()
    with pytest.raises(ValueError, match="ownership must be a dict by node type; node types are"):
        as_owners(np.zeros(500, int), graph, 2)
    with pytest.raises(ValueError, match=r"missing: \['author'\], unknown: \['papers'\]"):
        as_owners({"paper": "hash", "papers": "hash"}, graph, 2)
    with pytest.raises(ValueError, match=r"ownership\['author'\] has 3 entries, but there are 200 nodes"):
        as_owners({"paper": "hash", "author": [0, 0, 1]}, graph, 1)


def test_numbers_of_ranks_have_bounds():
    for parts in (0, -1, 65536):
        with pytest.raises(ValueError, match=f"{parts} ranks, expected 1 to 65535"):
            as_owners("hash", homogeneous(), parts)
    assert len(set(owners_of("hash", 65535).tolist())) > 980


def test_bad_cooperative_arguments_are_named():
    graph = homogeneous()
    pytest.importorskip("torch")
    for name in ("group", "among"):
        with pytest.raises(TypeError, match=rf"ranks\.{name} is 'ranks', expected None or a process group"):
            ramet.NeighborLoader(graph, [2], ranks=ramet.Cooperate(**{name: "ranks"}))
    with pytest.raises(TypeError, match=r"no 'ownership': `ranks=ramet\.Cooperate\(ownership=\.\.\.\)`"):
        ramet.NeighborLoader(graph, [2], ownership="hash")
    with pytest.raises(ValueError, match=r"ownership\[3\] = 1 is outside \[0, 1\), the ranks"):
        ramet.NeighborLoader(graph, [2], ranks=ramet.Cooperate(ownership=np.where(ALL == 3, 1, 0)))
