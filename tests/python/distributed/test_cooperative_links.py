"""Cooperative ranks (gloo) with pairs of nodes, and with nodes that are sampled once, against one process.
docs/semantics.md, sections 10, 14 and 27."""

import itertools

import numpy as np
import pytest
from comparison import by_type, labor
from small_graphs import CITES, REVERSE, WRITES, homogeneous

import ramet

torch = pytest.importorskip("torch")
pyg = pytest.importorskip("torch_geometric.nn")

import torch.distributed as dist  # noqa: E402  (these need torch)
import torch.nn.functional as F  # noqa: E402
from cooperative_ranks import cooperating, make_loader, open_store  # noqa: E402
from learning import refused  # noqa: E402
from sage import learn  # noqa: E402
from test_cooperative_ranks import OPTIONS, TYPED, assert_same_sets, assert_same_steps, union  # noqa: E402
from together import edges  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

from ramet.distributed import Cooperative, exchange  # noqa: E402
from ramet.nn import HeteroConv, SAGEConv  # noqa: E402

WORLD = 4
STEPS = 7
ONE_TYPE = {"num_neighbors": [3, 2], "edges": np.arange(500, 541), "batch_size": 20, "shuffle": True}  # last batch: 1
SEVERAL_TYPES = {
    "num_neighbors": [2, 2],
    "edges": {WRITES: np.arange(40), CITES: np.arange(100, 130)},
    "batch_size": 24,
    "shuffle": True,
    "exclude": {WRITES: REVERSE},
    "tables": ("feat",),
}
CACHED = {"placement": ramet.Placement(cache_rows=20, cache_by="presampling")}
HIDDEN = {"features": ramet.Features(hide={"feat": [1, 2]})}
TIMED = {
    "time": ramet.Time("age", monotonic=True),
    "edge_time": {WRITES: np.arange(40) % 50 + 20, CITES: np.arange(30) + 35},
}
CASES = {
    "binary": (3, ONE_TYPE | {"negatives": ramet.Negatives("binary", 1.5)}, "hash"),
    "triplet": (2, ONE_TYPE | {"negatives": ramet.Negatives("triplet", 2)} | labor(1) | CACHED, "range"),
    "labels": (3, ONE_TYPE | {"labels": np.arange(41) % 2.0, "exclude": ramet.SpotTarget(8)}, np.full(1000, 1)),
    "in-batch": (2, SEVERAL_TYPES | {"negatives": ramet.Negatives("binary", 2, "in-batch", corrupt="both")}, "hash"),
    "trees": (3, ONE_TYPE | {"negatives": "triplet", "disjoint": True} | labor(1), "hash"),
    "time": (
        2,
        SEVERAL_TYPES | TIMED | {"negatives": ramet.Negatives("binary", 2)},
        {"paper": "range", "author": "hash"},
    ),
    "types": (3, SEVERAL_TYPES | {"negatives": "triplet"} | HIDDEN, {"paper": "range", "author": "hash"}),
}
PAIRS = ((0, 1), (2, 3))


class Model(torch.nn.Module):
    """Rows of the seeds, by node type."""

    def __init__(self, graph):
        super().__init__()
        torch.manual_seed(0)
        widths = {t: graph.table("feat", t).shape[1] for t in graph.node_types}
        self.layers = torch.nn.ModuleList([self.layer(graph, widths), self.layer(graph, dict.fromkeys(widths, 6))])

    @staticmethod
    def layer(graph, widths):
        convs = {t: SAGEConv((widths[t[0]], widths[t[2]]), 6).double() for t in graph.edge_types}
        return HeteroConv(convs) if graph.is_hetero else next(iter(convs.values()))

    def forward(self, x, blocks):
        for layer, block in zip(self.layers, blocks):
            x = layer(x, block)
        return x


