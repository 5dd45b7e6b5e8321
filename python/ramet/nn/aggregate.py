"""aggregate: reduces the rows of sources at each destination."""

from __future__ import annotations

import torch

from ramet._support.old_torch import outside_of_graphs
from ramet.loading.block import Block
from ramet.loading.table_rows import TableRows
from ramet.nn import functions, library
from ramet.nn.edge_checks import ROWS, check_device, check_edge_types, columns_of_edges, described
from ramet.nn.edges import BlockEdges
from ramet.nn.found_edges import edges_of
from ramet.nn.in_place import RowsInPlace, plain
from ramet.nn.tracing import is_traced

REDUCTIONS = ("sum", "mean", "max", "min", "softmax")


@outside_of_graphs
def aggregate(block, x, reduce: str = "mean", edge_weight=None):
    """[num_dst, ...]: for each destination of `block`, its sources' rows of `x`, reduced; 0 where it has no edges.

    block: a Block, one edge type of a heterogeneous Block (`block[edge_type]`), or BlockEdges.
    x: float32, float64, bfloat16 or float16 [num_src or more, ...], the sources' rows. Sums are float32 (float64 for
        float64), in the order of edges, and rounded to the dtype of x once. Or `TableRows`, of which it is computed
        without gathering them.
    reduce: "sum"; "mean", which divides by the number of edges; "max" or "min" of each element; "softmax", the sum
        weighted by the softmax of `edge_weight` over a destination's edges.
    edge_weight: floating [num_edges] or [num_edges, heads]: weights of "sum" and "mean", scores of "softmax". `heads`
        divides the elements of a row into as many equal parts; each has its own column. By default a block's own
        weights count, where the sampler gave some: "mean" is then the sum of weight times row, which estimates the mean
        over all in-neighbors, and "sum" this times the number of edges.

    On a heterogeneous block with x a dict by node type, a dict by edge type, of those whose sources have rows;
    `edge_weight` is None, or a dict by edge type.

    Differentiable once, in x and edge_weight. Elements that share a maximum share its gradient evenly. Results and
    gradients have the same bits for any number of threads (torch.get_num_threads() are used); docs/semantics.md,
    section 20, defines them.

    Raises ValueError for an unknown `reduce`, too few rows, weights of another length, another device; TypeError for a
    dtype that is not one of these.
    """
    if isinstance(x, dict):
        return _by_type(block, x, reduce, edge_weight)
    if isinstance(x, RowsInPlace) and x.is_of(block):
        block, x = block.edges_of_all, x.of_all[: block.edges_of_all.num_src]
    edges, x = edges_of(block), plain(x)
    if reduce not in REDUCTIONS:
        raise ValueError(f"reduce is {reduce!r}, expected one of {', '.join(REDUCTIONS)}")
    is_table = isinstance(x, TableRows)
    if not is_table:
        _check_rows(edges, x)
    weights = _columns(edges, reduce, edge_weight, _dtype_of_sums(x))
    if reduce == "softmax":
        reduce, weights = "sum", operators(weights).edge_softmax(edges, weights)
    if is_table:
        return _of_table(edges, x, reduce, weights)
    return _reduced(edges, x, *(own_weights(edges, reduce) if weights is None else (reduce, weights)))


def aggregate_beside_own(edges: BlockEdges, x, reduce: str, edge_weight=None) -> tuple:
    """(aggregate(edges, x, reduce, edge_weight), x[: num_dst]), with one gradient for x.

    For the "sum" or "mean" of x [num_src or more, width], with weights that have no gradient.
    """
    weights = _columns(edges, reduce, edge_weight, _dtype_of_sums(x))
    reduce, weights = own_weights(edges, reduce) if weights is None else (reduce, weights)
    rows, weights = _arguments(x, weights)
    return functions.aggregate_beside_own(edges, rows, weights, reduce)


