"""What a flag, a name or a path from a user must be.

Each function returns what _core takes, or raises TypeError or ValueError that names the argument and the value. Nothing
else may reach _core as a flag, a name or a path: nanobind's own message lists overloads instead.
"""

from __future__ import annotations

import os

import numpy as np


def as_flag(value, what: str) -> bool:
    """`value` as a bool: True, False, numpy's, 0 or 1. TypeError for anything else, the text "false" among it."""
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, (int, np.integer)) and value in (0, 1)):
        return bool(value)
    raise TypeError(f"{what} is {shortened(value)}, expected True or False")


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


def shortened(value) -> str:
    """The repr of a value for a message."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:60]}... (a {type(value).__name__})"


def _require_utf8(text: str, what: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(f"{what} is {text!a}, which is not UTF-8") from None