def train(group, store, options, ownership, groups=()):
    """(loss, gradients, input ids, (source, destination, label) of pairs and negatives, edges) of every step. group:
    None for one process. store: a folder, in which {rank} stands for the rank."""
    graph = open_store(store.format(rank=group and dist.get_rank()))
    ranks = False if group is None else cooperating(group, ramet.Cooperate(ownership=ownership), groups)
    loader, model = ramet.LinkLoader(graph, ranks=ranks, **options), Model(graph)
    wrapped = Cooperative(model) if group is None else DistributedDataParallel(Cooperative(model), process_group=group)

    def losses_of(batch):
        x = {t: rows.double() for t, rows in by_type(batch.x, graph.node_types).items()}
        rows = exchange(wrapped(x if graph.is_hetero else x["node"], batch.blocks), batch.ends)
        losses, pairs = zip(*(of_kind(batch, t, by_type(rows, graph.node_types)) for t in kinds_of(batch)))
        ids = {t: i.tolist() for t, i in by_type(batch.input_id, kinds_of(batch)).items()}
        return torch.cat(losses), ids, concat(pairs), edges([batch])

    return list(learn(loader, model, torch.optim.Adam(model.parameters(), lr=0.01), STEPS, losses_of))


def kinds_of(batch):
    return list(batch.edge_label_index) if isinstance(batch.edge_label_index, dict) else batch.graph.edge_types


def of_kind(batch, edge_type, rows):
    """The losses of pairs of a type, and the pairs and their negatives, in ids."""
    n_id = by_type(batch.ends.n_id, batch.graph.node_types)

    def of(name):
        return by_type(getattr(batch, name), [edge_type])[edge_type]

    def ends(sources, destinations, label):
        ids = n_id[edge_type[0]][sources].tolist(), n_id[edge_type[2]][destinations].tolist()
        return (rows[edge_type[0]][sources] * rows[edge_type[2]][destinations]).sum(1), [*zip(*ids, label)]

    if not batch.is_triplet:
        label = of("edge_label")
        scores, pairs = ends(*of("edge_label_index"), label.tolist())
        return F.binary_cross_entropy_with_logits(scores, label.double(), reduction="none"), pairs
    src, negative = of("src_index"), of("dst_neg_index").view(-1, int(batch.origin.links.negatives.amount))
    good, pairs = ends(src, of("dst_pos_index"), [1] * len(src))
    bad, negatives = ends(src.repeat_interleave(negative.shape[1]), negative.flatten(), [0] * negative.numel())
    return F.softplus(bad.view(negative.shape) - good[:, None]).sum(1), pairs + negatives


def concat(lists):
    return list(itertools.chain.from_iterable(lists))


def assert_same(per_rank, expected):
    for (their_ids, their_pairs, their_edges), (ids, pairs, sampled) in assert_same_steps(per_rank, expected):
        assert {t: concat(of_rank[t] for of_rank in their_ids) for t in ids} == ids
        assert sorted(concat(their_pairs)) == sorted(pairs)
        yield their_edges, sampled


@pytest.mark.parametrize("case", CASES)
def test_training_on_links_is_that_of_one_process(world, store, several_types, case):
    size, options, ownership = CASES[case]
    graph = several_types if "tables" in options else store
    expected = train(None, graph, options, None)
    for of_ranks, alone in assert_same(world.call(train, graph, options, ownership, size=size), expected):
        assert union([[of_rank] for of_rank in of_ranks]) == [alone]


def test_groups_are_data_parallel(world, store):
    """Their seeds are the ends of their own pairs: both may have a node."""
    _, options, ownership = CASES["binary"]
    per_rank = world.call(train, store, options, ownership, PAIRS, size=4, groups=PAIRS)
    for of_ranks, alone in assert_same(per_rank, train(None, store, options, None)):
        assert_same_sets(union([[of_rank] for of_rank in of_ranks]), [alone])


@pytest.fixture(scope="module")
def parts(store, tmp_path_factory):
    """As train() takes them."""
    path = tmp_path_factory.mktemp("links") / "parts"
    ramet.partition(ramet.open(store), WORLD, path, method="hash")
    return f"{path}/part-{{rank}}"


