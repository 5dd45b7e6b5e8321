"""What `ramet train` reports is computed by the estimator that it trains; and `ramet predict`, which does the same."""

import csv
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")

import command_line  # noqa: E402
from command_line import error_of  # noqa: E402
from kept_ids import give_ids, text  # noqa: E402
from small_graphs import WIDTH, homogeneous  # noqa: E402

import ramet  # noqa: E402
from ramet.commands.main import main  # noqa: E402
from ramet.nn import layerwise  # noqa: E402
from ramet.train import Config, fit  # noqa: E402
from ramet.train.evaluate import in_words, inference, outputs, rows_exceed_memory  # noqa: E402
from ramet.train.model import build_model  # noqa: E402
from ramet.train.predict import load_model, predict  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
NODES = torch.arange(900, 960)  # 8 in-edges each, about; 10 nodes at the end have none
SAMPLES = 200


def config_of(model, **options):
    return Config("", **({"model": model, "hidden": 8, "num_neighbors": (3,), "dtype": "float64"} | options))


def mean_and_error(samples):
    """The mean over samples, and its standard error."""
    samples = torch.stack(samples)
    return samples.mean(0), samples.std(0) / len(samples) ** 0.5


def trained_and_evaluated(name):
    """How far the expectation over training's samples of a layer's output is from that of its evaluation, in standard
    errors, for every node and column."""
    graph = homogeneous(feature_type=np.float64)
    config = config_of(name)
    model = build_model(config, WIDTH, 5).eval()
    with torch.no_grad():
        blocks = [ramet.sample(graph, NODES, [3], epoch=epoch) for epoch in range(SAMPLES)]
        feat = graph.table("feat")
        training = mean_and_error([model(feat.gather(batch.n_id), batch.blocks) for batch in blocks])
        sampled = inference(config)["method"] == "sampled"
        seeds = range(SAMPLES if sampled else 2)
        evaluation = mean_and_error([outputs(graph, model, replace(config, seed=s), NODES) for s in seeds])
    error = (training[1] ** 2 + evaluation[1] ** 2).sqrt()
    return ((training[0] - evaluation[0]).abs() / error.clamp(min=1e-9)).flatten()


@pytest.mark.parametrize("name", ["sage", "gin"])
def test_expectation_over_samples_is_what_is_evaluated(name):
    apart = trained_and_evaluated(name)
    assert len(apart) == 5 * len(NODES) and apart.max() < 5
    assert 0.5 < (apart**2).mean() < 2  # it varies as far as it must, so the test can see a difference


def test_a_softmax_over_samples_is_another_than_over_all():
    """The difference that docs/training.md names for gat."""
    assert trained_and_evaluated("gat").max() > 5


def test_how_each_model_is_evaluated():
    for name in ("sage", "gat"):
        assert inference(config_of(name)) == {"method": "layerwise", "num_neighbors": [-1]}
    sampled = inference(config_of("gin", num_neighbors=(5, -1)))
    assert sampled == {"method": "sampled", "num_neighbors": [5, -1]}
    assert in_words(sampled) == "sampled neighbors 5,-1, as in training"
    assert inference(config_of("gin", num_neighbors=(-1, -1)))["method"] == "layerwise"
    assert not rows_exceed_memory(homogeneous(), config_of("sage"))
    assert rows_exceed_memory(homogeneous(), config_of("sage", hidden=1 << 40))


@pytest.mark.parametrize("sampler", ["uniform", "labor"])
def test_scores_from_samples_do_not_depend_on_the_batch(sampler):
    """Nor on threads, order, or what else is asked for; and they are not those of all neighbors."""
    graph = homogeneous()
    config = config_of("gin", num_neighbors=(3, 2), sampler=sampler)
    model = build_model(config, WIDTH, 5)
    ids = torch.randperm(1000)[:300]
    scores = outputs(graph, model, config, ids)
    assert model.training and not scores.requires_grad
    some = outputs(graph, model, replace(config, batch_size=7), ids[100:150].flip(0), threads=3)
    torch.testing.assert_close(some.flip(0), scores[100:150], rtol=1e-12, atol=1e-12)
    assert outputs(graph, model, config, ids[:0]).shape == (0, 5)
    assert (scores - layerwise(graph, model, nodes=ids)).abs().max() > 0.1
    assert (scores - outputs(graph, model, replace(config, seed=1), ids)).abs().max() > 0.1


