"""NeighborLoader under torch.distributed: gloo processes against one process with the whole batch."""

import contextlib
import functools
import itertools
import logging
import zlib

import pytest
from small_graphs import homogeneous, sampled

import ramet
from ramet._support import log

pytest.importorskip("torch")

import torch
import torch.distributed as dist

import ramet.distributed

OPTIONS = {"num_neighbors": [3, 2], "input_nodes": "train", "batch_size": 10, "shuffle": True}
ALONE = {"ranks": False}
small_graph = functools.cache(homogeneous)


# ---- what ranks do


def steps(batches) -> list[tuple]:
    return [(b.epoch, b.step, b.global_num_seeds, b.seeds.tolist(), sampled(b)) for b in batches]


@contextlib.contextmanager
def warnings():
    """What is logged inside this context, as if it was the first time in this process, and the first epochs."""
    records = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())
    logging.getLogger("ramet").addHandler(handler)
    log._warned.clear()
    ramet.loading.epoch_monitor._monitors.clear()
    try:
        yield records
    finally:
        logging.getLogger("ramet").removeHandler(handler)


def loader_of(options: dict) -> ramet.NeighborLoader:
    return ramet.NeighborLoader(small_graph(), **options)


def place_of(options):
    loader = loader_of(options)
    return loader.rank, loader.world, len(loader)


def run_epochs(options, count):
    loader = loader_of(options)
    return [steps(loader) for _ in range(count)]


def join(options, members):
    """Rank, world and seeds inside a process group, or how the loader refuses a process outside."""
    group = dist.new_group(members)
    try:
        loader = loader_of(options | {"ranks": group})
    except ValueError as error:
        return str(error)
    return loader.rank, loader.world, [seeds for _, _, _, seeds, _ in steps(loader)]


def log_two(options):
    """What two loaders log."""
    with warnings() as records:
        loader_of(options), loader_of(options)
    return records


def log_early(file):
    """What the loops over a loader log that was made before torch.distributed was initialized."""
    place = {"rank": dist.get_rank(), "world_size": dist.get_world_size()}
    ramet.distributed.destroy_process_group()
    early = loader_of({"num_neighbors": [2], "input_nodes": "val", "batch_size": 7})
    dist.init_process_group("gloo", init_method=f"file://{file}", **place)
    with warnings() as records:
        for _ in range(2):
            next(iter(early))
    return early.world, records


def log_loops(options, scripts):
    """What this rank's script logs: loops over loaders, in order, `train` in lockstep."""
    loaders = {
        "train": loader_of(options),
        "validate": loader_of(options | {"input_nodes": "val"}),
        "alone": loader_of(options | {"input_nodes": "val", "ranks": False}),
    }
    with warnings() as records:
        for word in scripts[min(dist.get_rank(), len(scripts) - 1)].split():
            name, _, what = word.partition(":")
            if what == "again":
                loaders[name].set_epoch(0)
            for _ in itertools.islice(loaders[name], 1 if what == "peek" else None):
                if name == "train" and what != "peek":
                    dist.barrier()
    return records


# ---- tests


@pytest.fixture(scope="module", params=[2, pytest.param(4, marks=pytest.mark.slow)])
def group(request, world_of):
    with world_of(request.param) as world:
        yield world


def alone(graph, options: dict) -> ramet.NeighborLoader:
    return ramet.NeighborLoader(graph, **options)


def merged(per_rank: list[list[tuple]]) -> list[tuple]:
    """The steps of all ranks as those of one process: seeds in a row, and the union of the edges."""
    result = []
    for of_ranks in zip(*per_rank, strict=True):
        (about,) = {step[:3] for step in of_ranks}  # epoch, step and global_num_seeds are the same on all
        seeds = [seed for step in of_ranks for seed in step[3]]
        result.append((*about, seeds, set().union(*(step[4] for step in of_ranks))))
    return result


