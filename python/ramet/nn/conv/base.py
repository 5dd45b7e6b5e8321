"""The common part of all layers: their arguments, and the choice of the cheaper order."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch.autograd import forward_ad

from ramet._support.old_torch import outside_of_graphs
from ramet.loading.table_rows import TableRows
from ramet.nn.aggregate import aggregate, aggregate_beside_own
from ramet.nn.conv.linear import are_plain
from ramet.nn.edge_checks import ROWS, check_device, described
from ramet.nn.edges import BlockEdges
from ramet.nn.found_edges import edges_of
from ramet.nn.in_place import RowsInPlace, plain
from ramet.nn.tracing import is_traced

# Options of PyG's MessagePassing, each with the one value that layers on blocks have, and why.
_OF_PYG = {
    "flow": ("source_to_target", "a block has the in-edges of its destinations alone"),
    "node_dim": (-2, "rows are the first dimension"),
    "decomposed_layers": (1, "no row is written per edge, so there is nothing to cut"),
    "aggr_kwargs": (None, "sums, means and extremes have no options"),
    "cached": (False, "every batch has other edges"),
    "is_sorted": (False, "a block's edges are sorted by destination"),
}
_SUMS = {"add": "sum", "sum": "sum", "mean": "mean", "max": "max", "min": "min"}

# How many flops of a GEMM take as long as reading an element of some row. Measured with 1 and 2 threads; where a wrong
# guess matters little, both orders are about as fast.
_FLOPS_PER_READ = 32


class Conv(torch.nn.Module):
    """A layer: `conv(x, block)` returns a row for each of the block's destinations.

    x: [num_src, width], the rows of the block's sources; or a pair, (rows of sources, rows of destinations), where
        these differ, as they do between node types, or where the second is None for a layer without rows of its own; or
        the loader's TableRows.
    block: a Block, one edge type of a heterogeneous Block (`block[edge_type]`), or a BlockEdges. PyG's `edge_index`
        works, too, and has PyG's meaning then: as many destinations as `x`, or the pair's second, has rows, and no
        weights but those given.

    Raises ValueError where `x` has other than two dimensions, or fewer rows than the block has sources or destinations,
    or lies on another device; TypeError for a dtype that `aggregate` has not.
    """

    def __init_subclass__(cls) -> None:
        if "forward" in vars(cls):
            cls.forward = outside_of_graphs(cls.forward)

    def inputs(self, x, block, in_place: bool = False) -> tuple:
        """(BlockEdges, rows of sources, rows of destinations); the second is a TableRows where `x` is one.

        in_place: whether the layer takes sources that are all nodes of the graph, where the destinations are not the
            first. It then gets them in `ramet.nn.layerwise`.
        """
        one = not isinstance(x, (tuple, list))
        x_src, x_dst = (x, x) if one else _as_pair(x)
        if in_place and isinstance(x_src, RowsInPlace) and x_src.is_of(block):
            edges, is_own = block.edges_of_all, isinstance(x_dst, RowsInPlace) and x_dst.is_of(block)
            x_dst = x_dst.own if is_own else plain(x_dst)
            own = None if x_dst is None else first_rows(x_dst, edges.num_dst, "destinations")
            return edges, x_src.of_all[: edges.num_src], own
        x_src, x_dst = plain(x_src), plain(x_dst)
        if isinstance(block, torch.Tensor):  # of whose destinations a TableRows does not know
            x_src, x_dst = rows_of(x_src), rows_of(x_dst)
            edges = _of_pyg(block, x_src, x_dst)
        else:
            edges = edges_of(block)
        if not is_table(x_src):
            x_src = first_rows(x_src, edges.num_src, "sources")
            _require_kind(x_src, edges)
        if x_dst is None:
            return edges, x_src, None
        if not one and not is_table(x_dst):
            _require_rows(x_dst, edges.num_dst, "destinations")
            _require_kind(x_dst, edges)
            x_dst = x_dst.view_as(x_dst)  # the caller's tensor gets its own gradient: see _share_gradient()
        return edges, x_src, first_rows(x_dst, edges.num_dst, "destinations")


def is_table(x) -> bool:
    """Whether it is the loader's TableRows, of which sums and means over edges are cheaper than the rows."""
    return isinstance(x, TableRows)


