"""The trainings whose steps are timed, for our program and those of the peers. Needs Python alone."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

BATCH = 1024
LEAD = 2  # batches at the head of a turn that do not count


@dataclass(frozen=True)
class Case:
    layer: str  # "sage": the mean; "gat": attention; "types": several types, the models of pyg_program.OF_TYPES
    fanouts: tuple[int, ...]  # the seeds' hop first
    hidden: int
    sampler: str = "uniform"
    heads: int = 1  # of hidden layers; the last has one

    def widths(self, features: int, classes: int) -> list[tuple[int, int]]:
        """(in, out) of each layer, all heads together."""
        edges = [features, *[self.hidden] * (len(self.fanouts) - 1), classes]
        return list(pairwise(edges))


CASES = {
    "GraphSAGE": Case("sage", (15, 10, 5), 256),
    "GraphSAGE with LABOR": Case("sage", (15, 10, 5), 256, sampler="labor"),
    "GAT, 4 heads of 64": Case("gat", (15, 10, 5), 256, heads=4),
    "small batches": Case("sage", (4, 4), 128),
    "R-GCN": Case("types", (5, 3), 256),
    "HGT": Case("types", (5, 3), 64, heads=4),
}
