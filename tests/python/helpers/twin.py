"""The twin: sampling, shuffling, slicing and fingerprints, slow and obvious.

Written from docs/semantics.md (and docs/format.md, section 3, for names) alone, without a look at the engine,
and kept so: where the two differ, either the page or the engine is wrong. Section numbers are that page's.
Integers are Python's, cut to 64 bits by hand; `mix64` and `absorb` also take numpy arrays of uint64.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from twin_dependent import dependent_word
from twin_time import allowed, latest
from twin_weighted import pick_weighted, smallest

MASK = 2**64 - 1
G = 0x9E3779B97F4A7C15

EdgeType = tuple[str, str, str]
DEFAULT_EDGE = ("node", "to", "node")

# ---- section 2: the random function


def mix64(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def absorb(key, value):
    return mix64((key + (G * ((value + 1) & MASK) & MASK)) & MASK)


def encode_name(name: str) -> str:
    """docs/format.md, section 3."""
    encoded = ""
    data = name.encode("utf-8")
    for i, byte in enumerate(data):
        char = chr(byte)
        plain = char.isascii() and (char.isalnum() or char in "_.-")
        if char == "." and i == 0:
            plain = False
        if char == "_" and (i == 0 or i == len(data) - 1 or data[i - 1] == ord("_")):
            plain = False
        encoded += char if plain else f"%{byte:02X}"
    return encoded


def encode_edge_type(edge_type: EdgeType) -> str:
    return "__".join(encode_name(part) for part in edge_type)


def fnv1a(text: str) -> int:
    h = 0xCBF29CE484222325
    for byte in text.encode("utf-8"):
        h = (h ^ byte) * 0x100000001B3 & MASK
    return h


def hash_of(edge_type: EdgeType) -> int:
    return fnv1a(encode_edge_type(edge_type))


def draw(seed, epoch, step, hop, edge_hash, node, t):
    """r_t."""
    step_key = absorb(absorb(absorb(1, seed), epoch), step)
    hop_key = absorb(absorb(step_key, hop), edge_hash)
    return absorb(absorb(hop_key, node), t)


def uniform_below(n: int, r: int) -> int:
    m = r * n
    while (m & MASK) < (2**64 - n) % n:
        r = mix64((r + G) & MASK)
        m = r * n
    return m >> 64


# ---- section 3: k of d


def pick(d: int, k: int, replace: bool, r) -> list[int]:
    """Positions in a row of d edges, ascending. `r(t)` is the t-th draw."""
    if k < -1:
        raise ValueError(f"fanout {k}")
    if k == 0 or d == 0:
        return []
    if k == -1:
        return list(range(d))
    if replace:
        return sorted(uniform_below(d, r(t)) for t in range(k))
    if k >= d:
        return list(range(d))
    picked: set[int] = set()
    for t in range(k):
        j = d - k + t
        x = uniform_below(j + 1, r(t))
        picked.add(j if x in picked else x)
    return sorted(picked)


# ---- section 4: hops and blocks


@dataclass
class Csc:
    """One edge type: in-edges by destination, in the order in which they were given."""

    indptr: list[int]
    indices: list[int]
    edge_ids: list[int] | None = None  # None: the id is the position

    @classmethod
    def from_edges(cls, sources, destinations, num_destinations: int) -> Csc:
        rows: list[list[tuple[int, int]]] = [[] for _ in range(num_destinations)]
        for edge_id, (source, destination) in enumerate(zip(sources, destinations)):
            rows[int(destination)].append((int(source), edge_id))
        indptr = [0]
        for row in rows:
            indptr.append(indptr[-1] + len(row))
        edges = [edge for row in rows for edge in row]
        return cls(indptr, [source for source, _ in edges], [edge_id for _, edge_id in edges])


@dataclass
class TwinGraph:
    num_nodes: dict[str, int]
    edges: dict[EdgeType, Csc]
    tables: dict[str, dict[EdgeType, list[float]]] = field(default_factory=dict)  # of edges, in the order of a Csc
    node_tables: dict[str, dict[str, list[int]]] = field(default_factory=dict)


@dataclass
class Draw:
    """The random words of a step."""

    seed: int
    epoch: int
    step: int
    dependent: int = 1

    def word(self, *path: int) -> int:
        """What the values of `path` lead to from the step's key."""
        block, j = divmod(self.step, self.dependent)  # section 9; (step, 0) where minibatches are independent
        words = []
        for step in (block, block + 1)[: 2 if j else 1]:
            step_key = absorb(absorb(absorb(1, self.seed), self.epoch), step)
            words.append(functools.reduce(absorb, path, step_key))
        return dependent_word(*words, j, self.dependent) if j else words[0]


