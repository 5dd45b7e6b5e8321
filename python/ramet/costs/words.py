"""An estimate in words, for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ramet._support import html
from ramet._support.bars import bar
from ramet._support.sizes import size

if TYPE_CHECKING:
    from ramet.costs.caches import CacheCount, CacheSize
    from ramet.costs.disk import Disk, Reads
    from ramet.costs.job import Estimate
    from ramet.costs.ranks import RankCount

CLOSE = 0.005  # hits: policies are as good as each other
WORTHWHILE = 0.8  # of the rows that a smaller cache misses: what a larger one may miss


def as_text(of: Estimate) -> str:
    """The estimate, the loader's summary of the sample, and the counts."""
    lines = [
        _title(of),
        *(f"{name:<14}{value:>10}  {words}" for name, value, words in _costs(of)),
        f"{'':<14}{bar(_shares(of))}",
        "",
        "The loader of one rank says of its sample, which was not trained on:",
        str(of.sample),
    ]
    lines += [] if of.work is None else ["", *_of_ranks(of.work, of.ranks)]
    if (machine := of.machine) is not None:
        part = f"one of {_plural(of.ranks, 'part')} of {machine['nodes']:,} nodes and {machine['edges']:,} edges"
        lines.append(f"memory of a machine with {part}, {machine['row_bytes']} bytes a row: {size(machine['total'])}")
    lines += [] if of.caches is None else ["", *_of_caches(of.caches)]
    return "\n".join(lines)


def as_html(of: Estimate) -> str:
    """The estimate and the summary of its sample, for a notebook."""
    costs = html.table(_title(of), ("", "", ""), _costs(of), {"available memory": _shares(of)})
    return costs + of.sample._repr_html_()


def _title(of: Estimate) -> str:
    seeds = f"batches of {of.batch_size:,} seeds"
    return f"{of.store}: {seeds}, {of.num_neighbors}, {of.sampler}, {_plural(of.ranks, 'rank')}"


def _costs(of: Estimate) -> list[tuple[str, str, str]]:
    """Name, value and meaning of each line."""
    ranks, by_use = of.ranks, of.memory_by_use
    processes = "1 process" if ranks == 1 else f"{ranks} processes of {size(by_use['loader'] / ranks)}"
    batch = of.seconds_per_epoch / of.batches_per_epoch
    batches = f"{_plural(of.batches_per_epoch, 'batch', 'es')} of {batch * 1e3:,.1f} ms"
    fits = "fits" if of.fits else "DOES NOT FIT"
    return [
        ("memory", size(of.memory), f"{fits}: {size(of.available)} are available"),
        ("  store", size(by_use["store"]), "mapped, once for all processes"),
        ("  loader", size(by_use["loader"]), f"batches made ahead and caches, {processes}"),
        ("  model", size(by_use["model"]), f"outputs of hidden layers of {of.hidden} float32, and gradients"),
        ("device memory", size(of.device_memory), "with a device: tables, batches, the model; no copies of in-edges"),
        ("disk", size(of.disk), "files of the store"),
        ("epoch", f"{of.seconds_per_epoch:,.1f} s", f"{batches}, without training"),
    ]


def _shares(of: Estimate) -> Mapping[str, float]:
    """Of the memory that is available, by use; where it does not fit, of what is needed."""
    return of.memory_by_use | {"free": max(0, of.available - of.memory)}


def _plural(count: int, word: str, ending: str = "s") -> str:
    return f"{count:,} {word}{'' if count == 1 else ending}"


# ---- of ranks


def _of_ranks(work: RankCount, ranks: int) -> list[str]:
    sent = work.bytes
    lines = [
        f"means of {_plural(work.batches, 'batch', 'es')} of {work.seeds:,.0f} seeds, by {ranks} ranks",
        f"{'':>22}{'together, W(PB)':>20}{'alone, P x W(B)':>20}{'ratio':>8}",
    ]
    for i, hop in enumerate(work.hops):
        lines.append(_ratio(f"hop {i}: nodes so far", hop.nodes, hop.nodes_independent))
        lines.append(_ratio("edges", hop.edges, hop.edges_independent))
    return [
        *lines,
        _ratio("rows read", work.rows_read, work.rows_independent),
        _ratio("bytes read", sent["read"], sent["read_independent"]),
        f"redundancy without cooperation: {1 / max(work.ratio, 1e-9):.2f}",
        f"rows of the input layer sent to another rank: {work.rows_sent:,.0f}",
        f"bytes sent: ids {size(sent['sent_ids'])}, rows of the input layer {size(sent['sent_rows'])}, "
        f"hidden layers there and back {size(sent['sent_hidden'])}",
        "largest rank over mean: " + ", ".join(f"{name} {value:.2f}" for name, value in work.imbalance.items()),
    ]


