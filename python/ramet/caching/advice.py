"""A sentence for whoever reads a table of hits: which policy, and how large a cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ramet.stores.info import size

if TYPE_CHECKING:
    from ramet.caching.count import CacheCount, CacheSize

CLOSE = 0.005  # hits: policies are as good as each other
WORTHWHILE = 0.8  # of the rows that a smaller cache misses: what a larger one may miss


def advise(count: CacheCount) -> str:
    """Names the simplest policy that is as good as the best, and the largest cache that still saves much."""
    chosen = count.sizes[0]
    best = best_policy(chosen)
    for larger in count.sizes[1:]:
        policy = best_policy(larger)
        if 1 - larger.hits[policy] > WORTHWHILE * (1 - chosen.hits[best]):
            break
        chosen, best = larger, policy
    hits = chosen.hits[best]
    missed = (1 - hits) * count.rows_per_batch * count.row_bytes
    gap = max(0.0, chosen.hits["optimum"] - hits)
    return (
        f"A cache of {chosen.rows:,} rows ({chosen.share:.1%}, {size(chosen.bytes)}) by {described(best)} hits "
        f"{hits:.1%}, {100 * gap:.1f} points below the optimum: a batch reads {size(missed)} instead of "
        f"{size(count.rows_per_batch * count.row_bytes)}{_gain(count, chosen, best)}."
    )


def _gain(count: CacheCount, chosen: CacheSize, policy: str) -> str:
    """What a batch gains on its disk."""
    if count.uncached is None:
        return ""
    rates = (chosen.reads[policy].batches_per_second, count.uncached.batches_per_second)
    cached, uncached = ("any number of" if rate is None else shown_rate(rate) for rate in rates)
    return f", and the disk gives {cached} batches a second instead of {uncached}"


def shown_rate(rate: float) -> str:
    """Batches a second, with three digits where they are few."""
    if rate >= 100:
        return f"{rate:,.0f}"
    return f"{rate:.1f}" if rate >= 10 else f"{rate:.3g}"


def best_policy(of: CacheSize) -> str:
    """The first of the policies, the simplest first, that is as good as the best of them."""
    hits = {name: hits for name, hits in of.hits.items() if name != "optimum"}
    simplest = sorted(hits, key=lambda name: (name != "degree", name != "presampling"))  # else as they are
    return next(name for name in simplest if hits[name] >= max(hits.values()) - CLOSE)


def described(policy: str) -> str:
    window = policy.removeprefix("look-ahead ")
    return policy if window == policy else f"looking ahead {window} batch{'' if window == '1' else 'es'}"
