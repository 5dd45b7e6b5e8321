"""Exact inference over all nodes, layer by layer.

Sampled inference answers with noise, and a full-graph forward pass needs every hidden row and
message at once. Here each layer is computed for every node, from all its in-neighbors, before the
next begins, one batch of destinations at a time.

A layer that gives its rows and block to a layer of ramet.nn, which needs only sums over edges, reads the rows of the
layer before in place (in_place.py). Any other layer gets sampled blocks and gathered rows; its first batch tells.
GATConv, and layers that make rows narrower, multiply all rows once, which takes memory for the products.

Memory: the outputs of two layers (the one being read and the one being written), and one batch: its destinations and
its edges, and of sampled blocks the rows of all in-neighbors. A hub brings all its in-edges, so `batch_size` bounds
destinations, not edges. Sums over rows that memory does not hold are computed in passes (delayed_sums.py).

Needs torch; `import ramet` does not load this module.
"""

from __future__ import annotations

import inspect
import math
import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch
from tqdm import tqdm

from ramet import _core
from ramet._support.arguments import as_int, as_memory
from ramet._support.memory import available_memory
from ramet._support.old_torch import eagerly
from ramet._support.openmp import share_cores
from ramet._support.tensors import to_tensor
from ramet.dtypes import dtype_name
from ramet.loading.neighbor_loader import NeighborLoader
from ramet.loading.options import MAX_THREADS, as_graph, as_input_nodes, require_whole
from ramet.loading.sampling import sample
from ramet.nn.delayed_sums import DelayedSums, in_passes
from ramet.nn.edges import SharedSources
from ramet.nn.in_place import RowsInPlace, UnsampledBlock, plain
from ramet.nn.rows_in_files import map_new_rows, write_rows
from ramet.tables.table import Table

__all__ = ["layerwise"]

Layer: TypeAlias = Any  # f(x, block) -> rows of the block's destinations

_ROWS_AT_ONCE = 1 << 16


def layerwise(
    graph,
    model: torch.nn.Module | Sequence[Layer],
    *,
    table: str = "feat",
    nodes=None,
    batch_size: int = 4096,
    dtype: torch.dtype | None = None,
    device="cpu",
    threads: int = 2,
    progress: bool = False,
    folder: str | os.PathLike | None = None,
    memory: int | str | None = None,
):
    """The output of the last layer for every node, as a CPU tensor [num_nodes, width].

    model: a module with a method `layers()`, or the sequence that it returns: one function `f(x, block)` per layer,
        first layer first. `x` has the rows of the block's sources, [block.num_src, ...]. The result has a row per
        destination, which are the first sources: [block.num_dst, ...], a tensor or numpy array of any dtype. A layer
        of ramet.nn is such a function; for a convolution of PyG use
        `lambda x, block: conv((x, x[:block.num_dst]), block.edge_index)`. Modules are in evaluation mode during the
        call, and restored afterwards.
    table: the input of the first layer.
    nodes: restricts the last layer: ids, a bool mask or the name of a split. Row i of the result is then the i-th of
        them. Earlier layers are computed only for the nodes that these depend on.
    dtype: of the rows that layers get; default: that of the model's parameters, or float32.
    device: where layers run, and their blocks lie.
    folder: a folder on a disk, for graphs of which memory does not hold two layers' rows. The rows of layers, and the
        result, then lie there in files without names, mapped. The disk gets their space back when they are dropped.
    memory: bytes, an integer or a text such as "4G"; default: what is available. Where rows take more than half of it,
        a layer that reads them in place gets its sums by passes over the rows, from the first to the last. Half is for
        the sums of a pass. They are in the order of sources: that of edges where rows of the store are sorted and no
        self loops are added. Such a layer runs several times on a block, and must ask for the same sums in the same
        order each time. `table` is converted in `folder` first, if its dtype is another.

    On heterogeneous graphs, `x`, the layers' outputs and the result are dicts by node type. A layer may leave out types
    that nobody reads. `nodes` is a node type, or a pair of one and nodes; the result is then that type's tensor.

    Raises TypeError for layers with another signature and for results that are not rows. Raises ValueError for results
    with another number of rows, or another width than in the batch before, and for a layer that asks for other sums
    when it runs again; OSError where the disk is too small.
    """
    require_whole(as_graph(graph))
    layers = _layers_of(model)
    rows = {t: graph.table(table, t) for t in graph.node_types if table in graph.tables(t)}
    if not rows:
        raise KeyError(f"layerwise: the graph has no node table {table!r}")
    pass_ = _Pass(
        graph, batch_size, dtype or _dtype(model), torch.device(device), threads, folder, as_memory(memory, 1)
    )
    share_cores(pass_.threads)
    with _evaluating([model, *layers]), torch.no_grad():
        targets = pass_.targets(nodes, len(layers))
        for i, (layer, nodes_of) in enumerate(zip(layers, targets, strict=True)):
            bar = f"inference, layer {i + 1} of {len(layers)}" if progress else None
            last = i + 1 == len(layers)
            layer = _Layer(i, len(layers), layer)
            of_all = pass_.in_place(rows)
            outputs = {t: pass_.run(layer, rows, of_all, t, ids, last, bar) for t, ids in nodes_of.items()}
            outputs = {t: out for t, out in outputs.items() if out is not None}
            if not outputs:
                raise ValueError(f"{layer} returned no rows for {list(nodes_of)}")
            rows = {t: Table(out) for t, out in outputs.items()}
    if graph.is_hetero and nodes is None:
        return outputs
    return next(iter(outputs.values()))


