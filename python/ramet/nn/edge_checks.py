"""Checks of the tensors of a block's edges; errors name the value and the bound."""

from __future__ import annotations

import numpy as np
import torch

ROWS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)  # what is aggregated
_INT32_MAX = 2**31 - 1


def check_types(indptr, indices, num_src: int) -> None:
    """TypeError or ValueError unless they are tensors of the same device that can be a CSC."""
    for name, tensor, dtype in ("indptr", indptr, torch.int64), ("indices", indices, torch.int32):
        if not isinstance(tensor, torch.Tensor) or tensor.dtype != dtype or tensor.dim() != 1:
            raise TypeError(f"{name} is {described(tensor)}, expected a tensor of {dtype} with one dimension")
    check_count(num_src, "num_src")
    if indptr.device != indices.device:
        raise ValueError(f"indptr lies on {indptr.device}, but indices on {indices.device}")


def check_weights(edge_weight, indices) -> None:
    """TypeError or ValueError unless it is None, or a floating tensor with an element for each of `indices`."""
    if edge_weight is None:
        return
    if not isinstance(edge_weight, torch.Tensor) or not edge_weight.is_floating_point():
        raise TypeError(f"edge_weight is {described(edge_weight)}, expected a floating tensor")
    if edge_weight.shape != indices.shape:
        raise ValueError(f"edge_weight has shape {list(edge_weight.shape)}, expected [{len(indices)}], as indices")
    if edge_weight.device != indices.device:
        raise ValueError(f"edge_weight lies on {edge_weight.device}, but indices on {indices.device}")


def check_device(edges, tensor, name: str) -> None:
    if tensor.device != edges.device:
        raise ValueError(f"{name} lies on {tensor.device}, but the block's edges on {edges.device}")


def columns_of_edges(edges, values, name: str):
    """[num_edges, heads] of floating values [num_edges] or [num_edges, heads]. TypeError, or ValueError for another
    shape or device."""
    if not isinstance(values, torch.Tensor) or not values.is_floating_point():
        raise TypeError(f"{name} is {described(values)}, expected a floating tensor")
    if values.dim() not in (1, 2) or values.shape[0] != edges.num_edges:
        count = edges.num_edges
        raise ValueError(
            f"{name} has shape {list(values.shape)}, but the block has {count} edges: expected [{count}] or "
            f"[{count}, heads]"
        )
    check_device(edges, values, name)
    return values if values.dim() == 2 else values[:, None]


def check_values(indptr, indices, num_src: int) -> None:
    """ValueError or IndexError unless they are a CSC of `num_src` sources; for tensors of a device, which the engine
    does not check.
    """
    check_offsets(indptr, len(indices))
    _check_range(indices, num_src, "indices", "num_src")


def check_offsets(indptr, num_edges: int) -> None:
    """ValueError unless `indptr` ascends from 0 to the number of edges."""
    if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] != num_edges:
        ends = indptr[[0, -1]].tolist() if len(indptr) else []
        raise ValueError(f"indptr has the ends {ends}, expected [0, {num_edges}], the number of indices")
    falls = indptr.diff() < 0
    if falls.any():
        raise ValueError(f"indptr falls after indptr[{int(falls.nonzero()[0])}]")


def check_edge_index(edge_index, num_src: int, num_dst: int) -> None:
    """TypeError or ValueError unless it is integers [2, num_edges] between so many nodes."""
    if not isinstance(edge_index, torch.Tensor) or edge_index.is_floating_point() or edge_index.dim() != 2:
        raise TypeError(f"edge_index is {described(edge_index)}, expected integers [2, num_edges]")
    if len(edge_index) != 2:
        raise ValueError(f"edge_index has shape {list(edge_index.shape)}, expected [2, num_edges]")
    check_count(num_src, "num_src")
    check_count(num_dst, "num_dst")


def check_ends(edge_index, num_src: int, num_dst: int) -> None:
    """IndexError unless the nodes are in range; for tensors of a device."""
    _check_range(edge_index[0], num_src, "edge_index[0]", "num_src")
    _check_range(edge_index[1], num_dst, "edge_index[1]", "num_dst")


def check_count(count, name: str) -> None:
    if not isinstance(count, (int, np.integer)) or not 0 <= count <= _INT32_MAX:
        raise ValueError(f"{name} is {count!r}, expected an integer from 0 to {_INT32_MAX}")


def check_edge_types(by_type, known, name: str) -> None:
    """ValueError unless the keys of `by_type` are among the types `known`."""
    unknown = [edge_type for edge_type in by_type if edge_type not in known]
    if unknown:
        raise ValueError(f"{name} has the edge types {unknown}, expected some of {list(known)}")


def described(value) -> str:
    """For messages: the type of a value that should have been a tensor."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
    return f"a {type(value).__name__}"


def _check_range(ids, bound: int, what: str, name: str) -> None:
    wrong = (ids < 0) | (ids >= bound)
    if wrong.any():
        position = int(wrong.nonzero()[0])
        raise IndexError(f"{what}[{position}] is {int(ids[position])}, but {name} is {bound}")
