"""The twin: sampling, shuffling, slicing and fingerprints, slow and obvious.

Written from docs/semantics.md (and docs/format.md, section 3, for names) alone, without a look at the engine,
and kept so: where the two differ, either the page or the engine is wrong. Section numbers are that page's.
Integers are Python's, cut to 64 bits by hand; `mix64` and `absorb` also take numpy arrays of uint64.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field

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


def draw(seed, epoch, step, hop, edge_hash, node, t, dependent=1):
    """r_t."""
    if dependent > 1:  # section 9
        block, j = divmod(step, dependent)
        now, then = (draw(seed, epoch, block + i, hop, edge_hash, node, t) for i in range(2))
        return now if j == 0 else dependent_word(now, then, j, dependent)
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
    if k < -1 or (k == -1 and replace):
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


@dataclass
class TwinBlock:
    hop: int
    num_src: dict[str, int] = field(default_factory=dict)
    num_dst: dict[str, int] = field(default_factory=dict)
    indptr: dict[EdgeType, list[int]] = field(default_factory=dict)
    indices: dict[EdgeType, list[int]] = field(default_factory=dict)
    position: dict[EdgeType, list[int]] = field(default_factory=dict)
    e_id: dict[EdgeType, list[int]] = field(default_factory=dict)


@dataclass
class TwinBatch:
    n_id: dict[str, list[int]]
    blocks: list[TwinBlock]  # the last hop first


def sample(
    graph: TwinGraph,
    seed_type: str,
    seeds,
    fanouts: dict[EdgeType, list[int]],
    *,
    replace: bool = False,
    seed: int = 0,
    dependent: int = 1,
    epoch: int = 0,
    step: int = 0,
) -> TwinBatch:
    n_id: dict[str, list[int]] = {node_type: [] for node_type in graph.num_nodes}
    n_id[seed_type] = [int(node) for node in seeds]
    where = {node_type: {} for node_type in graph.num_nodes}  # node -> its first place in the list
    for place, node in enumerate(n_id[seed_type]):
        if not 0 <= node < graph.num_nodes[seed_type]:
            raise IndexError(f"seed {node}")
        where[seed_type].setdefault(node, place)

    blocks = []
    for hop in range(len(next(iter(fanouts.values())))):
        block = TwinBlock(hop, num_dst={node_type: len(nodes) for node_type, nodes in n_id.items()})
        for edge_type in sorted(graph.edges, key=lambda name: encode_edge_type(name).encode()):
            src_type, _, dst_type = edge_type
            csc, edge_hash = graph.edges[edge_type], hash_of(edge_type)
            indptr, indices, positions = [0], [], []
            for node in n_id[dst_type][: block.num_dst[dst_type]]:
                first, last = csc.indptr[node], csc.indptr[node + 1]

                def r(t, edge_hash=edge_hash, hop=hop, node=node):
                    return draw(seed, epoch, step, hop, edge_hash, node, t, dependent)

                for x in pick(last - first, fanouts[edge_type][hop], replace, r):
                    source = csc.indices[first + x]
                    if source not in where[src_type]:
                        where[src_type][source] = len(n_id[src_type])
                        n_id[src_type].append(source)
                    indices.append(where[src_type][source])
                    positions.append(first + x)
                indptr.append(len(indices))
            ids = csc.edge_ids
            block.indptr[edge_type], block.indices[edge_type] = indptr, indices
            block.position[edge_type] = positions
            block.e_id[edge_type] = positions if ids is None else [ids[p] for p in positions]
        block.num_src = {node_type: len(nodes) for node_type, nodes in n_id.items()}
        blocks.insert(0, block)
    return TwinBatch(n_id, blocks)


# ---- section 6: batches and ranks


def shuffled(n: int, seed: int, epoch: int) -> list[int]:
    """pi(0), pi(1), ..., pi(n - 1)."""
    b = 8
    while 2**b < n:
        b += 2
    w = b // 2
    mask = 2**w - 1
    shuffle_key = absorb(absorb(2, seed), epoch)
    keys = [absorb(shuffle_key, i) for i in range(8)]

    def once(x: int) -> int:
        left, right = x >> w, x & mask
        for key in keys:
            left, right = right, left ^ (mix64((key + G * (right + 1)) & MASK) & mask)
        return left << w | right

    def pi(p: int) -> int:
        x = once(p)
        while x >= n:
            x = once(x)
        return x

    return [pi(p) for p in range(n)]


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
                for row, node in enumerate(batch.n_id[edge_type[2]][: block.num_dst[edge_type[2]]]):
                    for edge_id in block.e_id[edge_type][indptr[row] : indptr[row + 1]]:
                        values.add(absorb(absorb(start, node), edge_id))
    first = sum(mix64(f) for f in values) & MASK
    last = (sum(mix64(f ^ G) for f in values) + len(values)) & MASK
    return f"{first:016x}{last:016x}"


# ---- section 9: dependent minibatches. Python's floats are IEEE doubles, and + - * / are theirs.


def rounded(value: float) -> float:
    """To 32 significant bits."""
    digits, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(digits, 32)), exponent - 32)


def density(z: float) -> float:
    return math.exp(-z * z / 2) / math.sqrt(2 * math.pi)


def upper_tail(z: float) -> float:
    return math.erfc(z / math.sqrt(2)) / 2


@functools.cache
def quantile(p: float) -> float:
    """By bisection, and Newton's method for the last digits."""
    if p == 0.5:
        return 0.0
    low, high = 0.0, 12.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if upper_tail(middle) > p else (low, middle)
    return low + (upper_tail(low) - p) / density(low)


