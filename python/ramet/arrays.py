"""What an array from a user must be before a store takes it.

Each function returns a numpy array that can be stored as it is, without a copy where none is
needed, or raises an error that names the argument, the value and the bound: TypeError for a dtype,
ValueError for a shape or a length, IndexError for an id that is out of range.
"""

from __future__ import annotations

import sys

import numpy as np

from ramet.dtypes import Quantized, bfloat16, dtype_name

STORABLE = frozenset(
    np.dtype(code).str for code in ("b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")
)
MAX_DIMENSIONS = 8
INT32_MAX = 2**31 - 1


def as_array(value, what: str) -> np.ndarray:
    """`value` (numpy, torch on the CPU, a list, anything with __array__) as a C-contiguous array of
    native byte order with 1 to 8 dimensions and a dtype that a store can hold."""
    array = _to_numpy(value, what)
    if _holds_strings(array):
        raise TypeError(
            f"{what} has dtype {array.dtype}, which is of strings; a store holds numbers, and its nodes are numbered "
            "from 0: numpy.unique(names, return_inverse=True) numbers names"
        )
    if array.dtype.kind == "O":
        beyond = next((v for v in array.flat if type(v) is int and not -(2**63) <= v < 2**64), None)
        reason = "rows of different lengths, or mixed values?" if beyond is None else f"{beyond} is beyond 64 bits"
        raise TypeError(f"{what} has dtype object ({reason})")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.str not in STORABLE and array.dtype != bfloat16:
        known = "bool, int8 to uint64, float16, bfloat16, float32, float64"
        raise TypeError(f"{what} has dtype {array.dtype}; a store holds {known}")
    if not 1 <= array.ndim <= MAX_DIMENSIONS:
        raise ValueError(f"{what} has {array.ndim} dimensions, not 1 to {MAX_DIMENSIONS}")
    return np.require(array, requirements=["C", "A"])


def _holds_strings(array: np.ndarray) -> bool:
    if array.dtype.kind == "O":
        return array.size > 0 and isinstance(array.flat[0], (str, bytes))
    return array.dtype.kind in "SUT"


def as_rows(value, what: str) -> np.ndarray | Quantized:
    """`value` as rows of a table: the result of as_array(), or Quantized unchanged."""
    if not isinstance(value, Quantized):
        return as_array(value, what)
    values, scale = (as_array(part, what) for part in (value.values, value.scale))
    return Quantized(values, scale)


def as_table(value, what: str, rows: int, owner: str) -> np.ndarray | Quantized:
    """`value` as a table with one row for each of the `rows` things that `owner` has."""
    array = as_rows(value, what)
    if array.shape[0] != rows:
        raise ValueError(f"{what} has {array.shape[0]} rows, but {owner}")
    return array


def as_ids(value, what: str) -> np.ndarray:
    """`value` as a 1-D array of int32 (where it is that already) or int64. The values are not looked at."""
    array = as_array(value, what)
    if array.ndim != 1:
        raise ValueError(f"{what} has shape {list(array.shape)}; ids are one-dimensional")
    return to_integers(array, what, empty_list=isinstance(value, (list, tuple)))


def to_integers(array: np.ndarray, what: str, empty_list: bool = False) -> np.ndarray:
    """An array of integers of any width as int32 or int64."""
    if array.size == 0 and empty_list:  # numpy calls [] float64
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{what} has dtype {dtype_name(array.dtype)}; ids are integers")
    if array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max:
        raise IndexError(f"{what} holds {array.max()}, which is beyond int64")
    return array if array.dtype in (np.int32, np.int64) else array.astype(np.int64)


def check_range(ids: np.ndarray, bound: int, what: str, owner: str) -> None:
    """Raises IndexError, naming the first offender, unless 0 <= id < bound for every id."""
    if ids.size == 0 or (ids.min() >= 0 and ids.max() < bound):
        return
    position = int(np.argmax((ids < 0) | (ids >= bound)))
    raise IndexError(f"{what}[{position}] is {ids[position]}, but {owner}")


def as_split(value, what: str, num_nodes: int, owner: str) -> np.ndarray:
    """Node ids from ids in [0, num_nodes) or from a bool mask with one entry for each node. ValueError for a mask of
    integers, as other libraries store them, which would be read as the ids 0 and 1."""
    array = as_array(value, what)
    if array.dtype != np.bool_:
        ids = as_ids(value, what)
        check_range(ids, num_nodes, what, owner)
        refuse_mask(ids, num_nodes, what, owner)
        return ids
    if array.shape != (num_nodes,):
        raise ValueError(f"{what} is a bool mask of shape {list(array.shape)}, but {owner}")
    return np.flatnonzero(array)


def refuse_mask(ids: np.ndarray, count: int, what: str, owner: str) -> None:
    """ValueError for ids that look like a mask with one entry for each."""
    if 0 < count == len(ids) and ids.min() >= 0 and ids.max() <= 1 and np.bincount(ids).max() > 1:
        raise ValueError(
            f"{what} has {count} entries, all 0 or 1, and {owner}: a mask is of bools, mask.astype(bool) or "
            "mask.bool(); read as ids, these would be 0 and 1 alone, again and again"
        )


def as_named(value, what: str, names: np.ndarray, owner: str) -> np.ndarray:
    """Some of `names`, ids in ascending order, from these or from a bool mask with one entry for each."""
    array = as_array(value, what)
    if array.dtype == np.bool_:
        return names[as_split(value, what, len(names), owner)]
    ids = as_ids(value, what)
    is_name = np.isin(ids, names)
    if not is_name.all():
        position = int(np.argmin(is_name))
        raise IndexError(f"{what}[{position}] is {ids[position]}, but {owner}, and none of this id")
    refuse_mask(ids, len(names), what, owner)
    return ids


def as_mask(value, what: str) -> np.ndarray | None:
    """`value` as bools; None where it has other numbers than 0 and 1."""
    array = as_array(value, what)
    if array.dtype == np.bool_:
        return array
    return array == 1 if np.all((array == 0) | (array == 1)) else None


def _to_numpy(value, what: str) -> np.ndarray:
    if value is None:
        raise TypeError(f"{what} is None; it must be an array")
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        count = np.ma.count_masked(value)
        raise ValueError(f"{what} is a masked array, {count} of its values masked; fill or drop them first")
    if hasattr(value, "toarray") or (hasattr(value, "to_dense") and _is_sparse_tensor(value)):
        raise TypeError(f"{what} is sparse ({type(value).__name__}); make it dense first")
    device = getattr(value, "device", None)
    if getattr(device, "type", "cpu") != "cpu":
        raise ValueError(f"{what} lies on {device}; move it to the CPU first")
    if hasattr(value, "detach"):  # a torch tensor that requires grad refuses to become an array
        value = value.detach()
    try:
        if str(getattr(value, "dtype", "")) in ("torch.bfloat16", "bfloat16"):  # torch's, or ml_dtypes'
            return _bfloat16_to_numpy(value)
        return np.asarray(value)
    except Exception as error:  # whatever a foreign __array__ raises
        raise TypeError(f"{what} cannot be read as an array: {error}") from error


def _bfloat16_to_numpy(value) -> np.ndarray:
    if isinstance(value, np.ndarray):
        return np.ascontiguousarray(value).view(bfloat16)
    words = sys.modules["torch"].int16  # as wide, and known to numpy
    return value.contiguous().view(words).numpy().view(bfloat16)


def _is_sparse_tensor(value) -> bool:
    return str(getattr(value, "layout", "sparse")) != "torch.strided"
