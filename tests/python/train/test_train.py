"""Training: the command, the example, exact inference, and the same run on 1, 2 and 4 processes."""

import contextlib
import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
import torch.nn.functional as F  # noqa: E402
from torch_geometric.nn import SAGEConv  # noqa: E402

import ramet  # noqa: E402
from ramet import cli  # noqa: E402
from ramet.nn import BlockEdges, layerwise  # noqa: E402
from ramet.old_torch import is_autocast_enabled  # noqa: E402
from ramet.train import Config, fit, launch, loop, run  # noqa: E402
from ramet.train.launch import TrainingError  # noqa: E402
from ramet.train.model import build_model  # noqa: E402
from ramet.train.predict import predict  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
EXAMPLE = ROOT / "examples" / "node_classification.py"
BATCH = 33  # not a multiple of 2 or 4; the last batch of an epoch of 199 seeds has one seed


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """A small learnable graph with 199 training nodes."""
    path = tmp_path_factory.mktemp("train") / "graph"
    size = "--nodes 1500 --edges 9000 --communities 4 --classes 4 --features 16 --signal 0.3"
    assert cli.main(["generate", str(path), *size.split(), "--quiet"]) == 0
    made = ramet.open(path)
    order = np.random.default_rng(0).permutation(1500)
    nodes = {"feat": made.table("feat").numpy(), "label": made.table("label").numpy()}
    splits = {"train": order[:199], "val": order[199:500], "test": order[500:]}
    ramet.save(ramet.from_arrays(made.indptr(), made.indices(), nodes=nodes, splits=splits), path)
    return path


def command(*arguments):
    """A Python command line, with which files of models and stores go to the test's folder."""
    return [sys.executable, *map(str, arguments)]


def ramet_train(store, out, *options):
    return command("-m", "ramet", "train", store, "--out", out, "--batch-size", BATCH, *options)


def assert_learned(metrics) -> None:
    """By whole epochs: the last batch of one has one seed, whose loss says little."""
    assert metrics["epochs"][-1]["loss"] < metrics["epochs"][0]["loss"]
    assert metrics["test_accuracy"] > 0.5  # chance is 0.25


# ---- ramet train


@pytest.mark.slow
def test_command_fills_a_run_folder(store, tmp_path):
    out = tmp_path / "runs" / "first"
    options = ("--processes", 2, "--epochs", 4, "--hidden", 32, "--seed", 3, "--num-neighbors", "5,5")
    done = subprocess.run(ramet_train(store, out, *options), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"run folder {out}" in done.stdout
    assert sorted(path.name for path in out.iterdir()) == ["best.pt", "curves.png", "metrics.json"]

    metrics = json.loads((out / "metrics.json").read_text())
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


@pytest.mark.parametrize("model", ["sage", "gat", "gin"])
def test_bfloat16_keeps_parameters_in_float32(store, tmp_path, monkeypatch, model):
    seen = []
    monkeypatch.setattr(
        "torch.nn.functional.cross_entropy",
        lambda out, *a, real=F.cross_entropy, **k: (
            seen.append((out.dtype, is_autocast_enabled("cpu"))),
            real(out, *a, **k),
        )[1],
    )
    config = Config(str(store), model=model, hidden=32, epochs=6, batch_size=BATCH, dtype="bfloat16", seed=1)
    is_slow = not ramet._core.multiplies_bfloat16()
    with pytest.warns(UserWarning, match="AVX512-BF16") if is_slow else contextlib.nullcontext():
        metrics = fit(ramet.open(store), config, folder=tmp_path)
    assert set(seen) == {(torch.float32, False)}
    assert_learned(metrics)
    best = torch.load(tmp_path / "best.pt", weights_only=True)
    assert {value.dtype for value in best["model"].values()} == {torch.float32}
    again = predict(str(store), tmp_path, "test")
    assert again.accuracy["test"][0] == pytest.approx(metrics["test_accuracy"])


def test_trainers_spin_for_a_short_time_unless_told_otherwise(monkeypatch):
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    with launch.short_spins():
        assert os.environ["GOMP_SPINCOUNT"] == launch.SPINS
    assert "GOMP_SPINCOUNT" not in os.environ
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    with launch.short_spins():
        assert "GOMP_SPINCOUNT" not in os.environ


@pytest.mark.slow
@pytest.mark.parametrize("model", ["gat", "gin"])
def test_other_models_learn(store, model):
    config = Config(str(store), model=model, hidden=16, epochs=3, batch_size=BATCH, lr=0.01)
    metrics = fit(ramet.open(store), config)
    assert metrics["test_accuracy"] > 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"sampler": "labor"},
        {"sampler": ramet.Labor(1, layer_dependent=True, dependent=4)},
        {"sampler": ramet.Uniform(dependent=8), "dtype": "float64"},
    ],
    ids=str,
)
def test_other_samplers_learn(store, options):
    config = Config(str(store), hidden=16, epochs=3, batch_size=BATCH, lr=0.01, num_neighbors=(5, 5), **options)
    assert fit(ramet.open(store), config)["test_accuracy"] > 0.5


