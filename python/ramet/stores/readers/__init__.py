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


def read(path) -> Source:
    """Reads the files at `path`. FileNotFoundError if nothing is there, ValueError if no reader knows the format or the
    contents contradict each other."""
    path = Path(os.fsdecode(path))
    for reader in READERS:
        handle = reader.find(path)
        if handle is not None:
            return reader.read(handle)
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file or folder")
    forms = "; ".join([*(reader.FORM for reader in READERS), layouts.forms()])
    raise ValueError(f"{path}: not recognized; known forms: {forms}")
