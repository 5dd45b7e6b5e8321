"""Reads the arrays in other people's pickles without running what is in them.

A pickle is a program that may call anything that can be imported. Here it finds eight names, and none of them
is numpy's or scipy's own: arrays, dtypes and sparse matrices become the plain stand-ins of this file, which
check what they are given before numpy sees a byte. So a hostile file is an error, not code that runs, and not
a matrix whose indices point outside its memory either.
"""

from __future__ import annotations

import contextlib
import math
import pickle
import re
import reprlib
from typing import Any, ClassVar

import numpy as np

from ramet.stores.readers.source import Csr

MAX_DIMENSIONS = 32
MAX_ATTRIBUTES = 64  # of a matrix; scipy's have about ten
MAX_ITEM_BYTES = 8
MAX_TEXT = 200  # of a message about what a file holds


class _Dtype:
    def __init__(self, code: str, align=False, copy=False) -> None:
        if not isinstance(code, str):
            raise ValueError("a dtype whose name is no string")
        self.code, self.order = code, "|"

    def __setstate__(self, state) -> None:
        self.order = state[1]

    @property
    def is_object(self) -> bool:
        return self.code in ("O", "O8", "O4")

    def numpy(self) -> np.dtype:
        if not re.fullmatch("[biuf][1248]", self.code) or self.order not in ("<", ">", "|", "="):
            raise ValueError(f"an array of dtype {short(self.order)} {short(self.code)}")
        return np.dtype(("" if self.order == "|" else self.order) + self.code)


class _Array:
    """Stands in for numpy.ndarray. What the pickle says of it is kept as it is until somebody asks for the array:
    a small pickle may have the same bytes in any number of arrays."""

    state: tuple = ()

    def __setstate__(self, state) -> None:
        self.state = state

    def objects(self) -> list:
        """The elements of an array of objects; none of another."""
        _, _, dtype, _, raw = self.state
        return raw if dtype.is_object and isinstance(raw, list) else []

    def numpy(self) -> np.ndarray:
        _, shape, dtype, is_fortran, raw = self.state
        dtype = dtype.numpy()
        if not isinstance(shape, tuple) or len(shape) > MAX_DIMENSIONS:
            raise ValueError(f"an array of shape {short(shape)}")
        if any(type(size) is not int or not 0 <= size < 1 << 48 for size in shape):
            raise ValueError(f"an array of shape {short(shape)}")
        raw = _to_bytes(raw)
        expected = math.prod(shape) * dtype.itemsize
        if len(raw) != expected:
            raise ValueError(f"{len(raw)} bytes for an array of {expected}")
        array = np.frombuffer(raw, dtype).reshape(shape, order="F" if is_fortran else "C")
        return array.astype(array.dtype.newbyteorder("="), order="C", copy=False)


class _Csr:
    """Stands in for scipy.sparse.csr_matrix, whose attributes a pickle sets one by one."""

    def __setstate__(self, state) -> None:
        if not isinstance(state, dict) or len(state) > MAX_ATTRIBUTES:
            raise ValueError("a matrix without its attributes")
        self.parts = state


class _Encoded:
    """Stands in for the bytes of a string, one for each character."""

    def __init__(self, text: str = "", encoding: str = "latin1") -> None:
        self.text = text


def _reconstruct(subtype, shape, code) -> _Array:
    return _Array()


def _scalar(dtype: _Dtype, raw):
    if len(raw.text if isinstance(raw, _Encoded) else raw) > MAX_ITEM_BYTES:
        raise ValueError(f"a number of more than {MAX_ITEM_BYTES} bytes")
    return np.frombuffer(_to_bytes(raw), dtype.numpy())[0].item()


def _dict(factory=None) -> dict:
    return {}


def _list() -> list:
    return []


def _to_bytes(raw) -> bytes:
    """Python 2's strings of bytes arrive as text, one character a byte."""
    raw = raw.text if isinstance(raw, _Encoded) else raw
    if not isinstance(raw, (str, bytes)):
        raise ValueError("an array whose bytes are none")
    return raw.encode("latin1") if isinstance(raw, str) else raw


