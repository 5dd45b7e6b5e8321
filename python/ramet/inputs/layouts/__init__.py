"""Known folders and files of other projects as a Description, one module per layout.

A layout is a module with FORM, a phrase that says what it is; find(path), which looks, without reading much, whether
`path` is that and returns a handle or None; and describe(handle), which returns a Description. To add one, write it and
list it in known.py. All but this file imports pyarrow.
"""

from __future__ import annotations

import os
from pathlib import Path

from ramet.inputs.tables import Description


def describe(path) -> Description | None:
    """The graph in the files at `path`; None where they have no layout that is known, and without pyarrow.

    Its tables have opened rows where the files are not tables themselves. FileNotFoundError where a file of the layout
    is missing, ValueError where its files contradict each other.
    """
    path = Path(os.fsdecode(path))
    for layout in _known():
        handle = layout.find(path)
        if handle is not None:
            return layout.describe(handle)
    return None


def forms() -> str:
    """The layouts that are known, for a message."""
    return "; ".join(layout.FORM for layout in _known()) or "others with pyarrow (pip install ramet[tables])"


def _known() -> tuple:
    try:
        from ramet.inputs.layouts.known import LAYOUTS
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        return ()
    return LAYOUTS
