"""Embedding: rows that learn, in a Table."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from ramet._support.arguments import as_flag, as_int, shortened
from ramet._support.old_torch import is_compiling
from ramet.arrays import as_array
from ramet.dtypes import dtype_name
from ramet.nn.embedding_rows import Pending, rows_of
from ramet.tables.create import PIECES
from ramet.tables.records import RecordTable, create_records
from ramet.tables.table import Table

LEARNING = ("float32", "float16", "bfloat16")
LOCATIONS: dict[str, Callable] = {**dict.fromkeys(PIECES, Table.create), "disk": create_records}  # what makes the rows
ASSIGN = "assign_to_params_buffers"  # torch's load_state_dict(assign=True), which would drop the table


class Embedding(torch.nn.Module):
    """Rows by id that an optimizer of `ramet.optim` trains: `Embedding(n, 64)`, or `Embedding(table)` over a Table that
    can be written to, of float32, float16 or bfloat16.

    dtype, placement, ranks, ownership, init, seed: as of Table.create. Over several ranks all of them make the
        Embedding, alike; without `ranks` these are the ranks of torch.distributed.
    location: "host", "device", as of Table.create, or "disk": rows and their optimizer's state lie in a file without a
        name on the file system of the folder `path`; in memory are those of the batches under way, and the ones used
        last, `cache_rows` in all. Of several ranks each has a file of the rows that it owns, and calls are those with
        `owned`. It cannot be pickled, and `init` is no function. OSError where the disk refuses: rows that cannot be
        written stay in memory.

    padding_idx: of this row nothing is learned; where the Embedding makes the rows, it is zeros.

    It has no parameters: DistributedDataParallel and dense optimizers do not see it. What calls get in backward waits
    in `pending` until the optimizer's zero_grad(): several calls of a step, and several backwards, add up. Pickles as a
    handle of the same rows, for processes of the same machine. `state_dict()` has the rows as `weight`, a view.
    """

    def __init__(
        self,
        num_embeddings: int | Table,
        embedding_dim: int | None = None,
        dtype="float32",
        *,
        placement: str = "continuous",
        ranks=None,
        ownership=None,
        init="normal",
        seed: int = 0,
        location: str = "host",
        path=None,
        cache_rows: int | None = None,
        padding_idx: int | None = None,
    ):
        super().__init__()
        if location not in LOCATIONS:
            raise ValueError(f"location is {location!r}, expected one of {tuple(LOCATIONS)}")
        if location != "disk" and (path is not None or cache_rows is not None):
            raise ValueError("path and cache_rows are of rows on a disk: location='disk'")
        if isinstance(num_embeddings, Table):
            given = {"embedding_dim": embedding_dim, "dtype": dtype, "placement": placement, "location": location}
            given |= {"init": init, "seed": seed}
            _require_as_made(num_embeddings, given)
            self.table: Any = num_embeddings  # a Table or a RecordTable
        else:
            if embedding_dim is None:
                raise TypeError(
                    "embedding_dim is missing: Embedding(num_embeddings, embedding_dim), or Embedding(table)"
                )
            options = {"placement": placement, "ranks": ranks, "ownership": ownership}
            options |= {"init": init, "seed": seed, "location": location}
            if location == "disk":
                options |= {"path": path, "cache_rows": cache_rows}
            self.table = LOCATIONS[location]((num_embeddings, embedding_dim), dtype, **options)
        if location != "disk":
            _check(self.table)
        self.padding_idx = None if padding_idx is None else _as_row(padding_idx, len(self.table))
        if padding_idx is not None and self.table is not num_embeddings:
            _clear(self.table, self.padding_idx)
        # What makes the rows require a gradient; not a parameter.
        self.anchor = torch.empty(0, requires_grad=True)
        self.pending = Pending()

    @classmethod
    def from_pretrained(cls, embeddings, freeze: bool = True, padding_idx: int | None = None, **where) -> Embedding:
        """An Embedding that begins with a copy of these rows [rows, width], numpy or torch, of a dtype that learns.

        freeze: they get no gradients, as after requires_grad_(False).
        where: placement, location, ranks and ownership, as of Table.create.
        """
        freeze, rows = as_flag(freeze, "freeze"), as_array(embeddings, "embeddings")
        table = Table.create(rows.shape, rows.dtype, init=lambda ids: rows[ids], **where)
        return cls(table, padding_idx=padding_idx).requires_grad_(not freeze)

    @property
    def num_embeddings(self) -> int:
        return self.table.shape[0]

    @property
    def embedding_dim(self) -> int:
        return self.table.shape[-1]

    @property
    def weight(self) -> torch.Tensor:
        """All rows, without a copy: what is written to it changes them. Rows that the table caches change at
        `table.refresh()`. ValueError where no single array has them all: `table.local()` and `table.chunks()` have
        those of ranks."""
        return self.table.torch()

    def forward(self, ids: torch.Tensor, owned: bool = False) -> torch.Tensor:
        """The rows `ids`, integers of any shape: [*ids.shape, ...], on the device of `ids`.

        owned: all ids are rows of this rank: no other takes part, neither now nor in the optimizer's step. Ranks say
            the same in a step, a rank without ids by a call with none of them.

        Of a distributed table every rank calls this, unless the rows are owned. IndexError names the first id out of
        range, or with `owned` the first that is another rank's. ValueError for rows on a disk that several ranks have,
        unless they are owned.
        """
        if is_compiling():  # which cannot look into the engine: it calls this between two graphs
            return torch.compiler.disable(rows_of)(self, ids, owned)
        return rows_of(self, ids, owned)

    def announce(self, ids) -> None:
        """Says the ids of a call to come, in the order of the calls: rows on a disk are read ahead. Advice: calls may
        have other ids. Rows in memory are there."""
        if isinstance(self.table, RecordTable):
            self.table.announce(ids)

    def forget(self) -> None:
        """Calls that were announced and not made will not come."""
        if isinstance(self.table, RecordTable):
            self.table.forget()

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.pending.clear()

    def requires_grad_(self, requires_grad: bool = True) -> Embedding:
        """Whether calls from now on get gradients for the rows. A module around the Embedding does not pass this on: it
        asks parameters."""
        self.anchor.requires_grad_(requires_grad)
        return self

    def _apply(self, fn, recurse: bool = True):
        """to(), half() and their like. A model may be moved to a device: results are where ids are. TypeError for
        another dtype than that of the rows."""
        stored = getattr(torch, dtype_name(self.table.dtype))
        wanted = fn(torch.empty(0, dtype=stored)).dtype
        if wanted != stored:
            raise TypeError(
                f"the rows of a ramet.nn.Embedding are {stored} and not cast to {wanted}: cast what it returns, or "
                "make it with that dtype"
            )
        return super()._apply(fn, recurse)

    def _save_to_state_dict(self, *args) -> None:
        with self._rows_as_buffer():
            super()._save_to_state_dict(*args)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args) -> None:
        """Copies the rows into the table, also with assign=True."""
        with self._rows_as_buffer(flush=True):
            self.table._storage.require_cache_in_process()
            try:
                super()._load_from_state_dict(state_dict, prefix, local_metadata | {ASSIGN: False}, *args)
            finally:
                self.table.refresh()

    @contextmanager
    def _rows_as_buffer(self, flush: bool = False):
        """For that long torch sees the rows. flush: with cached rows, which is collective."""
        cache = self.table._storage.cache if isinstance(self.table, Table) else None
        if cache is not None:
            cache.flush_together() if flush else cache.copy_to_host()
        try:
            self._buffers["weight"] = self.weight
        except ValueError as error:
            raise TypeError(
                f"a state_dict has no rows of this ramet.nn.Embedding: {error}. Keep it out of the module whose state "
                "is saved; optimizer.save(path) and load(path), of its optimizer, write and read the rows"
            ) from None
        try:
            yield
        finally:
            del self._buffers["weight"]

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"

    def __copy__(self) -> Embedding:
        """The same rows, and gradients that wait: of this process, unlike a pickle."""
        copied = type(self).__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __getstate__(self) -> dict:
        return self.__dict__ | {"pending": Pending()}


def _require_as_made(table: Table, given: dict) -> None:
    """ValueError for options of rows that are to be made, unless they are those of the table."""
    of_table: dict[str, Any] = {"embedding_dim": table.shape[-1], "dtype": dtype_name(table.dtype)}
    of_table |= {"placement": table.placement, "location": table.location}
    defaults: dict[str, Any] = {"dtype": "float32", **(Embedding.__init__.__kwdefaults__ or {})}
    for name, value in given.items():
        value = dtype_name(value) if name == "dtype" else value
        if not any(np.array_equal(value, each) for each in (defaults.get(name), of_table.get(name))):
            raise ValueError(f"{name} is {shortened(value)}, but the rows are those of {table}, as they are")


def _as_row(padding_idx, rows: int) -> int:
    """As of torch.nn.Embedding, which counts negative ones from the end."""
    return as_int(padding_idx, "padding_idx", -rows, rows - 1) % rows


def _clear(table: Table | RecordTable, row: int) -> None:
    """Writes zeros to a row. Collective."""
    ids = np.array([row])
    zeros = np.zeros((1, *table.shape[1:]), table.dtype)

    def write() -> tuple[None, None]:
        if table.ownership.owners(ids)[0] == table.rank:
            table._write_own(ids, zeros)
        return None, None

    table._ranks.share(write)


def _check(table: Table) -> None:
    name = dtype_name(table.dtype)
    if name not in LEARNING or len(table.shape) < 2:
        raise ValueError(f"the rows are {name}{list(table.shape)}; those of {LEARNING} with 2 dimensions or more learn")
    if not table._storage.stored.is_writable:
        raise ValueError("the table is read-only: ramet.Table.create makes one that learns")
