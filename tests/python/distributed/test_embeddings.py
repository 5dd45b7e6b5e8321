"""Embeddings over several ranks (gloo) beside one process (docs/semantics.md, section 19)."""

import functools
import itertools
import os
import pickle
import signal
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import ramet

pytest.importorskip("torch")

import torch
import torch.distributed as dist
from learning import (
    METHODS,
    ROWS,
    WIDTH,
    learn,
    optimizer_of,
    owners_of,
    recording,
    refused,
    roundings_of,
    sizes_and_methods,
)
from sage import Sage, seed_losses
from sage import learn as learn_by_steps
from small_graphs import WIDTH as FEATURES
from torch.nn.parallel import DistributedDataParallel

WORLD = 5
LAYOUTS = [
    ("continuous", None),
    *itertools.product(("chunked", "distributed"), (None, "hash", "vector")),
]
OPTIONS = {"num_neighbors": [3, 2, 2], "input_nodes": "train", "batch_size": 30, "shuffle": True, "seed": 1}


# ---- what ranks do


def learn_everywhere(group, method: str) -> dict:
    """What `learn` says of every layout and rounding; every rank has other numbers of threads."""
    rank, size = group.rank(), group.size()
    torch.set_num_threads(1 + rank % 2)
    return {
        (placement, ownership, rounding): learn(
            method,
            rounding,
            rank,
            size,
            placement=placement,
            ownership=owners_of(ownership, size),
            ranks=group,
        )
        for placement, ownership in LAYOUTS
        for rounding in roundings_of(method)
    }


def train(group, store, options: dict, method: str, steps: int, placement: str = "continuous"):
    """(losses, rows and state) of training, in which cooperative ranks ask for their own rows alone. group: None for
    one process."""
    torch.set_num_threads(1)
    graph, owned = ramet.open(store), "ranks" in options
    among = False if group is None else group
    ranks = replace(options["ranks"], among=group) if owned else among
    loader = ramet.NeighborLoader(graph, **options | {"tables": ["label"], "ranks": ranks})
    where = {"ownership": loader.ownership} if owned else {}
    embedding = ramet.nn.Embedding(graph.num_nodes(), FEATURES, seed=1, placement=placement, ranks=among, **where)
    model = module = Sage(graph, "node")
    if group is not None:
        model = DistributedDataParallel(module, process_group=group)
    sparse, dense = optimizer_of(method, embedding), torch.optim.SGD(module.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(sparse, step_size=2, gamma=0.5)
    both = SimpleNamespace(
        zero_grad=lambda: (sparse.zero_grad(), dense.zero_grad()),
        step=lambda: (sparse.step(), dense.step(), scheduler.step()),
    )

    def losses_of(batch):
        return seed_losses(model(batch, embedding(batch.n_id, owned=owned)), batch)

    losses = [loss for loss, *_ in learn_by_steps(loader, module, both, steps, losses_of)]
    if owned:
        dist.barrier(group)  # rows of others are read from here on
    tables = [embedding.table, *sparse.state_of(embedding).values()]
    return losses, [table.gather(torch.arange(len(table))) for table in tables]


def end_in_step(who: int, moment: str) -> str:
    """How the third step of two embeddings is refused where rank `who` is killed, or raises."""
    embeddings = [ramet.nn.Embedding(ROWS, WIDTH, placement=placement) for placement in ("chunked", "distributed")]
    optimizer = ramet.optim.Adam(embeddings, 0.1)
    for step in range(3):
        for embedding in embeddings:
            embedding(torch.arange(10)).sum().backward()
        if step == 2 and dist.get_rank() == who:
            MOMENTS[moment](optimizer)
        said = refused(optimizer.step)
        optimizer.zero_grad()
    return said


def kill_when_applying(optimizer) -> None:
    ramet._core.apply_gradients = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)


def raise_when_applying(optimizer) -> None:
    optimizer.param_groups[0]["lr"] = -1.0


MOMENTS = {
    "is killed before": lambda optimizer: os.kill(os.getpid(), signal.SIGKILL),
    "is killed within": kill_when_applying,
    "raises": raise_when_applying,
}


