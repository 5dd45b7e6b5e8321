"""Graphs of other libraries as a Description: networkx, igraph, DGL, PyG, scipy, and the arrays of a CSC.

None of these libraries is imported: the modules that an object's class and its bases are defined in tell them apart.
"""

from __future__ import annotations

from ramet.inputs.objects import arrays, attributes
from ramet.inputs.tables import Description

_READERS = {
    "networkx": attributes.from_networkx,
    "igraph": attributes.from_igraph,
    "dgl": arrays.from_dgl,
    "torch_geometric": arrays.from_pyg,
    "scipy": arrays.from_scipy,
}


def describe(graph) -> Description:
    """The tables of `graph`, whose rows are its arrays, shared where the library has arrays, else Arrow's.

    Args:
      graph: of networkx or igraph: keys (of igraph: "name", where all differ) are the ids, integers or strings, and
          each attribute is a table. Or a DGLGraph, a PyG Data or HeteroData (as ramet.from_pyg reads it), a square
          scipy sparse matrix (as ramet.from_scipy reads it), or the pair (indptr, indices) of ramet.from_arrays().

    Raises TypeError for any other object, and for keys and attributes that no column holds; ValueError for arrays that
    contradict each other.
    """
    if isinstance(graph, tuple) and len(graph) == 2:
        return arrays.from_csc(*graph)
    for base in type(graph).__mro__:
        if reader := _READERS.get(base.__module__.partition(".")[0]):
            return reader(graph)
    raise TypeError(
        f"source is a {type(graph).__name__}, expected a path, a Description, a graph of networkx, igraph, DGL or PyG, "
        "a scipy sparse matrix, or a pair (indptr, indices)"
    )
