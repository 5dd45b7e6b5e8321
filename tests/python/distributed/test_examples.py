"""Examples on several ranks: what they print is what one process prints, or ranks that share more."""

import re
from pathlib import Path

import pytest
from small_graphs import homogeneous

import ramet

pytest.importorskip("torch_geometric")

from namespaces import run_on_machines, torchrun

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[3] / "examples"
NUMBER = r"([\d.,]+)"


@pytest.fixture(scope="module")
def run(run_script):
    """What ranks of this machine print."""
    return lambda example, folder, ranks, *options: run_script(EXAMPLES / example, folder, *options, ranks=ranks)


def numbers(line: str, printed: str, count: int) -> list[tuple]:
    """Those of all lines of a form, of which there are so many."""
    found = [tuple(float(number.replace(",", "")) for number in of_line) for of_line in re.findall(line, printed)]
    assert len(found) == count, printed
    return found


LOSS = rf"epoch {NUMBER}, step {NUMBER}: loss {NUMBER}"


# ---- embeddings.py: any ranks, on their own and together, and after a stop


def losses_of_embeddings(run, store, ranks: int, *options, steps: int = 12, before: int = 0) -> list[float]:
    model = ("--hidden", 16, "--num-neighbors", 5, 3, "--batch-size", 1000, "--lr", 0.01)
    printed = run("embeddings.py", store, ranks, *model, "--steps", steps, *options)
    return [loss for *_, loss in numbers(LOSS, printed, steps - before)]


@pytest.mark.timeout(400)
def test_ogbl_ddi_on_any_ranks(run, data_dir, tmp_path):
    edges = data_dir / "ogbl_ddi" / "edge.csv.gz"
    alone = losses_of_embeddings(run, tmp_path / "ddi", 1, "--edges", edges)
    assert alone[-1] < alone[0] - 0.02
    for ranks, *mode in ((2,), (4, "--cooperative", "--placement", "chunked")):
        assert losses_of_embeddings(run, tmp_path / "ddi", ranks, *mode) == pytest.approx(alone, abs=2e-4)


def test_what_was_stopped_goes_on_with_other_ranks(run, store, tmp_path):
    alone = losses_of_embeddings(run, store, 1)
    checkpoint = "--checkpoint", tmp_path / "checkpoint"
    first = losses_of_embeddings(run, store, 2, *checkpoint, "--save-every", 3, steps=7)
    together = "--placement", "distributed", "--cooperative"
    second = losses_of_embeddings(run, store, 4, *checkpoint, *together, before=7)
    assert [*first, *second] == pytest.approx(alone, abs=2e-4)


# ---- partitioned.py: a part for each rank, and one that two ranks share


def epochs_of_parts(run, folder) -> list[tuple]:
    """Epoch, loss, rows and accuracy, as two ranks print them."""
    options = ("--batch-size", 60, "--epochs", 2, "--hidden", 8, "--num-neighbors", 4, 3)
    line = rf"epoch (\d): loss {NUMBER}, {NUMBER} rows read, validation accuracy {NUMBER}"
    return numbers(line, run("partitioned.py", folder, 2, *options), 2)


def test_ranks_with_a_part_each_train_what_ranks_that_share_one_train(run, tmp_path):
    for parts in (1, 2):
        ramet.partition(homogeneous(), parts, tmp_path / str(parts), method="hash")
    shared, apart = epochs_of_parts(run, tmp_path / "1"), epochs_of_parts(run, tmp_path / "2")
    assert [epoch for epoch, *_ in apart] == [0, 1]
    for (_, loss, rows, accuracy), (_, *other) in zip(apart, shared, strict=True):
        assert loss == pytest.approx(other[0], abs=2e-4)  # as it is printed
        assert rows < other[1]  # which work each on its own
        assert accuracy == pytest.approx(other[2], abs=0.05)


# ---- distributed_features.py: 4 ranks, and 2 machines with 2 ranks each

STEPS = 8
FEATURES = ("--steps", STEPS, "--batch-size", 30, "--num-neighbors", 5, 5, "--hidden", 16, "--float64")


@pytest.fixture(scope="module")
def physics(data_dir, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("physics")
    options = {"undirected": True, "dtype": "float16", "normalize": True, "train_per_class": 20, "val_per_class": 30}
    ramet.build(folder / "store", data_dir / "coauthor_physics", **options)
    return folder / "store"


def steps_of_features(run, store, ranks: int, placement: str) -> list[tuple]:
    return numbers(LOSS, run("distributed_features.py", store, ranks, *FEATURES, "--placement", placement), STEPS)


@pytest.fixture(scope="module")
def features_alone(run, physics):
    return steps_of_features(run, physics, 1, "continuous")


def assert_same_steps(found, alone):
    for (*place, loss), (*expected_place, expected) in zip(found, alone, strict=True):
        assert place == expected_place and loss == pytest.approx(expected, abs=2e-9)


def test_four_ranks_train_what_one_process_trains(run, physics, features_alone):
    assert_same_steps(steps_of_features(run, physics, 4, "chunked"), features_alone)


def test_two_machines_train_what_one_process_trains(physics, features_alone, tmp_path):
    example = (EXAMPLES / "distributed_features.py", physics, *FEATURES)
    program = (*torchrun(2, 2), *example, "--placement", "distributed", "--cache-rows", 500)
    printed = run_on_machines(2, tmp_path, lambda k: program, lambda k: "true")
    assert_same_steps(numbers(LOSS, "".join(printed), STEPS), features_alone)
