"""state_dict() and load_state_dict(): a loader goes on where another one was."""

import copy
import itertools
import json

import numpy as np
import pytest
from small_graphs import NUM_NODES, heterogeneous, homogeneous, summary
from small_loaders import STEPS, assert_resumes, make, summaries

import ramet


@pytest.mark.parametrize("taken_at", [0, 1, 7, STEPS - 1, STEPS])
@pytest.mark.parametrize("threads", [1, 4])
def test_resuming_is_exact(graph, taken_at, threads):
    """The state speaks of the batches that were handed out, not of those made ahead; it is a few integers,
    and the new loader may have other threads."""
    through = make(graph, shuffle=True)
    expected = [*summaries(through), *summaries(through), *summaries(through)]
    first = make(graph, shuffle=True, threads=threads, prefetch=8)
    seen = summaries(first)
    seen += [summary(batch) for batch in itertools.islice(iter(first), taken_at)]
    state = json.loads(json.dumps(first.state_dict()))
    second = make(graph, shuffle=True)
    second.load_state_dict(state)
    assert second.state_dict() == state
    rest = summaries(second)
    if taken_at == STEPS:  # only the next call of the loop would have ended the epoch
        assert rest == []
        rest = summaries(second)
    while len(seen) + len(rest) < len(expected):
        rest += summaries(second)
    assert seen + rest == expected


def test_set_epoch_after_loading_keeps_the_step_of_that_epoch(graph):
    loader = make(graph, shuffle=True)
    expected = summaries(loader)
    state = loader.state_dict() | {"epoch": 0, "step": 5}
    loader.load_state_dict(state)
    loader.set_epoch(0)
    assert summaries(loader) == expected[5:]
    loader.load_state_dict(state)
    loader.set_epoch(1)
    assert next(iter(loader)).step == 0


def test_a_state_is_of_the_same_options(graph):
    state = make(graph).state_dict()
    other = {
        "num_neighbors": [4, 4],
        "batch_size": 11,
        "shuffle": True,
        "drop_last": True,
        "sampler": ramet.Uniform(replace=True),
        "seed": 1,
    }
    for name, value in other.items():
        shown = "fanouts" if name == "num_neighbors" else name
        with pytest.raises(ValueError, match=f"the state is of a loader with {shown}="):
            make(graph, **{name: value}).load_state_dict(state)
    make(graph, threads=5, prefetch=9, tables=()).load_state_dict(state | {"of the user": 3})


def test_a_state_is_of_the_same_graph_and_input_nodes(graph, tmp_path):
    state = make(graph).state_dict()
    for loader in (make(homogeneous(seed=1)), make(graph, input_nodes="val"), make(graph, input_nodes=None)):
        with pytest.raises(ValueError, match="another graph, other input nodes or other"):
            loader.load_state_dict(state)
    ramet.save(graph, tmp_path / "store")
    make(ramet.open(tmp_path / "store")).load_state_dict(state)  # the same graph elsewhere
    make(graph, input_nodes=graph.split("train").copy()).load_state_dict(state)


def test_a_state_is_of_the_same_weights():
    edges, options = [[0, 1, 2], [1, 2, 0]], {"sampler": ramet.Weighted("w"), "tables": ()}

    def loader(weights, dtype=np.float64, **other):
        graph = ramet.from_edge_index(edges, 3, edges={"w": np.array(weights, dtype)})
        return ramet.NeighborLoader(graph, [2], **(options | other))

    state = loader([1, 2, 3]).state_dict()
    loader([1, 2, 3]).load_state_dict(state)
    loader([1, 2, 3], np.float32).load_state_dict(state)
    with pytest.raises(ValueError, match="over another table 'w'"):
        loader([1, 2, 4]).load_state_dict(state)
    uniform = loader([1, 2, 3], sampler="uniform").state_dict()
    loader([1, 2, 4], sampler="uniform").load_state_dict(uniform)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"step": STEPS + 1}, (ValueError, f"the state is at step {STEPS + 1}, but an epoch has {STEPS}")),
        ({"step": -1}, (ValueError, "step is -1")),
        ({"epoch": -3}, (ValueError, "epoch is -3")),
        ({"epoch": 1.5}, (TypeError, "epoch is 1.5")),
        ({"options": {}}, (ValueError, "fanouts=None")),
    ],
)
def test_a_damaged_state_is_refused(graph, change, error):
    loader = make(graph)
    state = copy.deepcopy(loader.state_dict()) | change
    with pytest.raises(error[0], match=error[1]):
        loader.load_state_dict(state)
    assert len(list(loader)) == STEPS


TYPES = {"paper": np.arange(7, 190, 3), "author": [5, 5, 199, 0]}
LOADERS = {
    "types": lambda: ramet.NeighborLoader(heterogeneous(), [3, 2], ("paper", "train"), 16, shuffle=True),
    "seeds of two types": lambda: ramet.NeighborLoader(heterogeneous(), [3, 2], TYPES, 10, shuffle=True),
    "times": lambda: make(homogeneous(time=np.arange(NUM_NODES)), time="time", expand="once", shuffle=True),
    "cache": lambda: make(homogeneous(), placement=ramet.Placement(cache_rows=50, cache_by="degree")),
    "links": lambda: ramet.LinkLoader(homogeneous(), [3, 2], np.arange(300), 40, negatives="binary", shuffle=True),
}


@pytest.mark.parametrize("name", LOADERS)
def test_other_loaders_resume(name):
    assert_resumes(LOADERS[name])
