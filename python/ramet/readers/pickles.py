"""Reads the arrays in other people's pickles without running what is in them.

A pickle is a program that may call anything that can be imported. Here it finds eight names, and none of them
is numpy's or scipy's own: arrays, dtypes and sparse matrices become the plain stand-ins of this file, which
check what they are given before numpy sees a byte. So a hostile file is an error, not code that runs, and not
a matrix whose indices point outside its memory either.
"""

from __future__ import annotations

import math
import pickle
import re
from collections import defaultdict

import numpy as np

from ramet.readers.source import Csr


class _Dtype:
    def __init__(self, code: str, align=False, copy=False) -> None:
        self.code, self.order = str(code), "|"

    def __setstate__(self, state) -> None:
        self.order = state[1]

    @property
    def is_object(self) -> bool:
        return self.code in ("O", "O8", "O4")

    def numpy(self) -> np.dtype:
        if not re.fullmatch("[biuf][1248]", self.code) or self.order not in ("<", ">", "|", "="):
            raise ValueError(f"an array of dtype {self.order}{self.code}")
        return np.dtype(("" if self.order == "|" else self.order) + self.code)


class _Array:
    """Stands in for numpy.ndarray. `value` is the array, or a list for an array of objects."""

    value: np.ndarray | list | None = None

    def __setstate__(self, state) -> None:
        _, shape, dtype, is_fortran, raw = state
        if any(not isinstance(size, int) or size < 0 for size in shape):
            raise ValueError(f"an array of shape {shape}")
        if dtype.is_object:
            self.value = list(raw)
            return
        raw = _to_bytes(raw)
        expected = math.prod(shape) * dtype.numpy().itemsize
        if len(raw) != expected:
            raise ValueError(f"{len(raw)} bytes for an array of {expected}")
        array = np.frombuffer(raw, dtype.numpy()).reshape(shape, order="F" if is_fortran else "C")
        self.value = array.astype(array.dtype.newbyteorder("="), order="C", copy=False)


class _Csr:
    """Stands in for scipy.sparse.csr_matrix, whose attributes a pickle sets one by one."""


def _reconstruct(subtype, shape, code) -> _Array:
    return _Array()


def _scalar(dtype: _Dtype, raw):
    return np.frombuffer(_to_bytes(raw), dtype.numpy())[0].item()


def _to_bytes(raw, encoding: str = "latin1") -> bytes:
    """Python 2's strings of bytes arrive as text, one character a byte."""
    return raw.encode("latin1") if isinstance(raw, str) else bytes(raw)


_KNOWN = {
    "numpy.core.multiarray._reconstruct": _reconstruct,
    "numpy.core.multiarray.scalar": _scalar,
    "numpy.ndarray": _Array,
    "numpy.dtype": _Dtype,
    "scipy.sparse.csr.csr_matrix": _Csr,
    "collections.defaultdict": defaultdict,
    "builtins.list": list,
    "_codecs.encode": _to_bytes,
}
_NEW_NAMES = {
    "numpy._core.": "numpy.core.",
    "scipy.sparse._csr.": "scipy.sparse.csr.",
    "__builtin__.": "builtins.",
}


class _Reader(pickle._Unpickler):  # in Python: the C one allocates what a hostile memo index says
    def find_class(self, module: str, name: str):
        full = f"{module}.{name}"
        for new, old in _NEW_NAMES.items():
            full = full.replace(new, old) if full.startswith(new) else full
        if full not in _KNOWN:
            raise pickle.UnpicklingError(f"it wants {module}.{name}, which is not on the list of what is allowed")
        return _KNOWN[full]


def load(file, what: str):
    """The object in an open binary file. ValueError, naming `what`, for anything that cannot be
    read safely."""
    try:
        return _Reader(file, encoding="latin1").load()
    except OSError:
        raise
    except Exception as error:  # a broken pickle raises nearly everything
        raise ValueError(f"{what}: not a pickle that can be read: {error or type(error).__name__}") from error


def array_of(value, what: str) -> np.ndarray:
    """The numbers that a loaded pickle holds as an array."""
    if not isinstance(value, _Array) or not isinstance(value.value, np.ndarray):
        raise ValueError(f"{what}: no array of numbers")
    return value.value


def csr_of(value, what: str) -> Csr:
    """The CSR matrix that a loaded pickle holds, also inside an array of one object."""
    if isinstance(value, _Array) and isinstance(value.value, list) and len(value.value) == 1:
        value = value.value[0]
    parts = getattr(value, "__dict__", {})
    missing = [name for name in ("data", "indices", "indptr") if name not in parts]
    if not isinstance(value, _Csr) or missing:
        raise ValueError(f"{what}: no scipy CSR matrix")
    arrays = (array_of(parts[name], f"{what}, {name}") for name in ("data", "indices", "indptr"))
    return Csr.from_parts(*arrays, parts.get("_shape"), what)