def _ratio(name: str, together: float, alone: float) -> str:
    return f"{name:>22}{together:>20,.0f}{alone:>20,.0f}{together / max(alone, 1):>8.3f}"


# ---- of caches


def _of_caches(count: CacheCount) -> list[str]:
    all_bytes = count.rows_per_batch * count.row_bytes
    lines = [
        f"caches of {count.num_rows:,} rows of type {count.node_type!r}, {count.row_bytes:,} bytes each",
        f"{count.batches:,} batches, after an epoch that fills the caches; {count.rows_per_batch:,.0f} rows and "
        f"{size(all_bytes)} a batch; {count.touched:.1%} of all rows are read",
        f"no rate of a disk: {count.no_disk}" if count.disk is None else _of_disk(count.disk, count.uncached),
        *_by_policy(count, "rows that hit, %", lambda of, policy: f"{100 * of.hits[policy]:.1f}"),
        *_by_policy(count, "read per batch", lambda of, policy: size((1 - of.hits[policy]) * all_bytes)),
    ]
    if count.disk is not None:
        lines += _by_policy(count, "requests per batch", lambda of, policy: f"{of.reads[policy].requests:,.0f}")
        lines += _by_policy(count, "batches per second", lambda of, policy: _rate(of.reads[policy]))
    return [*lines, "", advise(count)]


def _of_disk(disk: Disk, uncached: Reads) -> str:
    return (
        f"{disk.how}: {1e6 * disk.request_seconds:.3g} us a request, {1e9 * disk.byte_seconds:.3g} ns a byte; "
        f"without a cache {uncached.requests:,.0f} requests and {size(uncached.bytes)} a batch, "
        f"{_rate(uncached)} batches a second"
    )


def _rate(reads: Reads, where_none: str = "any") -> str:
    """Batches a second, with three digits where they are few."""
    rate = reads.batches_per_second
    if rate is None:
        return where_none
    if rate >= 100:
        return f"{rate:,.0f}"
    return f"{rate:.1f}" if rate >= 10 else f"{rate:.3g}"


def _by_policy(count: CacheCount, title: str, cell: Callable[[CacheSize, str], str]) -> list[str]:
    """A line for each size, below a title and the policies' names."""
    policies = list(count.sizes[0].hits)
    widths = [max(len(policy), 9) + 2 for policy in policies]
    lines = ["", f"{title:<28}" + _cells(policies, widths)]
    return lines + [_cache(of) + _cells([cell(of, policy) for policy in policies], widths) for of in count.sizes]


def _cache(of: CacheSize) -> str:
    return f"{of.share:>7.1%}{of.rows:>12,}{size(of.bytes):>9}"


def _cells(texts: list[str], widths: list[int]) -> str:
    return "".join(f"{text:>{width}}" for text, width in zip(texts, widths))


# ---- advice: which policy, and how large a cache


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
        f"A cache of {chosen.rows:,} rows ({chosen.share:.1%}, {size(chosen.bytes)}) by {best} hits "
        f"{hits:.1%}, {100 * gap:.1f} points below the optimum: a batch reads {size(missed)} instead of "
        f"{size(count.rows_per_batch * count.row_bytes)}{_gain(count, chosen, best)}."
    )


def _gain(count: CacheCount, chosen: CacheSize, policy: str) -> str:
    """The gain of a batch on its disk."""
    if count.uncached is None:
        return ""
    cached, uncached = (_rate(reads, "any number of") for reads in (chosen.reads[policy], count.uncached))
    return f", and the disk gives {cached} batches a second instead of {uncached}"


def best_policy(of: CacheSize) -> str:
    """The first of the policies, the simplest first, that is as good as the best of them."""
    hits = {name: hits for name, hits in of.hits.items() if name != "optimum"}
    simplest = sorted(hits, key=lambda name: (name != "degree", name != "presampling"))  # else as they are
    return next(name for name in simplest if hits[name] >= max(hits.values()) - CLOSE)
