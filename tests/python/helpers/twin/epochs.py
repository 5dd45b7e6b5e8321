"""The seeds of the steps of an epoch, and of ranks: docs/semantics.md, section 6."""

from __future__ import annotations

from .keys import MASK, G, absorb, mix64


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
