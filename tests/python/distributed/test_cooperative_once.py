"""Cooperative ranks (gloo) that sample each node once, against one process. docs/semantics.md, sections 10 and 14."""

import numpy as np
import pytest

import ramet

torch = pytest.importorskip("torch")
pyg = pytest.importorskip("torch_geometric.nn")

import torch.nn.functional as F  # noqa: E402  (these need torch)
from cooperative_ranks import cooperating, make_loader, open_store  # noqa: E402
from learning import refused  # noqa: E402
from sage import learn  # noqa: E402
from test_cooperative_ranks import OPTIONS, TYPED, assert_same_steps, union  # noqa: E402
from together import edges  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402

from ramet.distributed import Cooperative, exchange  # noqa: E402
from ramet.nn import HeteroConv, SAGEConv  # noqa: E402

WORLD = 3
STEPS = 8
ONCE = {"expand": "once"}
LINKS = {"num_neighbors": [3, 2], "edges": np.arange(500, 541), "batch_size": 20, "negatives": "binary"}
CASES = {
    "one type": (2, OPTIONS | ONCE, "range"),
    "LABOR-1, in PyG's form": (3, OPTIONS | ONCE | {"sampler": ramet.Labor(1)}, "hash"),
    "types": (3, TYPED | ONCE, {"paper": "hash", "author": np.full(200, 1)}),
    "links": (3, LINKS | ONCE, "hash"),
    "trees, in PyG's form": (2, TYPED | ONCE | {"disjoint": True}, dict.fromkeys(("paper", "author"), "hash")),
}


class Model(torch.nn.Module):
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


def train(group, store, options, ownership, in_pairs):
    """(loss, gradients, edges) of every step. group: None for one process."""
    graph = open_store(store)
    ranks = False if group is None else cooperating(group, ramet.Cooperate(ownership=ownership), ())
    loader = (ramet.LinkLoader if "edges" in options else ramet.NeighborLoader)(graph, ranks=ranks, **options)
    model = Model(graph, in_pairs)
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


@pytest.mark.parametrize("case", CASES)
def test_training_is_that_of_one_process(world, store, several_types, case):
    size, options, ownership = CASES[case]
    in_pairs, path = "PyG" not in case, several_types if isinstance(ownership, dict) else store
    expected = train(None, path, options, None, in_pairs)
    per_rank = world.call(train, path, options, ownership, in_pairs, size=size)
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
