"""Hops and blocks: docs/semantics.md, section 4."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from .budget import draw_nodes, edges_among, outside
from .graph import TwinGraph
from .hop import Draw, Hop, Picks
from .keys import EdgeType, encode_edge_type
from .labor import OPTIONS_OF_LABOR, labor_picks
from .picks import uniform_picks, weighted_picks
from .times import ANY, Span, common, span


@dataclass
class TwinBlock:
    hop: int
    num_src: dict[str, int] = field(default_factory=dict)
    first_dst: dict[str, int] = field(default_factory=dict)
    num_dst: dict[str, int] = field(default_factory=dict)
    indptr: dict[EdgeType, list[int]] = field(default_factory=dict)
    indices: dict[EdgeType, list[int]] = field(default_factory=dict)
    position: dict[EdgeType, list[int]] = field(default_factory=dict)
    e_id: dict[EdgeType, list[int]] = field(default_factory=dict)
    edge_weight: dict[EdgeType, list[float]] = field(default_factory=dict)  # doubles, not yet rounded


@dataclass
class TwinBatch:
    n_id: dict[str, list[int]]
    blocks: list[TwinBlock]  # the last hop first
    trees: dict[str, list[int]] = field(default_factory=dict)  # section 15; all 0 where seeds share nodes


@dataclass
class Nodes:
    """The nodes of a batch by type, in the order in which they were found."""

    n_id: dict[str, list[int]]
    trees: dict[str, list[int]]
    where: dict[str, dict[tuple[int, int], int]]  # (tree, node) -> its first place in the list

    @classmethod
    def of_types(cls, types) -> Nodes:
        return cls({t: [] for t in types}, {t: [] for t in types}, {t: {} for t in types})

    def append(self, node_type: str, tree: int, node: int) -> int:
        self.where[node_type].setdefault((tree, node), len(self.n_id[node_type]))
        self.n_id[node_type].append(node)
        self.trees[node_type].append(tree)
        return len(self.n_id[node_type]) - 1

    def place(self, node_type: str, tree: int, node: int) -> int:
        """Of a source, which is new or not."""
        found = self.where[node_type].get((tree, node))
        return self.append(node_type, tree, node) if found is None else found

    def drop(self, places: dict[str, set[int]]) -> dict[str, dict[int, int]]:
        """Takes nodes out. Where each of the others now is."""
        now: dict[str, dict[int, int]] = {}
        for t, ids in self.n_id.items():
            kept = [i for i in range(len(ids)) if i not in places[t]]
            now[t] = {i: place for place, i in enumerate(kept)}
            self.n_id[t][:] = [ids[i] for i in kept]
            self.trees[t][:] = [self.trees[t][i] for i in kept]
            self.where[t] = {key: now[t][i] for key, i in self.where[t].items() if i in now[t]}
        return now

    def sizes(self) -> dict[str, int]:
        return {node_type: len(ids) for node_type, ids in self.n_id.items()}


def sample(
    graph: TwinGraph,
    seed_type: str,  # where `seeds` and `input_time` are no dicts by node type
    seeds,
    fanouts: dict[EdgeType, list[int]],
    *,
    sampler="uniform",
    seed: int = 0,
    expand: str = "every",
    disjoint: bool = False,
    time=None,
    input_time=None,
    excluded: dict[EdgeType, set[int]] | None = None,
    epoch: int = 0,
    step: int = 0,
) -> TwinBatch:
    """sampler, time: as of the engine; only names and options are read. excluded: positions."""
    options = {"name": sampler} if isinstance(sampler, str) else sampler.plain()
    most = options.get("nodes_per_tree")
    disjoint = disjoint or time is not None or most is not None  # sections 16 and 25
    seeds_of = seeds if isinstance(seeds, dict) else {seed_type: seeds}
    times_of = input_time if isinstance(input_time, dict) else {seed_type: input_time}
    nodes = Nodes.of_types(graph.num_nodes)
    spans: list[Span] = []  # of the trees
    paths: dict[str, list[Span]] = {node_type: [] for node_type in graph.num_nodes}  # of the nodes
    num_seeds = 0
    for node_type, ids in seeds_of.items():
        given = times_of.get(node_type)
        for i, node in enumerate(ids):
            if not 0 <= node < graph.num_nodes[node_type]:
                raise IndexError(f"seed {node}")
            nodes.append(node_type, num_seeds if disjoint else 0, int(node))
            num_seeds += 1
            if time is not None:
                now = graph.node_tables[time.table][node_type][node] if given is None else given[i]
                spans.append(span(now, time.window, time.comparison))

    draw = Draw(seed, epoch, step, options.pop("dependent", 1))
    blocks = []
    if options["name"] == "budget" and most is None:
        sizes = draw_nodes(graph, nodes, fanouts, draw, excluded or {})
        for number, (first, end) in enumerate(itertools.pairwise(sizes)):
            destinations = {t: ids[first[t] : end[t]] for t, ids in nodes.n_id.items()}
            hop = Hop(graph, draw, number, destinations, first, {}, {})
            rows = {
                t: edges_among(nodes, csc, t, first[t[2]], end[t[2]], excluded or {}) for t, csc in graph.edges.items()
            }
            picks = {t: [[(x, 1 / len(row)) for x in row] for row in of_type] for t, of_type in rows.items()}
            blocks.insert(0, relabel(hop, picks, nodes))
            blocks[0].num_src = sizes[number + 2] if number + 2 < len(sizes) else end
        return TwinBatch(nodes.n_id, blocks, nodes.trees)
    first_dst = dict.fromkeys(graph.num_nodes, 0)
    for number in range(len(next(iter(fanouts.values())))):
        destinations = {node_type: ids[first_dst[node_type] :] for node_type, ids in nodes.n_id.items()}
        trees = {node_type: of_type[first_dst[node_type] :] for node_type, of_type in nodes.trees.items()}
        hop = Hop(graph, draw, number, destinations, first_dst, {t: hops[number] for t, hops in fanouts.items()}, trees)
        hop.excluded = excluded or {}
        if time is not None:
            hop.time = time
            for t in graph.num_nodes:
                paths[t] += [ANY] * (len(nodes.trees[t]) - len(paths[t]))
                hop.allowed[t] = [common(spans[tree], path) for tree, path in zip(trees[t], paths[t][first_dst[t] :])]
        if expand == "once" or most is not None:  # section 14
            first_dst = nodes.sizes()
        if options["name"] == "labor":
            picks = labor_picks(hop, **OPTIONS_OF_LABOR | options)
        elif options["name"] == "weighted":
            weights = graph.tables[options["table"]]
            picks = {t: weighted_picks(hop, t, weights[t], options["replace"]) for t in graph.edges}
        else:
            picks = {t: uniform_picks(hop, t, options.get("replace", False)) for t in graph.edges}
        before = nodes.sizes()
        blocks.insert(0, relabel(hop, picks, nodes))
        if time is not None and time.monotonic:
            hold_back(hop, blocks[0], picks, paths)
        if most is not None:
            cut(blocks[0], nodes, paths, outside(hop, before, nodes, most))
    return TwinBatch(nodes.n_id, blocks, nodes.trees)


def cut(block: TwinBlock, nodes: Nodes, paths: dict[str, list[Span]], dropped: dict[str, set[int]]) -> None:
    """Takes nodes that the hop has found, and the edges from them, out."""
    now = nodes.drop(dropped)
    for t, of_type in paths.items():
        of_type[:] = [path for i, path in enumerate(of_type) if i not in dropped[t]]
    block.num_src = nodes.sizes()
    for t, sources in block.indices.items():
        ends, begins = block.indptr[t][1:], block.indptr[t]
        rows = [[e for e in range(b, e) if sources[e] not in dropped[t[0]]] for b, e in zip(begins, ends)]
        edges = [e for row in rows for e in row]
        block.indptr[t] = [0, *itertools.accumulate(map(len, rows))]
        block.indices[t] = [now[t[0]][sources[e]] for e in edges]
        for values in (block.position, block.e_id):
            values[t] = [values[t][e] for e in edges]
        block.edge_weight[t] = [1 / len(row) for row in rows for _ in row]


def hold_back(hop: Hop, block: TwinBlock, picks: dict[EdgeType, Picks], paths: dict[str, list[Span]]) -> None:
    """Section 16: what the edges of a hop leave to those that lead to their sources."""
    for edge_type, of_destinations in picks.items():
        of_sources, places = paths[edge_type[0]], iter(block.indices[edge_type])
        of_sources += [ANY] * (block.num_src[edge_type[0]] - len(of_sources))
        for i, of_destination in enumerate(of_destinations):
            times = hop.times_of(edge_type, i)
            for (x, _), place in zip(of_destination, places):
                left = hop.allowed[edge_type[2]][i] if times is None else span(times[x], None, hop.time.comparison)
                of_sources[place] = common(of_sources[place], left)


def relabel(hop: Hop, picks: dict[EdgeType, Picks], nodes: Nodes) -> TwinBlock:
    """The block of a hop; lists grow by the sources that are new."""
    num_dst = {node_type: len(ids) for node_type, ids in hop.destinations.items()}
    block = TwinBlock(hop.hop, first_dst=hop.first_dst, num_dst=num_dst)
    for edge_type in sorted(hop.graph.edges, key=lambda name: encode_edge_type(name).encode()):
        src_type, _, dst_type = edge_type
        csc = hop.graph.edges[edge_type]
        indptr, indices, positions, weights = [0], [], [], []
        for i, (node, of_node) in enumerate(zip(hop.destinations[dst_type], picks[edge_type])):
            tree = nodes.trees[dst_type][hop.first_dst[dst_type] + i]
            for x, weight in of_node:
                position = csc.indptr[node] + x
                indices.append(nodes.place(src_type, tree, csc.indices[position]))
                positions.append(position)
                weights.append(weight)
            indptr.append(len(indices))
        ids = csc.edge_ids
        block.indptr[edge_type], block.indices[edge_type] = indptr, indices
        block.position[edge_type], block.edge_weight[edge_type] = positions, weights
        block.e_id[edge_type] = positions if ids is None else [ids[p] for p in positions]
    block.num_src = nodes.sizes()
    return block
