"""ramet.build() and its readers: real files where they are there, and small ones written here."""

import itertools

import numpy as np
import pytest
import twin
from source_files import parts_of, write_npz, write_planetoid

import ramet
from ramet.commands.main import main
from ramet.stores.readers import pickles, planetoid
from ramet.stores.readers.source import Csr, dense_features

sparse = pytest.importorskip("scipy.sparse")


def edge_set(graph):
    counts = np.diff(graph.indptr())
    return sorted(zip(graph.indices().tolist(), np.repeat(np.arange(len(counts)), counts).tolist()))


# ---- the real ones


@pytest.mark.parametrize(
    ("name", "shape", "num_edges", "classes"),
    [
        ("amazon_computers", (13752, 767), 491722, 10),
        pytest.param("coauthor_physics", (34493, 8415), 495924, 5, marks=pytest.mark.slow),
    ],
)
def test_npz_datasets(data_dir, tmp_path, name, shape, num_edges, classes):
    graph = ramet.build(
        tmp_path / name,
        data_dir / name,
        undirected=True,
        dtype="float16",
        train_per_class=20,
        val_per_class=30,
        normalize=True,
    )
    assert graph.num_edges() == num_edges
    assert graph.table("feat").shape == shape
    assert graph.table("feat").dtype == np.float16
    sums = graph.table("feat").numpy()[:100].sum(axis=1, dtype=np.float64)
    assert np.all((np.abs(sums - 1) < 1e-2) | (sums == 0))
    labels = graph.table("label").numpy()
    assert np.bincount(labels[graph.split("train")]).tolist() == [20] * classes
    assert np.bincount(labels[graph.split("val")]).tolist() == [30] * classes
    together = np.concatenate([graph.split(name) for name in graph.splits])
    assert np.array_equal(np.sort(together), np.arange(shape[0]))


# ---- small ones


@pytest.mark.parametrize("x_type", [sparse.csr_matrix, lambda a: sparse.csc_matrix(a).tocsr()])
def test_planetoid(tmp_path, x_type):
    source = write_planetoid(tmp_path / "files", x_type=x_type)
    graph = ramet.build(tmp_path / "store", source)
    assert graph.num_nodes() == 7
    assert edge_set(graph) == [(0, 1), (0, 2), (0, 4), (1, 0), (2, 0), (3, 3), (3, 6), (4, 0), (6, 3)]
    feat = graph.table("feat").numpy()
    assert feat[:4].ravel().tolist() == list(range(12))
    assert feat[4:].tolist() == [[103, 104, 105], [0, 0, 0], [100, 101, 102]]
    assert graph.table("label").numpy().tolist() == [0, 1, 1, 0, 0, -1, 1]
    assert {name: graph.split(name).tolist() for name in graph.splits} == {
        "test": [4, 6],
        "train": [0, 1],
        "val": [2, 3],
    }
    directed = ramet.build(tmp_path / "store", source / "ind.tiny", undirected=False)
    assert edge_set(directed) == [(0, 1), (0, 2), (0, 2), (1, 0), (3, 3), (3, 6), (4, 0)]


@pytest.mark.parametrize("as_objects", [False, True])
def test_npz(tmp_path, as_objects):
    file = write_npz(tmp_path / "tiny.npz", as_objects)
    graph = ramet.build(tmp_path / "store", file)
    assert edge_set(graph) == [(0, 1), (1, 0), (2, 1)]
    assert graph.table("feat").numpy().tolist() == [[1, 3], [0, 0], [5, 0]]
    assert graph.table("label").numpy().tolist() == [1, 0, 1]
    assert list(graph.splits) == []
    folder = ramet.build(tmp_path / "store", tmp_path, undirected=True, normalize=True)
    assert edge_set(folder) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert folder.table("feat").numpy().tolist() == [[0.25, 0.75], [0, 0], [1, 0]]


