"""Wrong arguments, by ramet.sample, ramet.NeighborLoader and ramet.pyg.NeighborLoader: each error names the value, the
bound and the place, in PyG's words where PyG has them."""

import signal

import numpy as np
import processes
import pytest
import torch
import torch_geometric
from packaging.version import parse
from pyg_graphs import CITES, WRITES, WRITTEN, heterogeneous, homogeneous
from torch_geometric.data import Batch, Data, HeteroData
from wrong_calls import ends_well, values

import ramet
import ramet.pyg

EVERY = {CITES: [2], WRITES: [2], WRITTEN: [2]}


def timed(**of_author) -> HeteroData:
    """Papers have times."""
    data = heterogeneous()
    data["paper"].time = torch.arange(100)
    for name, value in of_author.items():
        data["author"][name] = value
    return data


def with_attribute(name: str, value) -> Data:
    data = homogeneous()
    data[name] = value
    return data


def of_edges_too() -> HeteroData:
    data = timed()
    data[CITES].time = torch.arange(500)
    return data


def by_sample(data, fanouts, seeds=(0, 1), **options):
    ramet.sample(ramet.from_pyg(data), seeds, fanouts, **options)


def by_loader(data, fanouts, nodes=None, **options):
    next(iter(ramet.NeighborLoader(ramet.from_pyg(data), fanouts, nodes, **options)))


def by_pyg(data, fanouts, nodes=None, **options):
    next(iter(ramet.pyg.NeighborLoader(data, fanouts, nodes, **options)))


def by_graph(data, fanouts, nodes=None, **options):
    """ramet.pyg over a ramet.Graph."""
    next(iter(ramet.pyg.NeighborLoader(ramet.from_pyg(data), fanouts, nodes, **options)))


NATIVE, PYG = (by_sample, by_loader), (by_pyg, by_graph)
ANY = (*NATIVE, *PYG)
NO_TIMES = r"node type 'author' has no table 'time': its seeds need times of their own, input_time"
HOPS = r"num_neighbors of edge type 'paper__cites__paper' has 2 hops, but that of 'author__writes__paper' has 1"
PYG_HOPS = r"Number of hops must be the same across all edge types \(got 2 different number of hops\)"
UNKNOWN = r"must name every edge type .* missing: \[\], unknown: \[\('x', 'y', 'z'\)\]"
PYG_NAMES_UNKNOWN = parse(torch_geometric.__version__) >= parse("2.7")
PYG_UNKNOWN = "Not all edge types specified in 'num_neighbors' exist in the graph"
TWO_STORES = "'time' is a table of edge type 'paper__cites__paper' and of node type 'paper'"
PYG_TWO_STORES = "The time attribute 'time' holds both node-level and edge-level information"
NO_VENUE = r"names node type 'venue'; there is \['author', 'paper'\]"


def mask(count: int):
    return torch.ones(count, dtype=torch.bool)


