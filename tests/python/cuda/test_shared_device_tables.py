"""Tables on devices of several ranks, which may all be on one GPU: the rows of one process, to the bit. docs/tables.md,
"Tables on devices"."""

import device_ranks as ranks
import learning_ranks
import numpy as np
import pytest
from world import world_of

import ramet
from ramet import _core

RANKS = 2


@pytest.fixture(scope="module")
def world():
    with world_of(RANKS) as world:
        yield world


def expected(dtype: str) -> tuple:
    """What device_ranks.contents makes, by one process on the host."""
    table = ramet.Table.create((ranks.ROWS, 3), dtype, init="normal", seed=3)
    begin = table.gather(np.arange(ranks.ROWS))
    table.scatter(np.arange(ranks.ROWS), np.repeat(np.arange(ranks.ROWS)[:, None], 3, 1).astype("f4"))
    for turn in range(RANKS):
        table.add(np.random.default_rng(turn).integers(0, ranks.ROWS, 100), np.ones((100, 3), "f4"))
    return begin.view("u1"), table.gather(np.arange(ranks.ROWS)[::-1]).view("u1")


@pytest.mark.parametrize("placement", ("continuous", "chunked", "distributed"))
def test_rows_are_those_of_one_process(gpu, world, placement):
    owners = [None, np.array([0, 300, ranks.ROWS]), np.array([0, 0, ranks.ROWS])]
    owners += [] if placement == "continuous" else ["hash"]
    for ownership, dtype in zip(owners, ("float32", "float16", "bfloat16", "float32")):
        wanted = expected(dtype)
        for said in world.call(ranks.contents, placement, ownership, dtype):
            for part, of_host in zip(said, wanted):
                np.testing.assert_array_equal(part, of_host)


@pytest.mark.parametrize(
    ("method", "rounding", "placement", "ownership"),
    [
        ("AdaGrad rowwise", "nearest", "continuous", None),
        ("Adam", "stochastic", "chunked", "vector"),
        ("Adam", "nearest", "distributed", "hash"),
    ],
)
def test_embeddings_learn_the_same_bits(gpu, world, method, rounding, placement, ownership):
    wanted = learning_ranks.learn(method, rounding, 0, 1, distributed=False)
    for said in world.call(ranks.learned, method, rounding, placement, ownership):
        assert said == wanted


def test_a_pickled_table_is_the_same_memory(gpu, world):
    for rows in world.call(ranks.copied):
        assert rows == [[1, 1]] * 5 + [[2, 2]] * 5


def test_devices_that_are_no_peers_are_named(gpu, world):
    if _core.cuda_backend() != "emulated":
        pytest.skip("the emulator alone has such devices")
    settings = {"RAMET_EMULATOR_DEVICES": "2", "RAMET_EMULATOR_PEERS": "0"}
    for rank, said in enumerate(world.call(ranks.refused, settings)):
        pair = f"device {rank} (0000:0{rank + 1}:00.0) cannot read memory of device {1 - rank}"
        assert said.startswith("RuntimeError: ")
        assert pair in said
    # The device of rank 1 is hidden from rank 0.
    for said in world.call(ranks.refused, {"RAMET_EMULATOR_DEVICES": "1"}):
        assert "invalid device" in said or "rank 1" in said
    assert world.call(ranks.refused, {"RAMET_EMULATOR_DEVICES": "2"}) == ["", ""]


def test_a_rank_that_is_killed_is_an_error_on_the_others(gpu):
    with world_of(RANKS, seconds=60) as world:
        world.call(ranks.killed, without=(1,))
