"""Ranking metrics against slow twins: lists in every order of their ties, and OGB's formulas."""

import itertools
import math
import re

import numpy as np
import pytest

from ramet import evaluate
from ramet.evaluate import rank, rank_all

torch = pytest.importorskip("torch")

NOTHING = np.zeros((2, 0), np.int64)


def orders(scores: np.ndarray, candidates: list[int]) -> list[list[int]]:
    """All lists of the candidates by falling score."""
    groups = [[c for c in candidates if scores[c] == score] for score in sorted(set(scores[candidates]), reverse=True)]
    permutations = itertools.product(*map(itertools.permutations, groups))
    return [list(itertools.chain(*order)) for order in permutations]


def recall(order: list[int], positives: set[int], k: int) -> float:
    return len(positives & set(order[:k])) / len(positives)


def ndcg(order: list[int], positives: set[int], k: int) -> float:
    gain = sum(1 / math.log2(2 + i) for i, c in enumerate(order[:k]) if c in positives)
    return gain / sum(1 / math.log2(2 + i) for i in range(min(k, len(positives))))


def case(seed: int, num_sources=6, num_destinations=7):
    """Scores with many ties, pairs, and known pairs that are none of them."""
    random = np.random.default_rng(seed)
    scores = random.integers(0, 3, (num_sources, num_destinations)).astype(np.float32)
    kind = random.choice(4, scores.shape, p=[0.3, 0.2, 0.2, 0.3])
    kind[1] = 0  # a source without positives
    return scores, np.argwhere(kind == 1).T, np.argwhere(kind == 2).T


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scored", [1, 10, 1000])
def test_recall_and_ndcg_are_means_over_all_orders_of_ties(seed, scored, monkeypatch):
    monkeypatch.setattr(evaluate, "SCORED", scored)
    scores, pairs, known = case(seed)
    shuffled = np.random.default_rng(seed).permutation(pairs.shape[1])
    ranks = rank_all(pairs[:, shuffled], lambda sources: torch.from_numpy(scores)[sources], known=known)
    assert (ranks.sources == pairs[0, shuffled]).all()
    for k in (1, 2, 5, 100):
        for metric, found in ((recall, ranks.recall(k)), (ndcg, ranks.ndcg(k))):
            of_sources = []
            for source in np.unique(pairs[0]):
                seen = set(known[1, known[0] == source].tolist())
                positives = set(pairs[1, pairs[0] == source].tolist())
                lists = orders(scores[source], [c for c in range(scores.shape[1]) if c not in seen])
                of_sources.append(np.mean([metric(order, positives, k) for order in lists]))
            assert found == pytest.approx(np.mean(of_sources))


def test_filtered_ranks_leave_out_all_other_edges():
    scores, pairs, known = case(5)
    edges = np.concatenate([pairs, known], axis=1)
    ranks = rank_all(pairs, lambda sources: scores[sources], known=edges)
    has = set(zip(*edges.tolist()))
    for i, (u, v) in enumerate(pairs.T.tolist()):
        others = [scores[u, c] for c in range(scores.shape[1]) if (u, c) not in has]
        assert ranks.above[i] == sum(score > scores[u, v] for score in others)
        assert ranks.tied[i] == sum(score == scores[u, v] for score in others)


@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64"])
def test_mrr_and_hits_are_ogbs(is_shared, dtype):
    random = np.random.default_rng(1)
    positive = random.integers(0, 20, 50).astype(dtype)
    negative = random.integers(0, 20, 30 if is_shared else (50, 30)).astype(dtype)
    ranks = rank(torch.from_numpy(positive), negative)
    rows = np.broadcast_to(negative, (50, 30))
    optimistic, pessimistic = ((compare(rows, positive[:, None])).sum(1) for compare in (np.greater, np.greater_equal))
    assert ranks.mrr() == pytest.approx(np.mean(1 / ((optimistic + pessimistic) / 2 + 1)))
    for k in (1, 3, 30):
        assert ranks.hits(k) == np.mean(positive > np.sort(rows, axis=1)[:, -k])
    assert ranks.hits(31) == 1


