"""Negatives: pairs that are no edges, for each pair of a LinkLoader. docs/semantics.md, section 23."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ramet import _core
from ramet._support.arguments import EdgeTypeName, as_flag, as_real, check_word, shortened
from ramet.arrays import as_array, to_integers
from ramet.graph import Graph
from ramet.loading.pairs import Pairs, as_pair_index, sorted_pairs
from ramet.stores.ordered_edges import Needs, ordered_edges

MODES = ("binary", "triplet")
MISSING = ("error", "drop", "edge")  # "edge", a negative that is an edge, is for ramet.pyg
CORRUPT = ("destination", "source", "both", "pair")
UNIFORM, DEGREE, IN_BATCH, HISTORICAL = "uniform", "degree", "in-batch", "historical"


@dataclass(frozen=True, eq=False)
class Negatives:
    """Which negatives the pairs of a LinkLoader get. A negative keeps one end of its pair and replaces the other. It is
    a function of the seed, the epoch, the pair's `input_id` and its number: threads, ranks and batch sizes do not
    change it.

    mode: "binary": negatives follow the pairs in `edge_label_index`, with label 0. "triplet": `src_index`,
        `dst_pos_index` and `dst_neg_index`, one row for each pair.
    amount: negatives of each pair. With "binary" it may be a fraction: a batch of n pairs has ceil(n * amount).
    source: the candidates. "uniform": all nodes of the type, each alike. "degree": by in-degree (a source by
        out-degree) to the power `power`. The name of a table of nodes: in proportion to its numbers. "in-batch": the
        other ends in the global batch. "historical", with a `time`: the nodes that the end that is kept had an edge
        with before the pair's time, and has none with at that time, each alike; all nodes, as of "uniform", where it
        has none such. int64 [pairs] or [pairs, amount]: these nodes, as they are.
    power: see source="degree"; 0.75 is word2vec's. Below 0, every node needs an edge.
    exact: a negative is never an edge of the loader's graph, nor another of its pairs whose label is not 0. With a
        `time`, an edge after the pair's time is none. False: it may be one, but never one of the `known` pairs.
    corrupt: the end that is replaced: "destination", "source", or "both": in turn. "pair": a negative has nothing of
        its pair; its source is drawn as sources are, whatever the edges.
    exists: with a `time`, an int64 node table: a node is no candidate before its time.
    known: int64 [2, n]: further pairs that are no negatives, for filtered evaluation. Where the loader's `edges` is a
        dict by edge type, such a dict of some of its types.
    fixed: every epoch has the same negatives.
    loops: whether a pair of a node with itself may be a negative. None: if the edge type has such edges.

    missing: where a source has an edge with every candidate. "error": a KeyError names it, with its batch. "drop": the
        pair has no negatives, and `batch.num_missing` counts those; with mode="binary".
    """

    mode: str = "binary"
    amount: float = 1
    source: Any = UNIFORM
    power: float = 0.75
    exact: bool = True
    corrupt: str = "destination"
    exists: str | None = None
    known: Any = None
    fixed: bool = False
    loops: bool | None = None
    missing: str = "error"

    def __post_init__(self):
        check_word(self.mode, "mode", MODES)
        check_word(self.corrupt, "corrupt", CORRUPT)
        check_word(self.missing, "missing", MISSING)
        amount, _ = as_real(self.amount, "amount"), as_real(self.power, "power", least=-math.inf)
        if not 0 < amount <= _core.MAX_NEGATIVES:
            raise ValueError(f"amount is {self.amount}, expected more than 0 and at most {_core.MAX_NEGATIVES}")
        if amount != int(amount) and self.mode == "triplet":
            raise ValueError(f"amount is {self.amount}, but mode='triplet' has a whole number for each pair")
        if self.missing == "drop" and (self.mode == "triplet" or amount != int(amount)):
            raise ValueError(f"missing is 'drop', but amount={self.amount} of mode={self.mode!r} must all be there")
        if self._is_historical and (not self.exact or self.corrupt == "pair"):
            raise ValueError(
                f"source is 'historical', but exact={self.exact} and corrupt={self.corrupt!r}: such negatives keep one "
                "end of their pair, and are no edges at its time"
            )
        for name in ("exact", "fixed"):
            as_flag(getattr(self, name), name)
        if self.loops is not None:
            as_flag(self.loops, "loops")

    @property
    def _is_historical(self) -> bool:
        return isinstance(self.source, str) and self.source == HISTORICAL

    def plain(self) -> dict:
        """The options as numbers and strings, for states."""
        fields = {name: value for name, value in vars(self).items() if name not in ("source", "known")}
        given = self.source if isinstance(self.source, str) else "given"
        return fields | {"source": given, "known": None if self.known is None else "given"}

    def for_engine(self, graph: Graph, pairs: Pairs, time: str | None, known) -> _core.LinkNegatives:
        """Of the pairs of one kind. time: the table of the loader's `time`. known: of this kind."""
        source, _, destination = pairs.edge_type
        if self.exists is not None and time is None:
            raise ValueError(f"exists is {self.exists!r}, but the loader has no `time`: leave it out, or give a time")
        is_given = not isinstance(self.source, str)
        if graph.part is not None and not is_given:
            self._check_for_part(is_of_one_type=source == destination)
        return _core.LinkNegatives(
            amount=float(self.amount),
            corrupt=self.corrupt,
            of_sources=self._candidates(graph, source, pairs.edge_type, time, at_source=True),
            of_destinations=self._candidates(graph, destination, pairs.edge_type, time, at_source=False),
            edges=[] if is_given else self._excluded(graph, pairs, time, known),
            loops=self._has_loops(graph, pairs) if self.loops is None else self.loops,
            missing=self.missing,
            fixed=self.fixed,
            in_batch=not is_given and self.source == IN_BATCH,
            given=self._given(len(pairs)) if is_given else None,
        )

    def _check_for_part(self, is_of_one_type: bool) -> None:
        asks_for_all = {
            "exact=True": self.exact,
            f"source={self.source!r}": self.source not in (UNIFORM, IN_BATCH),
            "loops=None": self.loops is None and is_of_one_type,
        }
        for field, asks in asks_for_all.items():
            if asks:
                raise ValueError(
                    f"negatives have {field}, which asks for all edges or nodes, but the graph is a part: give "
                    "exact=False, loops=False, and the source 'uniform' or 'in-batch'"
                )

    def _given(self, count: int) -> np.ndarray:
        nodes = to_integers(as_array(self.source, "source"), "source").astype(np.int64, copy=False)
        nodes = nodes.reshape(-1, 1) if nodes.ndim == 1 else nodes
        if nodes.shape != (count, math.ceil(self.amount)):
            raise ValueError(
                f"source has shape {list(nodes.shape)}, expected [{count}, {math.ceil(self.amount)}]: for each pair "
                f"the ids of its {self.amount} negatives"
            )
        return nodes

    def _candidates(
        self, graph: Graph, node_type: str, edge_type: EdgeTypeName, time: str | None, at_source: bool
    ) -> tuple:
        """(number of nodes, sums of weights, times, edges of the past), as the engine takes them."""
        count = graph.num_nodes(node_type)
        is_replaced = self.corrupt in ("both", "pair", "source" if at_source else "destination")
        if not is_replaced or not isinstance(self.source, str):
            return count, None, None, None
        sums, created = self._weight_sums(graph, node_type, edge_type, at_source), self._created(graph, node_type)
        return count, sums, created, self._past(graph, edge_type, time, at_source) if self._is_historical else None

    @staticmethod
    def _past(graph: Graph, edge_type: EdgeTypeName, time: str | None, at_source: bool) -> tuple:
        """The nodes that the ends that are kept had edges with, in the order of times."""
        if time is None or edge_type not in graph.edge_types or time not in graph.tables(edge_type):
            raise ValueError(
                f"source is 'historical', but edges of {edge_type} have no times: the loader's `time` is {time!r}, "
                "expected the name of a table of them"
            )
        needs = Needs(outgoing=not at_source, time=time, once=True)
        core, position, _, by_time = ordered_edges(graph, edge_type, needs)
        return core, position, not at_source, by_time

    def _created(self, graph: Graph, node_type: str) -> np.ndarray | None:
        """When each node is there."""
        if self.exists is None:
            return None
        times, count = graph.table(self.exists, node_type).numpy(), graph.num_nodes(node_type)
        if times.shape != (count,) or times.dtype.kind not in "iu":
            raise TypeError(f"exists={self.exists!r} has dtype {times.dtype}, expected int64 [{count}]")
        return times.astype(np.int64, copy=False)

    def _weight_sums(self, graph: Graph, node_type: str, edge_type: EdgeTypeName, at_source: bool):
        if self.source in (UNIFORM, IN_BATCH, HISTORICAL):
            return None
        if self.source == DEGREE:
            if edge_type not in graph.edge_types:
                raise ValueError(f"source='degree' needs the degrees of {edge_type}, which the graph does not have")
            degrees = np.diff(graph.indptr(edge_type))
            if at_source:
                degrees = np.bincount(graph.indices(edge_type), minlength=graph.num_nodes(node_type))
            with np.errstate(over="ignore", divide="ignore"):
                weights = degrees.astype(np.float64) ** float(self.power)
            return self._sums_of(weights, f"source='degree', power={self.power}")
        weights = graph.table(self.source, node_type).numpy()
        if weights.ndim != 1 or weights.dtype.kind not in "fiu":
            raise TypeError(f"source={self.source!r} has shape {list(weights.shape)}, expected a number for each node")
        return self._sums_of(weights, f"source={self.source!r}")

    @staticmethod
    def _sums_of(weights: np.ndarray, what: str) -> np.ndarray:
        bad = ~(np.isfinite(weights) & (weights >= 0))
        if bad.any():
            node = int(np.argmax(bad))
            raise ValueError(f"{what} has the weight {weights[node]} of node {node}, expected 0 or more")
        return np.cumsum(weights, dtype=np.float64)

    def _excluded(self, graph: Graph, pairs: Pairs, time: str | None, known) -> list[tuple]:
        """The edges that no negative is, as the engine takes them."""
        edge_type, rows = pairs.edge_type, []
        is_known = self.exact and edge_type in graph.edge_types
        timed = time if is_known and time is not None and time in graph.tables(edge_type) else None
        if is_known:
            stored = None if timed else graph._core.out_edges(edge_type)
            needs = Needs(outgoing=False, by_end=True, time=timed)
            made = _by_destination(ordered_edges(graph, edge_type, needs)) if stored is None else (stored, 0, True, "")
            rows.append(made)
        others = [pairs.positive()] if self.exact and pairs.sources is not None else []
        if known is not None:
            others.append((*as_pair_index(known, graph, edge_type, "known"), None))
        for sources, destinations, times in others:
            if rows and timed is None and times is None:  # those that are edges need no rows of their own
                missing = ~_core.are_edges(sources, destinations, times=None, edges=rows[:1], threads=0)
                sources, destinations = sources[missing], destinations[missing]
            if len(sources) > 0:
                rows.append(_by_destination(sorted_pairs(graph, edge_type, sources, destinations, times)))
        return rows

    def _has_loops(self, graph: Graph, pairs: Pairs) -> bool:
        source, _, destination = edge_type = pairs.edge_type
        if source != destination or edge_type not in graph.edge_types:
            return source != destination
        return _core.has_loops(graph._core, graph.edge_types.index(edge_type))


def _by_destination(ordered: tuple) -> tuple:
    """The result of ordered_edges(), as the engine looks pairs up in it."""
    core, position, _, by_time = ordered
    return core, position, False, by_time


def as_negatives(negatives) -> Negatives | None:
    if negatives is None or isinstance(negatives, Negatives):
        return negatives
    if isinstance(negatives, str):
        return Negatives(negatives)
    raise TypeError(f"negatives is {shortened(negatives)}, expected a ramet.Negatives, 'binary' or 'triplet'")
