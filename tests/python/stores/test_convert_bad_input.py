"""What wrong arguments get of from_arrays and from_edge_index: an exception that names the argument."""

import numpy as np
import pytest
from small_graphs import CITES, WRITES

import ramet

#     0 -> 1, 2 -> 1, 0 -> 2, 2 -> 2, 0 -> 1 again
EDGES = np.array([[0, 2, 0, 2, 0], [1, 1, 2, 2, 1]])
INDPTR, INDICES = [0, 0, 2, 4], [0, 2, 0, 2]
FEAT = np.zeros((3, 2))


@pytest.mark.parametrize(
    ("error", "message", "arguments"),
    [
        (ValueError, r"nodes\['feat'\] says 2", {"nodes": {"feat": FEAT[:2]}}),
        (ValueError, "indptr says 3 nodes, but num_nodes says 4", {"num_nodes": 4}),
        (TypeError, r"nodes\['feat'\] has dtype object", {"nodes": {"feat": np.array([1, None, 2])}}),
        (TypeError, r"nodes\['feat'\] cannot be read as an array", {"nodes": {"feat": [[1, 2], [3], [4]]}}),
        (TypeError, r"nodes\['name'\] has dtype <U1", {"nodes": {"name": np.array(["a", "b", "c"])}}),
        (TypeError, "complex128", {"nodes": {"feat": FEAT * 1j}}),
        (ValueError, r"nodes\['feat'\] has 0 dimensions", {"nodes": {"feat": np.float32(3)}}),
        (ValueError, r"nodes\['feat'\] has 9 dimensions", {"nodes": {"feat": np.zeros((3, *[1] * 8))}}),
        (TypeError, "nodes is a ndarray; it must be a dict", {"nodes": FEAT}),
        (TypeError, r"the name of .* is 5; it must be a string", {"nodes": {5: FEAT}}),
        (ValueError, "name of a table", {"nodes": {"": FEAT}}),
        (ValueError, "name of a table", {"nodes": {"x" * 81: FEAT}}),
        (ValueError, "name of a table", {"nodes": {"\ud800": FEAT}}),
        (ValueError, r"edges\['weight'\] has 3 rows, but .* 4 edges", {"edges": {"weight": np.ones(3)}}),
        (ValueError, "'edge_ids' is a file", {"edges": {"edge_ids": np.ones(4)}}),
        (ValueError, r"edge_ids has 3 entries, but there are 4", {"edge_ids": [0, 1, 2]}),
        (ValueError, r"edge_ids holds 1 more than once", {"edge_ids": [0, 1, 1, 2]}),
        (IndexError, r"edge_ids holds -1", {"edge_ids": [0, 1, -1, 2]}),
        (IndexError, r"splits\['train'\]\[1\] is 3, but .* has 3 nodes", {"splits": {"train": [0, 3]}}),
        (IndexError, r"splits\['train'\]\[0\] is -1", {"splits": {"train": [-1]}}),
        (IndexError, "beyond int64", {"splits": {"train": np.array([2**64 - 1], np.uint64)}}),
        (TypeError, f"{2**64} is beyond 64 bits", {"splits": {"train": [0, 2**64]}}),
        (TypeError, r"splits\['train'\] has dtype float64", {"splits": {"train": np.array([0.0])}}),
        (ValueError, r"bool mask of shape \[2\], but .* has 3", {"splits": {"train": [True, False]}}),
        (ValueError, r"splits\['train'\] has shape \[1, 2\]", {"splits": {"train": [[0, 1]]}}),
        (TypeError, "splits is a list", {"splits": [0, 1]}),
        (TypeError, "num_nodes is 3.0", {"num_nodes": 3.0}),
        (ValueError, "num_nodes is -3", {"num_nodes": -3}),
    ],
)
def test_wrong_arguments_of_from_arrays(error, message, arguments):
    with pytest.raises(error, match=message):
        ramet.from_arrays(INDPTR, INDICES, **arguments)


