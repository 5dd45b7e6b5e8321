"""Checkpoints of optimizers: weights and state, as tables of a folder of parts, and a text of options."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ramet import _core
from ramet.dtypes import dtype_name
from ramet.tables.checkpoint import Tables, load_tables, save_tables

if TYPE_CHECKING:
    from ramet.optim.sparse_optimizer import SparseOptimizer


def save(path, optimizer: SparseOptimizer, settings: dict) -> None:
    """`said`: the optimizer's description besides its tables, with "step" and "options"."""
    tables = _tables(optimizer)
    save_tables(path, tables, {"optimizer": settings["optimizer"], **settings, "embeddings": _forms(tables)})


def load(path, optimizer: SparseOptimizer, settings: dict, *, check: Callable[[dict], object], begin) -> dict:
    """The text that save() has written to `path`. The optimizer's tables have the rows of the checkpoint then. `check`:
    refuses a text. `begin`: as of load_tables()."""
    tables = _tables(optimizer)

    def fits(text: dict) -> None:
        for what, value in {"optimizer": settings["optimizer"], "embeddings": _forms(tables)}.items():
            if text.get(what) != value:
                raise ValueError(f"{path} is a checkpoint of {what} {text.get(what)}, but this is one of {value}")
        try:
            if not isinstance(text["options"], dict) or "params" in text["options"]:
                raise TypeError(f"options are {text['options']!r}")
            check(text)
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise _core.CorruptStoreError(f"the text of the checkpoint {path}: {error!r}") from None

    return load_tables(path, tables, fits, begin)


def _tables(optimizer: SparseOptimizer) -> Tables:
    return {
        f"embedding-{number}": {"weight": embedding.table, **optimizer.state_of(embedding)}
        for number, embedding in enumerate(optimizer.embeddings)
    }


def _forms(tables: Tables) -> dict:
    return {
        of: {name: f"{dtype_name(table.dtype)}{list(table.shape)}" for name, table in named.items()}
        for of, named in tables.items()
    }
