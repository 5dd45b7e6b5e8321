"""Values: a table's rows from columns of pyarrow, chunk by chunk."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np

from ramet._support.arguments import INT64_MAX, as_int, shortened
from ramet.building.keys import is_text
from ramet.building.node_ids import NULL, NodeIds
from ramet.building.scratch import Scratch
from ramet.dtypes import bfloat16, convert
from ramet.inputs.tables import Column

TIME_UNITS = ("s", "ms", "us", "ns")
NO_LABEL = -1
FROM_THE_BEGINNING = -(2**63)  # in place of a time


def null_rows(arrays: Sequence[Any], count: int) -> np.ndarray:
    """bool [count]: the rows in which a column is null."""
    found = np.zeros(count, bool)
    for array in arrays:
        if array.null_count:
            found |= array.is_null().to_numpy(zero_copy_only=False)
    return found


class Values:
    """The rows of one table. dtype, shape: of a row, known before any is read. null: stands for a null, where one may.

    what: how errors call the table. location(row): how they call a row.
    """

    has_categories = False  # which a pass over all rows collects

    def __init__(self, what: str, columns: Sequence[Column], dtype, shape: tuple[int, ...], location, null=None):
        self.what, self.columns, self.dtype, self.shape = what, tuple(columns), np.dtype(dtype), shape
        self.location, self._null = location, null

    @property
    def row_bytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape)

    def take(self, first: int, arrays: Sequence[Any]) -> None:
        """Of a pass over all rows before they are asked for."""
        self.rows(first, arrays)

    def rows(self, first: int, arrays: Sequence[Any]) -> np.ndarray:
        """[n, *shape]: of the rows from number `first` on."""
        parts = [self.numbers(first, column, array) for column, array in zip(self.columns, arrays, strict=True)]
        if not self.shape:
            return self._as_dtype(parts[0], first)
        wide = [part.reshape(len(part), -1) for part in parts]
        return self._as_dtype(wide[0] if len(wide) == 1 else np.concatenate(wide, axis=1), first)

    def about(self) -> dict:
        """What the store keeps of how these values came about."""
        return {}

    def note(self) -> str | None:
        """What the user should know of these values, once all have been read."""
        return None

    def numbers(self, first: int, column: Column, array) -> np.ndarray:
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_fixed_size_list(array.type):
            width, flat = array.type.list_size, array.flatten()
            if array.null_count:
                self._refuse_null(first, column, array)
            return self.numbers(first, column, flat).reshape(-1, width)
        if pa.types.is_boolean(array.type):
            array = array.cast(pa.int8())
        if array.null_count:
            if self._null is None:
                self._refuse_null(first, column, array)
            if not (np.isnan(self._null) and pa.types.is_floating(array.type)):  # else numpy has NaN for it anyway
                wide = pa.float64() if np.isnan(self._null) else pa.int64()  # of a label, whose type may have no -1
                array = pc.fill_null(array.cast(wide), pa.scalar(self._null, wide))
        return array.to_numpy(zero_copy_only=False)

    def _refuse_null(self, first: int, column: Column, array) -> None:
        row = first + int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
        raise ValueError(
            f"{self.location(row)}: column {column!r} is null, and {self.what} of {self.dtype} has no null"
        )

    def _as_dtype(self, rows: np.ndarray, first: int) -> np.ndarray:
        if rows.dtype == self.dtype:
            return rows
        if self.dtype.kind == "f" or self.dtype == bfloat16:
            name = "bfloat16" if self.dtype == bfloat16 else str(self.dtype)
            return rows.astype(np.float64) if name == "float64" else convert(rows, name, self.what, first)
        if rows.dtype == np.uint64 and len(wrong := np.argwhere(rows > INT64_MAX)):
            location, value = self.location(first + int(wrong[0][0])), rows[tuple(wrong[0])]
            raise ValueError(f"{location}: {self.what} is {value}, more than int64 holds")
        return rows.astype(self.dtype)


class Categories(Values):
    """One column of texts as the numbers of their categories, in the order of their first rows."""

    has_categories = True

    def __init__(self, what: str, column: Column, rows, scratch: Scratch, null=None):
        super().__init__(what, (column,), np.int64, (), rows.location, null)
        self._text_among_numbers = rows.texts_among_numbers.get(column)
        self._codes = NodeIds("text", scratch)
        self._texts: list[str] | None = None  # all of them, when they have been asked for

    def numbers(self, first: int, column: Column, array) -> np.ndarray:
        codes = self._codes.add([array])[:, 0] if self._texts is None else self._codes.find([array])
        if not array.null_count:
            return codes
        if self._null is None:
            self._refuse_null(first, column, array)
        return np.where(codes == NULL, self._null, codes)

    def about(self) -> dict:
        if self._texts is None:
            arrays = self._codes.arrays() or {"text": np.empty(0, np.uint8), "offset": np.zeros(1, np.int64)}
            text = arrays["text"].tobytes()
            self._texts = [text[a:b].decode() for a, b in pairwise(arrays["offset"].tolist())]
        return {"categories": self._texts}

    def note(self) -> str | None:
        if self._text_among_numbers is None:
            return None
        return f"{self.what}: column {self.columns[0]!r} has categories, not numbers: {self._text_among_numbers}"


class Mixed(Values):
    """Numbers and categories side by side, as floating point."""

    has_categories = True

    def __init__(self, what: str, columns, dtype, shape, location, categories: dict[Column, Categories]):
        super().__init__(what, columns, dtype, shape, location, null=np.nan)
        self._categories = categories

    def numbers(self, first: int, column: Column, array) -> np.ndarray:
        if column in self._categories:
            return self._categories[column].numbers(first, column, array)
        return super().numbers(first, column, array)

    def about(self) -> dict:
        return {"categories": {str(column): of.about()["categories"] for column, of in self._categories.items()}}

    def note(self) -> str | None:
        return "; ".join(note for of in self._categories.values() if (note := of.note())) or None


class Normalized(Values):
    """Values with mean 0 and deviation 1 by column, by what a pass over all rows has found."""

    def __init__(self, values: Values):
        super().__init__(values.what, values.columns, values.dtype, values.shape, values.location)
        self._values = values
        values.dtype = np.dtype(np.float64)  # rounded once: narrow types may not hold what is normalized
        self._origin = np.full(values.shape, np.nan)  # a value of each column: sums of differences to it cancel nothing
        self._sum, self._squares, self._count = (np.zeros(values.shape) for _ in range(3))

    def take(self, first: int, arrays: Sequence[Any]) -> None:
        """Of the pass over all rows. Values that are not finite count for nothing."""
        rows = self._values.rows(first, arrays)
        finite = np.isfinite(rows)
        firsts = np.take_along_axis(rows, finite.argmax(axis=0, keepdims=True), axis=0)[0]
        self._origin = np.where(np.isnan(self._origin) & finite.any(axis=0), firsts, self._origin)
        rows = np.where(finite, rows - self._origin, 0)
        self._sum += rows.sum(axis=0)
        self._squares += (rows * rows).sum(axis=0)
        self._count += finite.sum(axis=0)

    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        count = np.maximum(self._count, 1)
        mean = self._sum / count
        deviation = np.sqrt(np.maximum(self._squares / count - mean * mean, 0))
        return mean + np.nan_to_num(self._origin), np.where(deviation == 0, 1, deviation)

    def rows(self, first: int, arrays: Sequence[Any]) -> np.ndarray:
        mean, deviation = self._moments()
        return self._as_dtype((self._values.rows(first, arrays) - mean) / deviation, first)

    def about(self) -> dict:
        mean, deviation = self._moments()
        return {**self._values.about(), "mean": mean.tolist(), "deviation": deviation.tolist()}


class Times(Values):
    """Timestamps as int64, in one unit and in UTC; whole numbers as they are."""

    def __init__(self, what: str, column: Column, rows, null=None):
        import pyarrow as pa

        super().__init__(what, (column,), np.int64, (), rows.location, null)
        arrow_type, self.unit = rows.type_of(column), None
        self._have_zones = {kind.tz is not None for kind in rows.types_of(column) if pa.types.is_timestamp(kind)}
        if pa.types.is_timestamp(arrow_type):
            self.unit = arrow_type.unit
        elif pa.types.is_date(arrow_type):
            self.unit = "s" if pa.types.is_date32(arrow_type) else "ms"
        elif is_text(arrow_type):
            self.unit = "us"
        elif not (pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type)):
            raise TypeError(f"{what}: column {column!r} is of {arrow_type}, expected times, numbers or text")

    def numbers(self, first: int, column: Column, array) -> np.ndarray:
        import pyarrow.compute as pc

        if not array.null_count:
            return self._known(first, column, array)
        if self._null is None:
            self._refuse_null(first, column, array)
        is_null = array.is_null().to_numpy(zero_copy_only=False)
        times = np.full(len(array), self._null)
        begin = int(np.argmin(is_null))
        if not is_null[begin]:
            known = self._known(first + begin, column, pc.fill_null_forward(array[begin:]))
            times[begin:] = np.where(is_null[begin:], self._null, known)
        return times

    def _known(self, first: int, column: Column, array) -> np.ndarray:
        import pyarrow as pa

        if self.unit is None:
            return self._whole(first, column, array.to_numpy(zero_copy_only=False))
        if not (pa.types.is_timestamp(array.type) or pa.types.is_date(array.type)):
            array = self._parsed(first, column, array)
        return array.cast(pa.timestamp(self.unit, getattr(array.type, "tz", None))).cast(pa.int64()).to_numpy()

    def _whole(self, first: int, column: Column, numbers: np.ndarray) -> np.ndarray:
        if numbers.dtype.kind == "f":  # from 2^53 on several whole numbers are one
            wrong = np.flatnonzero((numbers != np.floor(numbers)) | ~(np.abs(numbers) < 2.0**53))
            if len(wrong):
                value = numbers[wrong[0]]
                location = self.location(first + int(wrong[0]))
                raise ValueError(f"{location}: column {column!r} is {value}, no whole number that is exact")
        return self._as_dtype(numbers, first)

    def _parsed(self, first: int, column: Column, texts):
        """Texts of ISO 8601, with a zone or without one."""
        import pyarrow as pa

        for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
            try:
                times = texts.cast(kind)
            except pa.ArrowInvalid:
                continue
            self._have_zones.add(kind.tz is not None)
            return times
        if len(texts) > 1:  # some with a zone and some without, or one that is no time
            return pa.chunked_array(
                [
                    self._parsed(first + row, column, texts.slice(row, 1)).cast(pa.timestamp("us"))
                    for row in range(len(texts))
                ]
            ).combine_chunks()
        shown = texts[0].as_py()
        raise ValueError(f"{self.location(first)}: column {column!r} is {shown!r}, no time of ISO 8601 in us")

    def bound(self, value, what: str) -> int:
        """A time that a user says, as one of these: a datetime or a text of ISO 8601 where they have a unit."""
        import pyarrow as pa

        if self.unit is None or not (isinstance(value, (str, date, np.datetime64))):
            return as_int(value, what)
        try:
            return int(self.numbers(0, self.columns[0], pa.array([value]))[0])
        except ValueError:
            raise ValueError(f"{what} is {shortened(value)}, no time of ISO 8601 in {self.unit}") from None

    def about(self) -> dict:
        return {} if self.unit is None else {"unit": self.unit}

    def note(self) -> str | None:
        if len(self._have_zones) < 2:
            return None
        return f"{self.what}: some times have a zone, and those without one are taken as UTC"
