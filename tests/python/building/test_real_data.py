"""Real data sets by `ramet build`, with their published counts."""

from __future__ import annotations

import pytest

import ramet
from ramet.commands.main import main

COUNTS = {  # nodes, edges, of all types; splits
    "aifb": (8_285, 29_043, {"train", "test"}),
    "cnr2000": (325_557, 3_216_152, set()),
    "heco_dblp": (26_128, 119_783, {"train", "val", "test"}),
    "ogbl_ddi": (4_267, 2 * 1_067_911, set()),
    "tolokers": (11_758, 1_038_000, {f"{name}_{i}" for name in ("train", "val", "test") for i in range(10)}),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(data_dir, tmp_path, name):
    assert main(["build", str(tmp_path / "store"), str(data_dir / name), "--quiet"]) == 0
    graph = ramet.open(tmp_path / "store")
    nodes = sum(graph.num_nodes(node_type) for node_type in graph.node_types)
    edges = sum(graph.num_edges(edge_type) for edge_type in graph.edge_types)
    assert (nodes, edges, set(graph.splits)) == COUNTS[name]
