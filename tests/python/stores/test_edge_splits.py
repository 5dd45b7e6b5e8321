"""Splits of edge types: of ids or masks, in every form of a graph."""

import pickle
import re
from functools import partial

import numpy as np
import pytest

import ramet
from ramet.commands.main import main

EDGE = ("node", "to", "node")
BUYS, LIKES = ("user", "buys", "item"), ("user", "likes", "item")
SRC, DST = [3, 1, 0, 2], [1, 0, 0, 3]  # not in the order of the CSC


def splits_of(graph) -> dict:
    return {(name, t): graph.split(name, t).tolist() for name, types in graph.edge_splits.items() for t in types}


def test_ids_are_those_of_the_user():
    splits = {"train": [3, 0], "val": np.array([False, True, False, False]), "none": []}
    graph = ramet.from_edge_index([SRC, DST], edge_splits=splits, splits={"train": [2]})
    assert splits_of(graph) == {("train", EDGE): [3, 0], ("val", EDGE): [1], ("none", EDGE): []}
    assert graph.splits == {"train": ["node"]}
    assert graph.split("train").tolist() == [2]
    assert graph.split("val").tolist() == [1]
    assert sorted(graph.edge_subgraph("train").edge_ids().tolist()) == [0, 3]
    graph._core.validate()


def test_from_arrays():
    """A mask is in the order of ids, wherever those are."""
    arrays = {"indptr": [0, 1, 3], "indices": [1, 0, 1]}
    plain = ramet.from_arrays(**arrays, edge_splits={"train": [2, 0], "val": [False, True, False]})
    assert splits_of(plain) == {("train", EDGE): [2, 0], ("val", EDGE): [1]}
    named = ramet.from_arrays(
        **arrays, edge_ids=[70, 50, 60], edge_splits={"train": [60, 70], "val": [True, False, False]}
    )
    assert splits_of(named) == {("train", EDGE): [60, 70], ("val", EDGE): [50]}
    named._core.validate()


def test_from_scipy():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.coo_matrix((np.ones(4), (SRC, DST)), shape=(4, 4))
    assert splits_of(ramet.from_scipy(matrix, edge_splits={"train": [3]})) == {("train", EDGE): [3]}


def a(split) -> dict:
    return {"edge_splits": {"a": split}}


def hetero(edge_splits=None):
    usual = {"train": {BUYS: [1], LIKES: [0]}, "val": {LIKES: [1]}}
    return ramet.from_edge_index({BUYS: [SRC, DST], LIKES: [[0, 1], [2, 2]]}, edge_splits=edge_splits or usual)


def test_several_types():
    graph = hetero()
    assert splits_of(graph) == {("train", BUYS): [1], ("train", LIKES): [0], ("val", LIKES): [1]}
    assert graph.split("val").tolist() == [1]
    view = graph.edge_subgraph("val")
    assert (view.num_edges(LIKES), view.num_edges(BUYS)) == (1, 4)
    assert graph.edge_subgraph({BUYS: "train"}).num_edges(LIKES) == 2


def test_every_form_of_a_graph_has_them(tmp_path, capsys):
    graph = hetero()
    ramet.save(graph, tmp_path / "store")
    opened = ramet.open(tmp_path / "store")
    ramet.save(opened.edge_subgraph("val"), tmp_path / "view")
    ramet.partition(opened, 2, tmp_path / "parts", method="range")
    forms = [pickle.loads(pickle.dumps(graph)), opened, ramet.open(tmp_path / "view")]
    forms += [ramet.open(tmp_path / "parts" / f"part-{part}") for part in range(2)]
    for form in forms:
        assert splits_of(form) == splits_of(graph)
        form._core.validate()
    assert opened._core.fingerprint() == graph._core.fingerprint()
    other = hetero({"val": {LIKES: [1]}})
    assert other._core.fingerprint() != graph._core.fingerprint()
    main(["info", str(tmp_path / "store")])
    assert "split train: 1 of user-buys-item, 1 of user-likes-item" in capsys.readouterr().out
    main(["verify", str(tmp_path / "store")])


def test_masks_of_a_pyg_graph():
    torch, data = pytest.importorskip("torch"), pytest.importorskip("torch_geometric.data")
    one = data.Data(edge_index=torch.tensor([SRC, DST]), num_nodes=9)
    one.train_mask, one.w = torch.tensor([True, False, True, True]), torch.ones(4)
    graph = ramet.from_pyg(one)
    assert splits_of(graph) == {("train", EDGE): [0, 2, 3]}
    assert graph.tables(EDGE) == ["w"]
    many = data.HeteroData(user={"num_nodes": 4}, item={"num_nodes": 4})
    many[BUYS].edge_index = torch.tensor([SRC, DST])
    many[BUYS].val_mask = torch.tensor([0, 1, 0, 0])
    assert splits_of(ramet.from_pyg(many)) == {("val", BUYS): [1]}


