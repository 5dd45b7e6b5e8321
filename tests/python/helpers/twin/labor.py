"""LABOR: docs/semantics.md, section 8."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .hop import Hop, Picks
from .keys import EdgeType, encode_name, fnv1a

OPTIONS_OF_LABOR = {"iterations": 0, "layer_dependent": False, "weights": "normalized", "table": ""}


@dataclass
class Row:
    """What a destination may pick."""

    numbers: list[int]  # of the edges in the row
    nodes: list[int]  # their sources
    sources: list[tuple]  # the same, as the batch tells them apart
    k: int
    shares: list[float]  # of the row's weight; empty without weights


def labor_picks(
    hop: Hop, *, name, iterations: int, layer_dependent: bool, weights: str, table: str
) -> dict[EdgeType, Picks]:
    """Of all edge types, since LABOR-i looks at all of them."""
    rows = {edge_type: rows_of(hop, edge_type, table) for edge_type in hop.graph.edges}
    q = iter(probabilities([row for of_type in rows.values() for row in of_type], iterations))
    result = {}
    for edge_type, of_type in rows.items():
        path = (0 if layer_dependent else hop.hop, fnv1a(encode_name(edge_type[0])))
        result[edge_type] = []
        for row in of_type:
            words, of_row = [hop.draw.word(*path, t) for t in row.nodes], next(q)
            if of_row is None:
                picked = accept_evenly(words, row.k, weights)
            else:
                picked = accept(words, of_row, weights, row.shares)
            result[edge_type].append([(row.numbers[j], weight) for j, weight in picked])
    return result


def rows_of(hop: Hop, edge_type: EdgeType, table: str) -> list[Row]:
    csc, k, rows = hop.graph.edges[edge_type], hop.fanouts[edge_type], []
    for i, node in enumerate(hop.destinations[edge_type[2]]):
        first, numbers, shares = csc.indptr[node], hop.numbers(edge_type, i) if k else [], []
        if table and k:
            weights = [hop.graph.tables[table][edge_type][first + x] for x in numbers]
            total = sum_in_blocks(weights)
            parts = [(x, w / total) for x, w in zip(numbers, weights) if total > 0 and w / total >= 1e-290]
            numbers, shares = [x for x, _ in parts], [share for _, share in parts]
        nodes = [csc.indices[first + x] for x in numbers]
        tree = hop.trees[edge_type[2]][i]
        rows.append(Row(numbers, nodes, [(edge_type[0], tree, t) for t in nodes], k, shares))
    return rows


def accept_evenly(words: list[int], k: int, weights: str) -> list[tuple[int, float]]:
    """LABOR-0. `words` are the r_t of a row's sources."""
    d = len(words)
    if k == 0 or d == 0:
        return []
    all_of_them = k == -1 or k >= d
    picked = [x for x, r in enumerate(words) if all_of_them or r <= 2**64 * k // d]
    if weights == "normalized":
        return [(x, 1 / len(picked)) for x in picked]
    return [(x, 1 / (d if all_of_them else k)) for x in picked]


def accept(words: list[int], q: list[float], weights: str, shares: list[float]) -> list[tuple[int, float]]:
    """LABOR-i, and LABOR with weights. `q` are the probabilities of the edges."""
    d = len(words)
    picked = [x for x, r in enumerate(words) if q[x] == 1 or r <= int(q[x] * 2.0**64)]
    terms = [(shares[x] if shares else 1) / q[x] for x in picked]
    if weights == "normalized":
        total = sum_in_blocks(terms)
        return [(x, term / total) for x, term in zip(picked, terms)]
    return [(x, term if shares else 1 / (d * q[x])) for x, term in zip(picked, terms)]


def sum_in_blocks(terms: list[float]) -> float:
    """In the order of section 8, which Python's `sum` is not bound to."""
    total = 0.0
    for first in range(0, len(terms), 1024):
        block = 0.0
        for term in terms[first : first + 1024]:
            block += term
        total += block
    return total


def solve_c(p: list[float], k: int) -> float:
    d = len(p)
    if k == -1 or k >= d:
        return 1.0
    c, m = 0.0, -1
    while True:
        n = sum(c * p_t >= 1 for p_t in p)
        total = sum_in_blocks([0.0 if c * p_t >= 1 else 1 / p_t for p_t in p])
        if n <= m or n == d:
            return c
        m, c = n, total / (float(d) * d / k - n)


def solve_c_of_shares(shares: list[float], k: int) -> float:
    if k == -1 or k >= len(shares):
        return math.inf
    c, m = 0.0, -1
    while True:
        n = sum(c * b >= 1 for b in shares)
        total = sum_in_blocks([0.0 if c * b >= 1 else b for b in shares])
        if n <= m or n >= k:
            return c
        m, c = n, (k - n) / total


def solve_c_of_variance(p: list[float], shares: list[float], variance: float) -> float:
    if variance == 0:
        return 1.0
    c, m = 0.0, -1
    while True:
        n = sum(c * p_t >= 1 for p_t in p)
        total = sum_in_blocks([0.0 if c * p_t >= 1 else b * (b / p_t) for p_t, b in zip(p, shares)])
        rest = sum_in_blocks([0.0 if c * p_t >= 1 else b * b for p_t, b in zip(p, shares)])
        following = total / (variance + rest)
        if n <= m or following <= c:
            return c
        m, c = n, following


def raised(p: dict, rows: list[list], factors: list[float]) -> dict:
    """p by source, each times the largest factor of a row that has it."""
    largest = dict.fromkeys(p, 0.0)
    for sources, c in zip(rows, factors):
        for t in sources:
            largest[t] = max(largest[t], c)
    return {t: p_t * largest[t] for t, p_t in p.items()}


def importances(rows: list[tuple[list, int]], iterations: int) -> tuple[dict, list[float]]:
    """p by source and c by row, where a row is (sources of its in-edges, fanout)."""
    p = {t: 1.0 for sources, _ in rows for t in sources}

    def solve_all():
        return [solve_c([p[t] for t in sources], k) for sources, k in rows]

    for _ in range(iterations):
        p = raised(p, [sources for sources, _ in rows], solve_all())
    return p, solve_all()


def importances_by_weight(rows: list[Row], iterations: int) -> tuple[dict, list[float]]:
    """The same with weights; at least one iteration."""
    p: dict = {}
    variances = []
    for row in rows:
        q = in_proportion(row)
        variances.append(sum_in_blocks([b * (b / q_t - b) for b, q_t in zip(row.shares, q)]))
        for t, q_t in zip(row.sources, q):
            p[t] = max(p.get(t, 0.0), q_t)

    def solve_all():
        return [solve_c_of_variance([p[t] for t in row.sources], row.shares, v) for row, v in zip(rows, variances)]

    for _ in range(iterations - 1):
        p = raised(p, [row.sources for row in rows], solve_all())
    return p, solve_all()


def in_proportion(row: Row) -> list[float]:
    c = solve_c_of_shares(row.shares, row.k)
    return [min(1.0, c * b) for b in row.shares]


def probabilities(rows: list[Row], iterations: int) -> list[list[float] | None]:
    """Of each row's edges; None where all are alike."""
    has_weights = any(row.shares for row in rows)
    if not iterations:
        return [in_proportion(row) if has_weights else None for row in rows]
    if has_weights:
        p, c = importances_by_weight(rows, iterations)
    else:
        p, c = importances([(row.sources, row.k) for row in rows], iterations)
    return [[min(1.0, c_s * p[t]) for t in row.sources] for row, c_s in zip(rows, c)]