def test_the_functions_agree():
    """All destinations but the positive are its negatives."""
    random = np.random.default_rng(2)
    scores, destinations = random.integers(0, 9, (40, 30)), random.integers(0, 30, 40)
    everywhere = rank_all([np.arange(40), destinations], lambda sources: torch.from_numpy(scores)[sources])
    negative = scores[np.arange(30) != destinations[:, None]].reshape(40, 29)
    given = rank(scores[np.arange(40), destinations], negative)
    assert all((getattr(everywhere, name) == getattr(given, name)).all() for name in ("above", "tied", "sources"))


def test_scores_that_are_all_the_same_are_chance():
    ranks = rank(np.ones(10), np.ones(99))
    assert ranks.hits(50) == 0
    assert ranks.recall(20) == pytest.approx(0.2)
    assert ranks.mrr() == pytest.approx(1 / 50.5)


def test_what_a_model_owns_is_not_written():
    scores = torch.rand(3, 4, requires_grad=True)
    before = scores.detach().clone()
    rank_all([[0, 1, 2], [0, 1, 2]], lambda sources: scores[sources[0] : sources[-1] + 1], known=[[0, 1], [1, 1]])
    assert (scores == before).all()


def test_without_negatives_all_are_first():
    assert rank([0.5, 1.0], np.zeros(0)).mrr() == rank([0.5], np.zeros((1, 0))).hits(1) == 1


def test_bad_input():
    scores = torch.zeros(3, 4)
    for error, message, call in [
        (ValueError, "positive[1] is NaN", lambda: rank([0, np.nan], [0.0])),
        (ValueError, "negative[0, 1] is NaN", lambda: rank([0.0], [[0, np.nan]])),
        (ValueError, "positive has shape [2], negative [3, 1]", lambda: rank([0.0, 1.0], [[0.0]] * 3)),
        (TypeError, "positive has dtype <U1", lambda: rank(["a"], [0.0])),
        (ValueError, "pairs has shape [3], expected [2, pairs]", lambda: rank_all([0, 1, 2], scores.__getitem__)),
        (TypeError, "pairs has dtype float64; ids", lambda: rank_all([[0.5], [0.5]], scores.__getitem__)),
        (IndexError, "pairs holds -1", lambda: rank_all([[0], [-1]], scores.__getitem__)),
        (ValueError, "pairs holds (2, 1) twice", lambda: rank_all([[2, 0, 2], [1, 1, 1]], scores.__getitem__)),
        (IndexError, "pairs holds (0, 4), but score gives 4", lambda: rank_all([[0], [4]], scores.__getitem__)),
        (
            IndexError,
            "known holds (0, 9), but score gives 4 candidates",
            lambda: rank_all([[0], [3]], scores.__getitem__, known=[[0, 0], [9, 1]]),
        ),
        (ValueError, "shape [3, 4] for 1 sources", lambda: rank_all([[0], [1]], lambda sources: scores)),
        (
            ValueError,
            "the score of source 2 and destination 0 is NaN",
            lambda: rank_all([[2], [1]], lambda sources: scores[sources] / 0),
        ),
        (ValueError, "k is 0", lambda: rank([0.0], [0.0]).hits(0)),
        (TypeError, "k is 0.5", lambda: rank([0.0], [0.0]).recall(0.5)),
    ]:
        with pytest.raises(error, match=re.escape(message)):
            call()


@pytest.mark.parametrize("metric", ["mrr", "hits", "recall", "ndcg"])
def test_no_positives_have_no_metric(metric):
    ranks = rank_all(NOTHING, lambda sources: sources)
    with pytest.raises(ValueError, match="there are no positives"):
        getattr(ranks, metric)(*[1][: metric != "mrr"])
