"""optimizer.save and optimizer.load in one process."""

import json
import os

import numpy as np
import pytest
import torch
from embedding_rows import OPTIMIZERS, all_rows, assert_same_rows

import ramet
from ramet.commands.main import main

PLACES = [{}, {"placement": "chunked"}, {"placement": "distributed", "ownership": "hash"}]


def some_embeddings(seed=1, **places):
    return [
        ramet.nn.Embedding(50, 4, seed=seed, **places),
        ramet.nn.Embedding(30, 3, dtype="bfloat16", seed=seed + 1, **places),
    ]


def train(optimizer, steps) -> None:
    for number in steps:
        random = torch.Generator().manual_seed(number)
        ids = torch.randint(0, 30, (40,), generator=random)
        optimizer.zero_grad()
        sum((embedding(ids).float() ** 2).sum() for embedding in optimizer.embeddings).backward()
        optimizer.step()


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_continues_to_the_bit(tmp_path, name):
    optimizer = OPTIMIZERS[name](some_embeddings())
    train(optimizer, range(3))
    optimizer.save(tmp_path / "checkpoint")
    train(optimizer, range(3, 6))
    again = OPTIMIZERS[name](some_embeddings(seed=9))
    again.load(tmp_path / "checkpoint")
    train(again, range(3, 6))
    assert_same_rows(optimizer, again)


@pytest.mark.parametrize("to", PLACES)
@pytest.mark.parametrize("of", PLACES)
def test_placements_and_owners_may_be_others(tmp_path, of, to):
    optimizer = ramet.optim.Adam(some_embeddings(**of))
    train(optimizer, range(2))
    optimizer.save(tmp_path / "checkpoint")
    again = ramet.optim.Adam(some_embeddings(seed=9, **to))
    again.load(tmp_path / "checkpoint")
    assert_same_rows(optimizer, again)


def test_options_are_those_of_the_checkpoint(tmp_path):
    betas = torch.tensor(0.8, dtype=torch.float64), np.float64(0.9)
    optimizer = ramet.optim.Adam(some_embeddings(), lr=0.3, betas=betas, rounding="stochastic", seed=4)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    train(optimizer, range(1))
    schedule.step()
    optimizer.save(tmp_path / "checkpoint")
    again = ramet.optim.Adam(some_embeddings())
    again.load(tmp_path / "checkpoint")
    group = again.param_groups[0]
    assert (group["lr"], group["betas"], group["initial_lr"]) == (0.15, (0.8, 0.9), 0.3)
    again.save(tmp_path / "again")
    text, others = (json.loads((tmp_path / name / "parts.json").read_text()) for name in ("checkpoint", "again"))
    assert text.pop("id") != others.pop("id")
    assert text == others and (text["step"], text["seed"], text["rounding"]) == (1, 4, "stochastic")


def test_a_checkpoint_without_weight_decay_has_none(tmp_path):
    ramet.optim.SGD(some_embeddings(), lr=0.1).save(tmp_path / "checkpoint")
    path = tmp_path / "checkpoint" / "parts.json"
    text = json.loads(path.read_text())
    del text["options"]["weight_decay"]
    path.write_text(json.dumps(text))
    (path.parent / "checksums.txt").unlink()
    again = ramet.optim.SGD(some_embeddings(), lr=0.3, weight_decay=0.5)
    again.load(tmp_path / "checkpoint")
    assert (again.param_groups[0]["lr"], again.param_groups[0]["weight_decay"]) == (0.1, 0)


def test_numpy_reads_it(tmp_path):
    embedding = ramet.nn.Embedding(20, 3)
    optimizer = ramet.optim.Adam(embedding)
    train(optimizer, []), optimizer.save(tmp_path / "checkpoint")
    folder = tmp_path / "checkpoint/part-0/node/embedding-0"
    assert sorted(os.listdir(folder)) == ["moment1.npy", "moment2.npy", "steps.npy", "weight.npy"]
    np.testing.assert_array_equal(np.load(folder / "weight.npy"), embedding.table.numpy())
    weight = ramet.Table.open(tmp_path / "checkpoint", "weight", "embedding-0")
    np.testing.assert_array_equal(weight.numpy(), embedding.table.numpy())


def assert_refused(optimizer, path, error, match) -> None:
    """And nothing has changed."""
    before = [rows.copy() for rows in all_rows(optimizer)]
    with pytest.raises(error, match=match):
        optimizer.load(path)
    for rows, others in zip(all_rows(optimizer), before, strict=True):
        np.testing.assert_array_equal(rows, others)


@pytest.mark.parametrize(
    ("other", "match"),
    [
        (lambda: OPTIMIZERS["SGD"](some_embeddings()), r"is a checkpoint of optimizer Adam, but this is one of SGD"),
        (lambda: OPTIMIZERS["Adam"](some_embeddings()[0]), r"embedding-1.*bfloat16\[30, 3\]"),
        (lambda: OPTIMIZERS["Adam of all steps"](some_embeddings()), r"int32\[50\].*but this"),
        (lambda: OPTIMIZERS["Adam"]([ramet.nn.Embedding(51, 4), *some_embeddings()[1:]]), r"\[50, 4\].*\[51, 4\]"),
        (
            lambda: OPTIMIZERS["Adam"]([ramet.nn.Embedding(50, 4, "float16"), *some_embeddings()[1:]]),
            r"32\[50, .*16\[50, 4",
        ),
    ],
)
def test_what_does_not_fit_changes_nothing(tmp_path, other, match):
    OPTIMIZERS["Adam"](some_embeddings(seed=5)).save(tmp_path / "checkpoint")
    optimizer = other()
    assert_refused(optimizer, tmp_path / "checkpoint", ValueError, match)


