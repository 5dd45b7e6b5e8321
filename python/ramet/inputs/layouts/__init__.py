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
    """The graph in the files at `path`; None where they have no layout that is known (forms() lists those).

    Its tables have opened rows where the files are not tables themselves. FileNotFoundError where nothing is there or a
    file of the layout is missing, ValueError where its files contradict each other; ImportError without pyarrow.
    """
    path = Path(os.fsdecode(path))
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file or folder")
    for layout in _known():
        handle = layout.find(path)
        if handle is not None:
            return layout.describe(handle)
    return None


def forms() -> str:
    """The layouts that are known, for a message."""
    return "; ".join(layout.FORM for layout in _known())


def _known():
    try:
        from ramet.inputs.layouts.known import LAYOUTS
    except ImportError as error:
        raise ImportError("known layouts are read by pyarrow: pip install ramet[tables]") from error
    return LAYOUTS