def cubic(value0: float, value1: float, slope0: float, slope1: float, x: float) -> float:
    value0, value1, slope0, slope1 = map(rounded, (value0, value1, slope0, slope1))
    rise = value1 - value0
    c2, c3 = 3 * rise - 2 * slope0 - slope1, slope0 + slope1 - 2 * rise
    return ((c3 * x + c2) * x + slope0) * x + value0


def normal_of_word(w: int) -> float:
    if w >= 2**63:
        return -normal_of_word(w ^ MASK)
    p = (w >> 11) + 0.5  # exact, in units of 2^-53
    octave = math.frexp(p)[1] - 1
    width = 2.0 ** (octave - 5)
    i, x = divmod(p / width, 1.0)
    z0, z1 = (quantile((i + k) * width * 2.0**-53) for k in range(2))
    d0, d1 = (-width * 2.0**-53 / density(z) for z in (z0, z1))
    return cubic(z0, z1, d0, d1, x)


def word_of_normal(z: float) -> int:
    if math.copysign(1, z) < 0:
        return word_of_normal(-z) ^ MASK
    i, x = divmod((z + 16 - 16) * 128, 1.0)
    z0, z1 = i / 128, (i + 1) / 128
    q0, q1 = (2.0**52 * upper_tail(z) for z in (z0, z1))
    d0, d1 = (-(2.0**45) * density(z) for z in (z0, z1))
    return round(cubic(q0, q1, d0, d1, x)) << 12


def weights(j: int, kappa: int) -> tuple[float, float]:
    """Cosine and sine of pi j / 2 kappa."""
    if 2 * j > kappa:
        return weights(kappa - j, kappa)[::-1]
    x = math.pi / 2 * j / kappa
    cos = sin = 1.0
    for n in range(18, 1, -2):
        cos = 1 - x * x / ((n - 1) * n) * cos
    for n in range(19, 2, -2):
        sin = 1 - x * x / ((n - 1) * n) * sin
    return cos, x * sin


def dependent_word(now: int, then: int, j: int, kappa: int) -> int:
    cos, sin = weights(j, kappa)
    return word_of_normal(normal_of_word(now) * cos + normal_of_word(then) * sin)
