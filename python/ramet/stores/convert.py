"""Graphs in memory from what people have: CSC arrays, edge lists, PyG data, scipy matrices; and saving one.

Every function here copies its input once, into anonymous shared memory, and checks all of it. What
does not fit is a TypeError (dtype), ValueError (shape, length, name) or IndexError (id out of
range) that names the argument, the value and the bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from ramet import _core
from ramet._support.arguments import as_flag, edge_folder, encoded_edge_type
from ramet._support.foreign_words import graph_advice
from ramet.arrays import as_array, as_ids, to_integers
from ramet.dtypes import SCALE_SUFFIX, Quantized, bfloat16, check_scale, quantized
from ramet.graph import Graph
from ramet.inputs.objects.pyg import edge_list_arguments
from ramet.storage.by_source import out_arrays
from ramet.storage.contents import Contents, Csc, check_table_name, write
from ramet.stores.graph_arguments import GraphArguments
from ramet.tables.table import Table


def from_arrays(
    indptr,
    indices,
    *,
    nodes=None,
    edges=None,
    splits=None,
    edge_splits=None,
    num_nodes=None,
    edge_ids=None,
    sort_by: str | None = None,
    reverse_types=None,
) -> Graph:
    """A graph from a CSC: the in-neighbors of node v are indices[indptr[v] : indptr[v + 1]].

    Arrays are numpy arrays, torch tensors on the CPU, or anything with __array__. They are copied once, and may
    be freed then: what is written to them later does not show in the graph.

    Args:
      indptr: integers [num_nodes + 1], from 0 to the number of edges, never decreasing.
      indices: integers [num_edges], the source node of each edge.
      nodes: {"feat": x, ...}, one row per node. bfloat16 is torch's, or `ramet.bfloat16`; int8 with a scale is the
          result of `ramet.quantize`.
      edges: {"weight": w, ...}, one row per edge, in the order of `indices`.
      splits: {"train": ids, ...}, node ids or a bool mask [num_nodes].
      edge_splits: {"train": ids, ...}, edge ids or a bool mask [num_edges] in the order of ids.
      num_nodes: needed only where neither indptr nor a table gives it.
      edge_ids: distinct integers >= 0 [num_edges], returned by `Block.e_id`. Default: the position.
      sort_by: the name of an int64 table of edges or of source nodes, such as "time". Rows of edge types that have it
          are sorted by it, and edges keep their ids; sampling by that time is then faster (docs/semantics.md, section
          16). "source", where no table has this name: by the sources' ids, so that exact negatives need no other order.
      reverse_types: {("user", "buys", "item"): ("item", "bought by", "user")}: the edge type that has the reverse of
          each edge of another. Needed only to leave out reverses of seeds, and not for names that differ by "rev_".

    With several types, `indptr`, `indices`, `edges` and `edge_ids` are dicts by (source type, relation, destination
    type). `nodes` is {"paper": {"feat": x}}, `num_nodes` {"author": 10}, and `splits` {"train": {"paper": ids}}.
    `edge_splits` is like `splits`, by edge type.
    """
    hetero = isinstance(indptr, Mapping)
    args = GraphArguments(hetero, nodes=nodes, edges=edges, splits=splits, edge_splits=edge_splits, num_nodes=num_nodes)
    indptrs = args.by_edge_type(indptr, "indptr")
    indices_of = args.by_edge_type(indices, "indices")
    ids_of = {} if edge_ids is None else args.by_edge_type(edge_ids, "edge_ids")
    args.check_edge_types(indptrs, "indptr", indices=indices_of, edge_ids=ids_of)

    offsets = {}
    for edge_type, value in indptrs.items():
        what = args.spell("indptr", edge_type)
        offsets[edge_type] = as_ids(value, what).astype(np.int64, copy=False)
        if len(offsets[edge_type]) == 0:
            raise ValueError(f"{what} is empty; it has one entry more than there are nodes")
        args.claim(edge_type[2], len(offsets[edge_type]) - 1, what)
    contents = args.start(indptrs)
    for edge_type, indptr_array in offsets.items():
        if edge_type not in indices_of:
            raise ValueError(f"indices has no entry for edge type {edge_type}, which indptr has")
        what = args.spell("indices", edge_type)
        ids = as_ids(indices_of[edge_type], what)
        with naming(args.spell("indptr", edge_type) + f" and {what}"):
            checked = _core.check_csc(indptr_array, ids, *args.ends(edge_type))
        csc = Csc(*checked)
        if edge_type in ids_of:
            csc.edge_ids = _distinct_ids(ids_of[edge_type], csc.num_edges, args.spell("edge_ids", edge_type))
        args.sort_rows(edge_type, csc, sort_by)
        contents.add_edge_type(edge_type, csc)
    args.add_reverses(contents, reverse_types)
    args.finish(contents, sort_by)
    return Graph(contents.segment())


def from_edge_index(
    edge_index,
    num_nodes=None,
    *,
    undirected: bool = False,
    nodes=None,
    edges=None,
    splits=None,
    edge_splits=None,
    sort_by: str | None = None,
    reverse_types=None,
) -> Graph:
    """A graph from an edge list, as in PyG. Takes the graph's memory beside the input, and about 20 bytes for an edge
    while edges are sorted. The input is copied as by from_arrays().

    Args:
      edge_index: integers [2, num_edges], sources above destinations; or the pair (sources, destinations). The id of an
          edge is its number in the list.
      num_nodes: default: the rows of the node tables, else 1 + the largest id.
      undirected: adds the reverse of every edge. Of several equal edges the one with the lowest id stays; it is a
          ValueError where their rows in `edges` differ. The reverse of edge i has id num_edges + i. Only for edge types
          with the same type at both ends.
      nodes, splits, sort_by, reverse_types: as in from_arrays().
      edges: {"weight": w, ...}, one row per edge of `edge_index`, in its order. A reverse gets its edge's row.
      edge_splits: {"train": ids, ...}, numbers of edges in `edge_index`, or a bool mask over it. With undirected=True
          repeats are left out.

    With several types, `edge_index` and `edges` are dicts by (source type, relation, destination type), and the rest is
    as in from_arrays().
    """
    contents = edge_list_contents(
        edge_index,
        num_nodes,
        undirected,
        nodes,
        edges,
        splits,
        edge_splits=edge_splits,
        sort_by=sort_by,
        reverse_types=reverse_types,
    )
    return Graph(contents.segment())


def edge_list_contents(
    edge_index,
    num_nodes=None,
    undirected=False,
    nodes=None,
    edges=None,
    splits=None,
    edge_splits=None,
    edge_ids=True,
    sort_by=None,
    reverse_types=None,
) -> Contents:
    """The contents that from_edge_index() puts into memory, and build() onto the disk; edge_ids=False leaves the ids
    out."""
    undirected = as_flag(undirected, "undirected")
    hetero = isinstance(edge_index, Mapping)
    args = GraphArguments(hetero, nodes=nodes, edges=edges, splits=splits, edge_splits=edge_splits, num_nodes=num_nodes)
    lists = {
        edge_type: _source_and_destination(value, args.spell("edge_index", edge_type))
        for edge_type, value in args.by_edge_type(edge_index, "edge_index").items()
    }
    for edge_type, (src, dst) in lists.items():
        edge_folder(edge_type)  # the type is a triple of names
        what = args.spell("edge_index", edge_type)
        args.claim_at_least(edge_type[0], 1 + int(src.max(initial=-1)), what)
        args.claim_at_least(edge_type[2], 1 + int(dst.max(initial=-1)), what)
    contents = args.start(lists)
    args.check_edge_types(lists, "edge_index")
    for edge_type, (src, dst) in lists.items():
        what = args.spell("edge_index", edge_type)
        if undirected and edge_type[0] != edge_type[2]:
            raise ValueError(
                f"undirected=True needs the same node type at both ends of an edge type, not {edge_type}; "
                "give the reverse as an edge type of its own"
            )
        keep_ids = edge_ids or bool(args.edges.get(edge_type))
        with naming(what):
            csc = Csc(*_core.build_csc(src, dst, *args.ends(edge_type), undirected, keep_ids))
        args.reorder_edge_tables(edge_type, csc, src, dst)
        args.sort_rows(edge_type, csc, sort_by)
        if not edge_ids:
            csc.edge_ids = None
        contents.add_edge_type(edge_type, csc)
        if undirected:
            contents.add_reverse(edge_type, edge_type, len(src) if edge_ids else 0)
    args.add_reverses(contents, reverse_types)
    args.finish(contents, sort_by)
    return contents


def from_scipy(
    matrix, *, nodes=None, splits=None, edge_splits=None, undirected: bool = False, sort_by: str | None = None
) -> Graph:
    """A graph from a square scipy sparse matrix or array: entry [i, j] is the edge from i to j.

    Every stored entry is an edge, explicit zeros included. Edge ids are the entries' numbers in matrix.tocoo(). Values
    that are not all 1 become the edge table "weight". `nodes`, `splits`, `sort_by`: as in from_arrays(); `undirected`,
    `edge_splits`: as in from_edge_index().
    """
    if not hasattr(matrix, "tocoo"):
        expected = f"expected a scipy sparse matrix or array{graph_advice(matrix)}"
        raise TypeError(f"matrix is a {type(matrix).__name__}, {expected}")
    coo = matrix.tocoo()
    if len(coo.shape) != 2 or coo.shape[0] != coo.shape[1]:
        raise ValueError(f"matrix has shape {list(coo.shape)}; the adjacency matrix of a graph is square")
    edges = None if np.all(coo.data == 1) else {"weight": coo.data}
    pair = (coo.row, coo.col)
    contents = edge_list_contents(pair, coo.shape[0], undirected, nodes, edges, splits, edge_splits, sort_by=sort_by)
    return Graph(contents.segment())


def from_pyg(data, *, sort_by: str | None = None) -> Graph:
    """A graph from a PyG Data or HeteroData with edge_index.

    x becomes the table "feat", y "label", and every other tensor with one row per node a table under its own name.
    train_mask, of bools or of 0 and 1, becomes the split "train"; a mask with several columns becomes "train_0",
    "train_1", .... edge_attr and every other tensor with one row per edge become edge tables, masks of edges splits. If
    there are as many nodes as edges, names with "edge" in them are of edges. Other tensors are left out with a warning;
    attributes that are not tensors are left out silently. `sort_by`: as in from_arrays(). Memory as of
    from_edge_index(): all rows are copied, and the data may be freed then. What is written to it later does not show in
    the graph. ramet.pyg.NeighborLoader(data, ...) copies no rows, and shows what is written.
    """
    return from_edge_index(**edge_list_arguments(data), sort_by=sort_by)


def save(
    graph: Graph,
    path,
    *,
    dtype=None,
    scale: str = "row",
    out_edges: bool = False,
    progress: bool = False,
    checksums: bool = True,
) -> None:
    """Writes `graph` (or Contents) as a store to the folder `path`.

    Args:
      dtype: "float32", "float16", "bfloat16" or "int8" for the table "feat" of every node type that has it, or a dict
          {table: dtype} of node tables. numpy's and torch's dtypes work, too. None: tables keep their dtypes.
      scale: of int8: "row", a scale for each row, or "column", a scale for each column.
      out_edges: keeps the edges by source, too, which walks along edges read. Per edge that is 8 bytes, 16 with int64
          ids, and 8 per source. Types made undirected need none, and have none.

    Raises ValueError, before anything is written, for values that a dtype cannot hold: values that are not finite in
    int8, and finite values that become infinite in float16 or bfloat16. Raises KeyError for a missing table.

    The store is written beside `path` and renamed, so it is complete or absent. An existing store is replaced; anything
    else is refused. Raises OSError where the disk fails or is too small.
    """
    if isinstance(graph, Contents):
        graph.save(path, dtype=dtype, scale=scale, progress=progress, checksums=checksums)
        return
    if not isinstance(graph, Graph):
        raise TypeError(f"graph is a {type(graph).__name__}, not a ramet.Graph")
    counts, arrays = _as_written(graph)
    if as_flag(out_edges, "out_edges"):
        arrays += _out_arrays(graph)
    options: dict = {"dtype": dtype, "scale": scale, "progress": progress, "checksums": checksums}
    of_core: dict = {name: getattr(graph._core, name) for name in ("sorted_rows", "reverses", "part")}
    write(path, counts, arrays, **of_core, **options)


def quantize(x, scale: str = "row") -> Quantized:
    """Floating-point rows as int8: an object with `values`, int8 of the shape of `x`, and `scale`, float32.

    values * scale is within half a scale of `x`. The result may stand for a table: nodes={"feat": ramet.quantize(x)}.

    scale: "row", a scale for each row ([num_rows, 1, ...]), or "column", one for each column ([1, columns, ...]).

    Raises ValueError for another word and for values that are not finite, and TypeError for a dtype that is not
    floating.
    """
    check_scale(scale)
    rows = as_array(x, "x")
    if rows.dtype.kind != "f" and rows.dtype != bfloat16:
        raise TypeError(f"x has dtype {rows.dtype}; only floating point is quantized")
    return quantized(rows, scale, "x")


@contextmanager
def naming(what: str) -> Iterator[None]:
    """Puts the name of an argument before the message of an error of _core."""
    try:
        yield
    except (ValueError, IndexError) as error:
        raise type(error)(f"{what}: {error}") from None


def _source_and_destination(edge_index, what: str) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(edge_index, (tuple, list)) and len(edge_index) == 2:
        src, dst = (as_ids(part, f"{what}[{i}]") for i, part in enumerate(edge_index))
        if len(src) != len(dst):
            raise ValueError(f"{what} has {len(src)} sources but {len(dst)} destinations")
        return src, dst
    if advice := graph_advice(edge_index):
        raise TypeError(f"{what} is a {type(edge_index).__name__}, expected integers [2, num_edges]{advice}")
    array = as_array(edge_index, what)
    if array.ndim != 2 or array.shape[0] != 2:
        hint = "; transpose it" if array.ndim == 2 and array.shape[1] == 2 else ""
        raise ValueError(f"{what} has shape {list(array.shape)}, not [2, num_edges]{hint}")
    return tuple(to_integers(array, what))


def _distinct_ids(value, num_edges: int, what: str) -> np.ndarray:
    ids = as_ids(value, what)
    if len(ids) != num_edges:
        raise ValueError(f"{what} has {len(ids)} entries, but there are {num_edges} edges")
    ordered = np.sort(ids)
    if num_edges and ordered[0] < 0:
        raise IndexError(f"{what} holds {ordered[0]}; edge ids are at least 0")
    repeats = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(repeats):
        raise ValueError(f"{what} holds {ordered[repeats[0]]} more than once; edge ids are distinct")
    return ids


def _as_written(graph: Graph) -> tuple[dict[str, int], list[tuple[str, np.ndarray]]]:
    """A graph's own arrays, uncopied, by their path in the folder."""
    encode_name = _core.encode_name
    counts = {encode_name(name): graph.num_nodes(name) for name in graph.node_types}
    arrays: list[tuple[str, np.ndarray]] = []
    for folder in ("owner", "owned", "split", "ids", "about", "out"):
        arrays += graph._core.arrays_in(folder)
    for node_type in graph.node_types:
        for name in graph.tables(node_type):
            arrays += _written_table(f"node/{encode_name(node_type)}", graph.table(name, node_type), name)
    for edge_type in graph.edge_types:
        folder = edge_folder(edge_type)
        arrays.append((f"{folder}/indptr", graph.indptr(edge_type)))
        arrays.append((f"{folder}/indices", graph.indices(edge_type)))
        if graph.edge_ids(edge_type) is not None:
            arrays.append((f"{folder}/edge_ids", graph.edge_ids(edge_type)))
        for name in graph.tables(edge_type):
            arrays += _written_table(folder, graph.table(name, edge_type), name)
    return counts, arrays


def _out_arrays(graph: Graph) -> list[tuple[str, np.ndarray]]:
    """Those that the graph lacks."""
    core, arrays = graph._core, []
    if graph.part is not None:
        raise ValueError("out_edges=True, but the graph is a part, which has no out-edges of its nodes")
    for edge_type in graph.edge_types:
        has_reverses = (
            core.reverse_type(edge_type) == edge_type and encoded_edge_type(edge_type) not in core.sorted_rows
        )
        if core.out_edges(edge_type) is None and not has_reverses:
            topology = graph.indptr(edge_type), graph.indices(edge_type)
            arrays += out_arrays(edge_type, *topology, graph.edge_ids(edge_type), graph.num_nodes(edge_type[0]))
    return arrays


def _written_table(folder: str, table: Table, name: str) -> list[tuple[str, np.ndarray]]:
    check_table_name(name, f"{folder}/{name}")
    key = f"{folder}/{_core.encode_name(name)}"
    scale = [] if table.scale is None else [(key + SCALE_SUFFIX, table.scale)]
    return [(key, table.numpy()), *scale]