@pytest.mark.parametrize("loops", [False, True])
def test_seeds_of_a_link_loader(loops):
    """Of an undirected graph each input edge once; a mask may be of those. The last edge is a repeat."""
    src, dst = ([0, 1, 2, 2], [0, 1, 2, 2]) if loops else ([3, 1, 0, 3], [1, 0, 2, 1])
    mask = np.array([False, True, True, True])
    graph = ramet.from_edge_index([src, dst], undirected=True, edge_splits={"train": [2, 0], "val": mask})
    for edges, ids in (("train", [2, 0]), ("val", [1, 2]), (mask, [1, 2]), ([1], [1])):
        (batch,) = ramet.LinkLoader(graph, [-1], edges, batch_size=9)
        assert batch.n_id[batch.edge_label_index].T.tolist() == [[src[e], dst[e]] for e in ids]
    many = ramet.from_edge_index({BUYS: [SRC, DST], LIKES: [[0], [2]]}, edge_splits={"val": {BUYS: [1]}})
    for edges in ("val", (BUYS, "val"), {BUYS: "val"}):
        (batch,) = ramet.LinkLoader(many, [-1], edges)
        assert batch.n_id["user"].tolist()[0] == SRC[1] and batch.n_id["item"].tolist()[0] == DST[1]
    with pytest.raises(KeyError, match="no split 'test'; there is 'val'"):
        ramet.LinkLoader(many, [-1], (BUYS, "test"))


def test_ends_of_edges(tmp_path):
    """Also of hidden ones, in a view of a view, and in a part."""
    graph = ramet.from_edge_index([SRC, DST], edge_splits={"train": [3, 0], "val": [2, 1]})
    hides = graph.edge_subgraph([0, 2, 3]).edge_subgraph("train")
    for form in (graph, hides, pickle.loads(pickle.dumps(hides))):
        ends = form.find_edges("val")
        assert ends.dtype == np.int64
        assert ends.tolist() == form.find_edges([2, 1]).tolist() == [[SRC[2], SRC[1]], [DST[2], DST[1]]]
    assert hides.find_edges([False, True]).tolist() == [[SRC[3]], [DST[3]]]
    assert graph.find_edges([]).shape == (2, 0)
    (batch,) = ramet.LinkLoader(hides, [-1], "val", batch_size=9, negatives="binary")
    assert batch.n_id[batch.edge_label_index][:, :2].tolist() == graph.find_edges("val").tolist()
    assert set(np.concatenate([block.e_id for block in batch.blocks]).tolist()) <= {0, 3}
    ramet.partition(graph, 2, tmp_path, method="range")
    for part in (ramet.open(tmp_path / f"part-{part}") for part in range(2)):
        ids = part.edge_ids().tolist()
        assert part.find_edges(ids).tolist() == [[SRC[e] for e in ids], [DST[e] for e in ids]]
    many = hetero()
    assert many.find_edges("val").tolist() == many.find_edges([1], LIKES).tolist() == [[1], [2]]
    for call in (
        lambda: graph.find_edges([4]),
        lambda: hides.find_edges([-1]),
        lambda: ramet.LinkLoader(hides, [1], [4]),
    ):
        with pytest.raises(IndexError, match=r"edges holds (4|-1), which is the id of no edge of"):
            call()
    with pytest.raises(KeyError, match="no split 'test'"):
        graph.find_edges("test")


def pairs_of(graph, ids) -> set:
    return set(zip(*graph.find_edges(list(ids)).tolist()))


