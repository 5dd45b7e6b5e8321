"""The random function, and the names that are in its keys: docs/semantics.md, section 2."""

from __future__ import annotations

MASK = 2**64 - 1
G = 0x9E3779B97F4A7C15

EdgeType = tuple[str, str, str]
DEFAULT_EDGE = ("node", "to", "node")


def mix64(x):
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & MASK
    return x ^ (x >> 31)


def absorb(key, value):
    return mix64((key + (G * ((value + 1) & MASK) & MASK)) & MASK)


def seed_for(word: int, *values: int) -> int:
    """The seed from whose key absorbing the values, one after the other, leads to the word: section 2 backwards, as
    absorb is a bijection of keys."""

    def unshift(y, n):
        x = y
        for _ in range(64 // n):
            x = y ^ (x >> n)
        return x

    def unmix(y):
        y = unshift(y, 31) * pow(0x94D049BB133111EB, -1, 2**64) & MASK
        y = unshift(y, 27) * pow(0xBF58476D1CE4E5B9, -1, 2**64) & MASK
        return unshift(y, 30)

    for value in reversed(values):
        word = (unmix(word) - G * (value + 1)) & MASK
    return ((unmix(word) - 1) * pow(G, -1, 2**64) - 1) & MASK


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