def test_parts_take_pairs_of_nodes(world, store, parts):
    """Each rank excludes the edges into its own nodes."""
    edges = homogeneous().find_edges(ONE_TYPE["edges"])
    options = ONE_TYPE | {"edges": edges, "negatives": ramet.Negatives(exact=False, loops=False)}
    per_rank = world.call(train, parts, options, None, size=WORLD)
    for of_ranks, alone in assert_same(per_rank, train(None, store, options, None)):
        assert union([[of_rank] for of_rank in of_ranks]) == [alone]


def make(store, options):
    options = {"edges": np.array([[1], [2]]), "ranks": ramet.Cooperate()} | options
    ramet.LinkLoader(open_store(store.format(rank=dist.get_rank())), [2], **options)


def test_what_ranks_and_parts_cannot_agree_on_is_refused(world, store, parts):
    one, other = ({"edges": np.arange(k, k + 9)} for k in (0, 1))
    for _, words in world.outcomes(make, store, one, others={2: [store, other]}):
        assert "ValueError: rank 2 has graph and edges=<ramet.Graph " in words
        assert "9 of ('node', 'to', 'node'), [" in words
    for options, problem in [
        (one, "edges are edges by id, of which a part of a graph has a few"),
        ({"negatives": "binary"}, "negatives have exact=True, which asks for all edges"),
        ({"negatives": ramet.Negatives(exact=False, source="degree")}, "negatives have source='degree'"),
        ({"negatives": ramet.Negatives(exact=False)}, "negatives have loops=None"),
        ({"exclude": ramet.SpotTarget(5)}, "exclude is a SpotTarget, which asks for the degrees"),
    ]:
        for outcome, words in world.outcomes(make, parts, options):
            assert (outcome, problem in words) == ("failed", True)


# ---- nodes that are sampled once

ONCE = {"expand": "once"}
LINKS_ONCE = {"num_neighbors": [3, 2], "edges": np.arange(500, 541), "batch_size": 20, "negatives": "binary"}
CASES_OF_ONCE = {
    "one type": (2, OPTIONS | ONCE, "range"),
    "LABOR-1, in PyG's form": (3, OPTIONS | ONCE | {"sampler": ramet.Labor(1)}, "hash"),
    "types": (3, TYPED | ONCE, {"paper": "hash", "author": np.full(200, 1)}),
    "links": (3, LINKS_ONCE | ONCE, "hash"),
    "links, budgets": (2, LINKS_ONCE | {"sampler": ramet.Budget(), "num_neighbors": [40, 30]}, "hash"),
    "trees, in PyG's form": (2, TYPED | {"sampler": ramet.Budget(12)}, dict.fromkeys(("paper", "author"), "hash")),
}


class ModelOfOnce(torch.nn.Module):
    """As PyG's models on a batch: every layer takes all edges, and computes rows of all nodes. in_pairs: layers get
    rows of sources and destinations, as ramet.nn's do; else as programs for PyG write it."""

    def __init__(self, graph, in_pairs):
        super().__init__()
        self.in_pairs = in_pairs
        torch.manual_seed(0)
        widths = {t: graph.table("feat", t).shape[1] for t in graph.node_types}
        self.layers = torch.nn.ModuleList([self.layer(graph, widths), self.layer(graph, dict.fromkeys(widths, 6))])
        self.norm = torch.nn.BatchNorm1d(6).double()

    def layer(self, graph, widths):
        if not graph.is_hetero:
            return pyg.SAGEConv(widths["node"], 6).double()
        of_types, conv = (HeteroConv, SAGEConv) if self.in_pairs else (pyg.HeteroConv, pyg.SAGEConv)
        return of_types({t: conv((widths[t[0]], widths[t[2]]), 6).double() for t in graph.edge_types})

    def forward(self, x, edge_index):
        edge_index = edge_index.edge_index if self.in_pairs else edge_index
        for layer in self.layers:
            if isinstance(x, dict):
                x = layer({t: (x[t[0]], x[t[2]]) for t in edge_index} if self.in_pairs else x, edge_index)
                x = {t: rows.relu() for t, rows in x.items()}
            else:
                x = self.norm(layer((x, x) if self.in_pairs else x, edge_index)).relu()
        return x