def cases():
    """(functions, data, arguments, error, what it says)"""
    seeds = ("author", [0])
    for given, nodes in ((NATIVE, {"time": "time"}), (PYG, {"time_attr": "time"})):
        yield given, timed, ([2], seeds, nodes), ValueError, NO_TIMES
    hops, unknown = EVERY | {CITES: [2, 2]}, EVERY | {("x", "y", "z"): [2]}
    yield NATIVE, heterogeneous, (hops, seeds, {}), ValueError, HOPS
    yield PYG, heterogeneous, (hops, seeds, {}), ValueError, PYG_HOPS
    yield NATIVE, heterogeneous, (unknown, seeds, {}), ValueError, UNKNOWN
    if PYG_NAMES_UNKNOWN:
        yield PYG, heterogeneous, (unknown, seeds, {}), ValueError, PYG_UNKNOWN
    missing = {CITES: [2], WRITES: [2]}
    yield PYG, heterogeneous, (missing, seeds, {}), ValueError, "Missing number of neighbors for edge type"
    yield (by_loader, by_sample), of_edges_too, ([2], ("paper", [0]), {"time": "time"}), ValueError, TWO_STORES
    yield (by_graph,), of_edges_too, ([2], ("paper", [0]), {"time_attr": "time"}), ValueError, TWO_STORES
    yield (by_pyg,), of_edges_too, ([2], ("paper", [0]), {"time_attr": "time"}), ValueError, PYG_TWO_STORES
    yield ANY, heterogeneous, ([2], ("venue", [0]), {}), ValueError, NO_VENUE
    yield PYG, heterogeneous, ([2], "venue", {}), ValueError, NO_VENUE
    yield PYG, heterogeneous, ([2], None, {}), ValueError, r"input_nodes is None, expected a node type, or a pair"
    for wrong in (mask(99), mask(99).numpy(), mask(99).tolist(), mask(101), mask(100).view(100, 1)):
        shape = rf"bool mask of shape \[{', '.join(map(str, np.shape(wrong)))}\], but node type 'node' has 100 nodes"
        yield ANY, homogeneous, ([2], wrong, {}), ValueError, shape
    yield ANY, homogeneous, ([2], [5, 100], {}), IndexError, r"\[1\] is 100, but node type 'node' has 100 nodes"
    yield ANY, homogeneous, ([2], torch.tensor([0.5]), {}), TypeError, "has dtype float32; ids are integers"
    for fanouts in (None, 3, "2", torch.tensor(3)):
        yield ANY, homogeneous, (fanouts, [0], {}), TypeError, "num_neighbors is .*, expected a list of fanouts"
    yield ANY, homogeneous, (range(10**12), [0], {}), ValueError, "num_neighbors has 1000000000000 hops, expected at"
    yield ANY, homogeneous, ([1.5], [0], {}), TypeError, r"num_neighbors\[0\] is 1.5, expected an integer"
    yield ANY, homogeneous, ([-2], [0], {}), ValueError, r"num_neighbors\[0\] of edge type .* is -2, expected -1"
    yield ANY, homogeneous, ([2], [0], {"disjoint": "no"}), TypeError, "disjoint is 'no', expected True or False"
    yield PYG, homogeneous, ([2], [0], {"replace": "no"}), TypeError, "replace is 'no', expected True or False"
    yield NATIVE, homogeneous, ([2], [0], {"transform": print}), TypeError, "no 'transform'"
    yield NATIVE, homogeneous, ([2], [0], {"subgraph_type": "induced"}), TypeError, "no 'subgraph_type'"
    yield ANY, homogeneous, ([2], [0], {"colour": 3}), TypeError, "unexpected keyword argument 'colour'"


@pytest.mark.parametrize(
    ("function", "make", "arguments", "error", "message"),
    [
        pytest.param(function, *case, id=f"{function.__name__}-{number}")
        for number, (functions, *case) in enumerate(cases())
        for function in functions
    ],
)
def test_a_wrong_argument_is_named(function, make, arguments, error, message):
    fanouts, nodes, options = arguments
    with pytest.raises(error, match=message):
        function(make(), fanouts, nodes, **options)


@pytest.mark.parametrize("times", [torch.rand(100), np.arange(99), [1, 2], ["a"] * 100, np.zeros((100, 1), np.int64)])
@pytest.mark.parametrize(("function", "time"), [(by_sample, "time"), (by_loader, "time"), (by_pyg, "time_attr")])
def test_times_of_seeds_are_integers_one_for_each(function, time, times):
    data = with_attribute("time", torch.arange(100))
    with pytest.raises((TypeError, ValueError), match=r"input_time has (dtype|shape)"):
        function(data, [2], list(range(100)), **{time: "time", "input_time": times})


@pytest.mark.parametrize("function", [by_loader, by_pyg])
def test_times_of_seeds_may_have_any_width(function):
    data, times = with_attribute("time", torch.arange(100)), torch.zeros(100, dtype=torch.int32)
    function(data, [2], input_time=times, **{"time" if function is by_loader else "time_attr": "time"})


@pytest.mark.parametrize("window", [-1, 1.5, "week"])
def test_a_window_is_no_less_than_0(window):
    with pytest.raises((TypeError, ValueError), match=f"window is '?{window}'?, expected"):
        ramet.Time("time", window=window)


