"""The command line: what it prints, its exit status, and what is left behind."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from command_line import error_of
from source_files import write_npz

import ramet
from ramet import _core
from ramet.commands.main import main
from ramet.storage.checksums import read_checksums, write_checksums
from ramet.stores import generators, planted
from ramet.stores.build import generate

SMALL = ["--nodes", "300", "--edges", "900", "--communities", "4", "--classes", "4", "--features", "8"]


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "small"
    assert main(["generate", str(path), *SMALL, "--seed", "3", "--quiet"]) == 0
    return path


def start(*argv: object, **options) -> subprocess.Popen:
    command = [sys.executable, "-m", "ramet", *map(str, argv)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def flip_byte(path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 0xFF
    path.write_bytes(content)


def assert_same_but_for_the_id(one, other):
    sums, others = read_checksums(one), read_checksums(other)
    assert sums.pop("ramet.txt") != others.pop("ramet.txt")
    assert sums == others


def test_generate_is_a_function_of_its_seed(store, tmp_path, capsys):
    assert main(["generate", str(tmp_path / "again"), *SMALL, "--seed", "3"]) == 0
    assert "again: 300 nodes" in capsys.readouterr().out
    assert_same_but_for_the_id(tmp_path / "again", store)
    assert main(["generate", str(tmp_path / "other"), *SMALL, "--seed", "4", "--quiet"]) == 0
    assert (tmp_path / "other" / "checksums.txt").read_text() != (store / "checksums.txt").read_text()


def test_memory_and_threads_change_no_bit_of_what_is_generated(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(planted, "CHUNK", 10_000)  # several pieces of everything
    monkeypatch.setattr(planted, "CHUNK_BYTES", 1 << 19)
    papers = {"num_nodes": 3000, "num_edges": 30_000, "communities": 172, "labeled": 0.4, "train_fraction": 0.3}
    for name, options in ("papers", {"preset": "papers100m", **papers}), ("both_ways", papers | {"val_fraction": 0.1}):
        ramet.generate(tmp_path / name, **options, threads=1)
        ramet.generate(tmp_path / f"{name}-128M", **options, memory="128M", threads=3)
        assert_same_but_for_the_id(tmp_path / name, tmp_path / f"{name}-128M")
    graph = ramet.open(tmp_path / "papers")
    assert graph.num_edges() == 30_000 and graph.table("feat").dtype == np.float16
    in_degrees, out_degrees = np.diff(graph.indptr()), np.bincount(graph.indices())
    assert out_degrees.max() < 40 < in_degrees.max()
    labels, in_splits = graph.table("label").numpy(), sum(len(graph.split(name)) for name in graph.splits)
    assert np.count_nonzero(labels >= 0) == in_splits == pytest.approx(1200, rel=0.1)
    free = error_of(capsys, "generate", tmp_path / "large", "--preset", "papers100m", "--memory", "1T")
    assert "of memory, and" in free
    rmat = error_of(capsys, "generate", tmp_path / "large", "--model", "rmat", "--memory", "1G")
    assert "model 'rmat' is made in memory" in rmat
    with pytest.raises(ValueError, match="dtype is 'int8'"):
        ramet.generate(tmp_path / "large", dtype="int8")
    assert {path.name for path in tmp_path.iterdir()} == {"papers", "papers-128M", "both_ways", "both_ways-128M"}


RMAT_8 = generators.MODELS["rmat"] | {"scale": 8, "feature_width": 3}


def test_generate_rmat(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(generators, "CHUNK_BYTES", 1000)  # many, and the last is smaller
    assert main(["generate", str(tmp_path / "r"), "--model", "rmat", "--scale", "8", "--features", "3"]) == 0
    assert "r: 256 nodes" in capsys.readouterr().out
    graph = ramet.open(tmp_path / "r")
    (of_engine,) = (a for name, a in _core.generate_rmat(**RMAT_8)[1] if name == "node/node/feat")
    assert (graph.table("feat").numpy() == of_engine).all()  # the engine makes all of it at once
    degrees = np.diff(graph.indptr())
    assert np.all(degrees[graph.split("train")] > 0)
    assert graph.num_edges() > 8 * 256  # 16 draws per node and their reverses, less repeats


def test_a_negative_width_of_features_is_refused(tmp_path):
    with pytest.raises(ValueError, match="feature_width is -1, expected at least 0"):
        generate(tmp_path / "r", model="rmat", scale=4, feature_width=-1)
    assert not (tmp_path / "r").exists()


def test_a_preset_is_its_options_and_options_change_it(tmp_path, capsys):
    small = ["--scale", "7", "--quiet"]
    assert main(["generate", str(tmp_path / "preset"), "--preset", "rmat-22", *small]) == 0
    assert main(["generate", str(tmp_path / "same"), "--model", "rmat", "--seed", "1", *small]) == 0
    assert_same_but_for_the_id(tmp_path / "preset", tmp_path / "same")


def test_options_of_another_model_are_refused(tmp_path, capsys):
    out = tmp_path / "out"
    assert "model 'rmat' has no option 'classes'" in error_of(
        capsys, "generate", out, "--model", "rmat", "--classes", 3
    )
    assert "model 'planted' has no option 'scale'" in error_of(capsys, "generate", out, "--scale", 3)
    assert "signal is nan, expected finite" in error_of(capsys, "generate", out, "--signal", "nan")
    wrong = error_of(capsys, "generate", out, "--model", "planted", "--preset", "rmat-22")
    assert "preset 'rmat-22' is of model 'rmat', not 'planted'" in wrong
    assert "scale is 99, expected 1 to 30" in error_of(capsys, "generate", out, "--model", "rmat", "--scale", 99)
    assert "invalid choice: 'papers'" in error_of(capsys, "generate", out, "--preset", "papers")
    assert not out.exists()


def test_info_without_a_store_is_of_the_machine(capsys):
    assert main(["info", "--json"]) == 0
    machine = json.loads(capsys.readouterr().out)
    assert machine["ramet"] == ramet.__version__ and machine["numpy"] == np.__version__
    assert machine["cores"] == len(os.sched_getaffinity(0))
    assert main(["info"]) == 0
    assert f"numpy             {np.__version__}\n" in capsys.readouterr().out


def test_info_as_json(store, capsys):
    assert main(["info", str(store), "--json"]) == 0
    info = json.loads(capsys.readouterr().out)
    graph = ramet.open(store)
    assert info["format"] == "ramet-store 1"
    assert [(t["name"], t["num_nodes"]) for t in info["node_types"]] == [("node", 300)]
    assert info["node_types"][0]["tables"]["feat"]["shape"] == [300, 8]
    assert info["edge_types"][0]["num_edges"] == graph.num_edges()
    counts = np.diff(graph.indptr())
    assert info["edge_types"][0]["in_degrees"] == {
        "min": counts.min(),
        "mean": pytest.approx(counts.mean()),
        "median": np.median(counts),
        "max": counts.max(),
        "isolated": (counts == 0).sum(),
    }
    assert info["splits"] == {name: {"node": len(graph.split(name))} for name in graph.splits}
    on_disk = {str(path.relative_to(store)): path.stat().st_size for path in store.rglob("*") if path.is_file()}
    assert info["files"] == on_disk
    assert info["bytes"] == sum(on_disk.values())
    assert info["pages"].keys() == {"mapped", "resident", "huge", "by_row", "page_tables"}
    assert info["read_by_row"] == []
    assert info["instructions"] in ("portable", "neon", "avx2", "avx512")


def test_info_as_text(tmp_path, capsys):
    graph = ramet.from_edge_index(
        {("author", "writes", "paper"): [[0, 1, 1], [0, 0, 2]]},
        nodes={"paper": {"year": np.arange(3)}},
        splits={"train": {"paper": [1]}},
    )
    ramet.save(graph, tmp_path / "papers", checksums=False)
    assert main(["info", str(tmp_path / "papers")]) == 0
    text = capsys.readouterr().out
    for line in (
        "papers: ramet-store 1, ",
        "node type author: 2 nodes",
        "  year  int64[3], 24 B",
        "edge type author -[writes]-> paper: 3 edges, int32 ids",
        "in-degrees: min 0, mean 1.00, median 1, max 2; 1 nodes have none",
        "split train: 1 of paper",
        "files (no checksums)",
        "node/paper/year.npy",
        "of that on pages of 2 MiB; page tables of this process ",
        "vector instructions: ",
    ):
        assert line in text
    ramet.save(ramet.from_edge_index(np.zeros((2, 0), int)), tmp_path / "empty")
    assert main(["info", str(tmp_path / "empty")]) == 0
    assert "0 nodes" in capsys.readouterr().out


def test_verify_of_a_good_store(store, tmp_path, capsys):
    assert main(["verify", str(store)]) == 0
    assert capsys.readouterr().out == f"{store}: ok\n"
    ramet.save(ramet.open(store), tmp_path / "bare", checksums=False)
    assert main(["verify", str(tmp_path / "bare")]) == 0
    assert "no checksums.txt" in capsys.readouterr().out
    done = subprocess.run(["sha256sum", "--quiet", "-c", "checksums.txt"], cwd=store, check=False)
    assert done.returncode == 0


def replace(file, target):
    """By a link, or by a pipe that nobody writes to."""
    file.unlink()
    if target is None:
        os.mkfifo(file)
    else:
        file.symlink_to(target)


@pytest.mark.parametrize("target", ["/proc/kmsg", "/dev/zero", None])
def test_verify_does_not_wait_for_checksums_that_do_not_come(store, capsys, target):
    replace(store / "checksums.txt", target)
    assert main(["verify", str(store)]) in (0, 1)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda s: flip_byte(s / "node/node/feat.npy", 5000), "feat.npy: its SHA-256 is"),
        (lambda s: flip_byte(s / "edge/node__to__node/indptr.npy", 5000), "indptr"),
        (lambda s: os.truncate(s / "edge/node__to__node/indices.npy", 4100), "indices.npy"),
        (lambda s: (s / "node/node/label.npy").unlink(), "label.npy: listed in checksums.txt, but missing"),
        (lambda s: (s / "checksums.txt").write_text("nonsense\n"), "line 1: not a SHA-256 sum"),
        (lambda s: (s / "ramet.txt").write_text("ramet-store 99\n"), "ramet.txt"),
        (lambda s: (s / "ramet.txt").unlink(), "ramet.txt: listed in checksums.txt, but missing"),
        (lambda s: replace(s / "node/node/feat.npy", "/proc/kmsg"), "feat.npy"),
        (lambda s: replace(s / "node/node/feat.npy", "/dev/zero"), "feat.npy"),
        (lambda s: replace(s / "ramet.txt", "/proc/kmsg"), "ramet.txt"),
        (lambda s: replace(s / "node/node/feat.npy", None), "feat.npy"),
        (lambda s: os.truncate(s / "checksums.txt", 1 << 40), "checksums.txt has 1099511627776 bytes, at most"),
        (lambda s: os.truncate(s / "ramet.txt", 1 << 40), "ramet.txt has 1099511627776 bytes, at most"),
        (lambda s: os.truncate(s / "ramet.txt", 0), "not a store"),
    ],
)
def test_verify_of_a_damaged_store(store, capsys, damage, message):
    damage(store)
    assert main(["verify", str(store)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert all(line.startswith("ramet: damaged: ") for line in err.splitlines())


def test_verify_finds_what_checksums_cannot(store, capsys):
    """Wrong contents with right sums: all of them are said, and the sentences beyond 20 of an array are counted."""
    faults = {"edge/node__to__node/indices.npy": 30, "split/train/node.npy": 2}
    for place, count in faults.items():
        array = np.load(store / place)
        array[:count] = 300
        np.save(store / place, array)
    write_checksums(store)
    assert main(["verify", str(store)]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 21 + 2
    assert lines[3] == f"ramet: damaged: {store}/edge/node__to__node/indices.npy, entry 3: 300 is outside [0, 300)"
    assert lines[20] == f"ramet: damaged: {store}/edge/node__to__node/indices.npy: and 10 more"
    assert [f"ramet: damaged: {fault}" for fault in ramet.verify(store)] == lines


def test_wrong_usage_is_one_line(store, tmp_path, capsys):
    assert "nowhere" in error_of(capsys, "info", tmp_path / "nowhere")
    assert "nowhere" in error_of(capsys, "verify", tmp_path / "nowhere")
    assert "nowhere" in error_of(capsys, "build", tmp_path / "out", tmp_path / "nowhere")
    assert "not recognized" in error_of(capsys, "build", tmp_path / "out", store)
    assert "COMMAND" in error_of(capsys)
    assert "invalid choice: 'float64'" in error_of(capsys, "build", "a", "b", "--dtype", "float64")
    assert "--val-per-class: -1" in error_of(capsys, "build", "a", "b", "--val-per-class", -1)
    assert "--nodes is 0" in error_of(capsys, "generate", tmp_path / "out", "--nodes", 0)
    assert "--nodes: -5 is not in [0, " in error_of(capsys, "generate", tmp_path / "out", "--nodes", "-5")
    assert f"--seed: {2**64} is not in" in error_of(capsys, "generate", "out", "--seed", 2**64)
    assert "--skew" in error_of(capsys, "generate", "out", "--skew", "5")
    assert "--nodes" in error_of(capsys, "generate", tmp_path / "out", "--nodes", "many")
    assert not (tmp_path / "out").exists()


def test_help_is_fast_and_loads_no_torch():
    code = (
        "import sys; from ramet.commands.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit as stop: assert not stop.code\n"
        "heavy = {'torch', 'scipy', 'torch_geometric', 'tqdm', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for command in ("generate", "build", "describe", "info", "verify", "train", "predict", "help"):
        assert command in done.stdout


def test_version_and_help(capsys):
    version = f"ramet {ramet.__version__}\n"
    for argv, expected in ((["--version"], version), (["train", "--help"], "usage: ramet train ")):
        with pytest.raises(SystemExit) as stop:
            main(argv)
        out, err = capsys.readouterr()
        assert (stop.value.code, err) == (0, "") and out.startswith(expected)
    shown = {}
    for topic in ((), ("train",), ("help",)):
        assert main(["help", *topic]) == 0
        shown[topic] = capsys.readouterr().out
    assert shown[()].startswith("usage: ramet [-h]") and shown["train",].startswith("usage: ramet train ")
    assert "invalid choice: 'trian'" in error_of(capsys, "help", "trian")


def test_errors_have_the_words_of_the_command_line(store, tmp_path, capsys):
    classes = error_of(capsys, "build", tmp_path / "out", write_npz(tmp_path / "tiny.npz"), "--train-per-class", 2)
    assert "--train-per-class=2 and --val-per-class=0 need 2 nodes" in classes and "class 0 has 1" in classes
    assert "--batch-size is 0, expected" in error_of(capsys, "estimate", store, "--batch-size", 0)
    named = tmp_path / "num_nodes is 0" / "batch_size"  # a path keeps its name
    assert str(named) in error_of(capsys, "train", named)
    assert str(named) in error_of(capsys, "estimate", named, "--ranks", 2)


def test_a_package_that_is_not_there_is_one_line():
    """In an environment without torch: what to install."""
    code = "import sys; sys.modules['torch'] = None; from ramet.commands.main import main; sys.exit(main(sys.argv[1:]))"
    for words in (["train", "store"], ["predict", "store", "run"]):
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stderr.count("\n") == 1
        assert "need torch" in done.stderr and "pip install torch torch_geometric" in done.stderr


def test_output_into_a_closed_pipe(store):
    process = start("info", store)
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(60) == 0
    assert err == ""