def run(wrapped, batch, in_pairs):
    if in_pairs:
        x, edges = batch.x, batch.sources
    else:
        data = batch.to_pyg()
        x, edges = (data.x_dict, data.edge_index_dict) if batch.graph.is_hetero else (data.x, data.edge_index)
    return wrapped({t: rows.double() for t, rows in x.items()} if isinstance(x, dict) else x.double(), edges)


def train_once(group, store, options, ownership, in_pairs):
    """(loss, gradients, edges) of every step. group: None for one process."""
    graph = open_store(store)
    ranks = False if group is None else cooperating(group, ramet.Cooperate(ownership=ownership), ())
    loader = (ramet.LinkLoader if "edges" in options else ramet.NeighborLoader)(graph, ranks=ranks, **options)
    model = ModelOfOnce(graph, in_pairs)
    wrapped = Cooperative(model)
    if group is not None:
        wrapped = DistributedDataParallel(wrapped, process_group=group, find_unused_parameters=True)

    def step(batch):
        out = run(wrapped, batch, in_pairs)
        return losses_of(batch, out["paper"] if graph.is_hetero else out), edges([batch])

    return list(learn(loader, model, torch.optim.Adam(model.parameters(), lr=0.01), STEPS, step))


def losses_of(batch, out):
    out = out[: batch.num_seeds]
    if not hasattr(batch, "ends"):
        return F.cross_entropy(out, batch.y, reduction="none")
    source, destination = exchange(out, batch.ends)[batch.edge_label_index]
    scores = (source * destination).sum(1)
    return F.binary_cross_entropy_with_logits(scores, batch.edge_label.double(), reduction="none")


@pytest.mark.parametrize("case", CASES_OF_ONCE)
def test_training_on_nodes_sampled_once_is_that_of_one_process(world, store, several_types, case):
    size, options, ownership = CASES_OF_ONCE[case]
    in_pairs, path = "PyG" not in case, several_types if isinstance(ownership, dict) else store
    expected = train_once(None, path, options, None, in_pairs)
    per_rank = world.call(train_once, path, options, ownership, in_pairs, size=size)
    for (their_edges,), (sampled,) in assert_same_steps(per_rank, expected):
        assert union([[of_rank] for of_rank in their_edges]) == [sampled]


class Unannotated(pyg.MessagePassing):
    """It does not say that it takes pairs."""

    def forward(self, x, edge_index):
        return self.propagate(edge_index, x=2 * x)


def look(group, store):
    """(whether the rows of sources are theirs, and each is there once; words of what is refused) of one batch."""
    batch = next(iter(make_loader(group, store, OPTIONS | ONCE)))
    ids = batch.sources.n_id
    assert batch.parent is None
    assert batch.hop.tolist() == sorted(batch.hop.tolist())
    data = batch.to_pyg()
    assert len(Cooperative(Unannotated())(data.x, data.edge_index)) == len(ids)
    words = [refused(ask) for ask in (lambda: batch.blocks, lambda: batch.to_pyg(pad=ramet.Pad(nodes=9, edges=9)))]
    return torch.equal(exchange(batch.n_id, batch.sources), ids) and len(ids.unique()) == len(ids), words


def test_sources_are_own_nodes_and_then_those_of_others(world, store):
    """No rank pulls rows from itself. What a rank alone cannot say is None, or refused."""
    for are_right, words in world.call(look, store, size=2):
        assert are_right
        assert "gives one graph, not blocks" in words[0]
        assert "the rows that they exchange cannot be padded" in words[1]
