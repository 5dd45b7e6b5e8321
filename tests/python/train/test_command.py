"""`ramet train` and the example: what they write and print, and the line that wrong input gets."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import error_of
from train_commands import BATCH, assert_learned, ramet_train

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import ramet  # noqa: E402
from ramet.commands.main import main  # noqa: E402
from ramet.nn import layerwise  # noqa: E402
from ramet.train import Config  # noqa: E402
from ramet.train.model import build_model  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "node_classification.py"


# ---- ramet train


@pytest.mark.slow
def test_command_fills_a_run_folder(store, tmp_path):
    EventAccumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator").EventAccumulator
    out = tmp_path / "runs" / "first"
    options = ("--processes", 2, "--epochs", 4, "--hidden", 32, "--seed", 3, "--num-neighbors", "5,5", "--tensorboard")
    done = subprocess.run(ramet_train(store, out, *options), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"run folder {out}" in done.stdout
    files = sorted(path.name for path in out.iterdir())
    assert [name for name in files if "tfevents" not in name] == ["best.pt", "curves.png", "epochs.csv", "metrics.json"]

    metrics = json.loads((out / "metrics.json").read_text())
    with (out / "epochs.csv").open() as file:
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
    assert rows == metrics["epochs"]
    events = EventAccumulator(str(out)).Reload()
    assert [event.value for event in events.Scalars("val_accuracy")] == [
        pytest.approx(epoch["val_accuracy"]) for epoch in metrics["epochs"]
    ]
    assert metrics["options"]["store"] == str(store) and metrics["options"]["seed"] == 3
    assert len(metrics["losses"]) == 4 * 7 == 4 * metrics["steps_per_epoch"]
    assert_learned(metrics)
    assert f"test accuracy {metrics['test_accuracy']:.4f} (all neighbors, layer by layer)\n" in done.stdout
    assert len(metrics["attach_seconds"]) == 2
    peaks = metrics["peak_memory_bytes"]
    assert len(peaks) == 2 and all(2**26 < peak < 2**33 for peak in peaks)
    assert "batches per second, at most " in done.stdout and " in memory per process\n" in done.stdout
    assert not metrics["interrupted"]
    assert metrics["pipeline"]["batches"] == 28 and "-bound: " in done.stdout

    best = torch.load(out / "best.pt", weights_only=True)
    config = Config(**best["options"])
    model = build_model(config, best["num_features"], best["num_classes"])
    model.load_state_dict(best["model"])
    graph = ramet.open(store)
    predicted = layerwise(graph, model, nodes="test").argmax(dim=1).numpy()
    right = predicted == graph.table("label").gather(graph.split("test"))
    assert right.mean() == pytest.approx(metrics["test_accuracy"])


def without(store, path, **changes):
    """A copy of the store with other tables or splits; None leaves one out."""
    graph = ramet.open(store)
    nodes = {name: graph.table(name).numpy() for name in graph.tables("node")}
    splits = {name: graph.split(name) for name in graph.splits}
    for name, value in changes.items():
        where = splits if name in splits else nodes
        where[name] = value
    nodes = {name: value for name, value in nodes.items() if value is not None}
    splits = {name: value for name, value in splits.items() if value is not None}
    ramet.save(ramet.from_arrays(graph.indptr(), graph.indices(), nodes=nodes, splits=splits), path)
    return path


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"val": None}, ["split 'val'", "test, train", "ramet build", "--train-per-class"]),
        ({"train": np.empty(0, np.int64)}, ["split 'train' is empty"]),
        ({"feat": None}, ["table 'feat'", "label"]),
        ({"label": None}, ["table 'label'", "feat"]),
        ({"label": np.full(1500, -1)}, ["label -1"]),
        ({"label": np.zeros((1500, 2))}, ["table 'label'", "[1500, 2] of float64"]),
        ({"feat": np.zeros(1500, np.float32)}, ["table 'feat'", "[1500] of float32"]),
    ],
)
def test_a_store_without_a_task_is_one_line(store, tmp_path, capfd, changes, words):
    path = without(store, tmp_path / "graph", **changes)
    error = error_of(capfd, "train", path, "--out", tmp_path / "run")
    assert all(word in error for word in words)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "option, words",
    [
        (("--batch-size", "0"), "--batch-size is 0; it must be at least 1"),
        (("--num-neighbors", "-1,-2"), "--num-neighbors is -2; it must be at least -1"),
        (("--num-neighbors", "5,x"), "argument --num-neighbors: '5,x' is not a list of numbers like 15,10"),
        (("--dropout", "1"), "--dropout is 1.0; it must lie in [0, 1)"),
        (("--lr", "nan"), "--lr is nan; it must be at least 0"),
        (("--weight-decay", "inf"), "--weight-decay is inf; it must be finite"),
        (("--input-dropout", "1.5"), "--input-dropout is 1.5; it must lie in [0, 1)"),
        (("--processes", "0"), "--processes is 0; it must be at least 1"),
        (("--dependent", "0"), "dependent is 0, expected at least 1"),
        (
            ("--importance-iterations", "1"),
            "--importance-iterations is given with --sampler uniform; only labor has it",
        ),
        (("--sampler", "labor", "--importance-iterations", "1001"), "iterations is 1001, expected at most 1000"),
        (("--weights", "horvitz-thompson"), "--weights is given with --sampler uniform; only labor has it"),
        (("--model", "gat", "--hidden", "10"), "--hidden is 10; gat needs a multiple of its 4 heads"),
        (("--cache-rows", "-1"), "--cache-rows is -1; it must be at least 0"),
        (("--look-ahead", "70000"), "--look-ahead is 70000; it must be at most 65536"),
        (("--cache-rows", "5", "--placement", "in_place"), "--cache-rows is 5, with placement 'in_place'"),
        (("--layer-dependent",), "--layer-dependent is given with --sampler uniform; only labor has it"),
    ],
)
def test_bad_options_name_value_and_bound(store, capfd, option, words):
    assert error_of(capfd, "train", store, *option).startswith(f"ramet: error: {words}")


def test_a_run_folder_must_be_new(store, tmp_path, capfd):
    """No store is destroyed, and no result of another run lost."""
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "best.pt").write_text("precious")
    (tmp_path / "run" / "notes").write_text("")
    for out, words in {
        store: f"{store} is in the store {store}",
        store / "runs" / "new": f"is in the store {store}",
        tmp_path / "run": "run is not empty (it has best.pt, notes)",
    }.items():
        assert words in error_of(capfd, "train", store, "--out", out)
    assert (tmp_path / "run" / "best.pt").read_text() == "precious"
    assert main(["verify", str(store), "--quiet"]) == 0


@pytest.mark.slow
def test_without_matplotlib_there_is_no_plot(store, tmp_path, capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.figure", raising=False)
    out = tmp_path / "run"
    options = ["--epochs", "1", "--hidden", "8", "--batch-size", str(BATCH), "--quiet"]
    assert main(["train", str(store), "--out", str(out), *options]) == 0
    printed = capfd.readouterr().out
    assert "test accuracy" in printed and "no plot (curves.png): matplotlib is not installed\n" in printed
    assert sorted(path.name for path in out.iterdir()) == ["best.pt", "epochs.csv", "metrics.json"]


# ---- the example


@pytest.mark.parametrize("spawns", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_example(run_script, store, tmp_path, spawns):
    """On two ranks as torchrun starts them, and on two that it starts by itself."""
    model, ranks = tmp_path / "best.pt", {} if spawns else {"ranks": 2}
    options = ["--epochs", 3, "--batch-size", BATCH, "--num-neighbors", 5, 5, "--save", model]
    printed = run_script(EXAMPLE, store, *options, *(["--processes", 2] if spawns else []), **ranks)
    last = printed.strip().splitlines()[-1]
    assert float(last.split()[2].rstrip(",")) > 0.5
    assert "convs.0.lin_l.weight" in torch.load(model, weights_only=True)
