"""The twin's budgets, written from docs/semantics.md, section 25, alone."""

from .hop import Draw
from .keys import encode_edge_type, encode_name, fnv1a
from .weighted import exponential


def word(draw: Draw, hop: int, node_type: str, node: int) -> int:
    return draw.word(hop, fnv1a(encode_name(node_type)), node)


def remaining(csc, node: int, excluded: set[int]) -> list[int]:
    """The positions of a node's in-edges, but the excluded ones (section 24)."""
    return [p for p in range(csc.indptr[node], csc.indptr[node + 1]) if p not in excluded]


def draw_nodes(graph, nodes, budgets: dict[str, list[int]], draw: Draw, excluded: dict) -> list[dict[str, int]]:
    """Appends the nodes of all hops to `nodes`, which has the seeds. The sizes of the lists after each hop."""
    importance: dict[str, dict[int, int]] = {t: {} for t in graph.num_nodes}
    sizes = [dict.fromkeys(graph.num_nodes, 0), nodes.sizes()]
    for hop in range(len(next(iter(budgets.values())))):
        for edge_type in sorted(graph.edges, key=lambda name: encode_edge_type(name).encode()):
            src_type, _, dst_type = edge_type
            csc = graph.edges[edge_type]
            for i in range(sizes[-2][dst_type], sizes[-1][dst_type]):
                node = nodes.n_id[dst_type][i]
                if nodes.where[dst_type][0, node] != i:
                    continue
                row = remaining(csc, node, excluded.get(edge_type, set()))
                for p in row:
                    source = csc.indices[p]
                    sum_of_shares = importance[src_type].get(source, 0) + 2**44 // len(row)
                    importance[src_type][source] = min(sum_of_shares, 2**64 - 1)
        for node_type, of_type in importance.items():
            numbers = {
                v: exponential(word(draw, hop, node_type, v)) / (float(s) * float(s))
                for v, s in of_type.items()
                if (0, v) not in nodes.where[node_type]
            }
            for v in sorted(numbers, key=lambda v: (numbers[v], v))[: budgets[node_type][hop]]:
                nodes.append(node_type, 0, v)
        sizes.append(nodes.sizes())
    return sizes


def edges_among(nodes, csc, edge_type, first: int, end: int, excluded: dict) -> list[list[int]]:
    """For the destinations from `first` to `end`, the numbers of their in-edges that come from nodes of the batch."""
    src_type, _, dst_type = edge_type
    left_out = excluded.get(edge_type, set())
    return [
        [p - csc.indptr[v] for p in remaining(csc, v, left_out) if (0, csc.indices[p]) in nodes.where[src_type]]
        for v in nodes.n_id[dst_type][first:end]
    ]


def outside(hop, before: dict[str, int], nodes, most: int) -> dict[str, set[int]]:
    """The places of the nodes that the hop has found, from `before` on, for trees that have no room for them."""
    new = {t: range(before[t], len(ids)) for t, ids in nodes.n_id.items()}
    dropped: dict[str, set[int]] = {t: set() for t in nodes.n_id}
    for tree in {tree for of_type in nodes.trees.values() for tree in of_type}:
        room = most - sum(nodes.trees[t][:n].count(tree) for t, n in before.items())
        found = []
        for t in new:
            of_tree = [(nodes.n_id[t][i], i) for i in new[t] if nodes.trees[t][i] == tree]
            found += [(word(hop.draw, hop.hop, t, node), encode_name(t), node, t, i) for node, i in of_tree]
        for *_, t, i in sorted(found)[room:]:
            dropped[t].add(i)
    return dropped