# ---- ramet predict


def tasked(**changes):
    """Nodes whose class their features tell, and their neighbors', which have the same one."""
    rng = np.random.default_rng(3)
    label = rng.integers(0, 4, 400)
    feat = np.eye(8, dtype=np.float32)[label] + rng.normal(0, 0.3, (400, 8)).astype(np.float32)
    order = rng.permutation(400)
    options = {
        "nodes": {"feat": feat, "label": label},
        "splits": {"train": order[:100], "val": order[100:200], "test": order[200:]},
    }
    src = rng.integers(0, 400, 3000)
    dst = [rng.choice(np.flatnonzero(label == label[node])) for node in src]
    return ramet.from_edge_index(np.stack([src, dst]), 400, **(options | changes))


@pytest.fixture(scope="module", params=["sage", "gin"])
def trained(request, tmp_path_factory):
    """A store, a run folder, and the run's metrics."""
    folder = tmp_path_factory.mktemp(request.param)
    ramet.save(tasked(), folder / "store")
    (folder / "run").mkdir()
    config = Config(str(folder / "store"), model=request.param, num_neighbors=(5, 3), epochs=8, batch_size=30, lr=0.01)
    metrics = fit(ramet.open(folder / "store"), replace(config, hidden=16, dropout=0), folder=folder / "run")
    return folder / "store", folder / "run", metrics


def test_predictions_are_those_that_were_reported(trained, tmp_path, capsys):
    store, run, metrics = trained
    out, probabilities = tmp_path / "new" / "classes.npy", tmp_path / "p"
    argv = ("predict", store, run, "--nodes", "test", "--out", out, "--probabilities", probabilities)
    status, printed, err = command_line.run(capsys, *argv)
    assert (status, err) == (0, "")
    accuracy = metrics["test_accuracy"]
    assert accuracy > 0.5
    assert json.loads((run / "metrics.json").read_text())["inference"] == metrics["inference"]
    assert f"test accuracy {accuracy:.4f} of 200 nodes\n" in printed
    assert in_words(metrics["inference"]) in printed and f"epoch {metrics['best_epoch']}" in printed
    graph = ramet.open(store)
    classes, shares = np.load(out), np.load(probabilities)
    assert classes.dtype == np.int64 and shares.shape == (200, 4)
    assert np.mean(classes == graph.table("label").gather(graph.split("test"))) == pytest.approx(accuracy)
    assert np.array_equal(shares.argmax(1), classes) and np.allclose(shares.sum(1), 1, atol=1e-5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "p"]

    everywhere = predict(graph, run)
    assert np.array_equal(everywhere.nodes, np.arange(400))
    assert np.array_equal(everywhere.classes[graph.split("test")], classes)
    assert everywhere.accuracy["test"] == (pytest.approx(accuracy), 200)
    assert set(everywhere.accuracy) == {"train", "val", "test"}


def test_csv_files_have_the_ids_of_the_store(trained, tmp_path, capsys):
    store, run, _ = trained
    shutil.copytree(store, tmp_path / "store")
    give_ids(tmp_path / "store", "text", text(*(f'"{i}", ä' for i in range(400))))
    files = {option: tmp_path / f"{option[2:]}.csv" for option in ("--out", "--probabilities")}
    argv = [word for pair in files.items() for word in pair]
    assert command_line.run(capsys, "predict", tmp_path / "store", run, "--nodes", "val", *argv)[0] == 0
    found = predict(store, run, "val")
    with files["--out"].open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["id", "class"]
    assert rows == [[f'"{node}", ä', str(c)] for node, c in zip(found.nodes, found.classes, strict=True)]
    with files["--probabilities"].open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["id", *(f"probability_{i}" for i in range(4))]
    assert np.array_equal(np.array([row[1:] for row in rows], np.float32), found.probabilities)