_KNOWN = {
    "numpy.core.multiarray._reconstruct": _reconstruct,
    "numpy.core.multiarray.scalar": _scalar,
    "numpy.ndarray": _Array,
    "numpy.dtype": _Dtype,
    "scipy.sparse.csr.csr_matrix": _Csr,
    "collections.defaultdict": _dict,
    "builtins.list": _list,
    "_codecs.encode": _Encoded,
}
_NEW_NAMES = {
    "numpy._core.": "numpy.core.",
    "scipy.sparse._csr.": "scipy.sparse.csr.",
    "__builtin__.": "builtins.",
}


def short(value) -> str:
    """A few characters about anything that a file holds: repr() of lists within lists may not end."""
    text = reprlib.repr(value)
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "..."


_Unpickler: Any = pickle._Unpickler  # noqa: SLF001 (the C one allocates what a hostile memo index says)


class _Reader(_Unpickler):
    """What takes more time or memory than the file has bytes is left out: sets and keys that are made of others (a
    hash goes through all levels), bytes by their number alone, attributes of anything but the stand-ins."""

    dispatch: ClassVar[dict] = {
        code: load
        for code, load in _Unpickler.dispatch.items()
        if code not in b"".join((pickle.EMPTY_SET, pickle.ADDITEMS, pickle.FROZENSET, pickle.BYTEARRAY8))
    }

    def find_class(self, module: str, name: str):
        full = f"{module}.{name}"
        for new, old in _NEW_NAMES.items():
            full = full.replace(new, old) if full.startswith(new) else full
        if full not in _KNOWN:
            wanted = f"{module}.{name}"[:MAX_TEXT]
            raise pickle.UnpicklingError(f"it wants {wanted}, which is not on the list of what is allowed")
        return _KNOWN[full]

    def load_build(self) -> None:
        state = self.stack.pop()
        if type(self.stack[-1]) not in (_Array, _Dtype, _Csr):
            raise pickle.UnpicklingError("it sets attributes of something that is no array")
        self.stack[-1].__setstate__(state)

    dispatch[pickle.BUILD[0]] = load_build

    def load_setitem(self) -> None:
        _check_keys(self.stack[-2:-1])
        super().load_setitem()

    dispatch[pickle.SETITEM[0]] = load_setitem

    def load_setitems(self) -> None:
        _check_keys(self.stack[::2])  # what is above the mark
        super().load_setitems()

    dispatch[pickle.SETITEMS[0]] = load_setitems

    def load_dict(self) -> None:
        _check_keys(self.stack[::2])
        super().load_dict()

    dispatch[pickle.DICT[0]] = load_dict


def _check_keys(keys: list) -> None:
    if not all(type(key) in (int, str) for key in keys):
        raise pickle.UnpicklingError("it has a dict with keys that are neither numbers nor strings")


def load(file, what: str):
    """The object in an open binary file. ValueError, naming `what`, if it cannot be read safely."""
    with _naming(what):
        return _Reader(file, encoding="latin1").load()


@contextlib.contextmanager
def _naming(what: str):
    try:
        yield
    except OSError:
        raise
    except Exception as error:  # a broken pickle raises nearly everything
        why = str(error)[:MAX_TEXT] or type(error).__name__
        raise ValueError(f"{what}: not a pickle that can be read: {why}") from error


def array_of(value, what: str) -> np.ndarray:
    """The numbers that a loaded pickle holds as an array."""
    if not isinstance(value, _Array):
        raise ValueError(f"{what}: no array of numbers")
    with _naming(what):
        return value.numpy()


def csr_of(value, what: str) -> Csr:
    """The CSR matrix that a loaded pickle holds, also inside an array of one object."""
    if isinstance(value, _Array):
        with _naming(what):
            objects = value.objects()
        value = objects[0] if len(objects) == 1 else None
    parts = getattr(value, "parts", {})
    missing = [name for name in ("data", "indices", "indptr") if name not in parts]
    if not isinstance(value, _Csr) or missing:
        raise ValueError(f"{what}: no scipy CSR matrix")
    data, indices, indptr = (array_of(parts[name], f"{what}, {name}") for name in ("data", "indices", "indptr"))
    return Csr.from_parts(data, indices, indptr, parts.get("_shape"), what)
