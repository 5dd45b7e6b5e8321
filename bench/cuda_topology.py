"""Sampling on a GPU that reads the topology in place, by its size and by the order in which rows are read.

Every node has 16 in-edges, of random sources. Seeds are random, so each reads two offsets and one or two lines of
neighbor ids somewhere in the topology. LABOR reads all in-edges. Where the topology is larger than what the GPU's
buffers of translations reach, rows in order of their regions should be faster. "device" is a copy in device memory.
"""

from __future__ import annotations

import itertools
import time

import numpy as np
from cuda_device import DEVICE, synchronize
from harness import Figure, Report, finish, interleave, open_report, options
from machine import memory_available

import ramet

GIB = 1 << 30
SIZES, SMALL_SIZES = (1 * GIB, 4 * GIB, 16 * GIB), (1 << 20, 4 << 20)  # of the topology
DEGREE = 16
NODE_BYTES = 8 + 4 * DEGREE
BATCH, SMALL_BATCH = 1 << 17, 1 << 6
CASES = {
    "uniform [10]": {"num_neighbors": [10]},
    "LABOR-0 [10]": {"num_neighbors": [10], "sampler": "labor"},
}
PLACES = {
    "device": ramet.Placement(topology="device"),
    "in place, as given": ramet.Placement(topology="in_place", order="as_given"),
    "in place, sorted": ramet.Placement(topology="in_place", order="sorted"),
}


def regular_graph(nbytes: int):
    """The sources are a block of random ids, over and over."""
    num_nodes = nbytes // NODE_BYTES
    block = np.random.default_rng(0).integers(0, num_nodes, min(1 << 24, num_nodes * DEGREE), dtype=np.int32)
    indptr = np.arange(num_nodes + 1, dtype=np.int64) * DEGREE
    return ramet.from_arrays(indptr, np.resize(block, num_nodes * DEGREE), num_nodes=num_nodes)


def rate_of(graph, sampling: dict, placement, small: bool):
    """A function that returns M edges/s, of an epoch of a few batches."""
    batch = SMALL_BATCH if small else BATCH
    batches = 2 if small else 8
    seeds = np.random.default_rng(1).integers(0, graph.num_nodes(), batch * (batches + 2))
    loader = ramet.NeighborLoader(
        graph, **sampling, input_nodes=seeds, batch_size=batch, tables=(), device=DEVICE, placement=placement
    )

    def rate() -> float:
        loader.set_epoch(0)
        taken = iter(loader)
        next(taken)
        synchronize()
        begin = time.perf_counter()
        edges = sum(batch.num_edges for batch in itertools.islice(taken, batches))
        synchronize()
        elapsed = time.perf_counter() - begin
        taken.close()
        return edges / elapsed / 1e6

    return rate


def measure_size(nbytes: int, small: bool, report: Report) -> list[list]:
    """Lines of the table."""
    graph = regular_graph(nbytes)
    lines = []
    for case, sampling in CASES.items():
        rates = {name: rate_of(graph, sampling, placement, small) for name, placement in PLACES.items()}
        figures = interleave(rates, 1 if small else 3)
        what = f"{nbytes / GIB:.3g} GiB, {case}"
        for name, figure in figures.items():
            report.keep(f"{what}, {name}, M edges/s", Figure(figure.values))
        gain = figures["in place, sorted"].over(figures["in place, as given"])
        report.ratio(f"{what}, sorted over as given", gain)
        lines.append([f"{nbytes / GIB:.3g}", case, *(figure.text(1) for figure in figures.values()), gain.text()])
    return lines


def main() -> None:
    chosen = options(__doc__)
    report = open_report("Sampling from a topology in place, by its size and the order of rows", chosen)
    room = memory_available() // 3  # made of arrays, of which the graph has copies
    sizes = SMALL_SIZES if chosen.small else [size for size in SIZES if size <= room]
    lines = [line for size in sizes for line in measure_size(size, chosen.small, report)]
    report.table(["GiB", "sampling", *(f"{name}, M edges/s" for name in PLACES), "sorted over as given"], lines)
    finish(report, chosen)


if __name__ == "__main__":
    main()