def rows_of(x):
    """The rows themselves, for a layer that needs more of them than a sum or mean."""
    return x.rows() if is_table(x) else x


def in_order(edges: BlockEdges, of_edges: torch.Tensor | None) -> torch.Tensor | None:
    """Values of edges [E, ...], from the order of the caller's edge_index to the order of `edges`."""
    if of_edges is None or edges.edge_order is None:
        return of_edges
    if len(of_edges) != edges.num_edges:
        raise ValueError(f"there are {len(of_edges)} rows of edges, but {edges.num_edges} edges")
    return of_edges[edges.edge_order]


def weights_in_order(edges: BlockEdges, edge_weight: torch.Tensor | None) -> torch.Tensor | None:
    """The same for weights, one per edge: [E], or [E, 1] as PyG's layers take them, too."""
    if edge_weight is None:
        return None
    if not isinstance(edge_weight, torch.Tensor) or not edge_weight.is_floating_point():
        raise TypeError(f"edge_weight is {described(edge_weight)}, expected a floating tensor")
    if edge_weight.shape not in ((edges.num_edges,), (edges.num_edges, 1)):
        shape, count = list(edge_weight.shape), edges.num_edges
        raise ValueError(f"edge_weight has shape {shape}, but there are {count} edges: expected [{count}]")
    check_device(edges, edge_weight, "edge_weight")
    return in_order(edges, edge_weight.flatten())


def linear_first(edges: BlockEdges, x, width_out: int) -> bool:
    """Whether a sum over edges is cheaper of rows that a linear map has made `width_out` wide, than of `x` itself.

    The map is then computed for sources, of which there are more than destinations, and reads all of them. Backward
    does again what forward does: a GEMM for the weights and one for rows that need a gradient, and a sum over edges for
    what was summed, if that needs a gradient.
    """
    width_in = x.shape[-1]
    if is_table(x) or width_out >= width_in:
        return False
    backward, of_rows = torch.is_grad_enabled(), torch.is_grad_enabled() and x.requires_grad
    more_rows = (edges.part_of(edges.num_src) - edges.num_dst) * width_in * (1 + backward + of_rows)
    reads_saved = edges.num_edges * (width_in * (1 + of_rows) - width_out * (1 + backward)) - more_rows
    return reads_saved * _FLOPS_PER_READ > 2 * more_rows * width_out


def neighbors_and_root(edges: BlockEdges, x_src, x_dst, reduce: str, edge_weight, lin, root) -> torch.Tensor:
    """lin(aggregate(x_src)) + root(x_dst) [num_dst, width of lin], without a pass over memory for the sum or the bias.

    lin, root: Linear, or modules in their place, which are called; `root` may be None, as may `x_dst`.
    """
    if not are_plain(lin, root):
        out = lin(aggregate(edges, x_src, reduce, edge_weight))
        return out if root is None or x_dst is None else out + root(x_dst)
    lin.ready(x_src.shape[-1])
    has_root = root is not None and x_dst is not None
    if has_root:
        root.ready(x_dst.shape[-1])
    if reduce in ("sum", "mean") and linear_first(edges, x_src, lin.out_channels):
        mapped = edges.of_sources((lin, "rows"), x_src, lambda rows: F.linear(rows, lin.weight))
        out = aggregate(edges, mapped, reduce, edge_weight)
        if has_root:
            return F.linear(x_dst, root.weight, lin.bias).add_(out)
        return out if lin.bias is None else out.add_(lin.bias)
    reduced, x_dst = reduced_and_own(edges, x_src, x_dst, reduce, edge_weight)
    out = F.linear(reduced, lin.weight, lin.bias)
    return add_linear(out, x_dst, root.weight) if has_root else out


