"""How `ramet train` evaluates a model, and `ramet predict` runs it: by the estimator that was trained.

Layers that take means, sage's and gat's, are computed from all in-neighbors: what a mean over samples estimates. A sum
over at most k sampled neighbors estimates no sum over all of them, so gin's layers, which are trained on such sums, are
computed from samples as training takes them.
"""

from __future__ import annotations

import math
import os
import tempfile
from contextlib import contextmanager
from dataclasses import replace

import torch
from tqdm import tqdm

import ramet
from ramet._support.memory import available_memory
from ramet.nn import layerwise

SUMS = ("gin",)  # models whose layers add messages up
EPOCH = (1 << 63) - 1  # of the samples for evaluation: no run trains on them


def inference(config) -> dict:
    """What the models of `config` are evaluated by, as metrics.json and best.pt say it: "method" is "layerwise", all
    neighbors, or "sampled", with the fanouts in "num_neighbors"."""
    sampled = config.model in SUMS and any(fanout != -1 for fanout in config.num_neighbors)
    if not sampled:
        return {"method": "layerwise", "num_neighbors": [-1] * len(config.num_neighbors)}
    return {"method": "sampled", "num_neighbors": list(config.num_neighbors)}


def in_words(how: dict) -> str:
    if how["method"] == "layerwise":
        return "all neighbors, layer by layer"
    return f"sampled neighbors {','.join(map(str, how['num_neighbors']))}, as in training"


def outputs(graph, model, config, nodes, *, threads=1, progress=False) -> torch.Tensor:
    """The rows [len(nodes), width] that a model of `config` returns: row i is that of nodes[i], int64 ids."""
    if inference(config)["method"] == "layerwise":
        folder = tempfile.gettempdir() if rows_exceed_memory(graph, config) else None
        return layerwise(graph, model, nodes=nodes, threads=threads, progress=progress, folder=folder)
    return _sampled(graph, model, config, nodes, threads, progress)


def rows_exceed_memory(graph, config) -> bool:
    """Whether half of memory cannot hold the rows of a layer, or the features."""
    width = 2 * max(config.hidden, math.prod(graph.table("feat").shape[1:]))
    return graph.num_nodes() * width * (8 if config.dtype == "float64" else 4) > available_memory()


def _sampled(graph, model, config, nodes, threads, progress):
    """Rows from sampled neighbors, in batches of the size of training's. All of them are samples of one step, so what a
    node picks, and with that its row, does not depend on the batch it is in (with LABOR-i it does)."""
    table = graph.table("feat")
    dtype = next(model.parameters()).dtype
    sampling = config.sampling | {"sampler": replace(config.sampler, dependent=1), "epoch": EPOCH, "threads": threads}
    rows = []
    with _evaluating(model), torch.no_grad():
        for seeds in tqdm(nodes.split(config.batch_size), desc="inference", leave=False, disable=not progress):
            batch = ramet.sample(graph, seeds, list(config.num_neighbors), **sampling)
            x = table.gather(batch.n_id, threads, dtype="float32" if table.is_encoded else None)
            rows.append(model(torch.as_tensor(x).to(dtype), batch.blocks))
    return torch.cat(rows)


@contextmanager
def _evaluating(model):
    before = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(before)


@contextmanager
def torch_threads(count):
    """`count` threads for torch meanwhile, as far as the machine has them."""
    before = torch.get_num_threads()
    torch.set_num_threads(max(1, min(count, os.cpu_count() or 1)))
    try:
        yield
    finally:
        torch.set_num_threads(before)
