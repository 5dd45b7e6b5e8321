"""An epoch of GraphSAGE on a GPU, by the placement of the features, beside PyG's NeighborLoader.

3 layers, hidden 256, Adam, batch 1024, fanouts [15, 10, 5], a graph like ogbn-products. "CPU path" copies batches of
the CPU loader to the GPU. The others use `device="cuda"`: rows staged by CPU threads, rows read in place, rows read in
place with a cache of a tenth of them, and all data in device memory.
"""

from __future__ import annotations

import importlib.util
import itertools
import time
from functools import partial

import torch
import torch.nn.functional as F
from changes import trains
from cuda_device import DEVICE, not_refused, synchronize, used_bytes
from harness import Report, benchmark, interleave, products
from training import BATCH, FANOUTS, HIDDEN, example_model, shape_of, train_step

import ramet

CACHED = 10  # one row in so many

PLACEMENTS = {
    "pinned copy": {"placement": {"topology": "device", "feat": "staged"}},
    "in place": {"placement": {"topology": "device", "feat": "in_place"}},
    "in place, with a cache": {"placement": "cached"},
    "all in place": {"placement": "in_place"},
    "all on the device": {"placement": "device"},
}


class Training:
    def __init__(self, graph, batches: int, batch_size: int, **where):
        torch.manual_seed(0)
        self._model = example_model(*shape_of(graph)).to(DEVICE)
        self._optimizer = torch.optim.Adam(self._model.parameters(), lr=0.003)
        if where.get("placement") == "cached":
            where["placement"] = ramet.Placement("device", "in_place", cache_rows=graph.num_nodes() // CACHED)
        self.loader = ramet.NeighborLoader(graph, FANOUTS, "train", batch_size, shuffle=True, **where)
        self._batches = min(batches, len(self.loader))
        self.loss = float("nan")

    def epoch(self) -> float:
        """Seconds of an epoch, extrapolated from its first batches where it is longer."""
        self.loader.set_epoch(0)
        synchronize()
        with trains(self._model):
            return self._epoch()

    def _epoch(self) -> float:
        begin = time.perf_counter()
        batches = iter(self.loader)
        for batch in itertools.islice(batches, self._batches):
            batch = batch.to(DEVICE)  # itself, but of the CPU's loader
            loss = train_step(self._model, self._optimizer, batch)
        self.loss = loss.item()
        synchronize()
        elapsed = time.perf_counter() - begin
        batches.close()
        return elapsed * len(self.loader) / self._batches

    def held(self) -> str:
        """What the loader has on the device, and of its cache."""
        used, buffers = self.loader.cache_use, self.loader.buffer_bytes
        looked = sum(used.values())
        hits = f", {used['hits'] / looked:.0%} of rows from the cache" if looked else ""
        copies = sum(p.nbytes for p in self.loader.placement.values() if p.place == "device")
        return f"{(copies + sum(buffers.values())) / 1e9:.2f} GB{hits}" if self.loader.device else "-"


class PyG:
    """PyG's loader and SAGEConv, as documented, on the device."""

    def __init__(self, store, batches: int):
        from pyg_program import Trimmed, count_hops, make_data
        from torch_geometric.loader import NeighborLoader

        data, train = make_data(store)
        torch.manual_seed(0)
        widths = [data.num_features, HIDDEN, HIDDEN, int(data.y.max()) + 1]
        self._model, self._count_hops = Trimmed(widths).to(DEVICE), count_hops
        self._optimizer = torch.optim.Adam(self._model.parameters(), lr=0.003)
        self._loader = NeighborLoader(data, FANOUTS, input_nodes=train, batch_size=BATCH, shuffle=True, num_workers=8)
        self._batches = batches

    def epoch(self) -> float:
        synchronize()
        with trains(self._model):
            return self._epoch()

    def _epoch(self) -> float:
        begin, batches = time.perf_counter(), iter(self._loader)
        for batch in itertools.islice(batches, self._batches):
            if "num_sampled_nodes" not in batch:
                batch.num_sampled_nodes, batch.num_sampled_edges = self._count_hops(batch, len(FANOUTS))
            batch = batch.to(DEVICE)
            loss = F.cross_entropy(self._model(batch), batch.y[: batch.batch_size])
            self._optimizer.zero_grad()
            loss.backward()
            self._optimizer.step()
        synchronize()
        return (time.perf_counter() - begin) * len(self._loader) / self._batches


@benchmark("An epoch of training on a GPU")
def main(chosen, report: Report) -> None:
    count, batch_size, repetitions = (1, 32, 1) if chosen.small else (100, BATCH, 3)
    store = products(chosen)
    graph = ramet.open(store)
    training = partial(Training, graph, count, batch_size)
    makers = {"CPU path": training} | {n: partial(training, device=DEVICE, **where) for n, where in PLACEMENTS.items()}
    runs = not_refused(makers, report, "an epoch")
    variants = {name: run.epoch for name, run in runs.items()}
    if importlib.util.find_spec("torch_sparse"):
        variants["PyG, NeighborLoader with 8 workers"] = PyG(store, count).epoch
    else:
        report.note("Not measured: PyG's NeighborLoader, which needs torch-sparse.")
    figures = interleave(variants, repetitions, lambda name, figure: report.keep(f"{name}, s", figure))
    path = figures["CPU path"]
    lines = []
    for name, figure in figures.items():
        held, loss = (runs[name].held(), f"{runs[name].loss:.3f}") if name in runs else ("-", "-")
        lines.append([name, figure.text(), path.over(figure).text(), held, loss])
        report.ratio(f"{name}: the CPU path's time over its", path.over(figure))
    report.table(["batches", "epoch, s", "faster than the CPU path", "loader's device memory", "last loss"], lines)
    report.note(f"Memory of the device in use at the end: {used_bytes() / 1e9:.2f} GB of all of these.")


if __name__ == "__main__":
    main()
