"""Ranks that cooperate, each with its own part of the graph, against one process with all of it. What does not belong
together is an error that names it, on every rank, and nobody waits."""

import itertools
import re

import numpy as np
import pytest

import ramet

pytest.importorskip("torch")

import learning
from comparison import by_type
from small_graphs import heterogeneous, homogeneous
from timed_graphs import some_times, timed_pair
from together import edges

WORLD = 3


def batches(graph, input_nodes, **options) -> list[tuple]:
    loader = ramet.NeighborLoader(graph, [4, 3], input_nodes, 64, shuffle=True, seed=5, **options)
    state = loader.state_dict()

    def plain(value) -> dict:
        return {t: np.asarray(part).tolist() for t, part in by_type(value, [None]).items()}

    return [(*map(plain, (batch.seeds, batch.x, batch.y)), batch.fingerprint(), state) for batch in loader]


def of_rank(out, input_nodes, options) -> list[tuple]:
    import torch.distributed as dist

    part = ramet.open(f"{out}/part-{dist.get_rank()}")
    return batches(part, input_nodes, ranks=ramet.Cooperate(), **options)


TREES = {"expand": "once", "sampler": ramet.Budget(9)}


@pytest.mark.parametrize(
    ("make", "method", "options"),
    [
        (homogeneous, "metis", {"sampler": ramet.Budget()}),
        (homogeneous, "range", TREES),
        (homogeneous, "hash", {"sampler": "labor"}),
        (heterogeneous, "hash", {}),
    ],
)
def test_parts_make_the_batches_of_the_whole_graph(world, make, method, options, tmp_path):
    ramet.partition(make(), WORLD, tmp_path, method=method)
    input_nodes = ("paper", "train") if make is heterogeneous else "train"
    ours = world.call(of_rank, str(tmp_path), input_nodes, options)
    assert ours == world.call(of_whole, make, input_nodes, options, str(tmp_path))


def of_whole(make, input_nodes, options, out) -> list[tuple]:
    """The same ranks with the same owners, each with the whole graph."""
    graph = make()
    ownership = {t: f"{out}/owner/{t}.npy" for t in graph.node_types}
    return batches(graph, input_nodes, ranks=ramet.Cooperate(ownership=ownership), **options)


def timed(out, **ranks) -> list:
    """The edges of every step, of seeds and of pairs."""
    graph = ramet.open(out)
    options = {"num_neighbors": [4, 3], "batch_size": 20, "time": ramet.Time("time", monotonic=True), **ranks}
    pairs = np.random.default_rng(0).integers(0, 200, (2, 30))
    nodes = ramet.NeighborLoader(graph, input_nodes=pairs[0], input_time=some_times(30, 1), **options)
    links = ramet.LinkLoader(graph, edges=pairs, edge_time=some_times(30, 2), **options)
    return [edges([batch]) for batch in [*nodes, *links]]


def timed_rank(out) -> list:
    import torch.distributed as dist

    return timed(f"{out}/part-{dist.get_rank()}", ranks=ramet.Cooperate())


def test_parts_with_times_of_edges(world, tmp_path):
    """Times of nodes need the whole graph."""
    for of in ("edges", "nodes"):
        ramet.save(timed_pair(of, True)[0], tmp_path / of)
        ramet.partition(ramet.open(tmp_path / of), WORLD, tmp_path / f"parts-{of}", method="hash")
    alone = timed(tmp_path / "edges", ranks=False)
    together = zip(*world.call(timed_rank, str(tmp_path / "parts-edges")), strict=True)
    assert [sorted(itertools.chain(*step)) for step in together] == alone
    for outcome, words in world.outcomes(timed_rank, str(tmp_path / "parts-nodes")):
        assert (outcome, "time is 'time', a table of nodes, which needs a whole graph" in words) == ("failed", True)


# ---- what does not belong together


SAME = "ranks that cooperate need the same"
CASES = {  # what ranks 0 and 1 open: what each says
    "the other's part": (
        ("hash/part-1", "hash/part-0"),
        (f"rank 1 has part=0, but rank 0 of its group has 1: {SAME}",) * 2,
    ),
    "the same part": (
        ("hash/part-0", "hash/part-0"),
        (f"rank 1 has part=0, but rank 0 of its group has 'its own': {SAME}",) * 2,
    ),
    "parts of another graph": (
        ("hash/part-0", "other/part-1"),
        (f"rank 1 has graph and input_nodes=<.*>.*, but rank 0 of its group has <.*>.*: {SAME}",) * 2,
    ),
    "parts of a graph without the seeds": (
        ("bare/part-0", "hash/part-1"),
        ("^KeyError: .the graph has no split 'train'", "rank 0 cannot cooperate: KeyError: .*has no split 'train'"),
    ),
    "parts by other owners": (
        ("hash/part-0", "range/part-1"),
        (f"rank 1 has ownership=.*, but rank 0 of its group has .*: {SAME}",) * 2,
    ),
    "the whole graph beside a part": (
        ("whole", "hash/part-1"),
        (f"rank 1 has ownership=.*, but rank 0 of its group has .*: {SAME}",) * 2,
    ),
    "more parts than ranks": (
        ("three/part-0", "three/part-1"),
        ("the graph is part 0 of 3, but 2 ranks cooperate", "the graph is part 1 of 3, but 2 ranks cooperate"),
    ),
    "fewer parts than ranks": (
        ("one/part-0", "one/part-0"),
        ("the graph is part 0 of 1, but 2 ranks cooperate",) * 2,
    ),
    "one of more parts": (
        ("hash/part-0", "three/part-1"),
        (
            "rank 1 cannot cooperate: ValueError: the graph is part 1 of 3, but 2",
            "^ValueError: the graph is part 1 of 3, but 2",
        ),
    ),
}


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    graph = homogeneous()
    bare = ramet.from_arrays(graph.indptr(), graph.indices(), nodes={"feat": graph.table("feat").numpy()})
    ramet.save(graph, folder / "whole")
    for name, whole, parts, method in (
        ("hash", graph, 2, "hash"),
        ("range", graph, 2, "range"),
        ("one", graph, 1, "hash"),
        ("three", graph, 3, "hash"),
        ("other", homogeneous(seed=1), 2, "hash"),
        ("bare", bare, 2, "hash"),
    ):
        ramet.partition(whole, parts, folder / name, method=method)
    return folder


def loader_of(group, store, *stores):
    graph = ramet.open(f"{store}/{stores[group.rank()]}")
    return ramet.NeighborLoader(graph, [4, 3], "train", 50, ranks=ramet.Cooperate(among=group))


def refusal(*stores) -> str:
    return learning.refused(lambda: loader_of(*stores))


def number_of_seeds(*stores) -> list[int]:
    return [len(batch.seeds) for batch in loader_of(*stores)]


@pytest.mark.parametrize("case", CASES)
def test_every_rank_says_what_is_wrong_and_goes_on(world, stores, case):
    paths, messages = CASES[case]
    for said, message in zip(world.call(refusal, str(stores), *paths, size=2), messages, strict=True):
        assert re.search(message, said)
    of_ranks = world.call(number_of_seeds, str(stores), "hash/part-0", "hash/part-1", size=2)
    assert [sum(seeds) for seeds in zip(*of_ranks, strict=True)] == [50, 50, 50, 50, 5]