def test_a_run_folder_is_all_that_a_model_needs(trained, tmp_path):
    store, run, _ = trained
    (tmp_path / "best.pt").write_bytes((run / "best.pt").read_bytes())
    model, config = load_model(tmp_path)
    assert not model.training and config.num_neighbors == (5, 3)
    graph = ramet.open(store)
    assert np.array_equal(predict(store, tmp_path).classes, predict(graph, run).classes)


def test_a_store_without_labels_or_splits(trained, tmp_path, capsys):
    _, run, _ = trained
    graph = tasked()
    ramet.save(tasked(nodes={"feat": graph.table("feat").numpy()}, splits={}), tmp_path / "bare")
    assert "no labels to compare with" in command_line.run(capsys, "predict", tmp_path / "bare", run)[1]
    label = graph.table("label").numpy().copy()
    label[:100] = -1
    nodes = {"feat": graph.table("feat").numpy(), "label": label[:, None]}
    ramet.save(tasked(nodes=nodes, splits={"valid": np.arange(50, 150)}), tmp_path / "some")
    assert "val accuracy" in command_line.run(capsys, "predict", tmp_path / "some", run)[1]
    assert " of 50 nodes\n" in command_line.run(capsys, "predict", tmp_path / "some", run, "--nodes", "valid")[1]
    ramet.save(tasked(nodes=nodes, splits={}), tmp_path / "some")
    assert "\naccuracy " in command_line.run(capsys, "predict", tmp_path / "some", run)[1]


def test_what_does_not_fit_is_one_line(trained, tmp_path, capsys):
    store, run, _ = trained
    feat, label = (tasked().table(name).numpy() for name in ("feat", "label"))
    ramet.save(tasked(nodes={"feat": feat[:, :5], "label": label}), tmp_path / "narrow")
    ramet.save(tasked(nodes={"feat": feat, "label": label + 3}), tmp_path / "classes")
    (tmp_path / "empty").mkdir()
    for name, content in (("damaged", b"no model"), ("other", None)):
        (tmp_path / name).mkdir()
        if content:
            (tmp_path / name / "best.pt").write_bytes(content)
    torch.save({"model": {}}, tmp_path / "other" / "best.pt")
    (tmp_path / "there.npy").touch()
    for words, argv in {
        "table 'feat' has 5 columns, but the model of": (tmp_path / "narrow", run),
        "the labels go up to 6, but the model of": (tmp_path / "classes", run),
        "empty has no best.pt": (store, tmp_path / "empty"),
        "nowhere has no best.pt": (store, tmp_path / "nowhere"),
        "best.pt cannot be read": (store, tmp_path / "damaged"),
        "best.pt is no model of `ramet train`": (store, tmp_path / "other"),
        "no split 'missing'": (store, run, "--nodes", "missing"),
        "nowhere": (tmp_path / "nowhere", run),
        "is in the store": (store, run, "--out", store / "node" / "new.npy"),
        "there.npy exists already": (store, run, "--out", tmp_path / "there.npy"),
        "--threads is 0": (store, run, "--threads", 0),
    }.items():
        assert words in error_of(capsys, "predict", *argv)
    assert main(["verify", str(store), "--quiet"]) == 0


def test_a_model_of_other_options_is_one_line(trained, tmp_path, capsys):
    _, run, _ = trained
    found = torch.load(run / "best.pt", weights_only=True)
    for changes in ({"options": found["options"] | {"hidden": 17}}, {"options": found["options"] | {"new": 1}}):
        torch.save(found | changes, tmp_path / "best.pt")
        assert "does not fit this version of ramet" in error_of(capsys, "predict", trained[0], tmp_path)