def test_rank_and_world_are_found(group):
    assert group.call(place_of, OPTIONS) == [(rank, group.size, 21) for rank in range(group.size)]
    assert group.call(place_of, OPTIONS | {"drop_last": True}) == [(r, group.size, 20) for r in range(group.size)]
    assert group.call(place_of, OPTIONS | ALONE) == [(0, 1, 21)] * group.size


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"shuffle": False},
        {"drop_last": True},
        {"batch_size": 3},  # on 4 ranks one slice is empty in every step
        {"batch_size": 1},
        {"batch_size": 1000},
        {"input_nodes": [7]},
        {"input_nodes": []},
        {"input_nodes": [5, 5, 5, 999], "sampler": ramet.Uniform(replace=True)},  # repeated, and isolated
        {"num_neighbors": [-1, 0]},
        {"sampler": "labor"},
        {"sampler": ramet.Labor(layer_dependent=True)},
    ],
    ids=str,
)
def test_the_ranks_together_are_one_process(group, graph, change):
    """The same number of steps on every rank, in every epoch; slices in order; the same edges."""
    per_rank = group.call(run_epochs, OPTIONS | change, 2)
    loader = alone(graph, OPTIONS | change)
    for epoch in range(2):
        together = merged([epochs[epoch] for epochs in per_rank])
        assert len(together) == len(loader)
        assert together == steps(loader)


def test_the_mean_of_one_process_is_a_plain_mean(graph):
    for batch in alone(graph, OPTIONS):
        losses = torch.rand(batch.num_seeds)
        torch.testing.assert_close(batch.mean(losses), losses.mean())


def test_a_loader_of_one_process_alone(group, graph):
    expected = steps(alone(graph, OPTIONS))
    assert group.call(run_epochs, OPTIONS | ALONE, 1) == [[expected]] * group.size


def test_a_loader_inside_a_process_group(group, graph):
    members = list(range(max(1, group.size // 2)))
    answers = group.call(join, OPTIONS, members)
    for rank, (in_group, world, _) in enumerate(answers[: len(members)]):
        assert (in_group, world) == (rank, len(members))
    whole = [list(itertools.chain(*seeds)) for seeds in zip(*(seeds for _, _, seeds in answers[: len(members)]))]
    assert whole == [step[3] for step in steps(alone(graph, OPTIONS))]
    for rank in range(len(members), group.size):
        assert answers[rank] == f"ranks is a process group that rank {rank} is not in"


def test_the_global_batch_size_is_said_once_by_rank_0(group):
    first, *others = group.call(log_two, OPTIONS)
    words = f"batch_size=10 is the global batch, shared by {group.size} ranks; ranks=False is for a loader of one"
    assert first == [f"{words} rank"]
    assert others == [[]] * (group.size - 1)


@pytest.mark.parametrize(
    "scripts",
    [
        ["train validate train", "train train"],
        ["validate train train", "train train"],
    ],
)
def test_an_epoch_that_one_rank_loops_over_is_said_once(group, scripts):
    """By that rank, as soon as all ranks have begun a later epoch; nobody waits for anybody."""
    options = OPTIONS | {"seed": zlib.crc32(str(scripts).encode())}  # loaders that no other test has
    first, *others = group.call(log_loops, options, scripts)
    said = f"1 of {group.size} ranks looped over epoch 0 of a loader over 'val' (batch_size=10): "
    assert [words[: len(said)] for words in first] == [said]
    assert all("ranks=False" in words for words in first)
    assert others == [[]] * (group.size - 1)


@pytest.mark.parametrize(
    "scripts",
    [
        ["train validate train validate train"],  # all of them, of which the fast do not wait for the slow
        ["train alone train alone train", "train train train"],
        ["validate:peek train train", "train train"],  # a look at a batch
        ["train:peek train:again train", "train train"],
        ["train validate:again validate:again train train"],
        ["validate validate validate validate", "validate"],  # ranks that need not go on together
        ["validate", "train:peek"],
    ],
    ids=str,
)
def test_no_false_alarm(group, scripts):
    options = OPTIONS | {"seed": zlib.crc32(str(scripts).encode())}
    assert group.call(log_loops, options, scripts) == [[]] * group.size


def test_a_loader_that_was_made_before_the_ranks_were_there(group, tmp_path):
    for world, said in group.call(log_early, tmp_path / "meet"):
        assert world == 1
        (words,) = said
        assert f"made before torch.distributed was initialized, so each of {group.size} ranks has whole" in words


def test_a_group_without_torch_distributed_is_an_error(graph):
    for wrong in (True, "ranks"):
        with pytest.raises(TypeError, match=f"ranks is {wrong!r}, expected None, False or a process group"):
            alone(graph, OPTIONS | {"ranks": wrong})
    assert alone(graph, OPTIONS).world == 1
