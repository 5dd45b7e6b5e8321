"""LABOR: docs/semantics.md, section 8."""

from __future__ import annotations

from .hop import Hop, Picks
from .keys import EdgeType, encode_name, fnv1a

OPTIONS_OF_LABOR = {"iterations": 0, "layer_dependent": False, "weights": "normalized"}


def labor_picks(hop: Hop, *, name, iterations: int, layer_dependent: bool, weights: str) -> dict[EdgeType, Picks]:
    """Of all edge types, since LABOR-i looks at all of them."""
    weighed = probabilities(hop, iterations) if iterations else {}
    result = {}
    for edge_type in hop.graph.edges:
        path = (0 if layer_dependent else hop.hop, fnv1a(encode_name(edge_type[0])))
        words = [[hop.draw.word(*path, t) for t in row] for row in hop.rows(edge_type)]
        if edge_type in weighed:
            result[edge_type] = [accept(*of_row, weights) for of_row in zip(words, weighed[edge_type])]
        else:
            result[edge_type] = [accept_evenly(of_row, hop.fanouts[edge_type], weights) for of_row in words]
    return result


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


def accept(words: list[int], q: list[float], weights: str) -> list[tuple[int, float]]:
    """LABOR-i. `q` are the probabilities of the edges."""
    d = len(words)
    picked = [x for x, r in enumerate(words) if q[x] == 1 or r <= int(q[x] * 2.0**64)]
    if weights == "horvitz-thompson":
        return [(x, 1 / (d * q[x])) for x in picked]
    total = sum_in_blocks([1 / q[x] for x in picked])
    return [(x, 1 / q[x] / total) for x in picked]


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


def importances(rows: list[tuple[list, int]], iterations: int) -> tuple[dict, list[float]]:
    """p by source and c by row, where a row is (sources of its in-edges, fanout)."""
    p = {t: 1.0 for sources, _ in rows for t in sources}

    def solve_all():
        return [solve_c([p[t] for t in sources], k) for sources, k in rows]

    for _ in range(iterations):
        largest = dict.fromkeys(p, 0.0)
        for (sources, _), c in zip(rows, solve_all()):
            for t in sources:
                largest[t] = max(largest[t], c)
        p = {t: p_t * largest[t] for t, p_t in p.items()}
    return p, solve_all()


def probabilities(hop: Hop, iterations: int) -> dict[EdgeType, list[list[float]]]:
    """LABOR-i: for each edge type whose fanout is not 0 and each destination, q of its in-edges."""
    types = [edge_type for edge_type in hop.graph.edges if hop.fanouts[edge_type] != 0]
    rows = [([(t[0], node) for node in row], hop.fanouts[t]) for t in types for row in hop.rows(t)]
    p, c = importances(rows, iterations)
    q = iter([[min(1.0, c_s * p[t]) for t in sources] for (sources, _), c_s in zip(rows, c)])
    return {t: [next(q) for _ in hop.destinations[t[2]]] for t in types}
