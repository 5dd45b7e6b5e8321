"""Cooperative minibatching with all ranks in one process: together they sample and read what one process does."""

import gc
import itertools
import threading
import time

import numpy as np
import processes
import pytest
from comparison import both, by_type, edge_list, labor, odd
from small_graphs import NUM_NODES, heterogeneous, homogeneous
from timed_graphs import some_times, timed_pair, timed_types
from together import Together, assert_same, random_ownership, rows_at

import ramet

WORLDS = (1, 2, 3, 4, 7)
SAMPLERS = (
    {},
    {"sampler": ramet.Uniform(replace=True)},
    {"sampler": ramet.Uniform(dependent=3)},
    labor(),
    labor(layer_dependent=True),
    labor(dependent=4),
    labor(1),
    labor(3),
)


def replaces(options: dict) -> bool:
    return options.get("sampler") == ramet.Uniform(replace=True)


def random_fanouts(random, replace: bool) -> list[int]:
    choices = [0, 1, 2, 5, 500] if replace else [0, 1, 2, 5, 500, -1]
    return [int(fanout) for fanout in random.choice(choices, random.integers(1, 4))]


def random_seeds(random, num_nodes: int):
    kind = random.integers(4)
    if kind == 0:
        return None  # all nodes
    if kind == 1:
        return random.integers(0, num_nodes, 40)  # with repeats
    if kind == 2:
        return random.integers(0, num_nodes, 2)  # fewer than ranks
    return np.repeat(random.integers(0, num_nodes, 5), 4)


