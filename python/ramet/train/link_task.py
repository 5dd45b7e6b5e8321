"""Links: what a run for them trains on, its loss and its metrics. The score of a pair is the dot product of its ends'
rows."""

from __future__ import annotations

import pickle

import torch
import torch.nn.functional as F

from ramet import LinkLoader, Negatives, evaluate, sample_links
from ramet.ranks.ranks import Ranks
from ramet.train.inputs import SPLITS, find_features, find_splits

REMEDY = "`ramet build` makes splits of edges with --val-edges and --test-edges, Python's functions take edge_splits="
NEGATIVES = 50  # that each edge is ranked among
SCORED = 1 << 16  # pairs at a time


class LinkTask:
    """Of a homogeneous graph. `splits`, edge ids of train, val and test, replaces the splits of edges of the store.

    Raises ValueError naming what is missing or unfit.
    """

    num_classes = None  # an output is a row, as wide as hidden rows

    def __init__(self, graph, splits=None):
        self.graph = graph
        self.num_features = find_features(graph)
        (edge_type,) = graph.edge_types
        if splits is None:
            names = find_splits(graph.edge_splits, "of edges ", REMEDY)
            splits = {name: graph.split(found, edge_type) for name, found in names.items()}
        self.splits = {name: splits[name] for name in SPLITS}
        for name, edges in self.splits.items():
            if len(edges) == 0:
                raise ValueError(f"split {name!r} of edges is empty")
        self._candidates: dict[str, Candidates] = {}

    def messages(self):
        """The graph of training edges, which messages follow. Collective: the ranks of a machine share one copy."""
        ranks = Ranks.of(None)

        def make():
            made = self.graph.edge_subgraph(self.splits["train"]) if ranks.is_first else None
            return made, pickle.dumps(made)

        own, sent = ranks.share(make)
        return own or pickle.loads(sent[ranks.is_local.index(True)])

    def loader(self, messages, **options):
        return LinkLoader(messages, edges=self.splits["train"], negatives="binary", **options)

    def loss(self, out, batch):
        scores = _products(out, batch.edge_label_index)
        return batch.mean(F.binary_cross_entropy_with_logits(scores, batch.edge_label.to(scores), reduction="none"))

    def nodes(self, split):
        """The nodes whose outputs measure() takes."""
        return self._of(split).nodes

    def measure(self, out, split) -> dict[str, float]:
        """The loss and the metrics of a split."""
        return self._of(split).measure(out)

    def _of(self, split):
        if split not in self._candidates:
            self._candidates[split] = Candidates(self.graph, self.splits[split])
        return self._candidates[split]


class Candidates:
    """Edges, each with the same negatives in every run. A negative is no edge of `graph`, of any split."""

    def __init__(self, graph, edges):
        negatives = Negatives("triplet", NEGATIVES, fixed=True)
        batch = sample_links(graph, edges, [0], negatives=negatives, exclude=None)
        self.nodes = batch.seeds
        self._positive = torch.stack([batch.src_index, batch.dst_pos_index])
        self._destinations = batch.dst_neg_index

    def measure(self, rows) -> dict[str, float]:
        """The loss and the metrics. rows: one for each of `nodes`. Edges and negatives weigh the same in the loss, as
        in training."""
        negative = torch.stack([self._positive[0].repeat_interleave(NEGATIVES), self._destinations.flatten()])
        positive, negative = pair_scores(rows, self._positive), pair_scores(rows, negative)
        loss = (F.softplus(-positive).mean() + F.softplus(negative).mean()) / 2
        ranks = evaluate.rank(positive, negative.view(-1, NEGATIVES))
        return {"loss": loss.item(), "mrr": ranks.mrr(), "hits@10": ranks.hits(10)}


def pair_scores(rows, pairs):
    """The scores [n] of pairs, int64 [2, n], from rows of all nodes. Takes few pairs at a time, for memory's sake."""
    return torch.cat([_products(rows, part) for part in pairs.split(SCORED, dim=1)])


def _products(rows, pairs):
    source, destination = rows[pairs]
    return (source * destination).sum(1)
