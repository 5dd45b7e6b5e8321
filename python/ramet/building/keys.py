"""Keys: the ids of nodes as files have them, in the form in which _core.IdMap takes them.

A key is an integer or a text. Of several columns it is a tuple: the JSON array of their texts, so that ("a", "bc") is
not ("ab", "c").
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ramet import _core
from ramet._support.arguments import shortened


class Keys(NamedTuple):
    """A chunk of keys. is_null, is_absent: bool by row, or None where none is. Absent are null ones, and those that are
    no values of the kind: a text that is no integer, where ids are integers."""

    values: Any  # int64 or uint64 [n], or, of texts and tuples, (bytes, int64 offsets [n + 1])
    is_null: np.ndarray | None
    is_absent: np.ndarray | None


def kind_of(types: Sequence[Any], what: str) -> str:
    """ "int64", "uint64", "text" or "tuple": of ids in columns of these pyarrow types."""
    import pyarrow as pa

    for arrow_type in types:
        if not (pa.types.is_integer(arrow_type) or is_text(arrow_type)):
            raise TypeError(f"{what} is a column of {arrow_type}; ids are integers or text")
    if len(types) > 1:
        return "tuple"
    if is_text(types[0]):
        return "text"
    return "uint64" if types[0] == pa.uint64() else "int64"


def as_keys(kind: str, columns: Sequence[Any]) -> Keys:
    """`columns`: pyarrow arrays of one length, of integers or text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_null = None
    for column in columns:
        if column.null_count:
            nulls = column.is_null().to_numpy(zero_copy_only=False)
            is_null = nulls if is_null is None else is_null | nulls
    if kind == "tuple":
        return Keys(_text_values(_as_json(columns)), is_null, is_null)
    column = columns[0]
    if kind == "text":
        return Keys(_text_values(_as_text(column)), is_null, is_null)
    target = pa.uint64() if kind == "uint64" else pa.int64()
    if is_text(column.type):
        values, fits = _core.parse_ids(_text_values(_as_text(column)), kind)
    else:
        fits = _fits(pc, pa, column, target)
        if fits is not None:
            column = pc.if_else(pa.array(fits), column, pa.scalar(0).cast(column.type))
        values = column.cast(target)
        values = (values if is_null is None else values.fill_null(0)).to_numpy()
    is_absent = is_null if fits is None else ~fits if is_null is None else is_null | ~fits
    return Keys(values, is_null, is_absent)


def _fits(pc, pa, column, target) -> np.ndarray | None:
    """Which values `target` holds; None: all."""
    if column.type == target:
        return None
    low, high = (0, 2**64 - 1) if target == pa.uint64() else (-(2**63), 2**63 - 1)
    if pa.types.is_floating(column.type):  # as pandas has integers beside nulls; from 2^53 on several are one number
        numbers = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
        return (numbers == np.floor(numbers)) & (numbers >= low) & (np.abs(numbers) < 2.0**53)
    try:
        pc.cast(column, target)
    except pa.ArrowInvalid:
        values = column.to_pylist()
        return np.array([value is None or low <= int(value) <= high for value in values], bool)
    return None


def taken(texts: tuple[np.ndarray, np.ndarray], rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Some of the texts that are values of Keys, with offsets from 0."""
    import pyarrow as pa

    data, offsets = map(pa.py_buffer, texts)
    array = pa.Array.from_buffers(pa.large_binary(), len(texts[1]) - 1, [None, offsets, data])
    return _text_values(array.take(pa.array(rows)))


def shown_key(columns: Sequence[Any], row: int) -> str:
    """A key for messages."""
    values = tuple(column[row].as_py() for column in columns)
    return shortened(values[0] if len(values) == 1 else values)


def is_text(arrow_type) -> bool:
    import pyarrow as pa

    return pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type)


def _as_text(column):
    import pyarrow as pa

    return column.cast(pa.large_string())


def _as_json(columns: Sequence[Any]):
    """The JSON array of each row's texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    quoted = []
    for column in columns:
        text = pc.fill_null(_as_text(column), "")
        if pc.any(pc.match_substring_regex(text, r"[\x00-\x1f]"), min_count=0).as_py():  # JSON escapes these, too
            text = type(text).from_pandas([json.dumps(value, ensure_ascii=False)[1:-1] for value in text.to_pylist()])
            text = _as_text(text)
        else:
            text = pc.replace_substring(pc.replace_substring(text, "\\", "\\\\"), '"', '\\"')
        quoted.append(text)
    between, first, last, nothing = (pa.scalar(text, pa.large_string()) for text in ('","', '["', '"]', ""))
    joined = pc.binary_join_element_wise(*quoted, between)
    return pc.binary_join_element_wise(first, joined, last, nothing)


def _text_values(column) -> tuple[np.ndarray, np.ndarray]:
    """(bytes, offsets) of a large_string array."""
    _, offsets, text = column.buffers()
    offsets = np.frombuffer(offsets, np.int64, len(column) + 1, 8 * column.offset)
    return np.frombuffer(text or b"", np.uint8)[: offsets[-1]], offsets