def unlike_optimizers(group) -> dict[str, str]:
    """How optimizers are refused that rank 1 makes otherwise than the rest."""
    one, two = (ramet.nn.Embedding(ROWS, WIDTH, ranks=group) for _ in range(2))
    make = {
        "optimizer": lambda: ramet.optim.SGD(one, 0.1),
        "betas": lambda: ramet.optim.Adam(one, 0.1, betas=(0.5, 0.9)),
        "steps": lambda: ramet.optim.Adam(one, 0.1, steps="all"),
        "average": lambda: ramet.optim.Adam(one, 0.1, average=False),
        "rounding": lambda: ramet.optim.Adam(one, 0.1, rounding="stochastic"),
        "embeddings": lambda: ramet.optim.Adam([one, two], 0.1),
        "fails": lambda: ramet.optim.Adam(one, 0.1, steps="some"),
    }
    usual = functools.partial(ramet.optim.Adam, one, 0.1)
    return {name: refused(other if group.rank() == 1 else usual) for name, other in make.items()}


def unlike_steps(group) -> list[str]:
    """What a step says whose rate differs between ranks, and then one whose rate is wrong on rank 1."""
    embedding = ramet.nn.Embedding(ROWS, WIDTH, ranks=group, init=1)
    optimizer = ramet.optim.SGD(embedding, lr=0.1)
    embedding(torch.arange(ROWS)).sum().backward()
    said = []
    for rates in ([0.1, 0.2], [0.1, -1.0]):
        optimizer.param_groups[0]["lr"] = rates[group.rank()]
        said.append(refused(optimizer.step))
        assert (embedding.weight == 1).all()
    return said


def unpickled(group) -> tuple:
    """All rows of an embedding that was unpickled, and how an optimizer of it is refused."""
    embedding = ramet.nn.Embedding(ROWS, WIDTH, placement="chunked", init=1, ranks=group)
    other = pickle.loads(pickle.dumps(embedding))
    return other(torch.arange(ROWS)), refused(lambda: ramet.optim.SGD(other, 0.1))


def owned_ids(group) -> dict:
    """What each rank gets for ids of its own, and how it is refused those of others and views of what is in pieces."""
    said = {}
    for placement, ownership in LAYOUTS:
        owners = owners_of(ownership, group.size())
        embedding = ramet.nn.Embedding(ROWS, WIDTH, placement=placement, ownership=owners, ranks=group, seed=3)
        mine = torch.as_tensor(embedding.table.owned())
        others = np.setdiff1d(np.arange(ROWS), mine.numpy())
        rows = embedding(mine[None], owned=True)[0]
        wrong = torch.tensor([*mine[:2].tolist(), int(others[0])])
        said[placement, ownership] = (
            mine,
            rows,
            refused(lambda: embedding(wrong, owned=True)),  # noqa: B023 (called here)
            refused(lambda: embedding(torch.tensor([ROWS]), owned=True)),  # noqa: B023
            refused(lambda: embedding.weight),  # noqa: B023
        )
    return said


def collectives(group, folder) -> list[int]:
    """How many there are in a step of two embeddings in which all ranks ask for rows of their own, then one of them for
    others, then both; and in one of rows on a disk."""
    embeddings = [ramet.nn.Embedding(ROWS, WIDTH, placement=placement, ranks=group) for placement, _ in LAYOUTS[:2]]
    disk = ramet.nn.Embedding(ROWS, WIDTH, location="disk", path=folder, cache_rows=5, ranks=group)
    in_memory, on_disk, result = ramet.optim.Adam(embeddings, 0.1), ramet.optim.Adam(disk, 0.1), []
    for owned in ((True, True), (True, False), (False, False), (True,)):
        optimizer = in_memory if len(owned) == 2 else on_disk
        for embedding, own in zip(optimizer.embeddings, owned):
            mine = torch.as_tensor(embedding.table.owned())[: 0 if group.rank() == 0 else None]  # rank 0 has no ids
            embedding(mine, owned=own).sum().backward()
        with recording() as called:
            optimizer.step()
        optimizer.zero_grad()
        result.append(len(called))
    return result