@pytest.mark.parametrize("case", range(48))
def test_ranks_together_are_one_process(case):
    random = np.random.default_rng(case)
    num_nodes = int(random.integers(1, 250))
    graph, _ = both(num_nodes, edge_list(num_nodes, num_nodes, num_nodes * 6, seed=case, hub=num_nodes // 2))
    num_ranks = WORLDS[case % len(WORLDS)]
    sampler = SAMPLERS[case % len(SAMPLERS)]
    group = Together(
        graph,
        num_ranks,
        ownership=random_ownership(random, num_nodes, num_ranks),
        threads=1 + case % 2,
        num_neighbors=random_fanouts(random, replaces(sampler)),
        input_nodes=random_seeds(random, num_nodes),
        batch_size=int(random.choice([1, 5, 37, 1000])),
        shuffle=bool(case % 3),
        seed=case,
        expand=("every", "once")[case // 8 % 2],
        **sampler,
    )
    for together, alone in group.pairs(steps=3, epoch=case % 3):
        assert_same(together, alone)


@pytest.mark.parametrize("case", range(16))
def test_ranks_together_are_one_process_with_several_types(case):
    random = np.random.default_rng(100 + case)
    graph, _ = odd()
    num_ranks = WORLDS[case % len(WORLDS)]
    sampler = SAMPLERS[case // 2 % len(SAMPLERS)]
    hops = int(random.integers(1, 4))
    choices = [0, 1, 3] if replaces(sampler) else [0, 1, 3, -1]
    fanouts = {t: [int(f) for f in random.choice(choices, hops)] for t in graph.edge_types}
    seed_types = graph.node_types[case % len(graph.node_types) :]
    seeds = {t: random.integers(0, graph.num_nodes(t), 30 // len(seed_types)) for t in seed_types}
    group = Together(
        graph,
        num_ranks,
        ownership={t: random_ownership(random, graph.num_nodes(t), num_ranks) for t in graph.node_types},
        num_neighbors=fanouts,
        input_nodes=seeds,
        batch_size=13,
        shuffle=True,
        expand=("every", "once")[case // 8],
        **sampler,
    )
    for together, alone in group.pairs():
        assert_same(together, alone)
        for batch in together:
            for t, ids in by_type(batch.input_id, seed_types).items():
                assert np.array_equal(seeds[t][np.asarray(ids)], by_type(batch.seeds, seed_types)[t])


@pytest.mark.parametrize("case", range(10))
def test_budgets_of_ranks_are_those_of_one_process(case):
    """docs/semantics.md, section 25: by type, and by tree with and without times."""
    random = np.random.default_rng(case)
    graph, _ = timed_types("edges" if case % 4 < 2 else "nodes", sort=case % 3 == 0)
    num_ranks = WORLDS[case % len(WORLDS)]
    by_tree = {"sampler": ramet.Budget((1, 6, 17)[case % 3], dependent=1 + case % 2)}
    if case % 4 != 1:
        times = {t: some_times(20, 3) for t in graph.node_types}
        by_tree |= {"time": ramet.Time("time", monotonic=case % 4 == 3), "input_time": times}
    seeds = {t: random.integers(0, graph.num_nodes(t), 20) for t in graph.node_types}
    group = Together(
        graph,
        num_ranks,
        ownership={t: random_ownership(random, graph.num_nodes(t), num_ranks) for t in graph.node_types},
        num_neighbors=[[7, 5], [1, 40, 3], [200]][case % 3] if case < 5 else [4, -1, 3],
        input_nodes=seeds,
        batch_size=11,
        shuffle=True,
        threads=1 + case % 2,
        **({"sampler": ramet.Budget(dependent=1 + case % 2)} if case < 5 else by_tree),
    )
    for together, alone in group.pairs():
        assert_same(together, alone)


@pytest.mark.parametrize("num_ranks", WORLDS)
def test_a_rank_has_its_own_nodes_and_their_rows(num_ranks):
    """Seeds, nodes and rows are those of the rank; sources are what other ranks have."""
    graph = homogeneous()
    feat, label = graph.table("feat").numpy(), graph.table("label").numpy()
    group = Together(graph, num_ranks, ownership="hash", num_neighbors=[4, 3], input_nodes="train", batch_size=50)
    for together, _ in group.pairs():
        for rank, batch in enumerate(together):
            owners = group.owners[0].owners(np.asarray(batch.n_id))
            assert (owners == rank).all()
            assert np.array_equal(batch.seeds, batch.n_id[: batch.num_seeds])
            assert np.array_equal(batch.x, rows_at(feat, batch.n_id))
            assert np.array_equal(batch.y, rows_at(label, batch.seeds))
            for block in batch.blocks:
                assert len(block.n_id) == block.num_src
                assert np.array_equal(block.n_id[: block.num_dst], batch.n_id[: block.num_dst])


@pytest.mark.parametrize("make", [homogeneous, heterogeneous])
def test_fused_means_have_the_bits_of_one_process(make):
    """docs/semantics.md, sections 10 and 20: a rank has the means of its destinations, and rows of all sources."""
    pytest.importorskip("torch")
    from ramet.nn import aggregate

    inputs = "train" if make is homogeneous else ("paper", "train")
    options = {"num_neighbors": [4, 3], "input_nodes": inputs, "batch_size": 40, "ownership": "hash"}
    group = Together(make(), 3, features=ramet.Features(fuse=True), sampler="labor", **options)

    def means_by_node(batch) -> dict:
        found, block = {}, batch.blocks[0]
        for t in batch.graph.edge_types:
            destinations = by_type(block.n_id, batch.graph.node_types)[t[2]]
            means = aggregate(block[t], by_type(batch.x, batch.graph.node_types)[t[0]])
            found |= {(t, node): row.tolist() for node, row in zip(destinations.tolist(), means)}
        return found

    for together, alone in group.pairs(steps=2):
        expected = means_by_node(alone)
        theirs = [means_by_node(batch) for batch in together]
        assert {key: row for found in theirs for key, row in found.items()} == expected
        for batch in together:
            for t, rows in by_type(batch.x, batch.graph.node_types).items():
                ids = np.asarray(by_type(batch.blocks[0].n_id, batch.graph.node_types)[t])
                assert np.array_equal(rows.rows(), rows_at(batch.graph.table("feat", t).numpy(), ids))
                assert np.array_equal(rows.destinations, rows.rows()[: len(rows.destinations)])


def test_fused_rows_of_a_part_are_refused(tmp_path):
    pytest.importorskip("torch")
    ramet.partition(homogeneous(), 1, tmp_path, method="hash")
    with pytest.raises(ValueError, match="but a part of a graph lacks the rows of sources that other ranks own"):
        ramet.NeighborLoader(
            ramet.open(tmp_path / "part-0"), [3], features=ramet.Features(fuse=True), ranks=ramet.Cooperate()
        )


def test_a_batch_that_is_none_of_an_epoch_is_an_error():
    group = Together(homogeneous(), 2, num_neighbors=[2], batch_size=300)
    for epoch, step in ((0, -1), (0, 4), (-1, 0), (0, 2**62)):
        with pytest.raises(IndexError, match=f"epoch {epoch}, step {step} is none of the 4 of an epoch"):
            group.ranks[0].begin(epoch, step)
    assert len(group.batches()) == 2


@pytest.mark.parametrize("cache_rows", [1, 60, 10**9])
def test_cached_rows_are_the_rows_of_the_table(cache_rows):
    graph = heterogeneous()
    options = {
        "num_neighbors": [3, 3],
        "input_nodes": ("paper", "train"),
        "batch_size": 15,
        "tables": ("feat", "label", "age"),
    }
    cached = Together(graph, 2, cache_rows=cache_rows, **options)
    plain = Together(graph, 2, **options)
    use = np.zeros((2, 2), int)  # hits and misses, by rank
    for (with_cache, _), (without, _) in zip(cached.pairs(), plain.pairs(), strict=True):
        use += [list(batch.cache_use.values()) for batch in with_cache]
        for one, other in zip(with_cache, without):
            assert other.cache_use == {"hits": 0, "misses": 0}
            for name in ("feat", "age"):
                for t in one.tables[name]:
                    assert np.array_equal(one.tables[name][t], other.tables[name][t])
            assert np.array_equal(one.y, other.y)
    for hits, misses in use:
        assert (hits > 0) or cache_rows == 1
        assert misses > 0


@pytest.fixture
def no_gc():
    gc.disable()
    yield
    gc.enable()


def test_an_iterator_that_is_collected_in_the_thread_of_its_batches(no_gc):
    """Dropped in a reference cycle, it is found wherever the garbage collector happens to run."""
    pytest.importorskip("torch")
    graph, _ = both(200, edge_list(200, 200, 1000, seed=0))
    loader = ramet.NeighborLoader(graph, [3], batch_size=10, ranks=ramet.Cooperate(), prefetch=4)
    dropped = threading.Event()

    def exchange(message, place):
        if place.step > 0:
            dropped.wait()
        gc.collect()
        return message

    loader._group.exchange = exchange
    cycle = [iter(loader)]
    assert next(cycle[0]).step == 0
    cycle.append(cycle)
    del cycle
    dropped.set()
    assert [batch.step for batch in loader] == list(range(20))


@pytest.mark.parametrize("end", ["close", "del"])
def test_an_iterator_that_is_left_gives_its_memory_back_at_once(end):
    """As that of a loader alone does, and not when Python next runs the thread of the group."""
    pytest.importorskip("torch")
    graph, _ = both(200, edge_list(200, 200, 1000, seed=0))
    loader = ramet.NeighborLoader(graph, [3], batch_size=10, ranks=ramet.Cooperate(), prefetch=4)
    next(iter(loader))  # the group has its thread
    threads = processes.threads()
    for _ in range(20):
        batches = iter(loader)
        next(batches)
        if end == "close":
            batches.close()
        del batches
        assert loader._core.buffer_bytes_in_use == 0
    assert processes.threads(threads) == threads


def test_batches_ahead_of_one_that_failed_are_given_back():
    """Although the group remembers the exception, whose frames have the task."""
    pytest.importorskip("torch")
    graph, _ = both(200, edge_list(200, 200, 1000, seed=0))

    def left_in_use(prefetch: int) -> int:
        loader = ramet.NeighborLoader(graph, [3], batch_size=10, ranks=ramet.Cooperate(), prefetch=prefetch)

        def exchange(message, place):
            if place.step == prefetch:
                raise RuntimeError("the line is cut")
            return message

        loader._group.exchange = exchange
        batches = iter(loader)
        next(batches)
        batches.close()
        assert "the line is cut" in str(loader._group.channel.failure)
        return loader._core.buffer_bytes_in_use

    assert left_in_use(1) == left_in_use(8)  # what the failed one had begun


def test_the_summary_is_that_of_any_loader():
    pytest.importorskip("torch")
    options = {"num_neighbors": [3], "batch_size": 300, "prefetch": 2, "threads": 2}
    loader = ramet.NeighborLoader(homogeneous(), **options, ranks=ramet.Cooperate())
    sizes = []
    for batch in loader:
        assert batch.timings["sample"] > 0
        assert batch.timings["gather"] > 0
        sizes.append((batch.num_nodes, batch.num_edges))
        time.sleep(0.01)
    told = loader.summary()
    assert (told.batches, told.streams, told.threads, told.max_threads) == (len(loader), 1, 2, 2)
    assert (told.nodes, told.edges) == tuple(map(sum, zip(*sizes)))
    assert told.max_prefetch == 2
    assert told.use_seconds >= 0.01 * (len(loader) - 1)


# ---- disjoint trees and times: docs/semantics.md, sections 10, 15 and 16


SAMPLERS_OF_TREES = (
    ramet.Uniform(),
    ramet.Labor(2, table="w"),
    ramet.Uniform(replace=True),
    ramet.Weighted("w", dependent=3),
    ramet.Labor(1),
)
TIMES = (
    None,
    ramet.Time("time"),
    ramet.Time("time", monotonic=True),
    ramet.Time("time", window=12, comparison=">", monotonic=True),
    ramet.Time("time", "last", monotonic=True),
)


def windows(count: int) -> np.ndarray:
    return np.sort(np.stack([some_times(count, 1), some_times(count, 2)], 1), axis=1)


@pytest.mark.parametrize("case", range(20))
def test_trees_of_ranks_are_those_of_one_process(case):
    """Times of edges and of nodes, in sorted rows or not; seeds with times or windows of their own."""
    random = np.random.default_rng(case)
    time, num_ranks = TIMES[case // 4], (2, 3, 3, 7)[case % 4]
    sampler = SAMPLERS_OF_TREES[0 if time is not None and time.strategy == "last" else case % 5]
    graph, _ = timed_pair("edges" if case % 2 else "nodes", case % 3 == 0)
    seeds = random.integers(0, 200, 30)
    given = None
    if time is not None:
        given = some_times(30, 9) if time.window is not None or case % 3 > 0 else windows(30)
    group = Together(
        graph,
        num_ranks,
        ownership=random_ownership(random, 200, num_ranks),
        num_neighbors=[4, 3, 2],
        input_nodes=seeds,
        batch_size=11,
        sampler=sampler,
        disjoint=True,
        expand=("every", "once")[(case + case // 4) % 2],
        time=time,
        input_time=given,
    )
    for together, alone in group.pairs():
        assert_same(together, alone)


@pytest.mark.parametrize("of, sort", list(itertools.product(("edges", "nodes"), (False, True))))
def test_trees_of_several_types(of, sort):
    random = np.random.default_rng(sort)
    graph, _ = timed_types(of, sort)
    seeds = {t: random.integers(0, graph.num_nodes(t), 9) for t in graph.node_types}
    group = Together(
        graph,
        3,
        ownership={t: random_ownership(random, graph.num_nodes(t), 3) for t in graph.node_types},
        num_neighbors=[3, 2, 2],
        input_nodes=seeds,
        input_time={t: some_times(9, 3) for t in seeds},
        batch_size=13,
        shuffle=True,
        expand="every" if sort else "once",
        time=ramet.Time("time", monotonic=True),
    )
    for together, alone in group.pairs():
        assert_same(together, alone)


def test_own_trees_have_the_numbers_of_own_seeds():
    """The trees of rank 0 come first; sources of blocks have ids."""
    group = Together(homogeneous(), 3, num_neighbors=[3, 2], input_nodes="train", batch_size=20, disjoint=True)
    first = 0
    for batch in group.batches():
        assert np.array_equal(batch.batch[: batch.num_seeds], np.arange(first, first + batch.num_seeds))
        assert all((np.asarray(block.n_id) < NUM_NODES).all() for block in batch.blocks)
        first += batch.num_seeds
    assert first == 20