class _Pass:
    """How the layers are run."""

    def __init__(self, graph, batch_size, dtype, device, threads, folder, memory):
        self.graph, self.folder = graph, folder
        self.memory = (available_memory() if memory is None else memory) // 2  # for rows that are read, or for sums
        self.batch_size = as_int(batch_size, "batch_size", 1)
        self.threads = as_int(threads, "threads", 1, MAX_THREADS)
        self.dtype, self.device = dtype, device

    def targets(self, nodes, depth):
        """For each layer the nodes it is computed for, by type; None stands for all of a type."""
        if nodes is None:
            return [dict.fromkeys(self.graph.node_types)] * depth
        position, ids = as_input_nodes(nodes, self.graph, "nodes")
        targets = [{self.graph.node_types[position]: ids}]
        while len(targets) < depth:
            targets.insert(0, self._sources(targets[0]))
        return targets

    def _sources(self, targets):
        """The nodes that a layer reads to compute its targets: these and all their in-neighbors. Of each type, since a
        layer may ask for rows of a type that has none of them."""
        reached = {t: np.zeros(self.graph.num_nodes(t), bool) for t in self.graph.node_types}
        for node_type, ids in targets.items():
            for batch in self._batches(node_type, ids):
                for t, n_id in self._per_type(batch.n_id, node_type).items():
                    reached[t][n_id.numpy()] = True
        return {t: np.flatnonzero(m) for t, m in reached.items()}

    def run(self, layer, rows, of_all, node_type, ids, last, bar):
        """One layer for nodes of one type: their rows if it is the last one or there are none, else a row for every
        node, of which only theirs are set. None if the layer has no output for the type."""
        everything = ids is None or (len(ids) > 0 and not last)
        count = self.graph.num_nodes(node_type) if everything else len(ids)
        out, done = None, 0
        with tqdm(total=count, desc=bar, leave=False, disable=bar is None) as progress:
            for seeds, num_dst, result in self._results(layer, rows, of_all, node_type, ids):
                if result is None and out is None:
                    return None
                layer.check(result, num_dst, out)
                if out is None:
                    out = self._new((count, *result.shape[1:]), result.dtype)
                if ids is not None and everything:
                    out[seeds] = result.cpu()
                else:
                    write_rows(out, done, result.cpu())
                done += num_dst
                progress.update(num_dst)
        return out

    def _new(self, shape, dtype):
        if self.folder is None or math.prod(shape) == 0:
            return torch.empty(shape, dtype=dtype)
        return map_new_rows(self.folder, shape, dtype)

    def _results(self, layer, rows, of_all, node_type, ids):
        """(nodes, their number, the layer's rows of these) of each batch."""

        def gathered(block, t):
            return self._inputs(rows, block.n_id, node_type)[t]

        def of_layer(x, block):
            return layer.rows_of(node_type, x, block) if self.graph.is_hetero else layer.rows(x[node_type], block)

        def in_place(block):
            x = {t: RowsInPlace.of(all_, block, t, partial(gathered, block, t)) for t, all_ in of_all.items()}
            with eagerly():  # torch.compile cannot trace RowsInPlace
                return (of_layer(x, block),)

        if of_all is not None:
            ids = range(self.graph.num_nodes(node_type)) if ids is None else ids
            for block, (result,) in in_passes(self._unsampled(node_type, ids), in_place, self.memory):
                yield torch.from_numpy(block.ids), len(block.ids), result
                ids = ids[len(block.ids) :]
                if not len(ids):
                    return
                if block.is_sampled:  # so will the others be, which a loader does ahead
                    break
        for batch in self._batches(node_type, ids):
            x, block = self._inputs(rows, batch.n_id, node_type), batch.to(self.device).blocks[0]
            yield batch.seeds, _of(block.num_dst, node_type), of_layer(x, block)

    def _unsampled(self, node_type, ids):
        shared = {t: SharedSources(len(ids), self._new) for t in self.graph.edge_types}
        for begin in range(0, len(ids), self.batch_size):
            chosen = ids[begin : begin + self.batch_size]
            chosen = np.arange(chosen.start, chosen.stop) if isinstance(chosen, range) else np.array(chosen, np.int64)
            yield UnsampledBlock(self.graph, node_type, chosen, self.threads, shared, DelayedSums(self.memory))

    def in_place(self, rows):
        """The rows of all nodes by type, for layers that read them where they are; None where one is no tensor."""
        if self.device.type != "cpu" or any(self.graph.indices(t).dtype != np.int32 for t in self.graph.edge_types):
            return None
        found = {t: self._tensor(table) for t, table in rows.items()}
        return None if any(tensor is None for tensor in found.values()) else found

    def _tensor(self, table):
        graph = self.graph
        is_beyond = math.prod(table.shape) * self.dtype.itemsize > self.memory
        if graph._core.read_by_row and not is_beyond:
            return None
        if getattr(torch, dtype_name(table.dtype), None) == self.dtype:
            return _read_only(table.numpy()) if is_beyond else table.torch()
        return self._converted(table) if is_beyond and self.folder is not None else None

    def _converted(self, table):
        """The rows of a table as layers get them, in a file."""
        rows = self._new(table.shape, self.dtype)
        for begin in range(0, len(rows), _ROWS_AT_ONCE):
            ids = np.arange(begin, min(begin + _ROWS_AT_ONCE, len(rows)))
            _core.read_ahead(table.numpy()[begin : begin + len(ids)])
            write_rows(rows, begin, _gathered(table, ids, self.threads).to(self.dtype))
        return rows

    def _batches(self, node_type, ids):
        count = self.graph.num_nodes(node_type) if ids is None else len(ids)
        if count == 0:  # an empty batch tells the width of the output
            none = np.empty(0, dtype=np.int64)
            seeds = (node_type, none) if self.graph.is_hetero else none
            return [sample(self.graph, seeds, [-1])]
        return NeighborLoader(
            self.graph,
            num_neighbors=[-1],
            input_nodes=(node_type, ids) if self.graph.is_hetero else ids,
            batch_size=self.batch_size,
            tables=(),
            threads=self.threads,
            ranks=False,
        )

    def _inputs(self, rows, n_id, node_type):
        return {
            t: _gathered(rows[t], ids, self.threads).to(self.device, self.dtype)
            for t, ids in self._per_type(n_id, node_type).items()
            if t in rows
        }

    def _per_type(self, value, node_type):
        return value if self.graph.is_hetero else {node_type: value}


