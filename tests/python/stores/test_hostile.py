"""Damaged stores, hundreds of them: each gives an error or a result, never a signal or gigabytes."""

from pathlib import Path

import damaged_stores
import numpy as np
import pytest
from hostile_programs import counts_of
from kept_ids import contents_with_ids
from small_graphs import CITES, heterogeneous, homogeneous
from timed_graphs import timed_pair

import ramet

PARTS = 4
STORES_OF_A_PART = 65  # five of every kind of damage


@pytest.fixture(scope="module")
def stores(tmp_path_factory) -> Path:
    """One store of one type, one of several, one with ids, two with times, and some of small dtypes."""
    folder = tmp_path_factory.mktemp("stores")
    ramet.save(homogeneous(), folder / "homogeneous")
    graph = heterogeneous()
    indptr, indices = ({t: get(t) for t in graph.edge_types} for get in (graph.indptr, graph.indices))
    nodes = {t: {n: graph.table(n, t).numpy() for n in graph.tables(t)} for t in graph.node_types}
    weight = np.random.default_rng(0).random((graph.num_edges(CITES), 2))
    splits = {"train": {"paper": graph.split("train", "paper")}}
    typed = ramet.from_arrays(indptr, indices, nodes=nodes, edges={CITES: {"weight": weight}}, splits=splits)
    ramet.save(typed, folder / "typed")
    for of in ("edges", "nodes"):
        ramet.save(timed_pair(of, sort=True)[0], folder / f"sorted by times of {of}")
    contents_with_ids().save(folder / "ids")
    ramet.save(homogeneous(), folder / "bfloat16", dtype="bfloat16")
    for scale in ("row", "column"):
        ramet.save(graph, folder / f"int8 by {scale}", dtype="int8", scale=scale)
    return folder


@pytest.mark.parametrize("part", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, PARTS))])
def test_damaged_stores_never_crash(stores, tmp_path, part):
    first = part * STORES_OF_A_PART
    counts = counts_of(damaged_stores.__file__, stores, tmp_path, first, first + STORES_OF_A_PART)
    assert counts["refused"] + counts["opened"] == 2 * STORES_OF_A_PART
    for outcome in ("refused", "opened", "results", "errors"):
        assert counts[outcome] > 10  # the damage is of all degrees
