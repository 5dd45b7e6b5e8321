"""What a flag, an integer, a name or a path from a user must be.

Each function returns what _core takes, or raises TypeError or ValueError that names the argument and the value. Nothing
else may reach _core as one of these: nanobind's own message lists overloads instead.
"""

from __future__ import annotations

import math
import operator
import os
import re

import numpy as np

from ramet import _core

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
UINT64_MAX = 2**64 - 1  # of seeds

ROW_ORDERS = ("auto", "as_given", "sorted")  # in which a device reads the rows of a gather
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
EdgeTypeName = tuple[str, str, str]


def as_flag(value, what: str) -> bool:
    """`value` as a bool: True, False, numpy's, 0 or 1. TypeError for anything else, the text "false" among it."""
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer)) and value in (0, 1)):
        return bool(value)
    raise TypeError(f"{what} is {shortened(value)}, expected True or False")


def as_int(value, what: str, least: int = INT64_MIN, most: int = INT64_MAX) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TypeError(f"{what} is {shortened(value)}, expected an integer")
    if number < least:
        raise ValueError(f"{what} is {number}, expected at least {least}")
    if number > most:
        raise ValueError(f"{what} is {number}, expected at most {most}")
    return number


def as_memory(value, least: int) -> int | None:
    """Bytes, of an integer or of a text such as "1G"; None stays None."""
    if value is None:
        return None
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", value, re.IGNORECASE)
        if match is None:
            raise ValueError(
                f"memory is {shortened(value)}, expected a number of bytes such as 2000000000, 512M or 1.5G"
            )
        value = int(float(match[1]) * _UNITS[match[2].upper()])
    return as_int(value, "memory", least)


def as_real(value, what: str, below: float = math.inf, least: float = 0) -> float:
    """`value` as a finite float from `least` to less than `below`: a number, or an array or tensor of one."""
    try:
        number = None if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError, RuntimeError):  # of a tensor of several
        number = None
    except OverflowError:  # of an int
        number = math.inf
    if number is None:
        raise TypeError(f"{what} is {shortened(value)}, expected a number")
    if not least <= number < below or number == -math.inf:
        bound = "finite" if below == math.inf else f"below {below}"
        raise ValueError(f"{what} is {number}, expected {bound if least < 0 else f'at least {least} and {bound}'}")
    return number


def as_name(value, what: str) -> str:
    """`value` as a string. TypeError for anything else, ValueError where UTF-8 cannot hold it."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is {shortened(value)}, expected a string")
    _require_utf8(value, what)
    return value


def as_path(value, what: str = "path") -> str:
    """`value` (a string, bytes or os.PathLike) as a string. Names of files may hold any bytes: what is not UTF-8 is
    what os.fsdecode makes of it. ValueError for a string that stands for no bytes."""
    try:
        path = os.fsdecode(value)
    except TypeError:
        raise TypeError(f"{what} is {shortened(value)}, expected a string or an os.PathLike") from None
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise ValueError(f"{what} is {path!a}, which no file can be called") from None
    return path


def as_folder(name: str, what: str) -> str:
    """`name` as a file name. TypeError or ValueError unless it is a string of 1 to 80 bytes of UTF-8."""
    if not isinstance(name, str):
        raise TypeError(f"the name of {what} is {name!r}; it must be a string")
    try:
        name.encode("utf-8")
        return _core.encode_name(name)
    except ValueError as error:  # UnicodeEncodeError is one
        raise ValueError(f"the name of {what}, {name!r}: {error}") from None


def edge_folder(edge_type: EdgeTypeName) -> str:
    """The folder of an edge type inside the store."""
    is_triple = isinstance(edge_type, tuple) and len(edge_type) == 3
    if not is_triple or not all(isinstance(part, str) for part in edge_type):
        raise TypeError(f"the edge type {edge_type!r} is not a tuple (source type, relation, destination type)")
    return f"edge/{encoded_edge_type(edge_type)}"


def encoded_edge_type(edge_type: EdgeTypeName) -> str:
    return "__".join(as_folder(part, f"edge type {edge_type}") for part in edge_type)


def shortened(value) -> str:
    """The repr of a value for a message."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:60]}... (a {type(value).__name__})"


def _require_utf8(text: str, what: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"{what} is {text!a}, which is not UTF-8") from None


def check_word(value, what: str, words: tuple[str, ...]) -> str:
    """`value`, which is one of `words`; TypeError or ValueError naming them."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is {shortened(value)}, expected one of {words}")
    if value not in words:
        raise ValueError(f"{what} is {shortened(value)}, expected one of {words}")
    return value