class _Layer:
    """A layer of the model, number `i` of `count`, from 0, and the fault of its results."""

    def __init__(self, i: int, count: int, function: Layer):
        self._name = f"layerwise: layer {i + 1} of {count}"
        self._function = function
        _check_call(function, self._name)

    def __str__(self) -> str:
        return self._name

    def rows(self, x, block) -> torch.Tensor:
        return self._as_rows(self._function(x, block), "")

    def rows_of(self, node_type: str, x: dict, block) -> torch.Tensor | None:
        result = self._function(x, block)
        if not isinstance(result, Mapping):
            raise TypeError(f"{self} returned {_kind(plain(result))}, expected a dict by node type")
        rows = result.get(node_type)
        return None if rows is None else self._as_rows(rows, f" for {node_type!r}")

    def _as_rows(self, result, of: str) -> torch.Tensor:
        if isinstance(result, np.ndarray):
            return torch.as_tensor(np.asarray(result, order="C"))
        if not isinstance(result, torch.Tensor):
            expected = "a tensor with a row for each of the block's destinations"
            raise TypeError(f"{self} returned {_kind(result)}{of}, expected {expected}")
        return result

    def check(self, result, num_dst: int, before) -> None:
        """`before`: the rows of the batches before this one, None where it is the first."""
        if result is None:
            raise ValueError(f"{self} returned no rows for a batch, but did for the batches before")
        shape = list(result.shape)
        if not shape or shape[0] != num_dst:
            raise ValueError(
                f"{self} returned the shape {shape}, expected [{num_dst}, ...]: a row for each of the "
                f"block's num_dst={num_dst} destinations, which are the first sources"
            )
        if before is not None and shape[1:] != list(before.shape[1:]):
            raise ValueError(
                f"{self} returned the shape {shape}, expected {[num_dst, *before.shape[1:]]}, as in the batches before"
            )
        if before is not None and result.dtype != before.dtype:
            raise ValueError(f"{self} returned {result.dtype}, but {before.dtype} in the batches before")