@dataclass
class Hop:
    """What the picks of a hop are made from."""

    graph: TwinGraph
    draw: Draw
    hop: int
    destinations: dict[str, list[int]]  # ids
    first_dst: dict[str, int]  # their first position in n_id
    fanouts: dict[EdgeType, int]
    time: object = None  # of the engine's: only its fields are read
    times: dict[str, list[int]] = field(default_factory=dict)  # of the trees of the destinations

    def times_of(self, edge_type: EdgeType, i: int) -> list[int] | None:
        """Section 16: of the in-edges of destination i; None where no time holds edges back."""
        if self.time is None:
            return None
        csc, node = self.graph.edges[edge_type], self.destinations[edge_type[2]][i]
        row = range(csc.indptr[node], csc.indptr[node + 1])
        of_edges = self.graph.tables.get(self.time.table, {}).get(edge_type)
        if of_edges is not None:
            return [of_edges[p] for p in row]
        of_nodes = self.graph.node_tables.get(self.time.table, {}).get(edge_type[0])
        return None if of_nodes is None else [of_nodes[csc.indices[p]] for p in row]

    def numbers(self, edge_type: EdgeType, i: int) -> list[int]:
        """Of the in-edges of destination i from which picks are drawn."""
        times = self.times_of(edge_type, i)
        if times is None:
            node, indptr = self.destinations[edge_type[2]][i], self.graph.edges[edge_type].indptr
            return list(range(indptr[node + 1] - indptr[node]))
        return allowed(times, self.times[edge_type[2]][i], self.time.window, self.time.comparison)

    def rows(self, edge_type: EdgeType) -> list[list[int]]:
        """For each destination, the sources of its in-edges."""
        csc = self.graph.edges[edge_type]
        return [csc.indices[csc.indptr[v] : csc.indptr[v + 1]] for v in self.destinations[edge_type[2]]]


Picks = list[list[tuple[int, float]]]  # of each destination: position in its row, and weight as a double


def uniform_picks(hop: Hop, edge_type: EdgeType, replace: bool) -> Picks:
    """Section 3, and the weights of section 8."""
    path, result, k = (hop.hop, hash_of(edge_type)), [], hop.fanouts[edge_type]
    for i, node in enumerate(hop.destinations[edge_type[2]]):

        def r(t, node=node):
            return hop.draw.word(*path, node, t)

        numbers, times = hop.numbers(edge_type, i), hop.times_of(edge_type, i)
        if times is not None and hop.time.strategy == "last":
            positions = latest(times, numbers, k)
        elif hop.draw.dependent > 1 and not replace:
            positions = pick_smallest_words(numbers, k, r)
        else:
            positions = [numbers[j] for j in pick(len(numbers), k, replace, r)]
        result.append([(x, 1 / len(positions)) for x in positions])
    return result


def pick_smallest_words(numbers: list[int], k: int, r) -> list[int]:
    """Section 9."""
    if k == -1 or k >= len(numbers):
        return numbers
    return smallest({x: r(x) for x in numbers} if k else {}, k)


