"""`ramet predict`: the model of a run folder, on the nodes of a store."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import ramet
from ramet._support.arguments import as_int
from ramet.loading.options import MAX_THREADS
from ramet.train.config import Config
from ramet.train.evaluate import class_scores, inference
from ramet.train.folder import MODEL, RunFolder, require_outside_stores
from ramet.train.model import build_model
from ramet.train.task import SPLITS, find_features, find_labels, split_name


@dataclass(frozen=True)
class Predictions:
    """`classes` int64 [n] and `probabilities` [n, classes] of `nodes`, int64 [n]; `accuracy` by split, (share of right
    classes, nodes with a label), None as name of a split for nodes of a graph without splits."""

    nodes: np.ndarray
    classes: np.ndarray
    probabilities: np.ndarray
    accuracy: dict[str | None, tuple[float, int]]
    inference: dict
    model: str
    epoch: int


def load_model(run):
    """(model, Config) of the best model in the run folder `run`, in evaluation mode, on the CPU.

    Raises FileNotFoundError where there is none, ValueError for a file that is none.
    """
    found, config = _read(run)
    model = build_model(config, found["num_features"], found["num_classes"])
    try:
        model.load_state_dict(found["model"])
    except RuntimeError as error:
        raise _unfit(run, error) from None
    return model.eval(), config


def predict(graph, run, nodes=None, *, threads=None, progress=False) -> Predictions:
    """What the best model of the run folder `run` says about nodes of `graph`, a Graph or the path of a store.

    `nodes` is the name of a split, None for all nodes. Predictions are by the inference that the run was evaluated by,
    so those for the run's own store and split "test" have the accuracy that it reported. Raises ValueError for a graph
    with features of another width, or with more classes, than the model has.
    """
    graph = graph if isinstance(graph, ramet.Graph) else ramet.open(graph)
    found, _ = _read(run)
    model, config = load_model(run)
    width = find_features(graph)
    if width != found["num_features"]:
        trained = found["num_features"]
        raise ValueError(f"table 'feat' has {width} columns, but the model of {run} was trained on {trained}")
    splits = {name: graph.split(split_name(graph, name)) for name in SPLITS if split_name(graph, name) in graph.splits}
    labels = find_labels(graph) if "label" in graph.tables() else None
    _check_classes(labels, splits, found["num_classes"], run)
    if nodes is None:
        ids = np.arange(graph.num_nodes())
    else:
        ids = graph.split(split_name(graph, nodes)).astype(np.int64)
        splits = {nodes: ids}
    threads = config.inference_threads if threads is None else as_int(threads, "threads", 1, MAX_THREADS)
    scores = class_scores(graph, model, config, torch.from_numpy(ids), threads=threads, progress=progress)
    classes = scores.argmax(dim=1).numpy()
    return Predictions(
        ids,
        classes,
        scores.softmax(dim=1).numpy(),
        {} if labels is None else _accuracy(classes, ids, labels, splits, graph.num_nodes()),
        inference(config),
        config.model,
        found["epoch"],
    )


def require_free(path):
    """FileExistsError or ValueError for a path at which no new file may be written."""
    require_outside_stores(path)
    if os.path.lexists(path):
        raise FileExistsError(f"{path} exists already; name a new file, or remove it")


def write_array(path, array):
    """Writes an .npy file, and the folders above it: whole, or not there."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with open(unfinished, "wb") as file:
            np.save(file, array)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _read(run):
    found = RunFolder(run).read_model()
    try:
        return found, Config(**found["options"])
    except (TypeError, ValueError) as error:
        raise _unfit(run, error) from None


def _unfit(run, error):
    return ValueError(f"{Path(run) / MODEL} does not fit this version of ramet: {' '.join(str(error).split())}")


def _check_classes(labels, splits, num_classes, run):
    """Labels of nodes in no split may be anything, as in training."""
    if labels is None:
        return
    judged = labels[np.concatenate(list(splits.values()))] if splits else labels
    if len(judged) and judged.max() >= num_classes:
        raise ValueError(f"the labels go up to {judged.max()}, but the model of {run} has {num_classes} classes")


def _accuracy(classes, ids, labels, splits, num_nodes):
    of_node = np.full(num_nodes, -1)
    of_node[ids] = classes
    accuracy = {}
    for name, members in (splits or {None: ids}).items():
        members = members[labels[members] >= 0]
        if len(members):
            accuracy[name] = (float(np.mean(of_node[members] == labels[members])), len(members))
    return accuracy
