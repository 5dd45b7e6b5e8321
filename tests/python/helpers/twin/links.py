"""The twin's batches of pairs, written from docs/semantics.md, section 27, alone."""

from __future__ import annotations

import math

from .negatives import negative


def num_negatives(position: int, amount: float) -> int:
    return math.ceil((position + 1) * amount) - math.ceil(position * amount)


def negatives_of(
    pair, input_id: int, count: int, *, corrupt, is_edge, num_nodes, loops, seed: int, epoch: int, weights=None
) -> list:
    """[(source, destination, which of them are replaced)]. num_nodes: of sources and of destinations."""

    def replaced(pair, end: str, draw: int, exact: bool = True) -> tuple:
        at_source = end == "source"

        def with_node(node) -> tuple:
            return (node, pair[1]) if at_source else (pair[0], node)

        def is_rejected(node) -> bool:
            source, destination = with_node(node)
            return exact and (is_edge(source, destination) or (not loops and source == destination))

        return with_node(negative(is_rejected, num_nodes[0 if at_source else 1], weights, seed, epoch, input_id, draw))

    found = []
    for i in range(count):
        if corrupt == "pair":
            of_source = replaced(pair, "source", 2 * i, exact=False)
            found.append((*replaced(of_source, "destination", 2 * i + 1), ("source", "destination")))
            continue
        end = ("destination", "source")[i % 2] if corrupt == "both" else corrupt
        found.append((*replaced(pair, end, i), (end,)))
    return found


def seeds_of(pairs, negatives, types, *, disjoint: bool) -> dict:
    """Ids by node type, of pairs of one edge type whose ends are of `types`."""
    source, destination = types
    seeds: dict = {}
    seeds.setdefault(source, []).extend(u for u, _ in pairs)
    seeds.setdefault(destination, []).extend(v for _, v in pairs)
    seeds[destination].extend(v for _, v, ends in negatives if "destination" in ends)
    seeds[source].extend(u for u, _, ends in negatives if "source" in ends)
    return seeds if disjoint else {t: list(dict.fromkeys(ids)) for t, ids in seeds.items()}


def excluded_edges(pairs, edges, *, reverse: bool) -> set[int]:
    """Numbers of the edges that pairs of nodes exclude."""
    pairs = set(pairs)
    return {e for e, (u, v) in enumerate(edges) if (u, v) in pairs or (reverse and (v, u) in pairs)}
