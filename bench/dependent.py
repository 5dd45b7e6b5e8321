"""Dependent minibatches: how many rows a batch shares with the batch before, by kappa, and what that costs.

Consecutive batches have different seeds, as in training; they share neighbors. "distinct" is the number of different
rows that the run of batches uses, divided by all rows that it uses: what a cache of that length must load.
"""

from __future__ import annotations

import itertools

import numpy as np
from harness import Figure, Report, benchmark, interleave, products, seconds_each

import ramet

FANOUTS = [10, 10, 10]
BATCH = 1024
RUN = 16
KAPPAS = (1, 2, 4, 8, 16, 64, 256)
SAMPLERS = {"uniform": ramet.Uniform, "labor": ramet.Labor}


def loader(graph, sampler: str, kappa: int):
    return ramet.NeighborLoader(
        graph, FANOUTS, "train", BATCH, shuffle=True, sampler=SAMPLERS[sampler](dependent=kappa), threads=1, tables=()
    )


def sharing(graph, sampler: str, kappa: int, run: int) -> tuple[float, float, float]:
    """Mean nodes of a batch, share of them that the batch before had, and distinct nodes of all as a share."""
    seen = np.zeros((2, graph.num_nodes()), bool)  # by the batch before, by any
    shared, nodes = [], []
    for batch in itertools.islice(loader(graph, sampler, kappa), run):
        n_id = batch.n_id.numpy()
        shared.append(seen[0][n_id].mean())
        nodes.append(len(n_id))
        seen[0] = False
        seen[:, n_id] = True
    return float(np.mean(nodes)), float(np.mean(shared[1:])), seen[1].sum() / sum(nodes)


def seconds_per_batch(graph, sampler: str, kappa: int, count: int) -> float:
    batches = iter(loader(graph, sampler, kappa))
    taken = seconds_each(batches, count, lead=1)
    batches.close()
    return taken


@benchmark("Dependent minibatches")
def main(chosen, report: Report) -> None:
    graph = ramet.open(products(chosen))
    run = 3 if chosen.small else RUN
    cases = {(sampler, kappa): None for sampler in SAMPLERS for kappa in KAPPAS}
    times = interleave(
        {case: lambda case=case: seconds_per_batch(graph, *case, 2 if chosen.small else 4) for case in cases},
        1 if chosen.small else 3,
    )
    lines = []
    for sampler, kappa in cases:
        nodes, shared, distinct = sharing(graph, sampler, kappa, run)
        cost = times[sampler, kappa].over(times[sampler, 1])
        lines.append([sampler, kappa, f"{nodes:,.0f}", f"{shared:.3f}", f"{distinct:.3f}", cost.text()])
        report.keep(f"{sampler}, kappa {kappa}, shared", shared)
        report.keep(f"{sampler}, kappa {kappa}, distinct", distinct)
        report.ratio(f"{sampler}, kappa {kappa}: time over kappa 1", cost, better="lower")
        report.ratio(f"{sampler}, kappa {kappa}: distinct rows", Figure([float(distinct)]), better="lower")
    report.note(f"Products, fanouts {FANOUTS}, batches of {BATCH}, {run} batches, sampling with one thread.")
    report.table(
        ["sampler", "kappa", "nodes/batch", "shared with the batch before", "distinct", "sampling time over kappa 1"],
        lines,
    )


if __name__ == "__main__":
    main()