def _layers_of(model) -> list[Layer]:
    if hasattr(model, "layers"):
        model = model.layers()
    if not isinstance(model, Iterable):
        raise TypeError(
            f"layerwise: model is {_kind(model)}, expected a module with a method layers(), or the sequence that it "
            "returns: one function f(x, block) per layer"
        )
    layers = list(model)
    if not layers:
        raise ValueError("layerwise: the model has no layers")
    return layers


def _check_call(function: Layer, name: str) -> None:
    """TypeError unless the layer takes (x, block). PyG's layers take edge_index there, and would take it."""
    if not callable(function):
        raise TypeError(f"{name} is {_kind(function)}, expected a function f(x, block)")
    is_module = isinstance(function, torch.nn.Module)
    try:
        signature = inspect.signature(function.forward if is_module else function)
    except (TypeError, ValueError):  # it does not say
        return
    takes = f"{name} is {_kind(function)} that takes {signature}, expected f(x, block)"
    try:
        arguments = signature.bind(None, None).arguments
    except TypeError:
        raise TypeError(takes) from None
    if is_module and "edge_index" in arguments:
        raise TypeError(f"{takes}: lambda x, block: conv((x, x[: block.num_dst]), block.edge_index)")


def _kind(value) -> str:
    """Its kind, in two words."""
    return "None" if value is None else f"a {type(value).__name__}"


def _of(value, node_type):
    return value[node_type] if isinstance(value, Mapping) else value


def _gathered(table, ids, threads):
    return torch.as_tensor(table.gather(ids, threads, dtype="float32" if table.is_encoded else None))


def _read_only(rows: np.ndarray) -> torch.Tensor:
    """A tensor that is not to be written to. Table.torch() maps rows so that they can be, and nobody could say then
    that they still are those of the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return to_tensor(rows)


def _dtype(model):
    parameters = model.parameters() if isinstance(model, torch.nn.Module) else iter(())
    first = next(parameters, None)
    return torch.float32 if first is None else first.dtype


@contextmanager
def _evaluating(things):
    """Evaluation mode for every module among `things`, and each submodule's own mode afterwards."""
    modules = [m for thing in things if isinstance(thing, torch.nn.Module) for m in thing.modules()]
    before = [(m, m.training) for m in modules]
    for m in modules:
        m.training = False
    try:
        yield
    finally:
        for m, training in before:
            m.training = training