BY_TIME = {"time_attr": "time"}


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (
            timed(time=torch.arange(5)),
            BY_TIME,
            "'time' is neither a node-level .* of 'author': it has 5 rows, .* 200 nodes",
        ),
        (timed(time=torch.rand(200)), BY_TIME, "'time' of 'author' has dtype float32, expected int64: times count"),
        (heterogeneous(), BY_TIME, "'time' is neither a node-level or edge-level attribute"),
        (timed(), BY_TIME | {"temporal_strategy": "last", "replace": True}, "'last' with replace"),
        (
            timed(),
            {"time_attr": ramet.Time("time"), "temporal_strategy": "last"},
            "temporal_strategy is 'last', but time_attr is Time",
        ),
        (timed(), BY_TIME | {"subgraph_type": "induced"}, "'disjoint' sampling not supported"),
        (
            with_attribute("edge_time", torch.arange(500)),
            {"time_attr": "edge_time"},
            "'node' has no table 'edge_time': its seeds need",
        ),
    ],
)
def test_times_that_do_not_fit(data, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        by_pyg(data, [2], "paper" if isinstance(data, HeteroData) else None, **options)


def test_input_nodes_of_a_graph_without_splits():
    with pytest.raises(KeyError, match="no split 'train'"):
        by_pyg(homogeneous(), [2], "train")
    assert len(ramet.pyg.NeighborLoader(Data(), [2])) == 0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"disjoint": True, "subgraph_type": "induced"}, ValueError, "'disjoint' sampling not supported"),
        ({"disjoint": True, "directed": False}, ValueError, "'disjoint' sampling not supported"),
        ({"subgraph_type": "sideways"}, ValueError, "sideways"),
        ({"temporal_strategy": "newest"}, ValueError, "strategy is 'newest', expected 'uniform' or 'last'"),
        ({"input_time": torch.arange(100)}, ValueError, "'input_time' and 'time_attr' arguments: 'input_time' is set"),
        ({"weight_attr": "w"}, KeyError, "weight_attr is 'w', but no edge type has"),
        ({"weight_attr": "x"}, ValueError, "weight_attr 'x' of .* has 100 rows, but there are 500 edges"),
        ({"transform": 3}, TypeError, "transform is 3, expected a function"),
        ({"transform_sampler_output": "f"}, TypeError, "transform_sampler_output is 'f', expected a function"),
        ({"input_id": torch.arange(3)}, ValueError, "input_id has 3 entries, expected 100"),
        ({"input_id": [1, 2]}, TypeError, r"input_id is \[1, 2\], expected a tensor"),
        ({"batch_size": 0}, ValueError, "batch_size=0"),
        ({"persistent_workers": True}, ValueError, "persistent_workers"),
    ],
    ids=str,
)
def test_wrong_arguments_of_pyg(options, error, message):
    with pytest.raises(error, match=message):
        by_pyg(homogeneous(), [2], **options)


def test_data_that_is_none():
    for data, message in (Data(), "the GraphStore has no edges"), (homogeneous(), "GraphStore have no size"):
        with pytest.raises(ValueError, match=message):
            by_pyg((data, data), [2])
    for data in (None, {}, (1, 2)):
        with pytest.raises(TypeError, match=r"data is a \w+, expected a Data, a HeteroData or a ramet.Graph"):
            by_pyg(data, [2])


@pytest.mark.parametrize("function", [by_pyg, lambda data, fanouts: ramet.pyg.ShaDowKHopSampler(data, 1, 1)])
def test_several_graphs_are_one_by_pygs_batch(function):
    graphs = [homogeneous(), homogeneous()]
    for given in (graphs, tuple(graphs), [*graphs, heterogeneous()]):
        with pytest.raises(TypeError, match=rf"data is a \w+ of {len(given)} graphs, expected one, .*from_data_list"):
            function(given, [2])
    batch = next(iter(ramet.pyg.NeighborLoader(Batch.from_data_list(graphs), [-1], [150])))
    assert batch.n_id[0] == 150 and batch.n_id.min() >= 100 and torch.equal(batch.x, batch.n_id % 100)


@pytest.mark.parametrize("given", [[[0, 1], [1, 2]], np.zeros((2, 3), np.int64), "edges"])
def test_edges_are_a_tensor(given):
    with pytest.raises(TypeError, match=r"(?s)data\.edge_index is .*, expected a tensor \[2, num_edges\]"):
        by_pyg(Data(x=torch.arange(3), edge_index=given, num_nodes=3), [2])


