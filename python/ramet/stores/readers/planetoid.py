"""Planetoid's pickles: ind.NAME.{x, tx, allx, y, ty, ally, graph, test.index} (Cora, CiteSeer, PubMed).

allx and ally are features and one-hot labels of the nodes 0 .. len(allx) - 1; tx and ty those of
the nodes that test.index lists, in its order; graph is a dict of neighbor lists. The public split:
the rows of y to train, the 500 after them to validate, test.index to test. In CiteSeer the numbers
in test.index have gaps: nodes without features, labels or edges, which are kept here with zero
features and label -1.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import numpy as np

from ramet.stores.readers import pickles
from ramet.stores.readers.source import Source

FORM = "a folder of Planetoid pickles (ind.NAME.graph, ind.NAME.allx, ...)"
NUM_VAL = 500


def find(path: Path) -> str | None:
    """The common beginning of the files, DIR/ind.NAME; `path` is the folder or that beginning."""
    if path.name.startswith("ind.") and Path(f"{path}.graph").is_file():
        return str(path)
    found = sorted(path.glob("ind.*.graph")) if path.is_dir() else []
    if len(found) > 1:
        names = ", ".join(str(file.with_suffix("")) for file in found)
        raise ValueError(f"{path} holds several Planetoid graphs: give one of {names}")
    return str(found[0].with_suffix("")) if found else None


def read(prefix: str) -> Source:
    test_ids = _read_ids(f"{prefix}.test.index")
    all_x, test_x = (pickles.csr_of(_load(prefix, part), f"{prefix}.{part}") for part in ("allx", "tx"))
    train_y, all_y, test_y = (pickles.array_of(_load(prefix, part), f"{prefix}.{part}") for part in ("y", "ally", "ty"))
    num_known = all_x.shape[0]
    num_nodes = max(num_known, 1 + int(test_ids.max(initial=-1)))
    _check_shapes(prefix, all_x, test_x, all_y, test_y, train_y, test_ids)

    labels = np.full(num_nodes, -1, dtype=np.int64)
    labels[:num_known] = _classes(all_y)
    labels[test_ids] = _classes(test_y)
    src, dst = _read_graph(prefix, num_nodes)
    num_train = len(train_y)
    return Source(
        path=prefix,
        src=src,
        dst=dst,
        num_nodes=num_nodes,
        undirected=True,
        features=all_x.stacked_on(test_x.scatter_rows(test_ids - num_known, num_nodes - num_known)),
        labels=labels,
        splits={
            "train": np.arange(num_train),
            "val": np.arange(num_train, min(num_train + NUM_VAL, num_known)),
            "test": np.sort(test_ids),
        },
    )


def _load(prefix: str, part: str):
    with open(f"{prefix}.{part}", "rb") as file:
        return pickles.load(file, file.name)


def _read_ids(path: str) -> np.ndarray:
    with open(path, encoding="ascii", errors="replace") as file:
        words = file.read().split()
    try:
        return np.array([int(word) for word in words], dtype=np.int64)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{path}: not a list of node ids: {str(error)[: pickles.MAX_TEXT]}") from None


def _check_shapes(prefix, all_x, test_x, all_y, test_y, train_y, test_ids) -> None:
    for name, y in (("ally", all_y), ("ty", test_y), ("y", train_y)):
        if y.ndim != 2 or y.shape[1] != all_y.shape[-1]:
            raise ValueError(f"{prefix}.{name}: shape {list(y.shape)}, not one column per class as in ally")
    if test_x.shape[1] != all_x.shape[1]:
        raise ValueError(f"{prefix}.tx: {test_x.shape[1]} columns, but allx has {all_x.shape[1]}")
    known, tests = all_x.shape[0], len(test_ids)
    if len(all_y) != known or not len(train_y) <= known:
        raise ValueError(f"{prefix}: {known} rows in allx, {len(all_y)} in ally, {len(train_y)} in y")
    if not test_x.shape[0] == len(test_y) == tests:
        raise ValueError(
            f"{prefix}: {test_x.shape[0]} rows in tx and {len(test_y)} in ty for {tests} ids in test.index"
        )
    limit = known + 2 * tests + 1000  # so that one wrong digit does not make a graph of 10^12 nodes
    if tests and not known <= test_ids.min() <= test_ids.max() < limit:
        raise ValueError(f"{prefix}.test.index: ids {test_ids.min()} to {test_ids.max()}, not in [{known}, {limit})")
    if len(np.unique(test_ids)) != tests:
        raise ValueError(f"{prefix}.test.index: an id is there twice")


def _classes(one_hot: np.ndarray) -> np.ndarray:
    """The class of each row, -1 for a row without one."""
    if one_hot.shape[1] == 0:
        return np.full(len(one_hot), -1)
    return np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1)


def _read_graph(prefix: str, num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    what = f"{prefix}.graph"
    graph = _load(prefix, "graph")
    if not isinstance(graph, dict) or not all(isinstance(row, list) for row in graph.values()):
        raise ValueError(f"{what}: not a dict of neighbor lists")
    lengths = [len(row) for row in graph.values()]
    size = os.path.getsize(what)
    if sum(lengths) > size:  # one list may stand for many
        raise ValueError(f"{what}: {sum(lengths)} neighbors in a file of {size} bytes")
    neighbors = list(itertools.chain.from_iterable(graph.values()))
    wrong = next((node for node in itertools.chain(graph, neighbors) if type(node) is not int), None)
    if wrong is not None:
        raise ValueError(f"{what}: {pickles.short(wrong)} is no node id, which is a whole number")
    try:
        sources, neighbors = np.array(list(graph), dtype=np.int64), np.array(neighbors, dtype=np.int64)
    except OverflowError:
        raise ValueError(f"{what}: a number of a node is beyond int64") from None
    for ids in (sources, neighbors):
        if ids.size and not 0 <= ids.min() <= ids.max() < num_nodes:
            bad = ids.min() if ids.min() < 0 else ids.max()
            raise ValueError(f"{what}: node {bad} is outside [0, {num_nodes})")
    return np.repeat(sources, lengths), neighbors