def test_npz_with_weights_and_nothing_else(tmp_path):
    parts = ("attr_data", "attr_indices", "attr_indptr", "attr_shape", "labels")
    file = write_npz(tmp_path / "tiny.npz", adj_data=np.array([2.0, 3.0, 4.0]), **dict.fromkeys(parts))
    graph = ramet.build(tmp_path / "store", file, undirected=True)
    assert edge_set(graph) == [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert graph.table("weight", graph.edge_types[0]).numpy().tolist() == [3, 2, 4, 4]
    assert graph.tables("node") == []
    with pytest.raises(ValueError, match="no features"):
        ramet.build(tmp_path / "store", file, normalize=True)
    with pytest.raises(ValueError, match="need labels"):
        ramet.build(tmp_path / "store", file, train_per_class=1)


def split_reference(seed, labels, per_class):
    """The first nodes of each class in the order of absorb(absorb(5, seed), node), docs/semantics.md."""
    key = twin.absorb(5, seed)
    order = sorted(range(len(labels)), key=lambda node: twin.absorb(key, node))
    chosen = [[node for node in order if labels[node] == c][:per_class] for c in range(max(labels) + 1)]
    return sorted(itertools.chain.from_iterable(chosen))


def test_split_depends_on_the_seed_alone(tmp_path):
    labels = np.repeat([0, 1, 2], 20)
    labels[-3:] = -1
    np.savez(tmp_path / "tiny.npz", labels=labels, **parts_of("adj", sparse.csr_matrix((60, 60))))

    def splits(seed):
        graph = ramet.build(tmp_path / "store", tmp_path / "tiny.npz", train_per_class=4, val_per_class=3, seed=seed)
        return {name: graph.split(name).tolist() for name in graph.splits}

    first = splits(7)
    assert first == splits(7)
    assert first != splits(8)
    assert [len(first[name]) for name in ("train", "val", "test")] == [12, 9, 36]
    assert sorted(itertools.chain.from_iterable(first.values())) == list(range(57))
    assert first["train"] == split_reference(7, labels, 4)
    with pytest.raises(ValueError, match="21 nodes of each class, but class 2 has 17"):
        ramet.build(tmp_path / "store", tmp_path / "tiny.npz", train_per_class=20, val_per_class=1)


def test_sparse_features_become_dense_in_pieces(monkeypatch):
    monkeypatch.setattr("ramet.stores.readers.source.CHUNK_VALUES", 10)
    rng = np.random.default_rng(1)
    matrix = sparse.csr_array(rng.random((23, 4)) * (rng.random((23, 4)) < 0.4))
    csr = Csr.from_parts(matrix.data, matrix.indices, matrix.indptr, matrix.shape, "matrix")
    np.testing.assert_array_equal(dense_features(csr, False, ""), matrix.toarray().astype("f4"))
    twice = Csr.from_parts([1.0, 2.0], [1, 1], [0, 2], (1, 3), "matrix")
    assert dense_features(twice, False, "").tolist() == [[0, 3, 0]]


def test_features_that_do_not_fit(tmp_path, monkeypatch):
    """Each by itself: an infinity stays one, and hides no finite value that would become one."""
    monkeypatch.setattr("ramet.stores.readers.source.CHUNK_VALUES", 3)
    features = np.array([[0.0, 1.0], [np.nan, 2.0], [np.inf, 7e4]])
    np.testing.assert_array_equal(dense_features(features, False, ""), features)
    with pytest.raises(ValueError, match=r"x: feature\[2, 1\] is 1e\+39, beyond the 3.40282e\+38 of float32"):
        dense_features(np.where(features == 7e4, 1e39, features), False, "x")
    file = write_npz(tmp_path / "tiny.npz", attr_data=features[2, [0, 1, 1]])
    with pytest.raises(ValueError, match=r"feat\[0, 1\] is 70000.0, beyond the 65504 of float16"):
        ramet.build(tmp_path / "store", file, dtype="float16")
    assert not (tmp_path / "store").exists()


def test_the_line_says_what_a_user_of_pyg_would_miss(tmp_path, capsys):
    file = write_npz(tmp_path / "tiny.npz")
    assert main(["build", str(tmp_path / "store"), str(file)]) == 0
    line = capsys.readouterr().out
    assert "self loop" not in line
    assert "3 edges, 1 of them without a reverse (--undirected adds reverses, as PyG's datasets do)" in line
    assert line.endswith("no splits (--train-per-class and --val-per-class make them)\n")
    assert main(["build", str(tmp_path / "store"), str(write_planetoid(tmp_path / "files"))]) == 0
    line = capsys.readouterr().out
    assert "1 of them self loops, which are kept (PyG's datasets drop them)" in line
    assert "reverse" not in line and "splits" not in line


def test_readers_need_no_scipy():
    assert "scipy" not in vars(planetoid) and "scipy" not in vars(pickles)
