"""Readers of other projects' files, one per module, for ramet.build().

A reader is a module with FORM, a phrase that says what it reads; find(path), which looks whether
`path` is that and returns a handle or None; and read(handle), which returns a Source. To add one,
write it and list it here.
"""

from __future__ import annotations

import os
from pathlib import Path

from ramet.inputs import layouts
from ramet.stores.readers import npz, planetoid
from ramet.stores.readers.source import Source

READERS = (planetoid, npz)


def find(path):
    """(the reader of the files at `path`, its handle), or None."""
    found = ((reader, reader.find(Path(os.fsdecode(path)))) for reader in READERS)
    return next(((reader, handle) for reader, handle in found if handle is not None), None)


def forms() -> str:
    """What ramet.build() knows, for a message."""
    return "; ".join([*(reader.FORM for reader in READERS), layouts.forms()])


def read(path) -> Source:
    """Reads the files at `path`. FileNotFoundError if nothing is there, ValueError if no reader knows the format or the
    contents contradict each other."""
    found = find(path)
    if found is not None:
        reader, handle = found
        return reader.read(handle)
    path = Path(os.fsdecode(path))
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file or folder")
    raise ValueError(f"{path}: not recognized; known forms: {forms()}; ramet describe guesses tables")
