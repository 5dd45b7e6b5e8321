"""What bad options of sampler="labor", and damaged stores, get: an exception that names the value and the place."""

import numpy as np
import processes
import pytest
from comparison import labor
from small_graphs import NUM_NODES

import ramet

HUGE = 2**63

BAD_OPTIONS = {
    "unknown": (
        {"sampler": "neighbour"},
        ValueError,
        "sampler is 'neighbour', expected 'uniform', 'labor', 'wei",
    ),
    "case": ({"sampler": "LABOR"}, ValueError, "sampler is 'LABOR', expected"),
    "empty": ({"sampler": ""}, ValueError, "sampler is '', expected"),
    "a number": ({"sampler": 3}, TypeError, "sampler is 3, expected 'uniform', 'labor'"),
    "None": ({"sampler": None}, TypeError, "sampler is None, expected"),
    "a class": ({"sampler": ramet.Labor}, TypeError, r"sampler is <class .*, expected .* ramet.Labor\(...\)"),
    "replace": ({"replace": True}, TypeError, r"has no 'replace': `sampler=ramet.Uniform\(replace=True\)`"),
    "iterations": ({"importance_iterations": 1}, TypeError, r"`sampler=ramet.Labor\(iterations=...\)`"),
    "weights": ({"weights": "normalized"}, TypeError, r"`sampler=ramet.Labor\(weights=...\)`"),
    "layers": ({"layer_dependent": True}, TypeError, r"`sampler=ramet.Labor\(layer_dependent=True\)`"),
}

BAD_SAMPLERS = {
    "-1": (lambda: ramet.Labor(-1), ValueError, "iterations is -1, expected at least 0"),
    "1.5": (lambda: ramet.Labor(1.5), TypeError, "iterations is 1.5, expected an integer"),
    "'2'": (lambda: ramet.Labor("2"), TypeError, "iterations is '2', expected an integer"),
    "no iterations": (lambda: ramet.Labor(None), TypeError, "iterations is None, expected an integer"),
    "huge": (lambda: ramet.Labor(HUGE), ValueError, f"iterations is {HUGE}, expected at most 1000"),
    "unknown weights": (
        lambda: ramet.Labor(weights="hajek"),
        ValueError,
        "weights is 'hajek', expected 'normalized' or 'horvitz-thompson'",
    ),
    "weights None": (lambda: ramet.Labor(weights=None), TypeError, "weights is None, expected 'normalized' or"),
    "no flag": (
        lambda: ramet.Labor(layer_dependent="no"),
        TypeError,
        "layer_dependent is 'no', expected True or False",
    ),
    "replace": (lambda: ramet.Uniform("false"), TypeError, "replace is 'false', expected True or False"),
    "dependent 0": (lambda: ramet.Uniform(dependent=0), ValueError, "dependent is 0, expected at least 1"),
    "dependent 0.5": (lambda: ramet.Weighted("w", dependent=0.5), TypeError, "dependent is 0.5, expected an integer"),
    "changed": (lambda: setattr(ramet.Labor(), "iterations", -1), AttributeError, "cannot assign to field"),
}


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_options(graph, case):
    options, error, message = BAD_OPTIONS[case]
    with pytest.raises(error, match=message):
        ramet.sample(graph, [1], [2], **options)
    with pytest.raises(error, match=message):
        ramet.NeighborLoader(graph, [2], "train", **options)


@pytest.mark.parametrize("case", BAD_SAMPLERS)
def test_options_of_samplers(case):
    make, error, message = BAD_SAMPLERS[case]
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("options", [labor(), labor(2)], ids=["LABOR-0", "LABOR-2"])
def test_seeds_and_fanouts(graph, options):
    """As with uniform sampling."""
    for seed in (NUM_NODES, -1, 2**40):
        with pytest.raises(IndexError, match=rf"seeds\[1\] is {seed}"):
            ramet.sample(graph, [0, seed], [3], **options)
    with pytest.raises(ValueError, match="num_neighbors"):
        ramet.sample(graph, [1], [2, -2], **options)
    largest = ramet.sample(graph, [1, 2], [HUGE - 1, 2**31], **options)
    assert largest.fingerprint() == ramet.sample(graph, [1, 2], [-1, -1]).fingerprint()


# ---- damaged stores: what opening does not look at

CHANGING_ROW = """
import sys, threading, time
import numpy as np, ramet

graph = ramet.open(sys.argv[1])
indptr = np.load(sys.argv[1] + "/edge/node__to__node/indptr.npy", mmap_mode="r+")
length = int(indptr[1])

def write():
    while True:
        indptr[0] = length - indptr[0]
        time.sleep(0.001)

threading.Thread(target=write, daemon=True).start()
for step in range(60):
    try:
        ramet.sample(graph, [0, 1], [10], step=step, sampler=ramet.Labor(1))
    except ramet.CorruptStoreError as error:
        assert "entry 0: " in str(error) and "changed while it was sampled" in str(error), error
print("alive")
"""


def test_a_row_that_changes_while_it_is_sampled(tmp_path):
    """Another process writes into the file: row 0 has all of its edges or none, and LABOR-i reads it twice, with the
    long row 1 between."""
    num_nodes, length = 1000, 300_000
    indptr = np.full(num_nodes + 1, 2 * length)
    indptr[:2] = 0, length
    indices = np.random.default_rng(0).integers(0, num_nodes, 2 * length).astype(np.int32)
    ramet.save(ramet.from_arrays(indptr, indices), tmp_path / "store", checksums=False)
    assert processes.run("-c", CHANGING_ROW, tmp_path / "store").split() == ["alive"]
