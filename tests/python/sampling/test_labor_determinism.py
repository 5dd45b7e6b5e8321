"""LABOR in loaders, threads, ranks and processes: what results do not depend on, and resuming.

Every test names the sections of docs/semantics.md that it checks.
"""

import dataclasses
import itertools
import json

import numpy as np
import processes
import pytest
import twin
from comparison import BLOCK_ARRAYS, EDGE, ODD_NODES, assert_equal, check, edge_list, labor, thompson
from small_graphs import heterogeneous, homogeneous, numpy_of

import ramet
from ramet.loading.samplers import SAMPLERS

ITERATIONS = [0, 1, 2, 3]


# ---- what results do not depend on


def outcome(batch) -> tuple:
    """All of a batch of one edge type, and whatever tells two apart."""
    blocks = [[numpy_of(getattr(b, name)).tobytes() for name in BLOCK_ARRAYS] for b in batch.blocks]
    return batch.epoch, batch.step, numpy_of(batch.n_id).tobytes(), blocks


@pytest.mark.parametrize("options", [labor(), labor(layer_dependent=True), labor(2)], ids=str)
def test_threads(options):
    """Section 1: the same from 1, 2 and 8 threads, with hops large enough to be divided."""
    num_nodes = 20_000
    graph = ramet.from_edge_index(edge_list(num_nodes, num_nodes, 200_000, seed=5, hub=20_000), num_nodes)
    seeds = np.random.default_rng(6).integers(0, num_nodes, 9_000)
    expected = outcome(ramet.sample(graph, seeds, [5, 3], **options))
    for threads in (2, 8):
        assert outcome(ramet.sample(graph, seeds, [5, 3], threads=threads, **options)) == expected
    loaders = [
        ramet.NeighborLoader(graph, [5, 3], seeds, 2000, shuffle=True, threads=threads, ranks=False, **options)
        for threads in (1, 2, 8)
    ]
    epochs = [[outcome(batch) for batch in loader] for loader in loaders]
    assert len(epochs[0]) == 5
    assert epochs[0] == epochs[1] == epochs[2]


@pytest.mark.parametrize("iterations", ITERATIONS)
def test_threads_on_small_batches(small, hetero, iterations):
    """Section 1: more threads than work."""
    check(small, [], [3, 2], threads=8, **labor(iterations))
    check(small, [3], [3, 2], threads=8, **labor(iterations))
    check(hetero, [1, 2, 1], [3, 40, 2], "a", threads=8, **labor(iterations))


PRINTS = """
import hashlib, json, sys
import numpy as np, ramet
graph = ramet.open(sys.argv[1])
digest = hashlib.sha256()
for iterations in range(4):
    for step in range(3):
        options = {"sampler": ramet.Labor(iterations), "step": step}
        batch = ramet.sample(graph, ("paper", np.arange(0, 500, 3)), [4, 40, 3], **options)
        for block in batch.blocks:
            for weight in block.edge_weight.values():
                digest.update(np.asarray(weight).tobytes())
        digest.update(batch.fingerprint().encode())
print(ramet.__name__, digest.hexdigest())
"""


def test_instruction_sets(tmp_path):
    """Section 1: fingerprints and weights are the same whatever instructions are used."""
    ramet.save(heterogeneous(), tmp_path / "store")
    prints = {}
    for isa in ("portable", "avx2", "avx512"):
        process = processes.start("-c", PRINTS, tmp_path / "store", env={"RAMET_ISA": isa})
        prints[isa] = processes.finish(process).splitlines()[-1]
        if process.returncode != 0 and "but here there is code for" in prints[isa]:
            del prints[isa]
    assert "portable" in prints
    assert all(line.startswith("ramet ") for line in prints.values())
    assert len(set(prints.values())) == 1


# ---- batches and ranks


def test_loader_blocks(small):
    """Sections 6, 8: a loader's batches are the twin's; epoch and number of the batch are in their keys."""
    graph, twin_graph = small
    inputs = np.random.default_rng(3).permutation(300)[:70]
    for iterations in ITERATIONS:
        options = labor(iterations, seed=4)
        loader = ramet.NeighborLoader(graph, [5, 40], inputs, 16, shuffle=True, ranks=False, **options)
        for epoch in (0, 1):
            seeds = twin.global_batches(inputs, 16, shuffle=True, drop_last=False, seed=4, epoch=epoch)
            for step, (batch, chosen) in enumerate(zip(loader, seeds, strict=True)):
                expected = twin.sample(twin_graph, "node", chosen, {EDGE: [5, 40]}, epoch=epoch, step=step, **options)
                assert_equal(graph, batch, expected)


@pytest.mark.parametrize("layer_dependent", [False, True])
@pytest.mark.parametrize("cuts", [[0], [1], [150], [150, 290], [30, 30, 200]])
def test_slices_of_the_seeds_add_up(small, hetero, cuts, layer_dependent):
    """Sections 1, 6, 7: LABOR-0 looks at a destination's row alone."""
    options = labor(layer_dependent=layer_dependent)
    seeds = np.random.default_rng(1).permutation(300)
    parts = [ramet.sample(small[0], part, [5, 4], **options) for part in np.split(seeds, cuts)]
    assert ramet.fingerprint(parts) == ramet.sample(small[0], seeds, [5, 4], **options).fingerprint()
    seeds = seeds % ODD_NODES["a"]
    parts = [ramet.sample(hetero[0], ("a", part), [3, 2], **options) for part in np.split(seeds, cuts)]
    assert ramet.fingerprint(parts) == ramet.sample(hetero[0], ("a", seeds), [3, 2], **options).fingerprint()


