"""The rows of an Embedding in autograd: gathered in forward; their gradients wait for an optimizer's step."""

from __future__ import annotations

import warnings
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from ramet import _core
from ramet._support import torch_devices as devices
from ramet._support.arguments import as_flag
from ramet._support.tensors import to_tensor
from ramet.tables.arguments import as_row_ids
from ramet.tables.records import RecordTable
from ramet.tables.table import Table

if TYPE_CHECKING:
    from ramet.nn.embedding import Embedding


class Gradients(NamedTuple):
    """Of one backward of one call: gradients[i] is one of row ids[i]."""

    call: int
    ids: np.ndarray  # int64 [k]
    gradients: np.ndarray | torch.Tensor  # float32 [k, ...]; a tensor where table and gradients lie on one device
    owned: bool  # all rows are this rank's


class Pending:
    """What calls got in backward, since clear(). `changes`: how often that has changed.

    Without an optimizer of ramet.optim nobody clears it. Then it keeps the gradients of the last backward alone: an
    optimizer that is made next still gets these, and a loop that has none does not fill the memory."""

    def __init__(self):
        self._calls = self._calls_before = self.changes = 0
        self._holder: weakref.ref | None = None
        self._has_warned = False
        self.clear()

    def clear(self) -> None:
        self._kept: list[Gradients] = []
        self.changes += 1

    def await_step_of(self, holder: object) -> None:
        """For as long as this one lives, gradients wait for it."""
        self._holder = weakref.ref(holder)

    def next_call(self) -> int:
        self._calls += 1
        return self._calls

    def keep(self, gradients: Gradients) -> None:
        is_awaited = self._holder is not None and self._holder() is not None
        if self._kept and gradients.call > self._calls_before and not is_awaited:
            self._warn()
            self.clear()
        if not self._kept:
            self._calls_before = self._calls  # a later call is one of another backward
        self.changes += 1
        self._kept.append(gradients)

    def _warn(self) -> None:
        if self._has_warned:
            return
        self._has_warned = True
        warnings.warn(
            "the rows of a ramet.nn.Embedding got gradients again, but no optimizer of ramet.optim has it: they do not "
            "learn, and the gradients before these are dropped. torch's optimizers do not see the rows; "
            "ramet.optim.Adam(embedding) trains them, embedding.requires_grad_(False) freezes them",
            stacklevel=2,
        )

    @property
    def stays_here(self) -> bool:
        """Whether other ranks have no part in it. A rank that got nothing does not know."""
        return bool(self._kept) and all(kept.owned for kept in self._kept)

    def in_order(self) -> list[Gradients]:
        """In the order of the calls; of one call in that of its backwards."""
        return sorted(self._kept, key=lambda kept: kept.call)


class Call:
    """A call of an embedding: its rows, and what their backward has to know."""

    def __init__(self, embedding: Embedding, owned: bool):
        self.embedding, self.owned = embedding, as_flag(owned, "owned")

    def gather(self, ids: torch.Tensor) -> torch.Tensor:
        if not isinstance(ids, torch.Tensor):
            raise TypeError(f"ids is a {type(ids).__name__}, expected a tensor of integers")
        if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
            raise TypeError(f"ids are {ids.dtype}, expected integers")
        table, is_on_disk = self.embedding.table, isinstance(self.embedding.table, RecordTable)
        if is_on_disk and table.ranks > 1 and not self.owned:
            raise ValueError(
                f"the rows are on the disks of {table.ranks} ranks, each of which reads its own alone: "
                "embedding(ids, owned=True), of ids that this rank owns, as a cooperative loader's batch.n_id"
            )
        self.ids = as_row_ids(devices.on_host(ids.detach()).reshape(-1).clone())[0]
        self.number = self.embedding.pending.next_call()
        if self.owned and not is_on_disk:  # which looks for itself
            _require_own(table, self.ids)
        return _gathered(table, self.ids, ids, self.owned).data  # no view, so that it can be changed in place