def test_the_mean_of_blocks_is_weighted(store):
    """docs/semantics.md, section 8: what sage aggregates of a LABOR-i block is the weighted sum of its sources."""
    graph = ramet.open(store)
    conv = build_model(Config(str(store), hidden=16, num_neighbors=(3,)), 16, 4).convs[0]
    batch = ramet.sample(graph, range(200), [3], sampler=ramet.Labor(1))
    (block,), x = batch.blocks, torch.from_numpy(graph.table("feat").gather(batch.n_id.numpy()))
    assert block.has_weights and not ramet.sample(graph, range(200), [3]).blocks[0].has_weights
    source, destination = block.edge_index
    mean = torch.zeros(block.num_dst, 16).index_add(0, destination, x[source] * block.edge_weight[:, None])
    expected = conv.lin_l(mean) + conv.lin_r(x[: block.num_dst])
    model = build_model(Config(str(store), hidden=16, num_neighbors=(3,)), 16, 4).eval()
    torch.testing.assert_close(model(x, [block]), expected, rtol=1e-5, atol=1e-5)


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
    assert cli.main(["train", str(path), "--out", str(tmp_path / "run")]) == 2
    error = capfd.readouterr().err
    assert error.count("\n") == 1 and error.startswith("ramet: error: ")
    assert all(word in error for word in words)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "option, words",
    [
        (("--batch-size", "0"), "--batch-size is 0; it must be at least 1"),
        (("--num-neighbors", "5,-2"), "--num-neighbors is -2; it must be at least -1"),
        (("--num-neighbors", "5,x"), "argument --num-neighbors: '5,x' is not a list of numbers like 15,10"),
        (("--dropout", "1"), "--dropout is 1.0; it must lie in [0, 1)"),
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
    try:
        status = cli.main(["train", str(store), *option])
    except SystemExit as stop:  # argparse's way
        status = stop.code
    error = capfd.readouterr().err
    assert status == 2 and error.startswith(f"ramet: error: {words}") and error.count("\n") == 1


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
        assert cli.main(["train", str(store), "--out", str(out)]) == 2
        error = capfd.readouterr().err
        assert error.count("\n") == 1 and words in error
    assert (tmp_path / "run" / "best.pt").read_text() == "precious"
    assert cli.main(["verify", str(store), "--quiet"]) == 0


def test_tables_and_splits_as_ogb_has_them(store, tmp_path):
    """Labels [nodes, 1], and a split "valid"."""
    graph = ramet.open(store)
    label, val = graph.table("label").numpy()[:, None], graph.split("val")
    nodes = {"feat": graph.table("feat").numpy(), "label": label}
    splits = {"train": graph.split("train"), "valid": val, "test": graph.split("test")}
    path = tmp_path / "graph"
    ramet.save(ramet.from_arrays(graph.indptr(), graph.indices(), nodes=nodes, splits=splits), path)
    config = Config(str(path), hidden=16, epochs=2, batch_size=BATCH)
    torch.testing.assert_close(fit(ramet.open(path), config)["losses"], fit(graph, config)["losses"])


def test_a_missing_store_is_one_line(tmp_path, capfd):
    assert cli.main(["train", str(tmp_path / "nowhere")]) == 2
    error = capfd.readouterr().err
    assert error.count("\n") == 1 and "nowhere" in error


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_for(condition):
    while not condition():
        time.sleep(0.05)


def children(pid):
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.slow
def test_ctrl_c_keeps_the_best_model_and_leaves_no_process(store, tmp_path):
    out = tmp_path / "run"
    options = ("--processes", 2, "--epochs", 100_000, "--num-neighbors", "5,5", "--hidden", 8)
    with subprocess.Popen(
        ramet_train(store, out, *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            wait_for((out / "best.pt").exists)
            wait_for((out / "metrics.json").exists)
            trainers = children(process.pid)
            os.killpg(process.pid, signal.SIGINT)  # what a terminal does
            output, error = process.communicate()
        finally:
            process.kill()
    assert process.returncode == 130, error
    assert "interrupted after" in output and "Traceback" not in error
    wait_for(lambda: not any(map(alive, trainers)))
    assert torch.load(out / "best.pt", weights_only=True)["val_accuracy"] > 0
    metrics = json.loads((out / "metrics.json").read_text())
    assert metrics["interrupted"] and "test_accuracy" not in metrics
    assert sorted(path.name for path in out.iterdir()) == ["best.pt", "curves.png", "metrics.json"]


@pytest.mark.slow
def test_a_killed_trainer_is_an_error_that_names_it(store, tmp_path):
    out = tmp_path / "run"
    trainers = []

    def kill_the_last(pids):
        trainers[:] = pids
        if (out / "best.pt").exists() and alive(pids[-1]):
            os.kill(pids[-1], signal.SIGKILL)

    config = Config(str(store), out=str(out), epochs=100_000, processes=2, batch_size=BATCH, hidden=8)
    with pytest.raises(TrainingError, match=r"trainer 1 \(process \d+\) was ended by SIGKILL"):
        run(config, progress=False, poll=kill_the_last)
    assert not any(map(alive, trainers))
    assert torch.load(out / "best.pt", weights_only=True)["val_accuracy"] > 0


def listening(pids) -> set[str]:
    """The hexadecimal addresses at which these processes wait for connections by TCP."""
    inodes = set()
    for pid in pids:
        with contextlib.suppress(OSError):  # a process, or a file of it, that is gone
            for descriptor in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    inodes.add(os.readlink(descriptor))
    tables = [Path("/proc/net/tcp"), Path("/proc/net/tcp6")]  # the second, where there is IPv6
    rows = [row.split() for table in tables if table.exists() for row in table.read_text().splitlines()]
    return {row[1].split(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in inodes}


LOOPBACK = b"\x7f\x00\x00\x01"


def test_the_test_sees_who_listens():
    with socket.create_server(("", 0)):
        assert listening([os.getpid()]) == {"00000000"}
    with socket.create_server(("127.0.0.1", 0)):
        assert {bytes.fromhex(a)[::-1] for a in listening([os.getpid()])} == {LOOPBACK}


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2])
def test_no_trainer_listens_to_the_network(store, tmp_path, monkeypatch, processes):
    """One opens no port at all; several are heard on this machine alone, whatever gloo uses otherwise."""
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "eth0")
    before, seen, looks = listening([os.getpid()]), set(), 0

    def look(pids):
        nonlocal looks
        looks += all(Path(f"/proc/{pid}/fd").exists() for pid in pids)
        seen.update(listening([*pids, os.getpid()]) - before)

    out = tmp_path / "run"
    config = Config(str(store), out=str(out), epochs=4, processes=processes, batch_size=BATCH, hidden=8)
    metrics = run(config, progress=False, poll=look)
    assert looks > 3 and metrics["processes"] == processes and len(metrics["attach_seconds"]) == processes
    assert {bytes.fromhex(a)[::-1] for a in seen} == ({LOOPBACK} if processes > 1 else set())
    assert sorted(path.name for path in out.iterdir()) == ["best.pt", "curves.png", "metrics.json"]


@pytest.mark.slow
def test_without_matplotlib_there_is_no_plot(store, tmp_path, capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.figure", raising=False)
    out = tmp_path / "run"
    options = ["--epochs", "1", "--hidden", "8", "--batch-size", str(BATCH), "--quiet"]
    assert cli.main(["train", str(store), "--out", str(out), *options]) == 0
    printed = capfd.readouterr().out
    assert "test accuracy" in printed and "no plot (curves.png): matplotlib is not installed\n" in printed
    assert sorted(path.name for path in out.iterdir()) == ["best.pt", "metrics.json"]


# ---- the example


@pytest.mark.parametrize("launcher", [pytest.param("torchrun", marks=pytest.mark.slow), "spawn"])
def test_example(store, tmp_path, launcher):
    start = {
        "torchrun": command("-m", "torch.distributed.run", "--nproc_per_node=2", EXAMPLE, store),
        "spawn": command(EXAMPLE, store, "--processes", 2),
    }[launcher]
    if launcher == "torchrun":
        start.insert(start.index("--nproc_per_node=2"), "--standalone")
    model = tmp_path / "best.pt"
    options = ["--epochs", 3, "--batch-size", BATCH, "--num-neighbors", 5, 5, "--save", model]
    done = subprocess.run([*start, *map(str, options)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    last = done.stdout.strip().splitlines()[-1]
    assert float(last.split()[2].rstrip(",")) > 0.5
    assert "convs.0.lin_l.weight" in torch.load(model, weights_only=True)


# ---- inference


def whole(graph) -> BlockEdges:
    """Every node is source and destination, every edge is there."""
    indptr, indices = (torch.from_numpy(array.copy()) for array in (graph.indptr(), graph.indices()))
    return BlockEdges(indptr, indices, graph.num_nodes())


@pytest.mark.parametrize("name", ["sage", "gat", "gin"])
@pytest.mark.parametrize("depth", [1, 3])
def test_inference_is_the_full_forward_pass(store, name, depth):
    graph = ramet.open(store)
    config = Config(str(store), model=name, hidden=16, num_neighbors=(5,) * depth)
    model = build_model(config, 16, 4)
    x = torch.from_numpy(graph.table("feat").numpy().copy())
    model.eval()
    with torch.no_grad():
        expected = model(x, [whole(graph)] * depth)
    model.train()
    found = layerwise(graph, model, batch_size=97)
    assert model.training and model.convs[0].training and not found.requires_grad
    assert found.shape == (1500, 4)
    scale = expected.abs().max()
    assert (found - expected).abs().max() <= 1e-5 * scale

    some = torch.tensor([7, 3, 3, 1499])
    assert torch.allclose(layerwise(graph, model, nodes=some), expected[some], atol=1e-5 * scale)
    assert layerwise(graph, model, nodes=[]).shape == (0, 4)


def test_inference_in_float64_and_from_functions(store):
    graph = ramet.open(store)
    config = Config(str(store), hidden=16, num_neighbors=(5, 5), dtype="float64")
    model = build_model(config, 16, 4).eval()
    x = torch.from_numpy(graph.table("feat").numpy().copy()).double()
    with torch.no_grad():
        expected = model(x, [whole(graph)] * 2)
    functions = [partial(model.layer, i) for i in range(2)]
    for found in (layerwise(graph, model), layerwise(graph, functions, dtype=torch.float64)):
        assert found.dtype == torch.float64
        assert (found - expected).abs().max() <= 1e-12 * expected.abs().max()


def test_inference_restores_modes_after_an_error(store):
    model = build_model(Config(str(store)), 16, 4)
    model.convs[1].eval()

    def layers():
        def fail(x, block):
            assert not model.training
            raise RuntimeError("in a layer")

        return [fail]

    model.layers = layers
    with pytest.raises(RuntimeError, match="in a layer"):
        layerwise(ramet.open(store), model)
    assert model.training and not model.convs[1].training


def test_inference_names_what_is_missing(store):
    with pytest.raises(KeyError, match="no node table 'year'"):
        layerwise(ramet.open(store), [lambda x, block: x], table="year")
    with pytest.raises(ValueError, match="no layers"):
        layerwise(ramet.open(store), [])


def take_destinations(x, block):
    return x[: block.num_dst]


class Plain(torch.nn.Module):
    def forward(self, x):
        return x


@pytest.mark.parametrize(
    ("layer", "error", "words"),
    [
        (lambda x, block: x[: block.num_dst - 1], ValueError, ["[6, 16]", "[7, ...]", "num_dst=7"]),
        (lambda x, block: x[:1], ValueError, ["[1, 16]", "[7, ...]"]),
        (lambda x, block: x.mean(), ValueError, ["[]", "[7, ...]"]),
        (lambda x, block: torch.cat([x, x]), ValueError, [", 16]", "[7, ...]"]),
        (lambda x, block: None, TypeError, ["returned None, expected a tensor with a row for each"]),
        (lambda x, block: (x[: block.num_dst], None), TypeError, ["returned a tuple, expected a tensor"]),
        (lambda x, block: [[1.0]] * block.num_dst, TypeError, ["returned a list, expected a tensor"]),
        (lambda x: x, TypeError, ["takes (x), expected f(x, block)"]),
        (Plain(), TypeError, ["is a Plain that takes (x), expected f(x, block)"]),
        (torch.nn.Linear(16, 4), TypeError, ["is a Linear that takes (input: torch.Tensor)"]),
        (
            SAGEConv(16, 4),
            TypeError,
            ["is a SAGEConv that takes (x:", "conv((x, x[: block.num_dst]), block.edge_index)"],
        ),
        (7, TypeError, ["is a int, expected a function f(x, block)"]),
    ],
)
def test_a_layer_that_returns_no_row_for_each_destination(store, layer, error, words):
    """Its number, what it gave and what was expected."""
    with pytest.raises(error) as raised:
        layerwise(ramet.open(store), [take_destinations, layer], nodes=range(7))
    for part in ["layerwise: layer 2 of 2", *words]:
        assert part in str(raised.value)


def test_layers_that_change_their_minds(store):
    """Rows of one width and dtype in every batch."""
    graph = ramet.open(store)

    def second(result):
        calls = []

        def layer(x, block):
            calls.append(block)
            return x[: block.num_dst] if len(calls) == 1 else result(x[: block.num_dst])

        return layer

    for result, words in [
        (lambda x: x[:, :1], r"the shape \[500, 1\], expected \[500, 16\], as in the batches before"),
        (lambda x: x.double(), "torch.float64, but torch.float32 in the batches before"),
    ]:
        with pytest.raises(ValueError, match=f"layer 1 of 1 returned {words}"):
            layerwise(graph, [second(result)], batch_size=500)


def test_layers_may_return_arrays_other_types_and_nan(store):
    graph = ramet.open(store)
    feat = graph.table("feat").numpy()

    def as_array(x, block):
        return np.asfortranarray(x[: block.num_dst].double().numpy())

    found = layerwise(graph, [as_array])
    assert found.dtype == torch.float64 and np.array_equal(found, feat.astype(np.float64))
    found = layerwise(graph, [lambda x, block: x[: block.num_dst, 0] > 0])
    assert found.dtype == torch.bool and np.array_equal(found, feat[:, 0] > 0)
    assert layerwise(graph, [lambda x, block: x[: block.num_dst] * torch.nan]).isnan().all()


def test_a_module_without_layers_is_told_what_is_expected(store):
    with pytest.raises(TypeError, match=r"model is a Plain, expected a module with a method layers\(\)"):
        layerwise(ramet.open(store), Plain())


def test_wrong_layers_of_several_types():
    edges = {("author", "writes", "paper"): np.array([[0, 1], [2, 0]])}
    nodes = {"author": {"feat": np.ones((2, 3), np.float32)}, "paper": {"feat": np.ones((4, 3), np.float32)}}
    graph = ramet.from_edge_index(edges, num_nodes={"author": 2, "paper": 4}, nodes=nodes)
    for layer, error, words in [
        (lambda x, block: x["paper"], TypeError, "layer 1 of 1 returned a Tensor, expected a dict by node type"),
        (lambda x, block: {"paper": x["paper"][:1]}, ValueError, r"the shape \[1, 3\], expected \[4, \.\.\.\]"),
        (lambda x, block: {"author": x["author"]}, ValueError, r"returned no rows for \['paper'\]"),
        (lambda x, block: {"paper": 1}, TypeError, "returned a int for 'paper', expected a tensor"),
    ]:
        with pytest.raises(error, match=words):
            layerwise(graph, [layer], nodes=("paper", None))


def test_heterogeneous_inference():
    """Means over in-neighbors, type by type, against sums over edges done by hand."""
    rng = np.random.default_rng(1)
    writes = ("author", "writes", "paper")
    cites = ("paper", "cites", "paper")
    written = ("paper", "written", "author")
    sizes = {"author": 40, "paper": 60}
    edges = {(a, r, b): rng.integers(0, [[sizes[a]], [sizes[b]]], (2, 200)) for a, r, b in (writes, cites, written)}
    x = {t: rng.normal(size=(n, 3)).astype(np.float32) for t, n in sizes.items()}
    graph = ramet.from_edge_index(edges, num_nodes=sizes, nodes={t: {"feat": rows} for t, rows in x.items()})

    def layer(x, block):
        out = {t: x[t][: block.num_dst[t]].clone() for t in x}
        for (a, _, b), pairs in block.edge_index.items():
            out[b].index_add_(0, pairs[1], x[a][pairs[0]])
        return out

    expected = {t: torch.from_numpy(rows) for t, rows in x.items()}
    for _ in range(2):
        before = expected
        expected = {t: rows.clone() for t, rows in before.items()}
        for (a, _, b), pairs in edges.items():
            expected[b].index_add_(0, torch.from_numpy(pairs[1]), before[a][pairs[0]])
    found = layerwise(graph, [layer, layer], batch_size=7)
    assert set(found) == {"author", "paper"}
    for t, rows in found.items():
        assert torch.allclose(rows, expected[t], rtol=1e-4, atol=1e-3)
    some = layerwise(graph, [layer, layer], nodes=("paper", [5, 2]), batch_size=7)
    assert torch.allclose(some, expected["paper"][[5, 2]], rtol=1e-4, atol=1e-3)


def test_graphsage_averages_features_where_they_lie(store, monkeypatch):
    """With the losses of rows that were gathered; other models get rows."""
    graph, config = ramet.open(store), Config(str(store), hidden=16, epochs=2, batch_size=BATCH)
    assert loop._begins_with_means(graph, config)
    for other in (
        {"model": "gat"},
        {"model": "gin"},
        {"dtype": "float64"},
        {"dtype": "bfloat16"},
        {"input_dropout": 0.1},
    ):
        assert not loop._begins_with_means(graph, replace(config, **other))
    losses = fit(graph, config)["losses"]
    monkeypatch.setattr(loop, "_begins_with_means", lambda *_: False)
    assert fit(graph, config)["losses"] == pytest.approx(losses, rel=1e-3)


def test_features_from_a_disk_train_the_same(store, monkeypatch):
    """The losses of rows in memory, to the bit; the summary tells of reads and of the cache. docs/disk.md."""
    graph, config = ramet.open(store), Config(str(store), hidden=16, epochs=2, batch_size=BATCH, placement="disk")
    cached = fit(graph, replace(config, cache_rows=200, look_ahead=3))
    plain = fit(graph, config)
    monkeypatch.setattr(loop, "_begins_with_means", lambda *_: False)
    in_memory = fit(graph, replace(config, placement="in_place"))
    assert cached["losses"] == plain["losses"] == in_memory["losses"]
    assert 0 < cached["pipeline"]["rows_read"] < plain["pipeline"]["rows_read"]
    assert not in_memory["pipeline"]["rows_read"]


# ---- one run, whatever the number of processes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "dtype", "numbers", "bound"), [("gin", "float64", (2, 4), 1e-10), ("sage", "float32", (4,), 1e-5)]
)
def test_losses_do_not_depend_on_the_number_of_processes(store, tmp_path, model, dtype, numbers, bound):
    """105 steps; slices are uneven (33 seeds) and empty (an epoch's last batch has one seed). And the evaluation."""
    config = Config(
        str(store),
        model=model,
        num_neighbors=(5, 5),
        hidden=32,
        epochs=15,
        batch_size=BATCH,
        dropout=0.0,
        dtype=dtype,
        eval_every=1000,
    )
    alone = fit(ramet.open(store), config)
    expected = np.array([*alone["losses"], alone["test_loss"]])
    assert len(expected) == 106
    for processes in numbers:
        metrics = run(replace(config, out=str(tmp_path / str(processes)), processes=processes), progress=False)
        found = np.array([*metrics["losses"], metrics["test_loss"]])
        assert metrics["processes"] == processes and len(found) == 106
        worst = np.max(np.abs(found - expected) / expected)
        print(f"{dtype}, {processes} processes: largest relative difference {worst:.1e}")
        assert worst <= bound


# ---- real datasets


def load_accuracy_bench():
    spec = importlib.util.spec_from_file_location("accuracy", ROOT / "bench" / "accuracy.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["accuracy"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cora", "amazon_computers", "coauthor_physics"])
def test_accuracy_of_one_seed(name, data_dir, tmp_path):
    bench = load_accuracy_bench()
    graph = bench.open_dataset(name, data_dir, tmp_path)
    torch.set_num_threads(1)
    assert bench.accuracy(name, graph, seed=0) >= bench.DATASETS[name].bar