@pytest.mark.parametrize("undirected", [True, False])
def test_built_by_share(undirected, tmp_path):
    """Parallel edges, and both directions of an undirected one, are in one split."""
    random = np.random.default_rng(0)
    src, dst = random.integers(0, 40, (2, 600))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(src, minlength=40))])
    adj = {"data": np.ones(600), "indices": dst[np.argsort(src)], "indptr": indptr, "shape": (40, 40)}
    np.savez(tmp_path / "tiny.npz", **{f"adj_{part}": array for part, array in adj.items()})

    def built(seed, *options):
        options = ["--quiet", "--undirected" if undirected else "--no-undirected", *options]
        assert main(["build", str(tmp_path / "store"), str(tmp_path / "tiny.npz"), "--seed", str(seed), *options]) == 0
        return ramet.open(tmp_path / "store")

    graph = built(3, "--val-edges", "0.2", "--test-edges", "0.1", "--out-edges")
    pairs = {name: pairs_of(graph, graph.split(name)) for name in graph.edge_splits}
    every = pairs_of(graph, graph.edge_ids())
    if undirected:
        assert max(graph.split(name).max() for name in pairs) < graph._core.num_input_edges(EDGE) == 600
        assert all(pair[::-1] == pair or pair[::-1] not in of_split for of_split in pairs.values() for pair in of_split)
        pairs = {name: of_split | {pair[::-1] for pair in of_split} for name, of_split in pairs.items()}
    assert set.union(*pairs.values()) == every
    assert sum(map(len, pairs.values())) == len(every)
    assert {name: round(len(of_split) / len(every), 2) for name, of_split in pairs.items()} == pytest.approx(
        {"train": 0.7, "val": 0.2, "test": 0.1}, abs=0.02
    )
    view = graph.edge_subgraph("train")
    assert pairs_of(view, view.edge_ids()) == pairs["train"]
    assert (graph._core.out_edges(EDGE) is None) == undirected
    again, other = built(3, "--val-edges", "0.2", "--test-edges", "0.1"), built(4, "--val-edges", "0.2")
    assert splits_of(again) == splits_of(graph)
    assert set(other.split("val").tolist()) != set(graph.split("val").tolist())
    assert len(other.split("test")) == 0
    with pytest.raises(ValueError, match=r"val_edges=0.6 and test_edges=0.5 are together more than all edges"):
        ramet.build(tmp_path / "other", tmp_path / "tiny.npz", val_edges=0.6, test_edges=0.5)
    with pytest.raises(ValueError, match=r"val_edges is -0.1, expected at least 0"):
        ramet.build(tmp_path / "other", tmp_path / "tiny.npz", val_edges=-0.1)
    assert not (tmp_path / "other").exists()


def test_bad_input():
    arrays = {"indptr": [0, 1, 3], "indices": [1, 0, 1], "edge_ids": [70, 50, 60]}
    graph, sells = hetero(), ("user", "sells", "item")
    kept, lists = partial(ramet.from_arrays, **arrays), partial(ramet.from_edge_index, [SRC, DST])
    for error, message, call in [
        (IndexError, "['a'][0] is 4, but edge type ('node', 'to', 'node') has 4 edges", lambda: lists(**a([4]))),
        (IndexError, "edge_splits['a'][1] is -1, but", lambda: lists(**a([1, -1]))),
        (ValueError, "edge_splits['a'] is a bool mask of shape [3], but", lambda: lists(**a(np.ones(3, bool)))),
        (ValueError, "has 4 entries, all 0 or 1", lambda: lists(**a([0, 1, 1, 1]))),
        (TypeError, "edge_splits['a'] has dtype float64; ids are integers", lambda: lists(**a([0.5]))),
        (IndexError, "edge_splits['a'][1] is 51, but edge type", lambda: kept(**a([50, 51]))),
        (ValueError, "bool mask of shape [2]", lambda: kept(**a([True, False]))),
        (IndexError, "'node') was made from 4 edges", lambda: lists(undirected=True, **a([4]))),
        (TypeError, "edge_splits is a list; it must be a dict by split name", lambda: lists(edge_splits=[1])),
        (ValueError, f"edge_splits['a'][{sells}]: no edge type", lambda: hetero(**a({sells: [0]}))),
        (ValueError, "split 'train' has several edge types", lambda: graph.split("train")),
        (KeyError, "no split 'val' of edge type 'user__buys__item'", lambda: graph.split("val", BUYS)),
        (KeyError, "no split 'test'; there is 'train', 'val'", lambda: graph.split("test", BUYS)),
        (KeyError, "no split of edges 'test'; there is 'train', 'val'", lambda: graph.edge_subgraph("test")),
        (KeyError, "no split 'train' of node type 'user'", lambda: ramet.sample(graph, ("user", "train"), [1])),
    ]:
        with pytest.raises(error, match=re.escape(message)):
            call()


def test_a_store_with_splits_of_no_edges(tmp_path):
    ramet.save(hetero(), tmp_path / "store", checksums=False)
    folder = tmp_path / "store" / "split" / "train"
    np.save(folder / "user__likes__item.npy", np.array([0, -2]))
    with pytest.raises(ramet.CorruptStoreError, match=r"user__likes__item\.npy, entry 1: -2 is outside"):
        ramet.open(tmp_path / "store")._core.validate()
    np.save(folder / "user__sells__item.npy", np.array([0]))
    with pytest.raises(ramet.CorruptStoreError, match="there is no edge type 'user__sells__item'"):
        ramet.open(tmp_path / "store")
