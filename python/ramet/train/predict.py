"""`ramet predict`: the model of a run folder, on the nodes or pairs of a store."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import torch

import ramet
from ramet._support.arguments import as_int
from ramet.loading.options import MAX_THREADS
from ramet.loading.pairs import as_pair_index
from ramet.train.config import Config
from ramet.train.evaluate import inference, outputs
from ramet.train.folder import MODEL, RunFolder, require_outside_stores
from ramet.train.inputs import SPLITS, find_features, split_name
from ramet.train.link_task import Candidates, pair_scores
from ramet.train.model import build_model
from ramet.train.node_task import find_labels

ENDS = ("source", "destination")  # names of columns in .csv files
SINGULAR = {"classes": "class", "probabilities": "probability", "scores": "score", "rows": "row"}
CSV_ROWS = 1 << 16  # at once: ids of text are objects of Python


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
    graph: ramet.Graph

    def nodes_of(self, name):
        """The nodes of each row of an array, by the name of their column in a .csv file."""
        return {"id": self.nodes}

    def lines(self):
        """What `ramet predict` prints of them."""
        if not self.accuracy:
            yield "no labels to compare with"
        for split, (share, count) in self.accuracy.items():
            yield f"{f'{split} ' if split else ''}accuracy {share:.4f} of {count:,} nodes"


@dataclass(frozen=True)
class LinkPredictions:
    """`scores` [n] of `pairs`, int64 [2, n]: the dot products of their ends' rows in `rows`, [nodes, width]. `metrics`:
    loss, mrr and hits@10 by split; empty for pairs that are given."""

    pairs: np.ndarray
    scores: np.ndarray
    rows: np.ndarray
    metrics: dict[str, dict[str, float]]
    inference: dict
    model: str
    epoch: int
    graph: ramet.Graph

    def nodes_of(self, name):
        """As of Predictions."""
        return {"id": np.arange(len(self.rows))} if name == "rows" else dict(zip(ENDS, self.pairs, strict=True))

    def lines(self):
        """What `ramet predict` prints of them."""
        for split, measures in self.metrics.items():
            yield f"{split} " + ", ".join(f"{name} {value:.4f}" for name, value in measures.items())


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
    graph, found, model, config = _opened(graph, run, "node")
    names = {name: split_name(graph.splits, name) for name in SPLITS}
    splits = {name: graph.split(there) for name, there in names.items() if there in graph.splits}
    labels = find_labels(graph) if "label" in graph.tables() else None
    _check_classes(labels, splits, found["num_classes"], run)
    if nodes is None:
        ids = np.arange(graph.num_nodes())
    else:
        ids = graph.split(split_name(graph.splits, nodes)).astype(np.int64)
        splits = {nodes: ids}
    threads = _threads(config, threads)
    scores = outputs(graph, model, config, torch.from_numpy(ids), threads=threads, progress=progress)
    classes = scores.argmax(dim=1).numpy()
    return Predictions(
        ids,
        classes,
        scores.softmax(dim=1).numpy(),
        {} if labels is None else _accuracy(classes, ids, labels, splits, graph.num_nodes()),
        inference(config),
        config.model,
        found["epoch"],
        graph,
    )


def predict_links(graph, run, pairs="test", *, threads=None, progress=False) -> LinkPredictions:
    """The scores that the best model of the run folder `run`, of links, gives to pairs of nodes of `graph`, a Graph or
    the path of a store.

    `pairs` is the name of a split of edges, or int64 [2, n], sources above destinations, which need not be edges, or
    the path of an .npy file of these. Messages follow the split "train" of edges, or all edges of a graph without one.
    Raises as predict() does, KeyError for a split that is missing, IndexError for a node that is.
    """
    graph, found, model, config = _opened(graph, run, "link")
    (edge_type,) = graph.edge_types
    candidates = {}
    if str(pairs).endswith(".npy"):
        pairs = np.load(pairs)
    if isinstance(pairs, str):
        edges = graph.split(split_name(graph.edge_splits, pairs), edge_type)
        candidates, pairs = {pairs: Candidates(graph, edges)}, graph.find_edges(edges)
    pairs = np.stack(as_pair_index(pairs, graph, edge_type, "pairs"))
    messages = graph.edge_subgraph("train") if "train" in graph.edge_splits else graph
    everyone = torch.arange(graph.num_nodes())
    rows = outputs(messages, model, config, everyone, threads=_threads(config, threads), progress=progress)
    return LinkPredictions(
        pairs,
        pair_scores(rows, torch.from_numpy(pairs)).numpy(),
        rows.numpy(),
        {split: of_split.measure(rows[of_split.nodes]) for split, of_split in candidates.items()},
        inference(config),
        config.model,
        found["epoch"],
        graph,
    )


def task_of(run) -> str:
    """ "node" or "link": what the run in this folder is for. Raises as load_model() does."""
    return _read(run)[1].task


def require_free(path):
    """FileExistsError or ValueError for a path at which no new file may be written."""
    require_outside_stores(path)
    if os.path.lexists(path):
        raise FileExistsError(f"{path} exists already; name a new file, or remove it")


def write(path, found, name):
    """Writes the array `name` of predictions to a file, and the folders above it: whole, or not there. A .csv file has
    the users' ids of its nodes before the values, and names of columns; any other is an .npy file of the array."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        if path.suffix == ".csv":
            with open(unfinished, "w", encoding="utf-8", newline="") as file:
                csv.writer(file).writerows(_csv_rows(found, name))
        else:
            with open(unfinished, "wb") as file:
                np.save(file, getattr(found, name))
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def _csv_rows(found, name):
    """The names of columns, then lists of texts. A tuple is a column for each of its texts, an array of several columns
    a column for each of them."""
    array, nodes, ids = getattr(found, name), found.nodes_of(name), found.graph.ids()
    width = len(ids.of([0])[0]) if ids.kind == "tuple" and len(ids) else None
    header = [part for what in nodes for part in ([what] if width is None else _numbered(what, width))]
    yield header + ([SINGULAR[name]] if array.ndim == 1 else _numbered(SINGULAR[name], array.shape[1]))
    for begin in range(0, len(array), CSV_ROWS):
        rows = slice(begin, begin + CSV_ROWS)
        columns = [ids.of(of_rows[rows]).tolist() for of_rows in nodes.values()]
        values = array[rows].reshape(-1, 1 if array.ndim == 1 else array.shape[1]).astype(str).tolist()
        for *named, value in zip(*columns, values, strict=True):
            yield [*(chain(*named) if width is not None else named), *value]


def _numbered(name, count):
    return [f"{name}_{i}" for i in range(count)]


def _opened(graph, run, task):
    """(Graph, content of best.pt, model, Config). ValueError where they do not fit each other, or the task."""
    graph = graph if isinstance(graph, ramet.Graph) else ramet.open(graph)
    found, _ = _read(run)
    model, config = load_model(run)
    if config.task != task:
        raise ValueError(f"{run} is a run with task={config.task!r}, expected {task!r}")
    width = find_features(graph)
    if width != found["num_features"]:
        trained = found["num_features"]
        raise ValueError(f"table 'feat' has {width} columns, but the model of {run} was trained on {trained}")
    return graph, found, model, config


def _threads(config, threads):
    return config.inference_threads if threads is None else as_int(threads, "threads", 1, MAX_THREADS)


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
