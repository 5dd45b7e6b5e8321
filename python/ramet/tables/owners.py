"""Who owns a row: what a user may say about that, turned into what the engine takes."""

from __future__ import annotations

import os

import numpy as np

from ramet import _core
from ramet.arrays import as_array
from ramet.ranks.ranks import Digest
from ramet.storage.contents import NODE

AT_A_TIME = 1 << 22  # rows whose owners are computed


def owners_of_rows(ownership, num_rows: int, parts: int) -> _core.Ownership:
    """Who of `parts` ranks owns which row of a table.

    ownership: None or "range" (ranges of ids, as equal as can be), "hash" (of the id, as that of the nodes of a graph
    without named types), or what owners_given() takes.
    """
    if ownership is None or (isinstance(ownership, str) and ownership == "range"):
        least, more = divmod(num_rows, parts)
        return _core.Ownership.ranges(np.array([k * least + min(k, more) for k in range(parts + 1)]))
    return owners_given(ownership, NODE, num_rows, parts, "ownership")


def owners_given(ownership, node_type: str, num_rows: int, parts: int, what: str) -> _core.Ownership:
    """From "hash", an Ownership, a vector of owners (integers [num_rows]), bounds of ranges (integers [parts + 1], from
    0 to num_rows), or the path of an .npy file of either, which is mapped."""
    if isinstance(ownership, _core.Ownership):
        if (ownership.num_nodes, ownership.parts) != (num_rows, parts):
            raise ValueError(
                f"{what} is of {ownership.num_nodes} rows and {ownership.parts} ranks, but there are {num_rows} rows "
                f"and {parts} ranks"
            )
        return ownership
    if isinstance(ownership, str) and ownership == "hash":
        return _core.Ownership.hashed(node_type, num_rows, parts)
    location = what
    if isinstance(ownership, (str, os.PathLike)):
        location = os.fspath(ownership)
        if not os.path.exists(location):
            raise FileNotFoundError(f"{what} is {location!r}: neither 'range', 'hash' nor a file")
        ownership = _load(location)
    return _of_array(as_array(ownership, what), num_rows, parts, location)


def digest_of(ownership: _core.Ownership) -> Digest:
    """Who owns what, for ranks to compare."""
    bounds, vector, *_ = ownership.__getstate__()
    digest = ownership.digest()
    if bounds is not None:
        return Digest(digest, f"ranges with the bounds {bounds.tolist()}")
    if vector is None:
        return Digest(digest, f"a hash of {ownership.num_nodes} rows")
    return Digest(digest, f"a vector that begins {vector[:8].tolist()} (digest {digest:016x})")


def owner_vector(ownership: _core.Ownership) -> np.ndarray:
    """The owner of each row, uint8 or uint16 [num_rows]: as parts of a graph have it."""
    owner = np.empty(ownership.num_nodes, np.uint8 if ownership.parts <= 256 else np.uint16)
    for begin in range(0, len(owner), AT_A_TIME):
        end = min(begin + AT_A_TIME, len(owner))
        owner[begin:end] = ownership.owners(np.arange(begin, end))
    return owner


def rows_of_parts(ownership: _core.Ownership) -> np.ndarray:
    """How many rows each part owns, int64 [parts]."""
    if ownership.is_ranges:
        return np.diff(ownership.bounds)
    return np.bincount(owner_vector(ownership), minlength=ownership.parts)


def _load(path: str) -> np.ndarray:
    try:
        owners = np.load(path, mmap_mode="r")
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} is no .npy file of owners: {error}") from error
    if not isinstance(owners, np.ndarray):
        raise ValueError(f"{path} is an archive of arrays, expected an .npy file of owners")
    return owners


def _of_array(owners: np.ndarray, num_nodes: int, parts: int, location: str) -> _core.Ownership:
    if owners.ndim != 1 or owners.dtype.kind not in "iu":
        raise ValueError(f"{location} is {owners.dtype}{list(owners.shape)}, expected one dimension of integers")
    is_bounds = len(owners) == parts + 1 and owners[0] == 0 and owners[-1] == num_nodes
    if is_bounds:
        return _core.Ownership.ranges(owners.astype(np.int64))
    if len(owners) != num_nodes:
        raise ValueError(f"{location} has {len(owners)} entries, but there are {num_nodes} nodes")
    if num_nodes and not 0 <= owners.min() <= owners.max() < parts:
        worst = int(np.argmax((owners < 0) | (owners >= parts)))
        raise ValueError(f"{location}[{worst}] = {owners[worst]} is outside [0, {parts}), the ranks")
    if owners.dtype not in (np.uint8, np.uint16):
        owners = owners.astype(np.uint8 if parts <= 256 else np.uint16)
    return _core.Ownership.by_vector(np.ascontiguousarray(owners), parts, location)