def few_rows(group) -> list[np.ndarray]:
    """Three rows of two dimensions, also where most ranks own none, after a step in which every rank asks for two of
    them twice."""
    result, last = [], np.full(3, group.size() - 1)
    for placement, ownership in (("continuous", None), ("chunked", last), ("distributed", "hash")):
        where = {"placement": placement, "ownership": ownership, "ranks": group}
        embedding = ramet.nn.Embedding(ramet.Table.create((3, 2, 4), init=5, **where))
        optimizer = ramet.optim.SGD(embedding, lr=1.0)
        embedding(torch.tensor([[0, 2], [2, 0]])).sum().backward()
        optimizer.step()
        result.append(embedding.table.gather(np.arange(3)))
    return result


def poisoned(group) -> list[int]:
    """The rows with a NaN after a step in which the last rank has one in the gradient of row 7."""
    embedding = ramet.nn.Embedding(ROWS, WIDTH, ranks=group)
    gradients = torch.ones(3, WIDTH)
    if group.rank() == group.size() - 1:
        gradients[1, 5] = float("nan")
    embedding(torch.tensor([[6], [7], [8]])).backward(gradients[:, None])
    ramet.optim.Adam(embedding).step()
    return torch.as_tensor(embedding.table.gather(np.arange(ROWS))).isnan().any(1).nonzero().view(-1).tolist()


def padded(group) -> list[list[int]]:
    """Of every layout the rows that are zeros, before a step for all rows, and those that it has changed not."""
    said, every = [], torch.arange(ROWS)
    for placement, ownership in LAYOUTS:
        where = {"placement": placement, "ownership": owners_of(ownership, group.size()), "ranks": group}
        embedding = ramet.nn.Embedding(ROWS, WIDTH, padding_idx=7, **where)
        optimizer = ramet.optim.SGD(embedding, lr=1.0)
        before = embedding(every)
        before.sum().backward()
        optimizer.step()
        said += [
            rows.nonzero().view(-1).tolist() for rows in ((before == 0).all(1), (before == embedding(every)).all(1))
        ]
    return said


def loaded_by_one(group) -> torch.Tensor:
    """All rows as this rank has them, after rank 1 has loaded a state."""
    embedding = ramet.nn.Embedding(ROWS, WIDTH, ranks=group)
    dist.barrier(group)
    if group.rank() == 1:
        embedding.load_state_dict({"weight": torch.full((ROWS, WIDTH), 5.0)})
    dist.barrier(group)
    return embedding.state_dict()["weight"].clone()


# ---- tests


@pytest.fixture(scope="module")
def alone():
    """What one process learns, by method and rounding."""
    return {
        (method, rounding): learn(method, rounding, 0, 1) for method in METHODS for rounding in roundings_of(method)
    }


@pytest.mark.parametrize(("size", "method"), sizes_and_methods(1, 2, 5))
def test_a_split_list_of_gradients_gives_the_same_bits(world, alone, size, method):
    """For every layout and dtype, over ranks with other numbers of threads, of which one has no ids."""
    for of_rank in world.call(learn_everywhere, method, size=size):
        for (placement, ownership, rounding), learned in of_rank.items():
            expected = alone[method, rounding]
            assert learned.keys() == expected.keys()
            for name, bits in expected.items():
                assert learned[name] == bits, (placement, ownership, rounding, name)


@pytest.fixture(scope="module")
def trained_alone(store):
    return {method: train(None, store, OPTIONS, method, 10) for method in ("SGD", "Adam")}


def assert_same_training(answers, expected) -> None:
    losses, tables = expected
    np.testing.assert_allclose(np.mean([losses for losses, _ in answers], 0), losses, rtol=1e-5)
    for _, theirs in answers:
        for one, other in zip(theirs, tables, strict=True):
            np.testing.assert_allclose(one, other.numpy(), rtol=1e-3, atol=1e-5)


APART, RANGES, HASH = {}, *({"ranks": ramet.Cooperate(ownership=ownership)} for ownership in (None, "hash"))