def test_adjacencies_that_are_tensors():
    """As ToSparseTensor makes them where torch-sparse is absent: PyG's code for batches asks for a SparseTensor."""
    data = with_attribute("adj_t", torch.eye(30).to_sparse_csr())
    for both in (True, False):
        if not both:
            del data.edge_index
        advice = r"data\.adj_t is a tensor .*to_edge_index\(data\.adj_t\), set data\.edge_index = edges\.flip\(0\)"
        with pytest.raises(TypeError, match=advice):
            ramet.pyg.NeighborLoader(data, [2])


def test_sparse_attributes():
    rows = torch.eye(100)
    batch = next(iter(ramet.pyg.NeighborLoader(with_attribute("bag", rows.to_sparse()), [2], [5])))
    assert torch.equal(batch.bag.to_dense(), rows[batch.n_id])
    for sparse in (rows.to_sparse_csr(), rows.to_sparse_csc()):
        with pytest.raises(TypeError, match=r"attribute 'bag' is sparse_cs[rc], of which torch takes no rows"):
            by_pyg(with_attribute("bag", sparse), [2])


@pytest.mark.parametrize("given", [[0.5], ["a"], [[1.5, 2]]])
def test_a_sampler_gives_positions(given):
    loader = ramet.pyg.NeighborLoader(homogeneous(), [2], sampler=given)
    with pytest.raises(TypeError, match=r"a sampler gave .*, expected positions of input nodes"):
        next(iter(loader))
    with pytest.raises(IndexError, match=r"is 100, outside \[0, 100\)"):
        next(iter(ramet.pyg.NeighborLoader(homogeneous(), [2], sampler=[100])))


def of_the_user():
    raise KeyError("of the user")


@pytest.mark.parametrize(
    ("error", "fail"), [(KeyError, of_the_user), (KeyboardInterrupt, lambda: signal.raise_signal(signal.SIGINT))]
)
@pytest.mark.parametrize("name", ["transform", "transform_sampler_output"])
def test_what_a_transform_raises_arrives_and_the_loader_goes_on(name, error, fail):
    calls = []

    def fails_once(batch):
        calls.append(len(calls))
        if len(calls) == 2:
            fail()
        return batch

    loader = ramet.pyg.NeighborLoader(homogeneous(), [2], batch_size=30, **{name: fails_once})
    threads = processes.threads()
    with pytest.raises(error):
        list(loader)
    assert processes.threads_left(threads) <= threads and loader._engine.buffer_bytes["in_use"] == 0
    assert len(list(loader)) == 4


def right_calls() -> dict:
    """Arguments that are right, by name."""
    plain = with_attribute("time", torch.arange(100))
    anything = dict.fromkeys(["input_time", "time_attr", "weight_attr", "generator", "sampler", "input_id"])
    anything |= {"transform": None, "transform_sampler_output": None, "batch_size": 4, "shuffle": False}
    anything |= {"replace": False, "disjoint": False, "subgraph_type": "directional", "temporal_strategy": "uniform"}
    anything |= {"drop_last": False, "directed": True, "data": plain, "num_neighbors": [2], "input_nodes": None}
    return {
        "plain": anything,
        "timed": anything | {"time_attr": "time", "input_time": torch.arange(100)},
        "heterogeneous": anything | {"data": timed(), "num_neighbors": EVERY, "input_nodes": "author"},
    }


@pytest.mark.parametrize("name", ["plain", "timed", "heterogeneous"])
@pytest.mark.filterwarnings("ignore")
def test_values_of_every_wrong_kind(name):
    """Each in one place of a call that is right otherwise: a sentence, of an exception that Python's users expect."""
    right = right_calls()[name]

    def call(**arguments):
        next(iter(ramet.pyg.NeighborLoader(**arguments)), None)

    call(**right)
    problems = [
        f"{place}: {kind}: {problem}"
        for place in right
        for kind, value in values().items()
        if (problem := ends_well(call, right | {place: value}))
    ]
    assert not problems
