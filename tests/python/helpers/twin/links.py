"""The twin's batches of pairs, written from docs/semantics.md, section 27, alone."""

from __future__ import annotations

import math

from .negatives import negative


def num_negatives(position: int, amount: float) -> int:
    return math.ceil((position + 1) * amount) - math.ceil(position * amount)


def negatives_of(pair, input_id: int, count: int, *, corrupt, is_edge, num_nodes, loops, seed: int, epoch: int) -> list:
    """[(source, destination, whether the source is replaced)]. num_nodes: of sources and of destinations."""
    found = []
    for i in range(count):
        at_source = corrupt == "source" or (corrupt == "both" and i % 2 == 1)

        def replaced(node, at_source=at_source):
            return (node, pair[1]) if at_source else (pair[0], node)

        def is_rejected(node, replaced=replaced):
            source, destination = replaced(node)
            return is_edge(source, destination) or (not loops and source == destination)

        node = negative(is_rejected, num_nodes[0 if at_source else 1], None, seed, epoch, input_id, i)
        found.append((*replaced(node), at_source))
    return found


def seeds_of(pairs, negatives, types, *, disjoint: bool) -> dict:
    """Ids by node type, of pairs of one edge type whose ends are of `types`."""
    source, destination = types
    seeds: dict = {}
    seeds.setdefault(source, []).extend(u for u, _ in pairs)
    seeds.setdefault(destination, []).extend(v for _, v in pairs)
    seeds[destination].extend(v for _, v, at_source in negatives if not at_source)
    seeds[source].extend(u for u, _, at_source in negatives if at_source)
    return seeds if disjoint else {t: list(dict.fromkeys(ids)) for t, ids in seeds.items()}


def excluded_edges(pairs, edges, *, reverse: bool) -> set[int]:
    """Numbers of the edges that pairs of nodes exclude."""
    pairs = set(pairs)
    return {e for e, (u, v) in enumerate(edges) if (u, v) in pairs or (reverse and (v, u) in pairs)}
