"""NeighborLoader under torch.distributed: gloo processes against one process with the whole batch."""

import math
import sys
import zlib
from itertools import chain

import processes
import pytest
from small_graphs import homogeneous

import ramet

torch = pytest.importorskip("torch")

import ranks  # noqa: E402  (needs torch)

OPTIONS = {"num_neighbors": [3, 2], "input_nodes": "train", "batch_size": 10, "shuffle": True}
ONE_HOP = OPTIONS | {"num_neighbors": [3]}
ALONE = {"distributed": False}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("distributed") / "store"
    ramet.save(homogeneous(), path)
    return path


@pytest.fixture(scope="module")
def graph(store) -> ramet.Graph:
    return ramet.open(store)


class Group:
    """All ranks, by rank."""

    def __init__(self, lines: list[processes.Line]):
        self.lines = sorted(lines, key=lambda line: int(line.role))
        self.world = len(lines)

    def ask(self, *request) -> list:
        for line in self.lines:
            line.tell(request)
        outcomes = [line.hear() for line in self.lines]
        for outcome, value in outcomes:
            assert outcome == "done", value
        return [value for _, value in outcomes]


@pytest.fixture(scope="module", params=["torchrun 1", "torchrun 2", "mp.spawn 4"])
def group(request, store):
    how, world = request.param.split()
    arguments = [ranks.__file__, processes.MEETING, store]
    options = {"env": {"OMP_NUM_THREADS": "1"}}
    if how == "torchrun":
        torchrun = ("-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={world}")
        options["launcher"] = (sys.executable, *torchrun)
    else:
        arguments.append(world)
    with processes.meeting_of(*arguments, **options) as (meeting, _):
        yield Group(meeting.expect(int(world)))


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
    assert group.ask("place", OPTIONS) == [(rank, group.world, 21) for rank in range(group.world)]
    assert group.ask("place", OPTIONS | {"drop_last": True}) == [(r, group.world, 20) for r in range(group.world)]
    assert group.ask("place", OPTIONS | ALONE) == [(0, 1, 21)] * group.world
    assert group.ask("place", OPTIONS | {"distributed": True}) == group.ask("place", OPTIONS)


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
    per_rank = group.ask("epochs", OPTIONS | change, 2)
    loader = alone(graph, OPTIONS | change)
    for epoch in range(2):
        together = merged([epochs[epoch] for epochs in per_rank])
        assert len(together) == len(loader)
        assert together == ranks.steps(loader)


def test_slices_differ_by_one_seed_at_most(group):
    for of_ranks in zip(*(epochs[0] for epochs in group.ask("epochs", OPTIONS, 1))):
        sizes = [len(step[3]) for step in of_ranks]
        total = of_ranks[0][2]
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] == math.ceil(total / group.world)
        assert sizes[-1] == total // group.world


def test_slices_have_the_fingerprint_of_the_whole(group, graph):
    """What each rank sampled, sampled here again for its seeds: the fingerprint of the union."""
    per_rank = group.ask("epochs", OPTIONS, 1)
    loader = alone(graph, OPTIONS)
    for batch in loader:
        slices = [epochs[0][batch.step][3] for epochs in per_rank]
        parts = [ramet.sample(graph, seeds, [3, 2], epoch=0, step=batch.step) for seeds in slices]
        assert ramet.fingerprint(parts) == batch.fingerprint()


@pytest.mark.parametrize("change", [{}, {"batch_size": 3}, {"batch_size": 7}, {"input_nodes": [7, 5]}], ids=str)
def test_the_averaged_gradient_is_that_of_the_global_batch(group, graph, change):
    """Also where slices differ in size or are empty, and for a last batch that is smaller."""
    options = ONE_HOP | change
    expected = torch.tensor(ranks.gradients(alone(graph, options), ranks.Model()), dtype=torch.float64)
    for of_rank in group.ask("gradients", options):
        torch.testing.assert_close(torch.tensor(of_rank, dtype=torch.float64), expected, rtol=1e-12, atol=1e-13)


def test_the_gradient_of_one_process_is_that_of_a_plain_mean(graph):
    model = ranks.Model()
    expected = []
    for batch in alone(graph, ONE_HOP):
        model.zero_grad()
        torch.nn.functional.cross_entropy(model(batch), batch.y).backward()
        expected.append([number for p in model.parameters() for number in p.grad.flatten().tolist()])
    actual = ranks.gradients(alone(graph, ONE_HOP), model)
    torch.testing.assert_close(torch.tensor(actual), torch.tensor(expected), rtol=1e-6, atol=1e-7)


def test_a_loader_of_one_process_alone(group, graph):
    expected = ranks.steps(alone(graph, OPTIONS))
    assert group.ask("epochs", OPTIONS | ALONE, 1) == [[expected]] * group.world


def test_a_loader_inside_a_process_group(group, graph):
    members = list(range(max(1, group.world // 2)))
    answers = group.ask("in_group", OPTIONS, members)
    for rank, (in_group, world, _) in enumerate(answers[: len(members)]):
        assert (in_group, world) == (rank, len(members))
    whole = [list(chain(*seeds)) for seeds in zip(*(seeds for _, _, seeds in answers[: len(members)]))]
    assert whole == [step[3] for step in ranks.steps(alone(graph, OPTIONS))]
    for rank in range(len(members), group.world):
        assert answers[rank] == f"distributed is a process group that rank {rank} is not in"


@pytest.mark.parametrize("step", [0, 1, 13, 20])
def test_resuming_on_another_number_of_ranks(group, graph, step):
    loader = alone(graph, OPTIONS)
    loader.set_epoch(2)
    expected = ranks.steps(loader)
    states, seen = zip(*group.ask("state", OPTIONS, 2, step))
    assert all(state == states[0] for state in states)  # any rank's state will do
    assert merged(seen) == expected[:step]
    here = alone(graph, OPTIONS)
    here.load_state_dict(states[0])
    assert ranks.steps(here) == expected[step:]  # from all ranks to one process
    back = alone(graph, OPTIONS)
    back.load_state_dict(states[0])
    assert merged(group.ask("resume", OPTIONS, back.state_dict())) == expected[step:]  # and the other way


def test_the_global_batch_size_is_said_once_by_rank_0(group):
    first, *others = group.ask("log", OPTIONS)
    words = (
        f"batch_size=10 is the global batch, shared by {group.world} ranks; distributed=False is for a loader of one"
    )
    expected = [f"{words} rank"] if group.world > 1 else []
    assert first == expected
    assert others == [[]] * (group.world - 1)


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
    first, *others = group.ask("loops", options, scripts)
    said = f"1 of {group.world} ranks looped over epoch 0 of a loader over 'val' (batch_size=10): "
    assert [words[: len(said)] for words in first] == ([said] if group.world > 1 else [])
    assert all("distributed=False" in words for words in first)
    assert others == [[]] * (group.world - 1)


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
    assert group.ask("loops", options, scripts) == [[]] * group.world


def test_a_loader_that_was_made_before_the_ranks_were_there(group):
    for world, said in group.ask("early"):
        assert world == 1
        assert len(said) == (group.world > 1)
        for words in said:
            assert f"made before torch.distributed was initialized, so each of {group.world} ranks has whole" in words


def test_a_group_without_torch_distributed_is_an_error(graph):
    for distributed in (True, "ranks"):
        with pytest.raises(ValueError, match=f"distributed is {distributed!r}.*not initialized"):
            alone(graph, OPTIONS | {"distributed": distributed})
    assert alone(graph, OPTIONS).world == 1
