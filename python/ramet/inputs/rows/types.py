"""Types of columns: what a type becomes for the builder, and the common type of parts that loses nothing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyarrow import types

VIEWS = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}  # by name: older pyarrow has no such types


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type in which a column comes out: text with 64-bit offsets, values instead of dictionaries, and
    of decimals: int64 where all are whole, else float64. Lists stay: only their rows tell a width."""
    if types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return plain_type(kind.storage_type)
    if is_view(kind):
        return VIEWS[str(kind)]
    if types.is_string(kind):
        return pa.large_string()
    if types.is_decimal(kind):
        return pa.float64() if kind.scale > 0 else pa.int64()
    if types.is_binary(kind):
        return pa.large_binary()
    if types.is_fixed_size_list(kind):
        return pa.list_(plain_type(kind.value_type), kind.list_size)
    return kind


def is_list(kind: pa.DataType) -> bool:
    """Whether rows of the type are lists that might differ in length."""
    return types.is_list(kind) or types.is_large_list(kind)


def common_type(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    """The type that holds every value of both, or None where there is none."""
    if one == other or types.is_null(other):
        return one
    if types.is_null(one):
        return other
    if types.is_fixed_size_list(one) and types.is_fixed_size_list(other):
        value = common_type(one.value_type, other.value_type)
        return None if value is None or one.list_size != other.list_size else pa.list_(value, one.list_size)
    if _is_number(one) and _is_number(other):
        return _common_number(one, other)
    one, other = _as_timestamp(one), _as_timestamp(other)
    if types.is_timestamp(one) and types.is_timestamp(other):
        units = ("s", "ms", "us", "ns")
        unit = max(one.unit, other.unit, key=units.index)
        return pa.timestamp(unit, one.tz if one.tz == other.tz else "UTC")
    return None


def _as_timestamp(kind: pa.DataType) -> pa.DataType:
    """Of a day, its beginning."""
    return pa.timestamp("s" if types.is_date32(kind) else "ms") if types.is_date(kind) else kind


def _common_number(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    common = pa.from_numpy_dtype(np.result_type(one.to_pandas_dtype(), other.to_pandas_dtype()))
    inexact = types.is_floating(common) and any(types.is_integer(t) and t.bit_width == 64 for t in (one, other))
    return None if inexact else common


def _is_number(kind: pa.DataType) -> bool:
    return types.is_integer(kind) or types.is_floating(kind)


def is_view(kind: pa.DataType) -> bool:
    """Whether texts or bytes lie anywhere in memory, as those of polars do."""
    return str(kind) in VIEWS
