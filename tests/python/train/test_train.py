"""Training: what a run learns, whatever the number of processes and wherever its features lie."""

import contextlib
import re
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks import benchmark
from train_commands import BATCH, assert_learned

torch = pytest.importorskip("torch")
pytest.importorskip("torch_geometric")
import torch.nn.functional as F  # noqa: E402

import ramet  # noqa: E402
from ramet._support.old_torch import is_autocast_enabled  # noqa: E402
from ramet.stores.build import generate  # noqa: E402
from ramet.train import Config, fit, loop, run  # noqa: E402
from ramet.train.folder import RunFolder  # noqa: E402
from ramet.train.model import build_model  # noqa: E402
from ramet.train.predict import predict  # noqa: E402

EXAMPLE = Path(__file__).parents[3] / "examples" / "larger_than_memory.py"


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


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"sampler": "labor"},
        {"sampler": ramet.Labor(1, layer_dependent=True, dependent=4)},
        {"sampler": ramet.Uniform(dependent=8), "dtype": "float64"},
        {"model": "gat"},
    ],
    ids=str,
)
def test_other_options_learn(store, options):
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


@pytest.mark.slow
def test_the_example_trains_rows_of_a_disk_as_those_in_memory(run_script, tmp_path):
    """examples/larger_than_memory.py"""
    generate(tmp_path / "store", num_nodes=20_000, num_edges=100_000, feature_width=64)
    options = ("--batches", 12, "--batch-size", 100, "--num-neighbors", 5, 5, "--look-ahead", 3)
    printed = [run_script(EXAMPLE, tmp_path / "store", *options, "--placement", p) for p in ("disk", "in_place")]
    losses = [re.findall(r"batch \d+: loss ([\d.]+)", text) for text in printed]
    assert losses[0] == losses[1] and len(losses[0]) == 12
    assert "rows of a batch come from a disk" in printed[0]


# ---- one run, whatever the number of processes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "dtype", "processes", "bound"), [("gin", "float64", 2, 1e-10), ("sage", "float32", 4, 1e-5)]
)
def test_losses_do_not_depend_on_the_number_of_processes(store, tmp_path, model, dtype, processes, bound):
    """35 steps; slices are uneven (33 seeds) and empty (an epoch's last batch has one seed). And the evaluation."""
    config = Config(
        str(store),
        model=model,
        num_neighbors=(5, 5),
        hidden=32,
        epochs=5,
        batch_size=BATCH,
        dropout=0.0,
        dtype=dtype,
        eval_every=1000,
    )
    alone = fit(ramet.open(store), config)
    expected = np.array([*alone["losses"], alone["test_loss"]])
    metrics = run(replace(config, out=str(tmp_path / "run"), processes=processes), progress=False)
    found = np.array([*metrics["losses"], metrics["test_loss"]])
    assert metrics["processes"] == processes and len(found) == len(expected) == 36
    worst = np.max(np.abs(found - expected) / expected)
    print(f"{dtype}, {processes} processes: largest relative difference {worst:.1e}")
    assert worst <= bound


# ---- real datasets


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cora", "amazon_computers"])
def test_accuracy_of_one_seed(name, data_dir, tmp_path):
    bench = benchmark("accuracy")
    graph = bench.open_dataset(name, data_dir, tmp_path)
    torch.set_num_threads(1)
    assert bench.accuracy(name, graph, seed=0) >= bench.DATASETS[name].bar


def test_a_full_disk_names_the_model(tmp_path):
    (tmp_path / ".best.pt.unfinished").symlink_to("/dev/full")
    for model in ({}, {"weight": torch.ones(100_000)}):  # more than a file's buffer holds
        with pytest.raises(OSError, match=r"No space left on device: .*/best\.pt"):
            RunFolder(tmp_path).write_model({"model": model})


def test_a_model_is_not_copied_while_it_is_saved(tmp_path):
    model = {"weight": torch.ones(1 << 20)}
    RunFolder(tmp_path).write_model({"model": model})  # imports
    tracemalloc.start()
    RunFolder(tmp_path).write_model({"model": model})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20  # of 4 MiB
