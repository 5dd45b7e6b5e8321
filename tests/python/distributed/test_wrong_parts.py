"""Ranks that have opened what does not belong together: an error that names it, on every rank, and nobody waits."""

import re

import pytest
from small_graphs import homogeneous

import ramet

WORLD = 2
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
        ("^.the graph has no split 'train'", "rank 0 cannot cooperate: KeyError: .*has no split 'train'"),
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
        ("rank 1 cannot cooperate: ValueError: the graph is part 1 of 3, but 2", "^the graph is part 1 of 3, but 2"),
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


def loader_of(store, *stores, **options):
    import torch.distributed as dist

    graph = ramet.open(f"{store}/{stores[dist.get_rank()]}")
    return ramet.NeighborLoader(graph, [4, 3], "train", 50, ranks=ramet.Cooperate(), **options)


def refused(*stores) -> str | None:
    try:
        loader_of(*stores)
    except (KeyError, ValueError) as error:
        return str(error)
    return None


def number_of_seeds(*stores) -> list[int]:
    return [len(batch.seeds) for batch in loader_of(*stores)]


@pytest.mark.parametrize("case", CASES)
def test_every_rank_says_what_is_wrong_and_goes_on(world, stores, case):
    paths, messages = CASES[case]
    for said, message in zip(world.call(refused, str(stores), *paths), messages, strict=True):
        assert re.search(message, said)
    of_ranks = world.call(number_of_seeds, str(stores), "hash/part-0", "hash/part-1")
    assert [sum(seeds) for seeds in zip(*of_ranks, strict=True)] == [50, 50, 50, 50, 5]
