"""Cooperative ranks (gloo) with pairs of nodes, against one process. docs/semantics.md, section 27."""

import itertools

import numpy as np
import pytest
from comparison import by_type, labor
from small_graphs import CITES, REVERSE, WRITES, homogeneous

import ramet

torch = pytest.importorskip("torch")

import torch.distributed as dist  # noqa: E402  (these need torch)
import torch.nn.functional as F  # noqa: E402
from cooperative_ranks import cooperating, open_store  # noqa: E402
from sage import learn  # noqa: E402
from test_cooperative_ranks import assert_same_sets, assert_same_steps, union  # noqa: E402
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
