"""Small real graphs as stores. Apart from graphs.py, since accuracy.py needs PyG."""

from __future__ import annotations

from pathlib import Path

from accuracy import DATASETS
from harness import default_data

import ramet


def real(name: str, chosen) -> Path | None:
    """A small real graph by its name in accuracy.py, with 20 nodes of a class to train on; None where its files are
    not there."""
    store = Path(chosen.data) / f"real-{name}"
    known = DATASETS[name]
    source = default_data() / known.source
    if not store.exists() and source.exists():
        splits = {} if known.public_split else {"train_per_class": 20, "val_per_class": 30}
        ramet.build(store, source, **known.build, **splits)
    return store if store.exists() else None
