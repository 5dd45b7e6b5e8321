"""A loader's shuffling, batches and ranks are those of the twin, bit by bit. Every test names the sections of
docs/semantics.md that it checks."""

import itertools

import numpy as np
import pytest
import twin
from comparison import EDGE, ODD_EDGES, assert_equal, labor

import ramet

RANKS = {
    "uniform": {},
    "drop_last": {"drop_last": True},
    "dependent": {"sampler": ramet.Uniform(dependent=4), "shuffle": False, "threads": 2},
    **{f"labor-{i}": labor(i) for i in range(4)},
}


@pytest.mark.parametrize("n", [1, 2, 3, 4, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1000, 4096, 4097])
def test_shuffle(n):
    """Section 6: pi, around the sizes where the network grows, for several seeds and epochs."""
    graph = ramet.from_edge_index(np.zeros((2, 0), np.int64), n)
    for seed, epoch in ((0, 0), (0, 1), (1, 2**31), (2**64 - 1, 1)):
        loader = ramet.NeighborLoader(graph, [0], batch_size=n, shuffle=True, seed=seed, ranks=False)
        loader.set_epoch(epoch)
        expected = twin.shuffled(n, seed, epoch)
        assert sorted(expected) == list(range(n))
        assert [batch.seeds.tolist() for batch in loader] == [expected]


@pytest.mark.parametrize("threads", [1, 2])
def test_loader_blocks(small, threads):
    """Sections 1, 6: a loader's batches are the twin's; epoch and number of the batch are in their keys."""
    graph, twin_graph = small
    inputs = np.random.default_rng(3).permutation(300)[:70]
    loader = ramet.NeighborLoader(graph, [5, 40], inputs, 16, shuffle=True, seed=4, threads=threads, ranks=False)
    for epoch in (0, 1):
        batches = list(loader)
        seeds = twin.global_batches(inputs, 16, shuffle=True, drop_last=False, seed=4, epoch=epoch)
        assert len(batches) == len(seeds) == 5
        for step, (batch, chosen) in enumerate(zip(batches, seeds)):
            assert (batch.epoch, batch.step) == (epoch, step)
            expected = twin.sample(twin_graph, "node", chosen, {EDGE: [5, 40]}, seed=4, epoch=epoch, step=step)
            assert_equal(graph, batch, expected)


def test_loader_blocks_hetero(hetero):
    """Sections 5, 6: the same with several types."""
    graph, twin_graph = hetero
    inputs = [5, 77, 1, 1, 60, 31, 8]
    loader = ramet.NeighborLoader(
        graph, [3, 2], ("a-b", inputs), 3, shuffle=True, sampler=ramet.Uniform(replace=True), ranks=False
    )
    seeds = twin.global_batches(inputs, 3, shuffle=True, drop_last=False, seed=0, epoch=0)
    fanouts = {edge_type: [3, 2] for edge_type in ODD_EDGES}
    for step, (batch, chosen) in enumerate(zip(loader, seeds, strict=True)):
        assert_equal(
            graph,
            batch,
            twin.sample(twin_graph, "a-b", chosen, fanouts, sampler=ramet.Uniform(replace=True), step=step),
        )


@pytest.mark.parametrize("world", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("name", RANKS)
def test_ranks(monkeypatch, small, world, name):
    """Sections 6, 7, 8, 9: slices (some empty), as many steps on every rank, each rank's blocks, the mean over the
    global batch, and the union of fingerprints: the whole's but for LABOR-i, whose importances are of the slice."""
    graph, twin_graph = small
    inputs = np.random.default_rng(5).permutation(300)[:30]  # steps of 7, 7, 7, 7 and 2
    given = {"shuffle": True, "drop_last": False, "seed": 2} | RANKS[name]
    of_epoch = {option: given[option] for option in ("shuffle", "drop_last", "seed")}
    sampler = given.get("sampler", "uniform")

    def batches_of(rank, of) -> list:
        monkeypatch.setattr("ramet.loading.config.rank_and_world", lambda ranks: (rank, of))
        return list(ramet.NeighborLoader(graph, [4, 3], inputs, 7, **given))

    alone, ranks = batches_of(0, 1), [batches_of(rank, world) for rank in range(world)]
    steps = twin.global_batches(inputs, 7, epoch=0, **of_epoch)
    assert [len(batches) for batches in [alone, *ranks]] == [len(steps)] * (world + 1)
    adds_up = []
    for step, seeds in enumerate(steps):
        parts = [batches[step] for batches in ranks]
        expected = []
        for rank, part in enumerate(parts):
            chosen = twin.slice_of(seeds, rank, world)
            assert part.seeds.tolist() == chosen
            assert (part.num_seeds, part.global_num_seeds) == (len(chosen), len(seeds))
            sampled = twin.sample(twin_graph, "node", chosen, {EDGE: [4, 3]}, sampler=sampler, seed=2, step=step)
            assert_equal(graph, part, sampled)
            expected.append(sampled)
        assert list(itertools.chain(*(part.seeds.tolist() for part in parts))) == seeds
        assert ramet.fingerprint(parts) == twin.fingerprint(expected)
        adds_up.append(ramet.fingerprint(parts) == alone[step].fingerprint())
        means = [part.mean(part.seeds.double()) for part in parts]
        assert sum(means) / world == pytest.approx(np.mean(seeds))
    assert all(adds_up) == (world == 1 or name not in ("labor-1", "labor-2", "labor-3"))
    if world == 5 and not given["drop_last"]:
        assert [batches[-1].num_seeds for batches in ranks] == [1, 1, 0, 0, 0]
