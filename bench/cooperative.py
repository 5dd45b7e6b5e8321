"""Ranks that make batches together: rows read, the cost of plans, and cache hits by kappa.

All ranks run in this process, one after the other. B is the number of seeds of a rank. Cooperating ranks sample and
read each node once, W(PB) rows in total; independent ranks read P W(B). "fewer than independent uniform" divides the
rows of P independent ranks with uniform sampling by the rows of the line. Owners are ranges of ids.

"Plans" is what cooperation adds to sampling: sorting sources by owner, renumbering, messages and merging requests. The
table divides the sum of all ranks' sampling times by the time of one process for the same batch. The cache keeps the
rows used last.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from graphs import FOR_LABOR, GRAPHS, stores
from harness import Figure, Report, benchmark

import ramet
from ramet import _core
from ramet.costs import count_ranks, make_together
from ramet.costs.sample import make_loader
from ramet.stores.ownership import as_owners

FANOUTS = [10, 10, 10]
BATCH = 1024  # seeds per rank
RANKS = (2, 4, 8)
SAMPLERS = {"uniform": ramet.Uniform, "labor": ramet.Labor}
KAPPAS = (1, 2, 4, 8, 16, 64, 256)
CACHED_RANKS = 2
CACHE_SHARES = (0.25, 1.0)  # rows of the cache, as a part of those that a rank reads for a batch


def loader(graph, batch: int, **more) -> ramet.NeighborLoader:
    return make_loader(graph, FANOUTS, None, batch, **{"threads": 1, "tables": ()} | more)


def members(make_loader: Callable[[], ramet.NeighborLoader], ranks: int) -> list:
    """Each with a loader of its own, and so with its cache."""
    loaders = [make_loader() for _ in range(ranks)]
    owners = as_owners(None, loaders[0].graph, ranks)
    return [_core.CooperativeLoader(of._core, owners=owners, rank=rank) for rank, of in enumerate(loaders)]


def work_table(report: Report, graphs: dict, batches: int, batch: int) -> None:
    lines = []
    for (name, graph), sampler, ranks in itertools.product(graphs.items(), SAMPLERS, RANKS):
        work = count_ranks(loader(graph, ranks * batch, sampler=sampler), ranks, batches=batches)
        uniform = count_ranks(loader(graph, ranks * batch), ranks, batches=batches)
        hop = work.hops[-1]
        numbers = (
            f"{work.rows_read:,.0f}",
            f"{work.rows_independent:,.0f}",
            f"{work.ratio:.3f}",
            f"{uniform.rows_independent / work.rows_read:.1f}x",
            f"{hop.edges / hop.edges_independent:.2f}",
            f"{work.rows_sent:,.0f}",
            f"{work.bytes['sent_ids'] / 1e6:.1f}",
            f"{work.imbalance['rows']:.2f}",
        )
        lines.append([name, sampler, ranks, *numbers])
        key = f"{name}, {sampler}, {ranks} ranks"
        report.ratio(f"{key}: rows read over independent", Figure([work.ratio]), better="lower")
        report.keep(key, work.rows_read)
    head = ["graph", "sampler", "ranks P", "rows read, W(PB)", "independent, P W(B)", "ratio"]
    head += ["fewer than independent uniform", "edges of the last hop, ratio", "rows sent, input layer", "ids sent, MB"]
    report.table([*head, "largest rank's rows over mean"], lines)


def cost(of: ramet.NeighborLoader, together: list, step: int) -> float:
    """The ranks' time for a batch, in sum, over one process's."""
    seeds = of._core.seeds(0, step)
    begin = time.perf_counter()
    _core.sample(of.graph._core, of.config.sampling, [(0, seeds, None)], epoch=0, step=step, threads=1)
    alone = time.perf_counter() - begin
    return sum(part.sample_seconds for part in make_together(together, 0, step)[0]) / alone


def plans(report: Report, graphs: dict, repetitions: int, batch: int) -> None:
    lines = []
    for (name, graph), sampler, ranks in itertools.product(graphs.items(), SAMPLERS, RANKS):
        of = loader(graph, ranks * batch, sampler=sampler)
        together = members(lambda of=of: of, ranks)
        steps = min(len(of), 3 * repetitions)
        ratios = [cost(of, together, step) for step in range(steps)]
        figure = Figure(ratios[steps // 3 :])  # the first ones touch fresh memory
        lines.append([name, sampler, ranks, figure.text()])
        report.ratio(f"{name}, {sampler}, {ranks} ranks: sampling together over alone", figure, better="lower")
    report.table(["graph", "sampler", "ranks", "sum of the ranks' sampling, over one process's"], lines)


def with_cache(graph, batch: int, sampler: str, kappa: int, rows: int) -> ramet.NeighborLoader:
    placement = ramet.Placement(cache_rows=rows, cache_by="recency")
    return loader(graph, batch, sampler=SAMPLERS[sampler](dependent=kappa), tables=("feat",), placement=placement)


def cache_hits(report: Report, graph, run: int, batch: int) -> None:
    lines = []
    for sampler, kappa in itertools.product(SAMPLERS, KAPPAS):
        cached = partial(with_cache, graph, CACHED_RANKS * batch, sampler, kappa)
        of = cached(0)
        rows = len(make_together(members(lambda of=of: of, CACHED_RANKS), 0, 0)[0][0].n_id(0))
        rates = []
        for share in CACHE_SHARES:
            together = members(partial(cached, int(share * rows)), CACHED_RANKS)
            batches = [batch for step in range(min(run, len(of))) for batch in make_together(together, 0, step)[0]]
            hits, misses = np.sum([(batch.cache_hits, batch.cache_misses) for batch in batches], axis=0)
            rates.append(hits / (hits + misses))
            report.keep(f"{sampler}, kappa {kappa}, cache {share}: hit rate", float(rates[-1]))
        lines.append([sampler, kappa, f"{rows:,}", *(f"{rate:.3f}" for rate in rates)])
    head = [f"hit rate, cache of {share:g} batch{'es' * (share != 1)}" for share in CACHE_SHARES]
    report.table(["sampler", "kappa", "rows of a rank's batch", *head], lines)


@benchmark("Cooperative minibatches")
def main(chosen, report: Report) -> None:
    batch, batches, repetitions, run = (32, 1, 1, 3) if chosen.small else (BATCH, 2, 4, 16)
    graphs = {
        name: ramet.open(store)
        for name, store in stores(chosen, ["products", "rmat-22", "lognormal"], GRAPHS | FOR_LABOR).items()
    }
    report.note(f"Fanouts {FANOUTS}, {batch} seeds per rank, means of {batches} global batches.")
    work_table(report, graphs, batches, batch)
    report.note("The cost of plans.")
    plans(report, graphs, repetitions, batch)
    report.note(f"A cache of rows per rank, {CACHED_RANKS} ranks, products, {run} batches from an empty cache.")
    cache_hits(report, graphs["products"], run, batch)


if __name__ == "__main__":
    main()
