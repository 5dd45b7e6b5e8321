"""Exact inference over all nodes, layer by layer.

Sampled inference answers with noise, and a full-graph forward pass needs every hidden row and
message at once. Here each layer is computed for every node, from all its in-neighbors, before the
next begins, one batch of destinations at a time.

Memory: the outputs of two layers (the one being read and the one being written), and one batch:
its destinations, all their in-neighbors' rows and its edges. A hub brings all its in-edges, so
`batch_size` bounds destinations, not edges.

Needs torch; `import ramet` does not load this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from tqdm import tqdm

from ramet import NeighborLoader, Table, sample
from ramet.options import as_input_nodes, refuse_part

__all__ = ["layerwise"]

Layer = Callable  # f(x, block) -> rows of the block's destinations


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
):
    """The output of the last layer for every node, as a CPU tensor of shape [num_nodes, width].

    `model` is a module with a method `layers()`, or the sequence that it returns: one function
    `f(x, block)` per layer, first layer first, from the rows of the block's sources to the rows of
    its destinations (which are the first `block.num_dst` sources). Modules are in evaluation mode
    meanwhile, and afterwards as they were.

    `table` is the input of the first layer. `nodes` restricts the last layer: ids, a bool mask or
    the name of a split; row i of the result is then the i-th of them, and earlier layers are
    computed only for nodes that these depend on. `dtype` is the type of the
    rows that layers get: by default that of the model's parameters, or float32. `device` is where
    layers run; blocks stay on the CPU.

    Heterogeneous graphs: `x`, the layers' outputs and the result are dicts by node type, and a
    layer may leave out types that nobody reads; `nodes` is a pair of node type and nodes, and the
    result then that type's tensor.
    """
    refuse_part(graph)
    layers = list(model.layers() if hasattr(model, "layers") else model)
    if not layers:
        raise ValueError("layerwise: the model has no layers")
    rows = {t: graph.table(table, t) for t in graph.node_types if table in graph.tables(t)}
    if not rows:
        raise KeyError(f"layerwise: the graph has no node table {table!r}")
    pass_ = _Pass(graph, batch_size, dtype or _dtype(model), torch.device(device), threads)
    with _evaluating([model, *layers]), torch.no_grad():
        targets = pass_.targets(nodes, len(layers))
        for i, (layer, nodes_of) in enumerate(zip(layers, targets, strict=True)):
            bar = f"inference, layer {i + 1} of {len(layers)}" if progress else None
            last = i + 1 == len(layers)
            outputs = {t: pass_.run(layer, rows, t, ids, last, bar) for t, ids in nodes_of.items()}
            outputs = {t: out for t, out in outputs.items() if out is not None}
            rows = {t: Table(out) for t, out in outputs.items()}
    if graph.is_hetero and nodes is None:
        return outputs
    return next(iter(outputs.values()))


class _Pass:
    """How the layers are run."""

    def __init__(self, graph, batch_size, dtype, device, threads):
        self.graph, self.batch_size, self.threads = graph, batch_size, threads
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
        """The nodes that a layer reads to compute its targets: these and all their in-neighbors."""
        reached = {t: np.zeros(self.graph.num_nodes(t), bool) for t in self.graph.node_types}
        for node_type, ids in targets.items():
            for batch in self._batches(node_type, ids):
                for t, n_id in self._per_type(batch.n_id, node_type).items():
                    reached[t][n_id.numpy()] = True
        return {t: np.flatnonzero(m) for t, m in reached.items() if t in targets or m.any()}

    def run(self, layer, rows, node_type, ids, last, bar):
        """One layer for nodes of one type: their rows if it is the last one, else a row for every
        node, of which only theirs are set. None if the layer has no output for the type."""
        everything = ids is None or not last
        count = self.graph.num_nodes(node_type) if everything else len(ids)
        out, done = None, 0
        batches = self._batches(node_type, ids)
        for batch in tqdm(batches, desc=bar, leave=False, disable=bar is None):
            result = self._compute(layer, rows, node_type, batch)
            if result is None:
                return None
            if out is None:
                out = torch.empty((count, *result.shape[1:]), dtype=result.dtype)
            out[batch.seeds if everything else slice(done, done + len(result))] = result.cpu()
            done += len(result)
        return out

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
            distributed=False,
        )

    def _compute(self, layer, rows, node_type, batch):
        x = {
            t: _gathered(rows[t], n_id, self.threads).to(self.device, self.dtype)
            for t, n_id in self._per_type(batch.n_id, node_type).items()
            if t in rows
        }
        if self.graph.is_hetero:
            return layer(x, batch.blocks[0]).get(node_type)
        return layer(x[node_type], batch.blocks[0])

    def _per_type(self, value, node_type):
        return value if self.graph.is_hetero else {node_type: value}


def _gathered(table, ids, threads):
    return torch.as_tensor(table.gather(ids, threads, dtype="float32" if table.is_encoded else None))


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