@pytest.mark.parametrize(
    ("error", "message", "indptr", "indices"),
    [
        (ValueError, "indptr", [0, 2, 1, 4], INDICES),
        (ValueError, "indptr", [1, 2, 2, 4], INDICES),
        (ValueError, "indptr", [0, 2, 2, 3], INDICES),
        (ValueError, "indptr is empty", [], []),
        (IndexError, "indices", INDPTR, [0, 2, 3, 2]),
        (IndexError, "indices", INDPTR, [0, 2, -1, 2]),
        (TypeError, "indices has dtype float64", INDPTR, [0.0, 2, 0, 2]),
        (TypeError, "indptr has dtype bool", [False, True], [0]),
        (ValueError, r"indices has shape \[1, 4\]", INDPTR, [INDICES]),
        (TypeError, "indices is None", INDPTR, None),
        (TypeError, "indptr is None", None, INDICES),
        (TypeError, "indices is a dict", INDPTR, {CITES: INDICES}),
        (TypeError, "indices must be a dict by edge type", {CITES: INDPTR}, INDICES),
        (ValueError, "indices has no entry for edge type", {CITES: INDPTR}, {}),
        (ValueError, "indices names edge type .*writes", {CITES: INDPTR}, {CITES: INDICES, WRITES: INDICES}),
        (TypeError, "not a tuple", {"cites": INDPTR}, {"cites": INDICES}),
        (ValueError, "how many nodes of type 'author'", {WRITES: INDPTR}, {WRITES: INDICES}),
    ],
)
def test_wrong_topology(error, message, indptr, indices):
    with pytest.raises(error, match=message):
        ramet.from_arrays(indptr, indices)


@pytest.mark.parametrize(
    ("error", "message", "edge_index", "arguments"),
    [
        (ValueError, r"edge_index has shape \[5, 2\], not \[2, num_edges\]; transpose it", EDGES.T, {}),
        (ValueError, r"edge_index has shape \[4\]", np.arange(4), {}),
        (TypeError, "edge_index has dtype float64", EDGES * 1.0, {}),
        (TypeError, "edge_index has dtype bool", EDGES > 0, {}),
        (TypeError, "edge_index is None", None, {}),
        (TypeError, "edge_index has dtype <U3", "abc", {}),
        (ValueError, "nodes of type 'node', not 0 to", [[0], [2**60]], {}),
        (ValueError, "nodes of type 'node', not 0 to", EDGES, {"num_nodes": 2**62}),
        (ValueError, "num_nodes is 1180591620717411303424, expected at most", EDGES, {"num_nodes": 2**70}),
        (MemoryError, "no memory for a buffer", [[0], [2**43]], {}),
        (ValueError, "num_dst is .*, expected at most", [[0], [2**45]], {}),
        (IndexError, "edge_index: .*-1", EDGES - 1, {}),
        (IndexError, "edge_index: .*2", EDGES, {"num_nodes": 2}),
        (IndexError, "edge_index: .*2", EDGES, {"nodes": {"feat": FEAT[:2]}}),
        (ValueError, "2 sources but 1 destinations", ([0, 1], [0]), {}),
        (ValueError, r"edges\['weight'\] has 6 rows", EDGES, {"edges": {"weight": np.ones(6)}}),
        (ValueError, "same node type at both ends", {WRITES: EDGES}, {"undirected": True}),
        (TypeError, "num_nodes is a int", {WRITES: EDGES}, {"num_nodes": 3}),
        (TypeError, r"nodes\['feat'\] is a ndarray", {CITES: EDGES}, {"nodes": {"feat": FEAT}}),
        (TypeError, r"splits\['train'\] is a list", {CITES: EDGES}, {"splits": {"train": [0]}}),
        (ValueError, "no node type 'author'", {CITES: EDGES}, {"splits": {"train": {"author": [0]}}}),
        (ValueError, "edges names edge type", {CITES: EDGES}, {"edges": {WRITES: {"weight": np.ones(5)}}}),
    ],
)
def test_wrong_edge_lists(error, message, edge_index, arguments):
    with pytest.raises(error, match=message):
        ramet.from_edge_index(edge_index, **arguments)
