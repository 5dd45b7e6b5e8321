"""Seconds of the mean over a block's edges, forward and backward, beside torch, PyG and DGL.

The block is the farthest hop of a batch of products, [15, 10, 5] from 1024 seeds; rows are float32, 2 threads.
"torch.sparse.mm" multiplies by a CSR matrix, made beforehand, which backward needs transposed. "PyG" takes a row for
every edge and scatters it. "DGL" is copy_u and mean, in its own environment. Outputs are new tensors, as in training:
ours are recycled. Backward includes transposing the block, but for "transposed ahead".

The roofline has what bounds the parts of a step: the memory, by its read rate, or the arithmetic, by the rate of a
large product of matrices.

"fused" computes the mean straight from the loader's table; beside it, the rows are gathered first. The kernels alone,
beside the bound of the memory, are in the micro benchmarks.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from harness import Peer, Report, benchmark, interleave, products, seconds
from torch_geometric.utils import scatter
from train_cases import BATCH, CASES

import ramet
import ramet.nn

THREADS = 2
OURS = "ramet.nn.aggregate"


def first_block(chosen):
    case = CASES["GraphSAGE"]
    graph = ramet.open(products(chosen))
    batch = next(iter(ramet.NeighborLoader(graph, list(case.fanouts), "train", BATCH, shuffle=True, tables=())))
    return graph, batch, batch.blocks[0]


def timed(make_input, run, backward: bool):
    """A variant of interleave(): seconds of `run(x)`, or of its backward."""

    def once() -> float:
        x = make_input().requires_grad_(backward)
        begin = time.perf_counter()
        out = run(x)
        if backward:
            gradient = torch.ones_like(out)
            begin = time.perf_counter()
            out.backward(gradient)
        elapsed = time.perf_counter() - begin
        assert bool((x.grad if backward else out).any())
        return elapsed

    return once


def mean_by_matrix(block):
    degree = block.indptr.diff()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        matrix = torch.sparse_csr_tensor(
            block.indptr.int(),
            block.indices,
            (1 / degree.float()).repeat_interleave(degree),
            size=(block.num_dst, block.num_src),
            check_invariants=False,  # the sampler made it
        )
    return lambda x: torch.sparse.mm(matrix, x, "sum")


def mean_by_scatter(block):
    source, destination = block.edge_index
    return lambda x: scatter(x[source], destination, dim=0, dim_size=block.num_dst, reduce="mean")


def mean_by_us(block, transposed: bool = False):
    edges = ramet.nn.BlockEdges(block.indptr, block.indices, block.num_src)
    if transposed:
        _ = edges.transposed
        return lambda x: ramet.nn.aggregate(edges, x, "mean")

    def run(x):
        fresh = ramet.nn.BlockEdges(block.indptr, block.indices, block.num_src) if x.requires_grad else edges
        return ramet.nn.aggregate(fresh, x, "mean")

    return run


def add_means(report: Report, chosen, block, peer: Peer | None) -> None:
    widths, repetitions = ((32, 128), 1) if chosen.small else ((32, 128, 256, 1024), 5)
    for direction in ("forward", "backward"):
        backward = direction == "backward"
        lines = []
        for width in widths:
            rows = torch.ones(block.num_src, width)
            runs = {OURS: mean_by_us(block)}
            if backward:
                runs[f"{OURS}, transposed ahead"] = mean_by_us(block, transposed=True)
            runs |= {"torch.sparse.mm": mean_by_matrix(block), "PyG": mean_by_scatter(block)}
            variants = {name: timed(lambda rows=rows: rows.detach(), run, backward) for name, run in runs.items()}
            if peer:
                variants["DGL"] = lambda ask=direction, width=width: peer.ask(ask, width, "float32", 1)[0]
            figures = interleave(variants, repetitions)
            for name, figure in figures.items():
                ratio = figure.over(figures[OURS])
                lines.append([width, name, figure.text(1, 1000), ratio.text()])
                if name != OURS:
                    report.ratio(f"{direction}, D = {width}: {name} over ours", ratio)
            report.keep(f"{direction}, D = {width}", {name: figure.values for name, figure in figures.items()})
        report.note(f"**{direction.capitalize()}.**")
        report.table(["D", "variant", "ms", "its time over ours"], lines)


def add_fused(report: Report, chosen, graph, batch, block) -> None:
    x = graph.table("feat").numpy()
    lines = []
    for dtype in ("float32", "float16"):
        table = ramet.Table(np.asarray(x, dtype=dtype))
        edges = ramet.nn.BlockEdges(block.indptr, block.indices, block.num_src)

        def apart(table=table, edges=edges) -> float:
            begin = time.perf_counter()
            rows = torch.as_tensor(table.gather(batch.n_id, THREADS, dtype="float32"))
            ramet.nn.aggregate(edges, rows, "mean")
            return time.perf_counter() - begin

        def fused(table=table, edges=edges) -> float:
            begin = time.perf_counter()
            table.gather(batch.n_id[: block.num_dst], THREADS, dtype="float32")  # the destinations' own rows
            ramet.nn.aggregate(edges, ramet.nn.TableRows(table, batch.n_id, block), "mean")
            return time.perf_counter() - begin

        figures = interleave({"apart": apart, "fused": fused}, 1 if chosen.small else 7)
        ratio = figures["fused"].over(figures["apart"])
        report.ratio(f"fused over gather + aggregate, {dtype}", ratio, "lower")
        report.keep(f"fused, {dtype}", {name: figure.values for name, figure in figures.items()})
        lines.append([dtype, figures["apart"].text(1, 1000), figures["fused"].text(1, 1000), ratio.text()])
    report.note("**Fused first layer.** 128 features; both gather the destinations' own rows.")
    report.table(["table", "gather, then the mean, ms", "fused, ms", "fused over it"], lines)


def rate(run) -> float:
    """Calls per second: the best of some."""
    run()
    return 1 / min(seconds(run) for _ in range(5))


def add_roofline(report: Report, chosen, block) -> None:
    """GFLOP/s against FLOP per byte: of the means over edges, and of the first layer's product of matrices."""
    size, hidden = 512 if chosen.small else 2048, CASES["GraphSAGE"].hidden
    square, product = torch.ones(size, size), torch.empty(size, size)
    memory = torch.ones((1 << 20) if chosen.small else (1 << 28))
    peaks = {
        "GFLOP/s": 2e-9 * size**3 * rate(lambda: torch.mm(square, square, out=product)),
        "GB/s": 4e-9 * len(memory) * rate(memory.sum),
    }
    points = {}
    edges = ramet.nn.BlockEdges(block.indptr, block.indices, block.num_src)
    for width in (32, 128, 256):
        x = torch.ones(block.num_src, width)
        work = 1e-9 * block.num_edges * width
        bytes_moved = 4e-9 * (block.num_edges + block.num_dst) * width
        done = work * rate(lambda x=x: ramet.nn.aggregate(edges, x, "mean"))
        points[f"mean over edges, D = {width}"] = [work / bytes_moved, done]
    x, weight, out = torch.ones(block.num_dst, 128), torch.ones(128, hidden), torch.empty(block.num_dst, hidden)
    work = 2e-9 * x.numel() * hidden
    bytes_moved = 4e-9 * (x.numel() + weight.numel() + block.num_dst * hidden)
    points["first layer's matrix product"] = [work / bytes_moved, work * rate(lambda: torch.mm(x, weight, out=out))]
    lines = [
        [name, f"{intensity:.2f}", f"{done:.1f}", f"{done / min(peaks['GFLOP/s'], peaks['GB/s'] * intensity):.2f}"]
        for name, (intensity, done) in points.items()
    ]
    report.note(f"**Roofline.** Peaks: {peaks['GFLOP/s']:.0f} GFLOP/s, {peaks['GB/s']:.1f} GB/s read in order.")
    report.table(["part of a step", "FLOP per byte", "GFLOP/s", "share of the roof"], lines)


@benchmark("Aggregation", peers=("dgl",))
def main(chosen, report: Report) -> None:
    torch.set_num_threads(THREADS)
    graph, batch, block = first_block(chosen)
    report.note(f"The block has {block.num_src:,} sources, {block.num_dst:,} destinations, {block.num_edges:,} edges.")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "block.npz"
        np.savez(file, indptr=block.indptr, indices=block.indices, num_src=block.num_src)
        with Peer.of(chosen, "dgl", "dgl_aggregate.py", file) as peer:
            add_means(report, chosen, block, peer)
    add_fused(report, chosen, graph, batch, block)
    add_roofline(report, chosen, block)


if __name__ == "__main__":
    main()
