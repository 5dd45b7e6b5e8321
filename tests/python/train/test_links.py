"""`ramet train --task link`, and `ramet predict` for its runs."""

import json
import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import command_line  # noqa: E402
from command_line import error_of  # noqa: E402
from kept_ids import give_ids, text  # noqa: E402

import ramet  # noqa: E402
from ramet.nn import layerwise  # noqa: E402
from ramet.storage.node_ids import encoded_tuple  # noqa: E402
from ramet.train import Config, fit  # noqa: E402
from ramet.train.link_task import NEGATIVES, Candidates, LinkTask  # noqa: E402
from ramet.train.predict import load_model, predict, predict_links  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
WORLD = 2
NODES = 600
CHANCE = np.mean(1 / np.arange(1, NEGATIVES + 2))  # the expected 1 / rank


def linked(**changes):
    """Edges inside 12 communities, undirected; features tell nothing but nodes apart."""
    rng = np.random.default_rng(0)
    communities = np.arange(NODES).reshape(12, 50)
    edges = communities[rng.integers(0, 12, 4000), rng.integers(0, 50, (2, 4000))]
    edges = np.unique(np.sort(edges[:, edges[0] != edges[1]], axis=0), axis=1)
    part = rng.choice(3, edges.shape[1], p=[0.8, 0.1, 0.1])
    options = {
        "nodes": {"feat": rng.normal(size=(NODES, 16)).astype(np.float32)},
        "edge_splits": {name: part == i for i, name in enumerate(("train", "val", "test"))},
    }
    return ramet.from_edge_index(edges, NODES, undirected=True, **(options | changes))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("links") / "store"
    ramet.save(linked(), path)
    return path


def config_of(store, **options):
    defaults = {"task": "link", "hidden": 32, "num_neighbors": (5, 5), "batch_size": 250, "lr": 0.01, "dropout": 0.0}
    return Config(str(store), **(defaults | options))


@pytest.fixture(scope="module")
def trained(store, tmp_path_factory):
    """A run folder, and the run's metrics."""
    run = tmp_path_factory.mktemp("links") / "run"
    run.mkdir()
    return run, fit(ramet.open(store), config_of(store, epochs=8), folder=run)


def test_a_run_learns(trained):
    run, metrics = trained
    assert metrics["val_mrr"] > 3 * CHANCE and metrics["test_mrr"] > 3 * CHANCE
    assert metrics["val_mrr"] == max(epoch["val_mrr"] for epoch in metrics["epochs"])
    assert metrics["epochs"][-1]["val_loss"] < metrics["epochs"][0]["val_loss"]
    assert metrics["test_hits@10"] > 0.5  # chance is 0.2
    assert json.loads((run / "metrics.json").read_text())["test_mrr"] == metrics["test_mrr"]


def test_messages_follow_training_edges_alone():
    graph = linked()
    messages = LinkTask(graph).messages()
    assert messages.num_edges() == 2 * len(graph.split("train"))
    assert {tuple(pair) for pair in messages.find_edges("train").T} == {tuple(p) for p in graph.find_edges("train").T}


def test_negatives_are_no_edges_hidden_or_not_and_always_the_same():
    graph = linked()
    edges = graph.find_edges(np.arange(graph.num_edges()))
    one, other = (Candidates(graph, graph.split("val")) for _ in range(2))
    assert torch.equal(one._destinations, other._destinations)
    sources, destinations = one.nodes[one._positive[0]], one.nodes[one._destinations]
    keys = sources[:, None] * NODES + destinations
    assert keys.shape == (len(graph.split("val")), NEGATIVES) and not np.isin(keys, edges[0] * NODES + edges[1]).any()


def fit_of_rank(store):
    """This rank's losses and measures, and the file in memory that has its messages."""
    torch.set_num_threads(1)
    graph, config = ramet.open(store), config_of(store, epochs=2, batch_size=33, dtype="float64", threads=1)
    metrics = fit(graph, config)
    messages = LinkTask(graph).messages()
    measures = [metrics.get(f"test_{name}") for name in ("loss", "mrr", "hits@10")]
    return metrics["losses"], measures, os.fstat(messages._layers[1]._core.segment_fd).st_ino


def test_two_ranks_train_as_one(store, world):
    """And share one copy of the messages."""
    losses, measures, _ = fit_of_rank(str(store))
    first, second = world.call(fit_of_rank, str(store))
    assert first[0] == second[0] == pytest.approx(losses, rel=1e-10)
    assert first[1] == pytest.approx(measures, rel=1e-10) and second[1] == [None] * 3  # rank 0 evaluates
    assert first[2] == second[2]


