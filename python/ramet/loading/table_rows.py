"""TableRows: the first layer's input, rows that stay in their table until ramet.nn.aggregate reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from ramet import _core
from ramet._support import torch_devices as devices
from ramet._support.arguments import as_int
from ramet._support.tensors import to_tensor
from ramet._support.training import for_training
from ramet.dtypes import dtype_name
from ramet.loading.block import Block
from ramet.loading.fused import FLOATING, FUSED, is_floating
from ramet.loading.origins import known_edges, version_of
from ramet.loading.provided_tables import is_here
from ramet.tables.arguments import as_row_ids
from ramet.tables.table import Table


class Means(NamedTuple):
    """The averages that a loader made: known_edges() of theirs, whether they use the block's weights, and the
    result."""

    edges: object
    by_weights: bool
    rows: torch.Tensor


class Ready(NamedTuple):
    """Results that a batch's TableRows already has. device: of all results; None for the CPU."""

    destinations: torch.Tensor | None = None
    means: Sequence[Means] = ()
    device: torch.device | None = None


class TableRows:
    """Rows of a table at the sources of a block, for a layer that aggregates first: `aggregate(block, rows)` reads them
    straight from the table, decodes them on the way, and writes the sums alone. A loader with fuse=True hands its
    `batch.x` out so, with the means over the first block, which it has computed ahead.

    table: a ramet.Table, or what ramet.Table takes, of float32, float16, bfloat16 or scaled int8 rows. They are read
        when they are needed, so they must not change until then.
    n_id: integers [num_src]: the row of each source of the block.
    block: the Block, whose first sources are its destinations; or its number of destinations, as of one node type of a
        heterogeneous block.
    decode: float16 and bfloat16 rows stand for float32; False: results are rounded to the stored dtype, as of rows that
        were gathered without decoding.

    Results have no gradient for the rows. They have the bits of `aggregate(block, rows.rows())` (docs/semantics.md,
    section 20).

    Raises TypeError for rows of another dtype, rows that learn (ramet.nn.Embedding, tensors that require a gradient),
    and ids that are not integers; ValueError for fewer ids than sources or destinations, and for rows on other
    machines; IndexError for an id that the table lacks, when it is used.
    """

    def __init__(self, table, n_id, block: Block | int, *, decode: bool = True, ready: Ready | None = None):
        self._table = _as_table(table, decode)
        self._ids = _on_device(n_id) if devices.is_on_device(n_id) else _as_ids(n_id)
        self._num_dst = _num_dst(block, len(self._ids))
        self._decode = decode
        self._ready = Ready(device=_device_of(n_id)) if ready is None else ready
        self._destinations = self._ready.destinations

    @property
    def table(self) -> Table:
        """The table of the rows."""
        return self._table

    @property
    def n_id(self) -> torch.Tensor:
        """int64 [num_src], on the CPU."""
        self._ids = devices.on_host(self._ids)
        return self._ids

    @property
    def shape(self) -> torch.Size:
        """[num_src, ...]."""
        return torch.Size((len(self._ids), *self._table.shape[1:]))

    @property
    def dtype(self) -> torch.dtype:
        """Of results."""
        return torch.float32 if self._decode else getattr(torch, dtype_name(self._table.dtype))

    @property
    def device(self) -> torch.device:
        """Of results."""
        return torch.device("cpu") if self._ready.device is None else self._ready.device

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def destinations(self) -> torch.Tensor:
        """[num_dst, ...]: the rows of the block's destinations, which a layer adds to the sources' means."""
        if self._destinations is None:
            self._destinations = self._gathered(self._num_dst)
        return self._destinations

    def rows(self) -> torch.Tensor:
        """[num_src, ...]: all rows, gathered at each call, for layers that transform them before they aggregate."""
        return self._gathered(self._ids.numel())

    def means_over(self, edges, by_weights: bool) -> torch.Tensor | None:
        """The loader's means over these known_edges(), unless there are none, or somebody has written to them."""
        for means in self._ready.means:
            if means.edges == edges and means.by_weights == by_weights and version_of(means.rows) == 0:
                return means.rows
        return None

    def aggregated(self, edges: _core.BlockEdges, shape: tuple[int, ...], reduce: str, weights) -> torch.Tensor:
        """The sums, of this shape, that `reduce` and `weights` make of the rows over edges on the CPU."""
        out = to_tensor(_core.pooled(shape, dtype_name(self.dtype)))
        rows, core = self._in_engine(self.n_id)
        _core.aggregate_rows(edges, core, rows, out, reduce=reduce, weights=weights, threads=torch.get_num_threads())
        return self._placed(out)

    @for_training
    def to(self, device, *, non_blocking: bool = False) -> TableRows:
        """With results on `device`, where `destinations` and the loader's means are copied now."""

        def copied(rows: torch.Tensor) -> torch.Tensor:
            return rows.to(device, non_blocking=non_blocking)

        means = [Means(edges, by_weights, copied(rows)) for edges, by_weights, rows in self._ready.means]
        ready = Ready(copied(self.destinations), means, torch.device(device))
        return TableRows(self._table, self._ids, self._num_dst, decode=self._decode, ready=ready)

    def __repr__(self) -> str:
        return f"TableRows({list(self.shape)} of {self._table!r})"

    def __reduce__(self):
        return _of_ids, (self._table, self.n_id, self._num_dst, self._decode)

    def _gathered(self, count: int) -> torch.Tensor:
        if self._table.location == "device":
            dtype = "float32" if self._decode else None
            return self._table.gather(self._ids[:count], dtype=dtype).to(self.device)
        rows, core = self._in_engine(self.n_id[:count])
        decode = self._decode and core.is_encoded
        gathered = core.gather(rows, threads=torch.get_num_threads(), decode=decode, out=None)
        return self._placed(to_tensor(gathered))

    def _in_engine(self, ids: torch.Tensor) -> tuple[np.ndarray, _core.Table]:
        """The rows `ids` as numbers of rows of the engine's table, and that."""
        storage = self._table._storage  # noqa: SLF001 (as the engine has it)
        rows, positions = storage.rows, storage.positions
        return ids.numpy() if positions.is_dense else positions.look_up(ids.numpy()), rows

    def _placed(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor if self._ready.device is None else tensor.to(self._ready.device)


@for_training
def of_batch(batch, position: int, node_type: str, destinations: torch.Tensor) -> TableRows:
    """batch.x of a loader with fuse=True. position: of the table among those that were gathered, whose rows are
    `destinations`; these are where the batch's tensors are handed out."""
    core, origin, t = batch._core, batch.origin, batch.graph.node_types.index(node_type)
    means = [
        Means(known_edges(batch, 0, edge_type), core.has_weights(0), batch._tensor(rows))  # noqa: SLF001
        for table, edge_type, rows in core.means
        if table == position
    ]
    table = origin.fused[node_type, FUSED]
    ready = Ready(destinations, means, batch.device)
    n_id = to_tensor(core.n_id(t))
    if batch.blocks[0].is_cooperative:  # then other ranks own some of the sources
        of_sources = batch.blocks[0].n_id
        n_id = of_sources[node_type] if isinstance(of_sources, dict) else of_sources
    return TableRows(table, n_id, len(destinations), decode=origin.decode, ready=ready)


def _of_ids(table, n_id, num_dst: int, decode: bool) -> TableRows:
    return TableRows(table, n_id, num_dst, decode=decode)


def _as_table(table, decode: bool) -> Table:
    if isinstance(table, torch.nn.Module) or getattr(table, "requires_grad", False):
        what = "a tensor that requires a gradient" if isinstance(table, torch.Tensor) else f"a {type(table).__name__}"
        raise TypeError(f"table is {what}, whose rows learn: gather them, as in embedding(n_id), for the layer")
    table = table if isinstance(table, Table) else Table(table)
    if not is_floating(table, decode):
        stored = dtype_name(table.dtype)
        raise TypeError(f"table holds {stored}, expected {', '.join(FLOATING)}, or int8 with a scale and decode=True")
    if not is_here(table):
        raise ValueError("the table has rows on other machines: gather them for the layer")
    return table


def _as_ids(n_id) -> torch.Tensor:
    ids, shape = as_row_ids(n_id)
    if len(shape) != 1:
        raise ValueError(f"n_id has shape {list(shape)}, expected one dimension")
    return to_tensor(ids)


def _on_device(n_id: torch.Tensor) -> torch.Tensor:
    if n_id.dim() != 1:
        raise ValueError(f"n_id has shape {list(n_id.shape)}, expected one dimension")
    if n_id.is_floating_point() or n_id.is_complex() or n_id.dtype == torch.bool:
        raise TypeError(f"n_id has dtype {dtype_name(n_id.dtype)}; ids are integers")
    return n_id.long()


def _device_of(n_id) -> torch.device | None:
    return n_id.device if devices.is_on_device(n_id) else None


def _num_dst(block: Block | int, num_ids: int) -> int:
    if not isinstance(block, Block):
        return as_int(block, "block", 0, num_ids)
    if isinstance(block.num_dst, dict):
        raise TypeError("block is of a heterogeneous graph: give the number of destinations of the node type")
    if num_ids < block.num_src:
        raise ValueError(f"n_id has {num_ids} ids, but the block has {block.num_src} sources")
    return block.num_dst
