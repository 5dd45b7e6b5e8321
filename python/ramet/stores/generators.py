"""The models of `ramet generate`, with the defaults of their options, and presets."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real

import numpy as np

from ramet import _core
from ramet._support.arguments import as_flag, as_int, shortened
from ramet.dtypes import feature_dtype
from ramet.storage.contents import Reverses
from ramet.storage.streamed import CHUNK_BYTES, StreamedRows
from ramet.stores.planted import Planted

MODELS: dict[str, dict] = {
    "planted": {
        "num_nodes": 100_000,
        "num_edges": 1_000_000,
        "undirected": True,
        "communities": 16,
        "classes": 16,
        "feature_width": 64,
        "skew": 3,
        "homophily": 0.7,
        "signal": 0.1,
        "train_fraction": 0.1,
        "val_fraction": 0.05,
        "labeled": 1.0,
        "dtype": "float32",
        "seed": 0,
    },
    "rmat": {
        "scale": 16,
        "edge_factor": 16,
        "a": 0.57,
        "b": 0.19,
        "c": 0.19,
        "feature_width": 0,
        "train_fraction": 0.1,
        "seed": 0,
    },
}

# Of what the engine takes at all, where that is not int64; it says itself what makes sense.
RANGES = {"seed": (0, 2**64 - 1)} | dict.fromkeys(("skew", "scale", "feature_width"), (0, 2**31 - 1))

# Benchmark graphs: a model, and what differs from its defaults. papers100m has the sizes of ogbn-papers100M.
PRESETS: dict[str, tuple[str, dict]] = {
    "products": (
        "planted",
        {
            "num_nodes": 2_450_000,
            "num_edges": 65_500_000,
            "communities": 2450,
            "classes": 47,
            "feature_width": 128,
            "homophily": 0.5,
            "train_fraction": 0.08,
            "val_fraction": 0.02,
            "seed": 1,
        },
    ),
    "rmat-22": ("rmat", {"scale": 22, "seed": 1}),
    "papers100m": (
        "planted",
        {
            "num_nodes": 111_059_956,
            "num_edges": 1_615_685_872,
            "undirected": False,
            "communities": 11_106,
            "classes": 172,
            "feature_width": 128,
            "homophily": 0.6,
            "train_fraction": 1_207_179 / 111_059_956,
            "val_fraction": 125_265 / 111_059_956,
            "labeled": 1_546_782 / 111_059_956,
            "dtype": "float16",
            "seed": 1,
        },
    ),
}


def resolve(model: str | None, preset: str | None, options: dict) -> tuple[str, dict]:
    """The model and all of its options: arguments, else the preset's, else the defaults. ValueError names unknown
    options and options that do not go together."""
    given: dict = {}
    if preset is not None:
        if preset not in PRESETS:
            raise ValueError(f"no preset {preset!r}; there are {', '.join(PRESETS)}")
        preset_model, given = PRESETS[preset]
        if model not in (None, preset_model):
            raise ValueError(f"preset {preset!r} is of model {preset_model!r}, not {model!r}")
        model = preset_model
    model = model or "planted"
    if model not in MODELS:
        raise ValueError(f"no model {model!r}; there are {', '.join(MODELS)}")
    defaults = MODELS[model]
    for name in options:
        if name not in defaults:
            raise ValueError(f"model {model!r} has no option {name!r}; it has {', '.join(defaults)}")
    chosen = {name: _checked(value, name, defaults[name]) for name, value in options.items()}
    return model, {**defaults, **given, **chosen}


Arrays = list[tuple[str, np.ndarray | StreamedRows]]  # by their path in the folder


def make(
    model: str, options: dict, *, threads: int, memory: int | None, folder: str, progress: bool
) -> tuple[dict[str, int], Arrays, Reverses]:
    """Node counts, arrays and reverse types, as ramet.storage.contents.write() takes them. memory, folder: as of
    building.contents.Building."""
    if model == "planted":
        made = Planted(options, threads=threads, memory=memory, folder=folder, progress=progress).contents()
        return (*made.as_written(), made.reverses)
    if memory is not None:
        raise ValueError(f"memory= bounds what model 'planted' takes; model {model!r} is made in memory")
    counts, arrays, reverses = _core.generate_rmat(**options | {"feature_width": 0}, threads=threads)
    if options["feature_width"] > 0:
        arrays.append(("node/node/feat", _rmat_features(options, threads)))
    return counts, arrays, reverses


def _rmat_features(options: dict, threads: int) -> StreamedRows:
    """Noise, which memory need not hold: the table may be larger."""
    count, width = 1 << options["scale"], options["feature_width"]
    rows_of_chunk = max(1, CHUNK_BYTES // (4 * width))

    def chunks() -> Iterator[tuple[int, list[np.ndarray]]]:
        for first in range(0, count, rows_of_chunk):
            rows = np.empty((min(rows_of_chunk, count - first), width), np.float32)
            _core.rmat_features(
                scale=options["scale"], seed=options["seed"], first_row=first, out=rows, threads=threads
            )
            yield first, [rows]

    return StreamedRows(np.empty((1, width), np.float32), count, chunks, 0)


def _checked(value, name: str, default) -> bool | str | int | float:
    """TypeError for what is not of the kind of the default, ValueError for what is out of all range."""
    if isinstance(default, bool):
        return as_flag(value, name)
    if isinstance(default, str):
        dtype = feature_dtype(value)
        if dtype == "int8":
            raise ValueError(f"{name} is 'int8'; ramet.save() makes it, by a scale for each row or column")
        return dtype
    if isinstance(default, float):
        if not isinstance(value, Real):
            raise TypeError(f"{name} is {shortened(value)}, expected a number")
        return float(value)
    return as_int(value, name, *RANGES.get(name, ()))
