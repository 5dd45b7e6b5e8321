"""Every byte of a store, a saved table or a checkpoint: ramet.verify()."""

from __future__ import annotations

import os
from collections.abc import Callable

from ramet import _core
from ramet._support.arguments import as_path
from ramet._support.progress import byte_progress
from ramet.storage.checksums import find_damage, has_checksums, parts_in
from ramet.stores.agreement import disagreements
from ramet.tables.parts import read_text


def verify(path, *, progress: bool = False) -> list[str]:
    """Reads every byte of the store at `path`, or of a folder of parts: files against checksums.txt, and entries
    against each other (docs/format.md, section 4). Runs on all cores.

    Returns a sentence for each fault, with file, position and value: the first 20 of an array, and the number of the
    rest. [] for a good store. Of a store that cannot be opened, it says the first reason. Raises FileNotFoundError
    where there is no store.
    """
    path = as_path(path)
    parts = parts_in(path)
    with byte_progress(progress, "checksums") as report:
        faults = find_damage(path, *parts, report=report)
    if parts:
        faults += _text_faults(path)
    with byte_progress(progress, "contents") as report:
        for store in parts or [path]:
            faults += _content_faults(store, report)
    return faults


def _text_faults(path: str) -> list[str]:
    """Of a folder of parts that has a text."""
    try:
        read_text(path)
    except FileNotFoundError:  # of `ramet partition`
        return []
    except _core.CorruptStoreError as error:
        return [str(error)]
    return []


def _content_faults(path: str, report: Callable[[int, int], None]) -> list[str]:
    try:
        store = _core.open(os.fsencode(path))
        return store.find_faults(progress=report) or disagreements(store)
    except _core.CorruptStoreError as error:
        return [str(error)]
    except (FileNotFoundError, KeyError) as error:
        if not has_checksums(path):
            raise  # nothing says that this was ever a store
        return [str(error.args[-1])]