def reduced_and_own(edges: BlockEdges, x_src, x_dst, reduce: str, edge_weight) -> tuple:
    """(aggregate(edges, x_src, reduce, edge_weight), x_dst), with one gradient where the layer was given one tensor."""
    weights = edges.edge_weight if edge_weight is None else edge_weight
    if reduce in ("sum", "mean") and _share_gradient(x_src, x_dst, weights):
        return aggregate_beside_own(edges, x_src, reduce, edge_weight)
    return aggregate(edges, x_src, reduce, edge_weight), x_dst


def _share_gradient(x_src, x_dst, weights) -> bool:
    """Whether Conv.inputs() made `x_dst` of `x_src`, whose gradient is wanted, while that of weights is not."""
    if x_dst is None or not torch.is_grad_enabled() or is_table(x_src) or is_traced(x_src):
        return False
    if forward_ad._current_level >= 0 or (weights is not None and weights.requires_grad):  # noqa: SLF001 (torch's)
        return False
    return x_src.requires_grad and x_dst.requires_grad and _are_first_rows(x_dst, x_src)


def _are_first_rows(own, x) -> bool:
    """Whether own is x[:n], and its gradient goes to x."""
    if own.grad_fn is None or own.grad_fn.name() != "SliceBackward0":
        return False
    source, output = own.grad_fn.next_functions[0]
    is_of_x = getattr(source, "variable", None) is x if x.is_leaf else (source, output) == (x.grad_fn, x.output_nr)
    return is_of_x and own.data_ptr() == x.data_ptr() and own.stride() == x.stride()


def add_linear(out: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """out + x @ weight.T, written over `out`, in its dtype (which autocast may have chosen): one GEMM that adds in
    place, without another pass over memory."""
    return out.addmm_(x.to(out.dtype), weight.t().to(out.dtype))


def reduction(layer, aggr, known=_SUMS) -> str:
    """The reduction of ramet.nn.aggregate that PyG calls `aggr`. ValueError for others."""
    if isinstance(aggr, str) and aggr in known:
        return known[aggr]
    raise ValueError(
        f"{type(layer).__name__}: aggr is {aggr!r}, expected one of {', '.join(known)}. PyG's layer has others, and "
        "takes blocks, too: conv((x, x[: block.num_dst]), block.edge_index)"
    )


def refuse(layer, options: dict) -> None:
    """ValueError for options of PyG's layers that make no sense on a block, TypeError for unknown options."""
    for name, value in options.items():
        if name not in _OF_PYG:
            raise TypeError(f"{type(layer).__name__} has no argument {name!r}")
        only, reason = _OF_PYG[name]
        if value != only and not (name == "node_dim" and value == 0):
            raise ValueError(f"{type(layer).__name__}: {name} is {value!r}; it can only be {only!r}, since {reason}")


def _as_pair(x) -> tuple:
    if len(x) != 2:
        raise ValueError(f"x is a tuple of {len(x)}; it must be (rows of sources, rows of destinations)")
    return tuple(x)


def _of_pyg(edge_index: torch.Tensor, x_src, x_dst) -> BlockEdges:
    _require_rows(x_src, 0, "sources")
    if x_dst is None:
        raise ValueError("with an edge_index and without rows of destinations their number is unknown: pass the block")
    return edges_of(edge_index, len(x_src), len(x_dst))


def first_rows(x, count: int, whose: str) -> torch.Tensor:
    x = x.destinations if is_table(x) else x
    _require_rows(x, count, whose)
    return x if len(x) == count else x[:count]


def _require_rows(x: torch.Tensor, count: int, whose: str) -> None:
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"x is a {type(x).__name__}; it must be a tensor, a pair of tensors, or the loader's TableRows")
    if x.dim() != 2:
        raise ValueError(f"x has shape {list(x.shape)}, expected [rows, width]")
    if len(x) < count:
        raise ValueError(f"x has {len(x)} rows, but the block has {count} {whose}")


def _require_kind(x: torch.Tensor, edges: BlockEdges) -> None:
    if x.dtype not in ROWS:
        raise TypeError(f"x is {described(x)}, expected rows of float32, float64, bfloat16 or float16")
    check_device(edges, x, "x")