class Rows(torch.autograd.Function):
    """`Rows.apply(anchor, call, ids)`: backward keeps the gradients in the call's embedding."""

    @staticmethod
    def forward(ctx, anchor, call: Call, ids: torch.Tensor) -> torch.Tensor:
        ctx.call = call
        return call.gather(ids)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient: torch.Tensor):
        call: Call = ctx.call
        table, padding = call.embedding.table, call.embedding.padding_idx
        ids, rows = call.ids, gradient.reshape(len(call.ids), *table.shape[1:])
        if padding is not None and (ids == padding).any():
            learning = np.flatnonzero(ids != padding)
            ids, rows = ids[learning], rows[torch.from_numpy(learning).to(rows.device)]
        # A copy: what is given may be the gradient of somebody else, too, who writes to it before the step.
        if _is_beside(table, rows):
            kept = rows.detach().to(torch.float32).contiguous().clone()
        else:
            kept = _core.copied(devices.on_host(rows).to("cpu", torch.float32).contiguous().numpy())
        call.embedding.pending.keep(Gradients(call.number, ids, kept, call.owned))
        return None, None, None


class RowsOfTransforms(torch.autograd.Function):
    """Rows inside of torch.func's grad, vmap and their like. They take this form alone, whose calls take longer."""

    backward = staticmethod(Rows.backward)

    @staticmethod
    def forward(anchor, call: Call, ids: torch.Tensor) -> torch.Tensor:
        return call.gather(ids)

    @staticmethod
    def setup_context(ctx, inputs: tuple, output: torch.Tensor) -> None:
        ctx.call = inputs[1]

    @staticmethod
    def vmap(info, in_dims: tuple, anchor, call: Call, ids: torch.Tensor) -> tuple[torch.Tensor, int]:
        return RowsOfTransforms.apply(anchor, call, ids.movedim(in_dims[2], 0)), 0


def rows_of(embedding: Embedding, ids: torch.Tensor, owned: bool) -> torch.Tensor:
    """See Embedding.forward."""
    is_transformed = torch._C._are_functorch_transforms_active()
    function = RowsOfTransforms if is_transformed else Rows
    return function.apply(embedding.anchor, Call(embedding, owned), ids)


def _gathered(table: Table | RecordTable, host_ids: np.ndarray, ids: torch.Tensor, owned: bool) -> torch.Tensor:
    """The rows, in memory of their own, where `ids` are."""
    threads = torch.get_num_threads()
    if isinstance(table, RecordTable):
        rows = table.gather(host_ids, threads=threads)
    elif _is_beside(table, ids) and (owned or table.placement != "distributed"):
        storage: Any = table._storage if table.cached is None else table._storage.cache
        return storage.gather_tensor(ids.detach(), decode=False)
    elif owned:
        rows = table._core.gather(host_ids, threads=threads, decode=False, out=None)
    elif _is_beside(table, ids):
        return table.gather(ids.detach(), threads=threads)
    else:
        rows = table.gather(host_ids, threads=threads)
    rows = to_tensor(rows).view(*ids.shape, *table.shape[1:])
    return devices.move(rows, ids.device) if devices.is_on_device(ids) else rows.to(ids.device)


def _is_beside(table: Table | RecordTable, tensor: torch.Tensor) -> bool:
    """Whether kernels where the tensor is reach the rows."""
    if not isinstance(table, Table) or not devices.is_on_device(tensor):
        return False
    cache = table._storage.cache
    return table.location == "device" if cache is None else devices.holds(cache.device, tensor)


def _require_own(table: Table, ids: np.ndarray) -> None:
    """IndexError names the first id that is another rank's."""
    if table.ranks == 1:
        return
    positions, (begin, end) = table._storage.positions.look_up(ids), table._storage.own
    foreign = (positions < begin) | (positions >= end)
    if foreign.any():
        first = int(foreign.argmax())
        raise IndexError(f"ids[{first}] = {ids[first]} is a row of another rank, not of rank {table.rank}")
