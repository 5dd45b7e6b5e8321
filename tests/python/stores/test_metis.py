"""ramet.partition by METIS and KaMinPar: balance, and limits."""

import sys

import numpy as np
import pytest
from small_graphs import heterogeneous, homogeneous

import ramet
from ramet.stores.kaminpar import PRESETS


def communities() -> ramet.Graph:
    """Four rings of communities, ids mixed; the first has most of the in-edges, the second all seeds."""
    random = np.random.default_rng(0)
    mixed = random.permutation(2000)
    count = 500
    src, dst = [], []
    for community in range(4):
        first = community * count
        edges = count * (30 if community == 0 else 5)
        src.append(first + random.integers(0, count, edges))
        dst.append(first + random.integers(0, count, edges))
    edges = mixed[np.stack([np.concatenate(src), np.concatenate(dst)])]
    return ramet.from_edge_index(edges, 2000, splits={"train": mixed[count : 2 * count]})


@pytest.mark.parametrize(("method", "package"), [("metis", "pymetis"), ("kaminpar", "kaminpar")])
def test_communities_are_found_and_what_is_told_to_be_is_balanced(tmp_path, method, package, monkeypatch):
    pytest.importorskip(package)
    graph = communities()
    by = {
        balance: ramet.partition(graph, 4, tmp_path / balance, method=method, balance=balance, only_owner=True)
        for balance in ("nodes", "edges", "seeds")
    }
    hashed = ramet.partition(graph, 4, tmp_path / "hash", method="hash", only_owner=True)
    assert by["nodes"]["cut"] < 0.1 * hashed["cut"]
    assert by["nodes"]["max_over_mean"]["nodes"] < 1.1
    assert by["edges"]["max_over_mean"]["in_edges"] < 1.3 < by["nodes"]["max_over_mean"]["in_edges"]
    assert by["seeds"]["max_over_mean"]["seeds"] < 2 < by["nodes"]["max_over_mean"]["seeds"]
    again = ramet.partition(graph, 4, tmp_path / "again", method=method, only_owner=True)
    assert again == by["nodes"]
    owners = [(tmp_path / out / "owner" / "node.npy").read_bytes() for out in ("nodes", "again")]
    assert owners[0] == owners[1]
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"pip install {package}, or"):
        ramet.partition(homogeneous(), 3, tmp_path / "out", method=method)


def test_metis_has_limits(tmp_path, monkeypatch):
    pytest.importorskip("pymetis")
    from ramet.stores import metis

    monkeypatch.setattr(metis, "LARGEST", 900)
    with pytest.raises(ValueError, match="METIS counts in 32 bits: the graph has 1000 nodes, and 900 are possible"):
        ramet.partition(homogeneous(), 3, tmp_path / "out")
    monkeypatch.setattr(metis, "LARGEST", 2000)
    with pytest.raises(ValueError, match="has 16000 edges in both directions"):
        ramet.partition(homogeneous(), 3, tmp_path / "out")
    with pytest.raises(ValueError, match="9000 of weight by balance='edges'"):
        ramet.partition(homogeneous(), 3, tmp_path / "out", balance="edges")
    with pytest.raises(ValueError, match="needs a split 'train'"):
        ramet.partition(ramet.from_arrays([0, 0], []), 3, tmp_path / "out", balance="seeds")


@pytest.mark.parametrize("graph", [homogeneous, heterogeneous])
def test_every_preset_of_kaminpar_partitions(tmp_path, graph):
    pytest.importorskip("kaminpar")
    cut = {
        preset: ramet.partition(graph(), 3, tmp_path / preset, method="kaminpar", preset=preset, only_owner=True)["cut"]
        for preset in PRESETS
    }
    hashed = ramet.partition(graph(), 3, tmp_path / "hash", method="hash", only_owner=True)
    assert max(cut.values()) < hashed["cut"]