def weighted_picks(hop: Hop, edge_type: EdgeType, weights: list[float], replace: bool) -> Picks:
    """Section 13."""
    path, result, csc = (hop.hop, hash_of(edge_type)), [], hop.graph.edges[edge_type]
    for i, node in enumerate(hop.destinations[edge_type[2]]):

        def r(t, node=node):
            return hop.draw.word(*path, node, t)

        numbers = set(hop.numbers(edge_type, i))
        # A weight of 0 is never drawn, and adds nothing to a sum.
        row = weights[csc.indptr[node] : csc.indptr[node + 1]]
        of_row = [weight if x in numbers else 0.0 for x, weight in enumerate(row)]
        positions = pick_weighted(of_row, hop.fanouts[edge_type], replace, r)
        result.append([(x, 1 / len(positions)) for x in positions])
    return result


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
    epoch: int = 0,
    step: int = 0,
) -> TwinBatch:
    """sampler, time: as of the engine; only names and options are read."""
    disjoint = disjoint or time is not None  # section 16
    seeds_of = seeds if isinstance(seeds, dict) else {seed_type: seeds}
    times_of = input_time if isinstance(input_time, dict) else {seed_type: input_time}
    nodes = Nodes.of_types(graph.num_nodes)
    times: list[int] = []
    num_seeds = 0
    for node_type, ids in seeds_of.items():
        given = times_of.get(node_type)
        for i, node in enumerate(ids):
            if not 0 <= node < graph.num_nodes[node_type]:
                raise IndexError(f"seed {node}")
            nodes.append(node_type, num_seeds if disjoint else 0, int(node))
            num_seeds += 1
            if time is not None:
                times.append(graph.node_tables[time.table][node_type][node] if given is None else given[i])

    options = {"name": sampler} if isinstance(sampler, str) else sampler.plain()
    draw = Draw(seed, epoch, step, options.pop("dependent", 1))
    blocks = []
    first_dst = dict.fromkeys(graph.num_nodes, 0)
    for number in range(len(next(iter(fanouts.values())))):
        destinations = {node_type: ids[first_dst[node_type] :] for node_type, ids in nodes.n_id.items()}
        hop = Hop(graph, draw, number, destinations, first_dst, {t: hops[number] for t, hops in fanouts.items()})
        if time is not None:
            hop.time = time
            hop.times = {t: [int(times[tree]) for tree in nodes.trees[t][first_dst[t] :]] for t in graph.num_nodes}
        if expand == "once":  # section 14
            first_dst = nodes.sizes()
        if options["name"] == "labor":
            picks = labor_picks(hop, **OPTIONS_OF_LABOR | options)
        elif options["name"] == "weighted":
            weights = graph.tables[options["table"]]
            picks = {t: weighted_picks(hop, t, weights[t], options["replace"]) for t in graph.edges}
        else:
            picks = {t: uniform_picks(hop, t, options.get("replace", False)) for t in graph.edges}
        blocks.insert(0, relabel(hop, picks, nodes))
    return TwinBatch(nodes.n_id, blocks, nodes.trees)


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


# ---- section 6: batches and ranks


def shuffled(n: int, seed: int, epoch: int) -> list[int]:
    """pi(0), pi(1), ..., pi(n - 1)."""
    b = 8
    while 2**b < n:
        b += 2
    w = b // 2
    mask = 2**w - 1
    shuffle_key = absorb(absorb(2, seed), epoch)
    rounds = shuffle_rounds(w)
    keys = [absorb(shuffle_key, i) for i in range(rounds)]
    exchanged = {0: 1, 1: 0} if n >= 2 and absorb(shuffle_key, rounds) % 2 == 1 else {}

    def once(x: int) -> int:
        left, right = x >> w, x & mask
        for key in keys:
            left, right = right, left ^ (mix64((key + G * (right + 1)) & MASK) & mask)
        return left << w | right

    def pi(p: int) -> int:
        x = once(p)
        while x >= n:
            x = once(x)
        return exchanged.get(x, x)

    return [pi(p) for p in range(n)]


def shuffle_rounds(w: int) -> int:
    """Of the Feistel network with halves of w bits."""
    return max(8, 2 * -(-16 // w) + 4)


def global_batches(inputs, batch_size: int, *, shuffle: bool, drop_last: bool, seed: int, epoch: int) -> list:
    """The seeds of every step of an epoch."""
    n = len(inputs)
    order = shuffled(n, seed, epoch) if shuffle else range(n)
    steps = n // batch_size if drop_last else -(-n // batch_size)
    return [[int(inputs[i]) for i in order[s * batch_size : (s + 1) * batch_size]] for s in range(steps)]


def slice_of(seeds: list, rank: int, world: int) -> list:
    """The part of a global batch that a rank takes."""
    lengths = [len(seeds) // world + (1 if r < len(seeds) % world else 0) for r in range(world)]
    first = sum(lengths[:rank])
    return seeds[first : first + lengths[rank]]


# ---- section 7: fingerprint


def fingerprint(batches: list[TwinBatch]) -> str:
    values = set()
    for batch in batches:
        for block in batch.blocks:
            for edge_type, indptr in block.indptr.items():
                start = absorb(absorb(4, block.hop), hash_of(edge_type))
                first = block.first_dst[edge_type[2]]
                for row, node in enumerate(batch.n_id[edge_type[2]][first : first + block.num_dst[edge_type[2]]]):
                    for edge_id in block.e_id[edge_type][indptr[row] : indptr[row + 1]]:
                        values.add(absorb(absorb(start, node), edge_id))
    first = sum(mix64(f) for f in values) & MASK
    last = (sum(mix64(f ^ G) for f in values) + len(values)) & MASK
    return f"{first:016x}{last:016x}"


# ---- section 8: LABOR


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