def test_mixed_and_damaged_checkpoints(tmp_path):
    optimizer = OPTIMIZERS["Adam"](some_embeddings())
    for name in ("one", "two"):
        optimizer.save(tmp_path / name)
    text = (tmp_path / "one/parts.json").read_text()
    os.rename(tmp_path / "one/part-0", tmp_path / "kept")
    with pytest.raises(FileNotFoundError, match=r"one is no store.*part-0"):
        optimizer.load(tmp_path / "one")
    os.rename(tmp_path / "two/part-0", tmp_path / "one/part-0")
    with pytest.raises(ValueError, match=r"part-0 is a part of [0-9a-f]{16}, but the text beside it is of"):
        optimizer.load(tmp_path / "one")
    with pytest.raises(FileNotFoundError, match="none"):
        optimizer.load(tmp_path / "none")
    with pytest.raises(FileNotFoundError, match=r"parts\.json"):
        optimizer.load(tmp_path)
    OPTIMIZERS["Adam"](some_embeddings()).save(tmp_path / "one")
    text = (tmp_path / "one/parts.json").read_text()
    for changed, match in [
        ("", "is not the text"),
        (text[:-20], "is not the text"),
        (text.replace('"ramet-parts": 1', '"ramet-parts": 2'), "version 2, but ramet .* reads version 1"),
        (text.replace('"lr": 0.1', '"lr": "a"'), "the text of the checkpoint"),
        (text.replace('"lr": 0.1', '"params": []'), "the text of the checkpoint"),
        (text.replace('"step": 0', '"step": -1'), "the text of the checkpoint"),
        (text.replace('"seed": 0', '"seed": []'), "the text of the checkpoint"),
        (text.replace("nearest", "farthest"), "the text of the checkpoint"),
        (text.replace('"parts": 1', '"parts": 2'), "says 2 parts"),
    ]:
        assert changed != text
        (tmp_path / "one/parts.json").write_text(changed)
        with pytest.raises(ramet.CorruptStoreError, match=match):
            optimizer.load(tmp_path / "one")
    for make, match in [
        (lambda path: os.truncate(path, 1 << 40), "has 1099511627776 bytes, at most"),
        (lambda path: (path.unlink(), os.mkfifo(path)), "is not a regular file"),
    ]:
        make(tmp_path / "one/parts.json")
        with pytest.raises(ramet.CorruptStoreError, match=match):
            optimizer.load(tmp_path / "one")
    (tmp_path / "one/parts.json").unlink()
    (tmp_path / "one/parts.json").write_text(text)
    optimizer.load(tmp_path / "one")


@pytest.mark.parametrize(
    "file", ["part-0/node/embedding-0/weight.npy", "part-0/node/embedding-1/moment2.npy", "parts.json"]
)
def test_a_flipped_bit_is_found(tmp_path, capsys, file):
    OPTIMIZERS["Adam"](some_embeddings(seed=5)).save(tmp_path / "checkpoint")
    assert main(["verify", str(tmp_path / "checkpoint")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'checkpoint'}: ok\n"
    path = tmp_path / "checkpoint" / file
    content = bytearray(path.read_bytes())
    content[content.rfind(b"0.1") if file == "parts.json" else -1] ^= 1  # 0.1 becomes 1.1
    path.write_bytes(content)
    optimizer = OPTIMIZERS["Adam"](some_embeddings())
    assert_refused(optimizer, tmp_path / "checkpoint", ramet.CorruptStoreError, f"{file}: its SHA-256 is")
    assert main(["verify", str(tmp_path / "checkpoint")]) == 1
    assert f"{file}: its SHA-256 is" in capsys.readouterr().err


def test_a_checkpoint_without_checksums_is_loaded(tmp_path, capsys):
    """As they were written before."""
    optimizer, again = OPTIMIZERS["Adam"](some_embeddings(seed=5)), OPTIMIZERS["Adam"](some_embeddings())
    optimizer.save(tmp_path / "checkpoint")
    for place in (tmp_path / "checkpoint", tmp_path / "checkpoint/part-0"):
        (place / "checksums.txt").unlink()
    again.load(tmp_path / "checkpoint")
    assert_same_rows(optimizer, again)
    assert main(["verify", str(tmp_path / "checkpoint")]) == 0
    assert "no checksums.txt" in capsys.readouterr().out
    (tmp_path / "checkpoint/parts.json").write_text("{}")
    assert main(["verify", str(tmp_path / "checkpoint")]) == 1
    assert "parts.json is not the text of a folder of parts" in capsys.readouterr().err


def test_a_checkpoint_is_refused_where_something_else_is(tmp_path):
    optimizer = OPTIMIZERS["SGD"](some_embeddings())
    ramet.save(ramet.from_arrays([0, 0], []), tmp_path / "store")
    for name in ("store", "store/inner"):
        with pytest.raises(ValueError, match="store"):
            optimizer.save(tmp_path / name)
    assert os.listdir(tmp_path) == ["store"]
    optimizer.save(tmp_path / "checkpoint")
    thesis = tmp_path / "checkpoint/part-0/node/embedding-0/thesis.txt"
    thesis.write_text("precious")
    with pytest.raises(ValueError, match=r"part-0/node/embedding-0 holds 'thesis.txt', which is no part of a folder"):
        optimizer.save(tmp_path / "checkpoint")
    assert thesis.read_text() == "precious"