@pytest.mark.parametrize(  # every pair of two of the three: continuous rows take ranges
    ("size", "placement", "mode"),
    [
        (1, "continuous", APART),
        (2, "continuous", RANGES),
        (4, "continuous", APART),
        (1, "chunked", HASH),
        (2, "chunked", APART),
        (4, "chunked", RANGES),
        (1, "distributed", RANGES),
        (2, "distributed", HASH),
        (4, "distributed", APART),
        (4, "distributed", HASH),
    ],
    ids=str,
)
def test_training_is_that_of_one_process(world, trained_alone, store, size, placement, mode):
    """With torch's DistributedDataParallel, and a schedule of the learning rate."""
    for method, expected in trained_alone.items():
        answers = world.call(train, store, OPTIONS | mode, method, 10, placement, size=size)
        assert_same_training(answers, expected)


def test_optimizers_that_differ_are_refused_on_every_rank(world):
    for said in world.call(unlike_optimizers, size=3):
        for name, words in said.items():
            assert words.startswith("ValueError: "), name
            assert ("'some'" if name == "fails" else f"rank 1 has {name}=") in words


def test_options_that_differ_or_are_wrong_stop_a_step_before_rows_change(world):
    differs, wrong = zip(*world.call(unlike_steps, size=2))
    both = "rank 1 is at step 1 with lr=0.2, but rank 0 at step 1 with lr=0.1"
    assert set(differs) == {f"ValueError: {both}: the ranks of tables do the same, in one order"}
    assert wrong[1].startswith("ValueError: lr is -1") and "rank 1 failed" in wrong[0]


def test_only_its_ranks_train_an_embedding(world):
    """What was unpickled does not know them."""
    for rows, words in world.call(unpickled, size=2):
        assert (rows == 1).all() and "was unpickled" in words


def test_a_padding_row_is_zeros_on_every_rank(world):
    assert all(said == [[7]] * 2 * len(LAYOUTS) for said in world.call(padded, size=3))


def test_a_state_that_one_rank_loads_is_loaded_for_all(world):
    assert all((rows == 5).all() for rows in world.call(loaded_by_one, size=2))


def test_owned_ids_are_those_of_the_rank(world):
    expected = ramet.nn.Embedding(ROWS, WIDTH, seed=3).weight.numpy()
    answers = world.call(owned_ids, size=3)
    for layout in LAYOUTS:
        mine = [said[layout][0] for said in answers]
        assert np.sort(np.concatenate(mine)).tolist() == list(range(ROWS))
        for rank, said in enumerate(answers):
            ids, rows, of_others, outside, weight = said[layout]
            np.testing.assert_array_equal(rows, expected[ids])
            foreign = np.setdiff1d(np.arange(ROWS), ids)[0]
            assert of_others.startswith("IndexError: ") and f"ids[{min(len(ids), 2)}] = {foreign}" in of_others
            assert f"rank {rank}" in of_others
            assert outside.startswith("IndexError: ") and f"{ROWS}" in outside
            assert weight == "nothing" if layout[0] == "continuous" else "chunks()" in weight


def test_a_step_has_two_collectives_and_none_for_owned_rows(world, tmp_path):
    assert world.call(collectives, tmp_path, size=3) == [[0, 2, 2, 0]] * 3


def test_ranks_without_rows(world):
    """5 less the average of what ranks got, which is 2 for each."""
    expected = np.broadcast_to(np.array([3, 5, 3], np.float32)[:, None, None], (3, 2, 4))
    for of_rank in world.call(few_rows, size=5):
        for rows in of_rank:
            np.testing.assert_array_equal(rows, expected)


def test_a_nan_of_one_rank_stays_in_its_row(world):
    assert world.call(poisoned, size=3) == [[7]] * 3


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_rank_that_ends_in_a_step(world_of, moment):
    """The others get an error, and nothing is left."""
    with world_of(3) as world:
        ends = () if moment == "raises" else (1,)
        first, *its_own, last = world.call(end_in_step, 1, moment, without=ends)
        for words in (first, last):
            assert words.startswith("RuntimeError: ")
        if its_own:
            assert its_own == ["ValueError: lr is -1.0, expected at least 0 and finite"]
            assert "rank 1" in last
