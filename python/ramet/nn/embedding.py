"""Embedding: rows that learn, in a Table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch

from ramet import _core
from ramet.cuda import torch_devices as devices
from ramet.dtypes import dtype_name
from ramet.tables.records import RecordTable, create_records
from ramet.tables.table import Table
from ramet.tensors import to_tensor

LEARNING = ("float32", "float16", "bfloat16")
LOCATIONS = ("host", "device", "disk")


class Gradients(NamedTuple):
    """Of one backward of one call: gradients[i] is one of row ids[i]."""

    call: int
    ids: np.ndarray  # int64 [k]
    gradients: np.ndarray | torch.Tensor  # float32 [k, ...]; a tensor where table and gradients lie on one device
    owned: bool  # all rows are this rank's


class Pending:
    """What calls got in backward, since clear(). `changes`: how often that has changed."""

    def __init__(self):
        self._calls = self.changes = 0
        self.clear()

    def clear(self) -> None:
        self._kept: list[Gradients] = []
        self.changes += 1

    def next_call(self) -> int:
        self._calls += 1
        return self._calls

    def keep(self, gradients: Gradients) -> None:
        self.changes += 1
        self._kept.append(gradients)

    @property
    def stays_here(self) -> bool:
        """Whether other ranks have no part in it. A rank that got nothing does not know."""
        return bool(self._kept) and all(kept.owned for kept in self._kept)

    def in_order(self) -> list[Gradients]:
        """In the order of the calls; of one call in that of its backwards."""
        return sorted(self._kept, key=lambda kept: kept.call)


class Embedding(torch.nn.Module):
    """Rows by id that an optimizer of `ramet.optim` trains: `Embedding(n, 64)`, or `Embedding(table)` over a Table that
    can be written to, of float32, float16 or bfloat16.

    dtype, placement, distributed, ownership, init, seed: as of Table.create. Over several ranks all of them make the
        Embedding, alike; without `distributed` these are the ranks of torch.distributed.
    location: "host", "device", as of Table.create, or "disk": rows and their optimizer's state lie in a file without a
        name on the file system of the folder `path`; in memory are those of the batches under way, and the ones used
        last, `cache_rows` in all. Of several ranks each has a file of the rows that it owns, and calls are those with
        `owned`. It cannot be pickled, and `init` is no function. OSError where the disk refuses: rows that cannot be
        written stay in memory.

    It has no parameters: DistributedDataParallel and dense optimizers do not see it. What calls get in backward waits
    in `pending` until the optimizer's zero_grad(): several calls of a step, and several backwards, add up. Pickles as a
    handle of the same rows, for processes of the same machine.
    """

    def __init__(
        self,
        num_embeddings: int | Table,
        embedding_dim: int | None = None,
        dtype="float32",
        *,
        placement: str = "continuous",
        distributed=None,
        ownership=None,
        init="normal",
        seed: int = 0,
        location: str = "host",
        path=None,
        cache_rows: int | None = None,
    ):
        super().__init__()
        if location not in LOCATIONS:
            raise ValueError(f"location is {location!r}, expected one of {LOCATIONS}")
        if location != "disk" and (path is not None or cache_rows is not None):
            raise ValueError("path and cache_rows are of rows on a disk: location='disk'")
        if isinstance(num_embeddings, Table):
            if location == "disk":
                raise ValueError("location is 'disk', but the rows of a Table are where it has them")
            self.table = num_embeddings
        else:
            if embedding_dim is None:
                raise TypeError(
                    "embedding_dim is missing: Embedding(num_embeddings, embedding_dim), or Embedding(table)"
                )
            options = {"placement": placement, "distributed": distributed, "ownership": ownership}
            options |= {"init": init, "seed": seed}
            if location == "disk":
                options |= {"path": path, "cache_rows": cache_rows}
                self.table = create_records(num_embeddings, embedding_dim, dtype, **options)
            else:
                self.table = Table.create((num_embeddings, embedding_dim), dtype, location=location, **options)
        if location != "disk":
            _check(self.table)
        # What makes the rows require a gradient; not a parameter.
        self.anchor = torch.empty(0, requires_grad=True)
        self.pending = Pending()

    @property
    def num_embeddings(self) -> int:
        return self.table.shape[0]

    @property
    def embedding_dim(self) -> int:
        return self.table.shape[-1]

    @property
    def weight(self) -> torch.Tensor:
        """All rows, without a copy: what is written to it changes them. ValueError where no single array has them all:
        `table.local()` and `table.chunks()` have those of ranks."""
        return self.table.torch()

    def forward(self, ids: torch.Tensor, owned: bool = False) -> torch.Tensor:
        """The rows `ids`, integers of any shape: [*ids.shape, ...], on the device of `ids`.

        owned: all ids are rows of this rank: no other takes part, neither now nor in the optimizer's step. Ranks say
            the same in a step, a rank without ids by a call with none of them.

        Of a distributed table every rank calls this, unless the rows are owned. IndexError names the first id out of
        range, or with `owned` the first that is another rank's. ValueError for rows on a disk that several ranks have,
        unless they are owned.
        """
        return Rows.apply(self.anchor, self, ids, owned)

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

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}"

    def __getstate__(self) -> dict:
        return self.__dict__ | {"pending": Pending()}


class Rows(torch.autograd.Function):
    """`Rows.apply(anchor, embedding, ids, owned)`: backward keeps the gradients in the embedding."""

    @staticmethod
    def forward(ctx, anchor, embedding: Embedding, ids: torch.Tensor, owned: bool) -> torch.Tensor:
        if not isinstance(ids, torch.Tensor):
            raise TypeError(f"ids is a {type(ids).__name__}, expected a tensor of integers")
        if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
            raise TypeError(f"ids are {ids.dtype}, expected integers")
        table, is_on_disk = embedding.table, isinstance(embedding.table, RecordTable)
        if is_on_disk and table.ranks > 1 and not owned:
            raise ValueError(
                f"the rows are on the disks of {table.ranks} ranks, each of which reads its own alone: "
                "embedding(ids, owned=True), of ids that this rank owns, as a cooperative loader's batch.n_id"
            )
        ctx.ids = devices.on_host(ids.detach()).to(torch.int64, copy=True).reshape(-1).numpy()
        ctx.embedding, ctx.call, ctx.owned = embedding, embedding.pending.next_call(), owned
        is_own = owned and not is_on_disk  # which looks for itself
        if is_own:
            _require_own(table, ctx.ids)
        if _is_beside(table, ids) and (owned or table.placement != "distributed"):
            return table._on_device.gather(ids.detach(), decode=False)
        threads = torch.get_num_threads()
        if is_own:
            rows = table._core.gather(ctx.ids, threads=threads, decode=False, out=None)
        else:
            rows = table.gather(ctx.ids, threads=threads)
        rows = to_tensor(rows).view(*ids.shape, *table.shape[1:])
        return devices.move(rows, ids.device) if devices.is_on_device(ids) else rows.to(ids.device)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient: torch.Tensor):
        rows = gradient.reshape(len(ctx.ids), *ctx.embedding.table.shape[1:])
        # A copy: what is given may be the gradient of somebody else, too, who writes to it before the step.
        table = ctx.embedding.table
        if table.ranks == 1 and _is_beside(table, rows):
            kept = rows.detach().to(torch.float32).contiguous().clone()
        else:
            kept = _core.copied(devices.on_host(rows).to("cpu", torch.float32).contiguous().numpy())
        ctx.embedding.pending.keep(Gradients(ctx.call, ctx.ids, kept, ctx.owned))
        return None, None, None, None


def _is_beside(table: Table, tensor: torch.Tensor) -> bool:
    """Whether both lie on devices."""
    return isinstance(table, Table) and table.location == "device" and devices.is_on_device(tensor)


def _require_own(table: Table, ids: np.ndarray) -> None:
    """IndexError names the first id that is another rank's."""
    if table.ranks == 1:
        return
    places, (begin, end) = table._place_of(ids), table._own
    foreign = (places < begin) | (places >= end)
    if foreign.any():
        first = int(foreign.argmax())
        raise IndexError(f"ids[{first}] = {ids[first]} is a row of another rank, not of rank {table.rank}")


def _check(table: Table) -> None:
    name = dtype_name(table.dtype)
    if name not in LEARNING or len(table.shape) < 2:
        raise ValueError(f"the rows are {name}{list(table.shape)}; those of {LEARNING} with 2 dimensions or more learn")
    if not table._rows_by_place.is_writable:
        raise ValueError("the table is read-only: ramet.Table.create makes one that learns")
