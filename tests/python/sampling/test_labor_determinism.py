"""LABOR in slices of the seeds, and states of loaders.

Every test names the sections of docs/semantics.md that it checks.
"""

import dataclasses

import numpy as np
import pytest
from comparison import ODD_NODES, labor, thompson
from small_graphs import homogeneous

import ramet
from ramet.loading.samplers import SAMPLERS


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


CHANGED = {"dependent": 2, "nodes_per_tree": 3, bool: True, int: 1, "weights": "horvitz-thompson", "table": "v"}
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
