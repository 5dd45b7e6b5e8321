"""The benchmarks work, and their arithmetic is right. No figure is judged here."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmarks import SmallMode, benchmark

import ramet
from ramet.costs import count_ranks

bench_run, compare, harness, micro, plots = map(benchmark, ("run", "compare", "harness", "micro", "plots"))
paper = benchmark("machines_model")
Figure, Report = harness.Figure, harness.Report


@pytest.fixture(scope="module")
def small_mode(request, tmp_path_factory):
    return SmallMode(request, tmp_path_factory.mktemp("bench"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "benchmark",
    [
        "sampling --graph products",
        "topology",
        "gather",
        "labor --graph products",
        "links",
        "walks",
        "hgt",
        "subgraphs",
        "pyg_loader",
        "pyg_training --case 'GraphSAGE, trim_to_layer' --case R-GCN",
        "embeddings",
        "whole_tables",
        "temporal",
        "option_costs",
        "aggregate",
        "build_csc",
        "build_tables",
        "epochs --case 'GAT, papers' --case 'R-GCN, mag'",
        "train_step --case 'small batches'",
        "micro --family csc",
    ],
)
def test_small_mode(benchmark, small_mode):
    result, _ = small_mode.result(benchmark)
    if "Not measured: build" in result["markdown"]:
        pytest.skip("the micro benchmarks are not built")
    assert result["figures"]


def test_what_fails_in_small_mode_is_named_and_ends_no_other(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(sys, "argv", [])
    monkeypatch.setitem(sys.modules, "broken", SimpleNamespace(main=lambda: 1 / 0))
    assert bench_run.run_here(bench_run.Step("broken", ["python"], figures=tmp_path / "broken.json")).bad
    assert "broken failed" in capsys.readouterr().err


def test_a_case_that_memory_does_not_hold_is_left_out_in_a_sentence():
    report = Report("x")
    assert report.has_room("a case", 0)
    assert not report.has_room("a case", 1e15)
    assert re.fullmatch(r"Left out: a case: it needs 1000000 GB of memory, and [\d.]+ GB are free\.", *report.parts)


# ---- figures and reports


def test_a_ratio_is_taken_repetition_by_repetition():
    assert Figure([10.0, 40.0]).over(Figure([5.0, 10.0])).values == [2.0, 4.0]


def test_every_variant_has_its_turn():
    calls = []
    variants = {name: lambda name=name: calls.append(name) or float(len(calls)) for name in ("a", "b")}
    figures = harness.interleave(variants, 2)
    assert calls == ["a", "b"] * 3
    assert figures["a"].values == [3.0, 5.0]  # the first round does not count


def test_what_is_timed_does_its_work():
    torch = pytest.importorskip("torch")
    weight, changes = torch.zeros(3, 2), benchmark("changes").changes
    with changes(lambda: weight, "a step"):
        weight += 1
    with (
        pytest.raises(RuntimeError, match="a step left 2 of 3 tensors as they were"),
        changes(lambda: weight, "a step"),
    ):
        weight[1] += 1


def test_an_epoch_has_the_batches_that_are_timed():
    assert list(harness.exactly(range(5), 3)) == [0, 1, 2]
    with pytest.raises(RuntimeError, match="2 batches came, but 3 are timed"):
        list(harness.exactly(range(2), 3))


def test_ranks_on_paper_read_and_send_what_ranks_do():
    """Where owners are hashed ids."""
    ends = np.random.default_rng(0).integers(0, 4000, (2, 40_000))
    graph, seeds = ramet.from_edge_index(ends, 4000), np.arange(320)
    counted = count_ranks(ramet.NeighborLoader(graph, [5, 5], seeds, 320), 4, ownership="hash", row_bytes=64, hidden=8)
    rank = paper.together(graph, seeds, [5, 5], 4, 3 / 4, [16, 8])
    assert rank.rows_read * 4 == pytest.approx(counted.rows_read, rel=0.02)
    assert np.array(rank.rows_received[::-1]) * 4 == pytest.approx([h.rows_sent for h in counted.hops], rel=0.05)
    sent = counted.bytes["sent_rows"] + counted.bytes["sent_hidden"] + 4 * sum(h.rows_sent for h in counted.hops)
    assert rank.nbytes * 4 == pytest.approx(sent, rel=0.05)
    alone = paper.apart(graph, seeds[:80], [5, 5], 4, 16)
    assert alone.rows_read * 4 == pytest.approx(counted.rows_independent, rel=0.05)
    assert alone.seconds(8e6) == alone.rows_read * 3 / 4 * 68 / 1e6


# ---- peers


def test_peers_by_name(tmp_path):
    python = tmp_path / "python"
    python.touch()
    assert harness.find_peers([f"dgl={python}"]) == {"dgl": str(python)}
    assert harness.find_peers(["none"]) == {}


@pytest.mark.parametrize(
    ("pair", "message"),
    [("python3", "expected NAME=PYTHON"), ("cugraph=python3", "a NAME of pyg, dgl"), ("dgl=/no", "/no is not there")],
)
def test_bad_peers_are_named(pair, message):
    with pytest.raises(ValueError, match=message):
        harness.find_peers([pair])


def test_without_arguments_the_made_peers_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "MADE_PEERS", tmp_path)
    assert harness.find_peers([]) == {}
    python = tmp_path / "dgl" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    assert harness.find_peers([]) == {"dgl": str(python)}


def test_a_report_says_which_peers_are_missing(tmp_path):
    report = Report("x")
    report.missing_peers(type("Chosen", (), {"peers": {"pyg": "python"}}), "pyg", "dgl")
    assert report.parts == ["Not measured, for want of an environment: DGL and GraphBolt."]


# ---- micro


def entry(name, rate, repetition, family, unit="items_per_second"):
    return {
        "run_type": "iteration",
        "run_name": name,
        "family_index": family,
        "repetition_index": repetition,
        unit: rate,
    }


def test_cases_of_google_benchmark():
    name = "sampler/products [15, 10, 5]|ramet{}/min_time:0.300/real_time/threads:{}"
    content = {
        "benchmarks": [
            entry(name.format(", 2 threads", 2), 5.0, 0, 1),
            entry(name.format("", 1), 4.0, 1, 0),
            entry(name.format("", 1), 3.0, 0, 0),
            {"run_type": "aggregate", "run_name": name.format("", 1)},
        ]
    }
    found = micro.cases(content)
    assert list(found) == ["products [15, 10, 5]"]
    rates = found["products [15, 10, 5]"]
    assert rates == {"ramet": Figure([3.0, 4.0]), "ramet, 2 threads": Figure([5.0])}


def test_micro_tables_divide_rates():
    name = "gather/512 B rows, 64 KiB|{}/real_time"
    runs = [entry(name.format(v), r, 0, 0, "bytes_per_second") for v, r in (("ramet", 6e9), ("memcpy", 3e9))]
    report = Report("x")
    micro.tabulate("gather", micro.cases({"benchmarks": runs}), report)
    assert "| 512 B rows, 64 KiB | 6.0 | - | 2.00 | - | - |" in report.parts[1]
    assert list(report.figures) == ["gather, 512 B rows, 64 KiB: ramet over memcpy"]


# ---- comparing runs


def run(values, better="higher", ratio=True, small=False):
    figure = {"values": values, "better": better, "ratio": ratio}
    return {"small": small, "benchmarks": {"b": {"figures": {"f": figure}}}}


@pytest.mark.parametrize(
    ("old", "new", "better", "verdict"),
    [
        ([1.0, 1.1, 1.2], [2.0, 2.1, 2.2], "higher", compare.FASTER),
        ([1.0, 1.1, 1.2], [2.0, 2.1, 2.2], "lower", compare.SLOWER),
        ([2.0, 2.1, 2.2], [1.0, 1.1, 1.2], "higher", compare.SLOWER),
        ([1.0, 2.0, 3.0], [1.9, 2.9, 3.9], "higher", compare.NOISE),
        ([1.0], [1.0], "higher", compare.NOISE),
    ],
)
def test_verdicts(old, new, better, verdict):
    (change,) = compare.compare(run(old, better), run(new, better))
    assert change.verdict == verdict
    if verdict != compare.NOISE:
        assert (change.gain > 1) == (verdict == compare.FASTER)


def status(tmp_path, old, new, *options):
    for name, content in (("old.json", old), ("new.json", new)):
        (tmp_path / name).write_text(json.dumps(content))
    return compare.main([str(tmp_path / "old.json"), str(tmp_path / "new.json"), *options])


def test_exit_status(tmp_path, capsys):
    fast, slow = run([1.0, 1.01, 1.02]), run([0.8, 0.81, 0.82])
    assert status(tmp_path, fast, fast) == 0
    assert status(tmp_path, slow, fast) == 0
    assert status(tmp_path, fast, slow) == 1
    assert "| b: f | 1.01 | 0.81 | 0.80 | WORSE |" in capsys.readouterr().out
    assert status(tmp_path, fast, slow, "--threshold", "0.3") == 0


def test_absolute_figures_are_judged_only_on_request(tmp_path):
    old, new = run([1.0], "lower", ratio=False), run([2.0], "lower", ratio=False)
    assert status(tmp_path, old, new) == 2  # nothing in common to judge
    assert status(tmp_path, old, new, "--absolute") == 1


def test_small_runs_are_not_compared(tmp_path):
    assert status(tmp_path, run([1.0]), run([1.0], small=True)) == 2


# ---- pages


def test_the_readme_s_plot_has_the_figures_of_the_pages(tmp_path):
    pytest.importorskip("matplotlib", "3.11")  # older ones write other bytes
    pages = Path(__file__).parents[2] / "docs" / "results"
    plots.overview(pages, tmp_path / "overview.svg")
    assert (tmp_path / "overview.svg").read_bytes() == (pages / "overview.svg").read_bytes()


def test_a_page_has_the_tables_of_a_benchmark_and_what_made_them():
    report = Report("Gathering rows")
    report.table(["row, bytes", "GB/s"], [[64, 3.7]])
    results = {"small": False, "machine": {"cores": 2}, "benchmarks": {"gather": {"markdown": report.markdown()}}}
    page = bench_run.page("gather", results)
    assert page.startswith("# Gathering rows\n\n`python bench/run.py --only gather ")
    assert page.endswith("| 64 | 3.7 |\n\n- cores: 2\n")