@pytest.mark.parametrize("options", [{"model": "gat"}, {"model": "gin", "dtype": "float64"}, {"placement": "disk"}])
def test_other_options_learn(store, options):
    metrics = fit(ramet.open(store), config_of(store, epochs=8, **options))
    assert metrics["val_mrr"] > 2 * CHANCE


# ---- ramet predict


def test_scores_are_products_of_rows(store, trained, tmp_path, capsys):
    run, metrics = trained
    pairs = np.array([[0, 1, 599, 7], [1, 0, 300, 7]])
    np.save(tmp_path / "pairs.npy", pairs)
    shutil.copytree(store, tmp_path / "store")
    give_ids(tmp_path / "store", "tuple", text(*(encoded_tuple(("n", 999 - i)) for i in range(600))))
    files = {name: tmp_path / f"{name}.npy" for name in ("of_test", "of_pairs", "rows")}
    argv = ("predict", store, run, "--out", files["of_test"], "--rows", files["rows"])
    status, printed, err = command_line.run(capsys, *argv)
    assert (status, err) == (0, "")
    measures = ", ".join(f"{name} {metrics[f'test_{name}']:.4f}" for name in ("loss", "mrr", "hits@10"))
    assert f"epoch {metrics['best_epoch']} (all neighbors, layer by layer)\ntest {measures}\n" in printed
    argv = ("predict", store, run, "--pairs", tmp_path / "pairs.npy", "--out", files["of_pairs"])
    assert "4 pairs by sage" in command_line.run(capsys, *argv)[1]

    argv = ("predict", tmp_path / "store", run, "--pairs", tmp_path / "pairs.npy", "--out", tmp_path / "scores.csv")
    command_line.run(capsys, *argv)
    lines = (tmp_path / "scores.csv").read_text().splitlines()
    assert lines[0] == "source_0,source_1,destination_0,destination_1,score"
    assert lines[3].startswith("n,400,n,699,")
    assert np.float32(lines[3].split(",")[4]) == np.load(files["of_pairs"])[2]

    graph = ramet.open(store)
    rows = layerwise(graph.edge_subgraph("train"), load_model(run)[0]).numpy()
    np.testing.assert_allclose(np.load(files["rows"]), rows, rtol=1e-5, atol=1e-5)
    for name, (sources, destinations) in {"of_test": graph.find_edges("test"), "of_pairs": pairs}.items():
        expected = (rows[sources] * rows[destinations]).sum(1)
        np.testing.assert_allclose(np.load(files[name]), expected, rtol=1e-4, atol=1e-5)


def test_a_graph_without_splits_has_messages_along_all_edges(trained):
    run, _ = trained
    bare = linked(edge_splits=None)
    np.testing.assert_allclose(
        predict_links(bare, run, [[0], [1]]).rows, layerwise(bare, load_model(run)[0]), rtol=1e-5, atol=1e-5
    )


# ---- bad input


def test_what_does_not_fit_is_one_line(store, trained, tmp_path, capsys):
    run, _ = trained
    ramet.save(linked(edge_splits=None), tmp_path / "bare")
    ramet.save(linked(edge_splits={"train": [0], "valid": [1], "test": []}), tmp_path / "empty")
    np.save(tmp_path / "far.npy", [[0], [NODES]])
    train = ("train", "--task", "link", "--out", tmp_path / "new")
    for words, argv in {
        "no split of edges 'train' (it has: none); `ramet build` makes splits of edges": (*train, tmp_path / "bare"),
        "split 'test' of edges is empty": (*train, tmp_path / "empty"),
        "--best-by is 'accuracy'; it must be one of mrr, loss": (*train, store, "--best-by", "accuracy"),
        "--nodes is given, but": ("predict", store, run, "--nodes", "test"),
        "no split 'other'": ("predict", store, run, "--pairs", "other"),
        "pairs": ("predict", store, run, "--pairs", tmp_path / "far.npy"),
        "nowhere.npy": ("predict", store, run, "--pairs", "nowhere.npy"),
    }.items():
        assert words in error_of(capsys, *argv)
    assert not (tmp_path / "new").exists()
    with pytest.raises(ValueError, match="is a run with task='link', expected 'node'"):
        predict(store, run)
    with pytest.raises(ValueError, match="best_by is 'mrr'; it must be one of accuracy, loss"):
        replace(config_of(store), task="node")
