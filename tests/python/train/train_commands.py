"""Commands that train, and their options."""

import sys

BATCH = 33  # not a multiple of 2 or 4; the last batch of an epoch of 199 seeds has one seed


def ramet_train(store, out, *options):
    command = (sys.executable, "-m", "ramet", "train", store, "--out", out, "--batch-size", BATCH)
    return [str(word) for word in (*command, *options)]


def assert_learned(metrics) -> None:
    """By whole epochs: the last batch of one has one seed, whose loss says little."""
    assert metrics["epochs"][-1]["loss"] < metrics["epochs"][0]["loss"]
    assert metrics["test_accuracy"] > 0.5  # chance is 0.25
