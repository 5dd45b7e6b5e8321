"""Tables saved: a folder of parts, each the store of one rank, that takes its place as a whole. docs/format.md,
section 8."""

from __future__ import annotations

import json
import os
import secrets
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ramet import _core
from ramet._support.arguments import as_path
from ramet.dtypes import SCALE_SUFFIX
from ramet.storage.checksums import PARTS_TEXT, read_bounded, write_checksums
from ramet.storage.contents import write
from ramet.storage.streamed import StreamedRows
from ramet.tables.owners import owner_vector

if TYPE_CHECKING:
    from ramet.ranks.ranks import Ranks

VERSION = 1


class Pieces(NamedTuple):
    """A table's rows as parts of a saved one: those that this process writes."""

    owners: _core.Ownership
    here: dict[int, tuple[np.ndarray | StreamedRows, np.ndarray | None]]  # rows and scale, by part


def save_parts(path, pieces: dict[str, dict[str, Pieces]], text: dict, ranks: Ranks) -> None:
    """Writes tables by node type and name, those of a type with the same owners, and `text` about them. Collective: an
    error of one rank is one on every rank, and then nothing has changed."""
    some = next(iter(next(iter(pieces.values())).values()))
    count = some.owners.parts

    def prepare():
        folder = os.path.realpath(as_path(path))
        return folder, (secrets.randbits(64), {"folder": os.path.basename(folder), **text})

    path, said = ranks.share(prepare)
    id = said[0][0]
    for rank, (_, other) in enumerate(said):
        if other != said[0][1]:
            raise ValueError(f"rank {rank} saves {other}, but rank 0 {said[0][1]}")
    text = {"ramet-parts": VERSION, "id": f"{id:016x}", "parts": count, **text}
    folder = None
    try:
        folder, temp = _make_folders(path, ranks)

        def write_own() -> tuple[None, None]:
            if folder is not None:
                with open(os.path.join(temp, PARTS_TEXT), "w", encoding="utf-8") as file:
                    file.write(json.dumps(text, indent=2) + "\n")
                write_checksums(temp)
            for part in some.here:
                counts, arrays = _contents(pieces, part)
                into = os.path.join(temp, f"part-{part}")
                write(into, counts, arrays, part=(part, count, id))
            return None, None

        ranks.share(write_own)
        ranks.share(lambda: (folder and folder.commit(), None))
    finally:
        if folder is not None:
            folder.close()


def read_text(path: str) -> dict:
    """The text of a folder of parts. FileNotFoundError and CorruptStoreError name the file."""
    file = os.path.join(path, PARTS_TEXT)
    try:
        text = json.loads(read_bounded(file))
        version, _, _ = text["ramet-parts"], int(text["id"], 16), int(text["parts"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _core.CorruptStoreError(f"{file} is not the text of a folder of parts: {error!r}") from None
    if version != VERSION:
        raise _core.CorruptStoreError(
            f"{file} has format version {version!r}, but ramet {_core.__version__} reads version {VERSION}: install a "
            "newer ramet, or save again with this one"
        )
    return text


def _make_folders(path: str, ranks: Ranks) -> tuple[_core.PartsFolder | None, str]:
    """The folder that this rank has made, if any, and the one that it writes to. The first rank makes one, and the
    first of those that do not see it, on file systems of their own, another."""
    folder = temp = None
    maker = 0
    while True:
        made, names = ranks.share(partial(_make_folder, path if ranks.rank == maker else None))
        folder = folder or made
        beside = os.path.join(os.path.dirname(path), names[maker])
        if temp is None and os.path.isdir(beside):
            temp = beside
        sees = ranks.share(partial(_sees, temp))[1]
        if all(sees):
            return folder, temp
        maker = sees.index(False)


def _sees(folder: str | None) -> tuple[None, bool]:
    return None, folder is not None


def _make_folder(path: str | None) -> tuple[_core.PartsFolder | None, str | None]:
    if path is None:
        return None, None
    folder = _core.PartsFolder(os.fsencode(path))
    return folder, os.path.basename(os.fsdecode(folder.temp))


def _contents(pieces: dict[str, dict[str, Pieces]], part: int) -> tuple[dict[str, int], list[tuple]]:
    """Node counts and arrays of a part, as a store has them."""
    counts, arrays = {}, []
    for node_type, named in pieces.items():
        encoded = _core.encode_name(node_type)
        owners = next(iter(named.values())).owners
        counts[encoded] = owners.num_nodes
        if owners.is_ranges:
            arrays.append((f"owner/{encoded}", owners.bounds))
        else:
            arrays.append((f"owner/{encoded}", owner_vector(owners)))
            arrays.append((f"owned/{encoded}", _core.owned_nodes(owners, part)[1]))
        for name, of_table in named.items():
            key = f"node/{encoded}/{_core.encode_name(name)}"
            rows, scale = of_table.here[part]
            arrays.append((key, rows))
            if scale is not None:
                arrays.append((key + SCALE_SUFFIX, scale))
    return counts, arrays