@pytest.mark.parametrize("iterations", ITERATIONS)
@pytest.mark.parametrize("world", [2, 3, 5])
def test_ranks(monkeypatch, small, world, iterations):
    """Sections 6, 8: every rank samples its own slice; those of LABOR-0 add up, those of LABOR-i do not, since
    importances are those of the slice."""
    graph, twin_graph = small
    inputs = np.random.default_rng(5).permutation(300)[:100]

    def loader(rank, of):
        monkeypatch.setattr("ramet.loading.neighbor_loader.rank_and_world", lambda ranks: (rank, of))
        return ramet.NeighborLoader(graph, [4, 3], inputs, 40, shuffle=True, **labor(iterations))

    ranks = [list(loader(rank, world)) for rank in range(world)]
    steps = twin.global_batches(inputs, 40, shuffle=True, drop_last=False, seed=0, epoch=0)
    same = []
    for step, whole in enumerate(loader(0, 1)):
        for rank in range(world):
            chosen = twin.slice_of(steps[step], rank, world)
            expected = twin.sample(twin_graph, "node", chosen, {EDGE: [4, 3]}, step=step, **labor(iterations))
            assert_equal(graph, ranks[rank][step], expected)
        same.append(ramet.fingerprint([batches[step] for batches in ranks]) == whole.fingerprint())
    assert same == [iterations == 0] * 3


def test_batch_does_not_matter_to_labor_0(small):
    """Section 1: a destination's picks do not depend on what else is in the batch."""
    together = ramet.sample(small[0], np.arange(300), [6], **labor()).blocks[0]
    for node in (0, 57, 299):
        alone = ramet.sample(small[0], [node], [6], **labor()).blocks[0]
        first, last = together.indptr[node], together.indptr[node + 1]
        assert alone.position.tolist() == together.position[first:last].tolist()


# ---- resuming


@pytest.mark.parametrize("options", [labor(), labor(2), labor(layer_dependent=True)], ids=str)
@pytest.mark.parametrize("taken_at", [0, 1, 5])
def test_resuming_is_exact(options, taken_at):
    """A state in mid-epoch, through JSON, into a loader of other threads."""
    graph = homogeneous()

    def make(**more):
        return ramet.NeighborLoader(graph, [4, 3], "train", 20, shuffle=True, ranks=False, **options, **more)

    through = make()
    expected = [outcome(batch) for _ in range(2) for batch in through]
    first = make(threads=2, prefetch=8)
    seen = [outcome(batch) for batch in first]
    seen += [outcome(batch) for batch in itertools.islice(iter(first), taken_at)]
    second = make(threads=1)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert seen + [outcome(batch) for batch in second] == expected


def test_a_state_is_of_the_same_sampler():
    """What is refused is named."""
    graph = homogeneous()

    def make(**options):
        return ramet.NeighborLoader(graph, [4], "train", 20, ranks=False, **options)

    labor_state, uniform_state = make(sampler="labor").state_dict(), make().state_dict()
    for state, options, message in [
        (
            labor_state,
            {},
            "sampler={'name': 'labor', 'iterations': 0, .*, not {'name': 'uniform', 'replace': False, 'dependent': 1}",
        ),
        (uniform_state, labor(), "sampler={'name': 'uniform', .*, not {'name': 'labor'"),
        (labor_state, labor(1), "'iterations': 0, .*, not .* 'iterations': 1"),
        (labor_state, labor(layer_dependent=True), "'layer_dependent': False, .*, not .* 'layer_dependent': True"),
        (labor_state, thompson(), "'weights': 'normalized', .*, not .* 'weights': 'horvitz-thompson'"),
    ]:
        with pytest.raises(ValueError, match=f"the state is of a loader with .*{message}"):
            make(**options).load_state_dict(state)
    states = [make(**options).state_dict() for options in ({}, labor(), thompson(), labor(1), thompson(1))]
    assert len({state["fingerprint"] for state in states}) == len(states)


CHANGED = {"dependent": 2, bool: True, int: 1, "weights": "horvitz-thompson", "table": "v"}
NEEDED = {"weighted": {"table": "w"}}


@pytest.mark.parametrize("method", SAMPLERS.values())
def test_every_option_of_a_sampler_counts(method):
    """A field that the fingerprint did not cover would let a state continue another run."""
    needed, plain = NEEDED.get(method.name, {}), homogeneous()
    edges = {name: np.ones(plain.num_edges(), np.float32) for name in ("w", "v")}
    graph = ramet.from_arrays(plain.indptr(), plain.indices(), edges=edges)
    samplers = [method(**needed)]
    for option in dataclasses.fields(method):
        changed = CHANGED.get(option.name, CHANGED.get(type(option.default)))
        samplers.append(method(**needed | {option.name: changed}))
    made = [ramet.NeighborLoader(graph, [4], batch_size=20, sampler=sampler) for sampler in samplers]
    assert len({loader.state_dict()["fingerprint"] for loader in made}) == len(made)
    again = ramet.NeighborLoader(graph, [4], batch_size=20, sampler=made[0].options["sampler"])
    assert again.state_dict() == made[0].state_dict()