def _of_table(edges: BlockEdges, x: TableRows, reduce: str, weights):
    """As aggregate(), of rows that are read where they are. The loader's means are handed out without a copy, the same
    tensor each time, unless somebody has written to it."""
    if reduce == "mean" and weights is None:
        means = x.means_over(edges.derived.get("known"), edges.edge_weight is not None)
        if means is not None:
            return means
    if edges.device.type != "cpu" or x.table.location == "device" or (weights is not None and weights.requires_grad):
        return aggregate(edges, x.rows(), reduce, weights)
    if len(x) < edges.num_src:
        raise ValueError(f"n_id has {len(x)} ids, but the edges have {edges.num_src} sources")
    if weights is None:
        reduce, weights = own_weights(edges, reduce)
    return x.aggregated(edges.core, (edges.num_dst, *x.shape[1:]), reduce, weights)


def own_weights(edges: BlockEdges, reduce: str) -> tuple:
    """The (reduce, weights [num_edges, 1] or None) that apply without `edge_weight`."""
    if edges.edge_weight is None or reduce in ("max", "min"):
        return reduce, None
    return "sum", (edges.edge_weight if reduce == "mean" else edges.sum_weight)[:, None]


def _reduced(edges: BlockEdges, x, reduce: str, weights):
    rows, weights = _arguments(x, weights)
    out = operators(rows).aggregate(edges, rows, reduce, weights)
    return out if x.dim() == 2 else out.view(edges.num_dst, *x.shape[1:])


def _arguments(x, weights) -> tuple:
    """(x, weights) as operators take them: contiguous rows of two dimensions, and weights of the dtype of sums."""
    rows = (x if x.dim() == 2 else x.flatten(1) if x.dim() > 2 else x[:, None]).contiguous().resolve_neg()
    if weights is not None:
        if weights.shape[1] == 0 or rows.shape[1] % weights.shape[1]:
            width, heads = rows.shape[1], weights.shape[1]
            raise ValueError(f"edge_weight has {heads} columns, which do not divide the {width} elements of a row of x")
        weights = weights.to(_dtype_of_sums(x))  # a block's own are float32
    return rows, weights


def _columns(edges: BlockEdges, reduce: str, weights, dtype):
    """`edge_weight` as [num_edges, heads] in the order of the edges, in the dtype of sums; or None."""
    if weights is None:
        if reduce == "softmax":
            raise ValueError('reduce="softmax" needs scores of the edges, as edge_weight')
        return None
    if reduce in ("max", "min"):
        raise ValueError(f'edge_weight is given, but reduce="{reduce}" has no weights')
    return columns_of_edges(edges, weights, "edge_weight").to(dtype).contiguous().resolve_neg()


def operators(tensor):
    """The module of differentiable operators: the library's if calls on `tensor` are recorded."""
    return library if is_traced(tensor) else functions


def _dtype_of_sums(x) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _check_rows(edges: BlockEdges, x) -> None:
    if not isinstance(x, torch.Tensor) or x.dtype not in ROWS:
        raise TypeError(f"x is {described(x)}, expected a tensor of float32, float64, bfloat16 or float16")
    if x.dim() == 0 or x.shape[0] < edges.num_src:
        raise ValueError(f"x has shape {list(x.shape)}, but the block has {edges.num_src} sources")
    check_device(edges, x, "x")


def _by_type(block, x: dict, reduce: str, edge_weight) -> dict:
    if not isinstance(block, Block) or not block.batch.graph.is_hetero:
        raise TypeError(f"x is a dict, but the block ({block!r}) has one type of nodes")
    weights = {} if edge_weight is None else edge_weight
    if not isinstance(weights, dict):
        raise TypeError(f"edge_weight is {described(weights)}, expected a dict by edge type, as x is one by node type")
    known = block.batch.graph.edge_types
    check_edge_types(weights, known, "edge_weight")
    types = [t for t in known if t[0] in x]
    return {t: aggregate(block[t], x[t[0]], reduce, weights.get(t)) for t in types}
