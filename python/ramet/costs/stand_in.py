"""A small random graph with the shape of a planned store, whose batches cost about what the store's will."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ramet.building.plan import Plan
from ramet.graph import Graph
from ramet.stores.convert import from_edge_index

if TYPE_CHECKING:
    from ramet.costs.job import Estimate

MOST_NODES, MOST_EDGES = 1 << 18, 1 << 22
EDGES_PER_NODE = 8  # of a type without a table, whose nodes nobody has counted


def stand_in(plan: Plan) -> tuple[Graph, float]:
    """A graph with the plan's types, mean degrees and rows, and how many times larger the store will be. Destinations
    are uniform; sources are not: a tenth of them has half of the edges."""
    nodes = {step.type: step.rows for step in plan.nodes}
    for step in plan.edges:
        for node_type in (step.type[0], step.type[2]):
            nodes.setdefault(node_type, step.rows // EDGES_PER_NODE + 1)
    num_edges = sum(step.rows for step in plan.edges)
    scale = max(1.0, sum(nodes.values()) / MOST_NODES, num_edges / MOST_EDGES)
    counts = {node_type: math.ceil(count / scale) for node_type, count in nodes.items()}
    random = np.random.default_rng(0)
    edges = {}
    for step in plan.edges:
        source, _, destination = step.type
        count = math.ceil(step.rows / scale) if counts[source] and counts[destination] else 0
        skewed = random.random(count) ** math.log2(10)
        edges[step.type] = np.stack(
            [(skewed * counts[source]).astype(np.int64), random.integers(0, counts[destination] or 1, count)]
        )
    rows = {step.type: np.zeros((counts[step.type], step.width // 4), np.float32) for step in plan.nodes}
    tables = {node_type: {"feat": table} for node_type, table in rows.items() if table.shape[1]}
    if set(edges) == {("node", "to", "node")}:
        return from_edge_index(edges["node", "to", "node"], counts["node"], nodes=tables.get("node")), scale
    return from_edge_index(edges, counts, nodes=tables), scale


def of_store(estimate: Estimate, plan: Plan, scale: float) -> Estimate:
    """The estimate of a stand-in as that of the planned store."""
    store = sum(step.bytes for step in (*plan.nodes, *plan.edges))
    by_use = estimate.memory_by_use | {"store": store}
    memory = sum(by_use.values())
    return replace(
        estimate,
        store="a planned store",
        batches_per_epoch=math.ceil(estimate.batches_per_epoch * scale),
        memory=memory,
        memory_by_use=by_use,
        disk=store,
        seconds_per_epoch=estimate.seconds_per_epoch * scale,
        fits=memory <= estimate.available and (estimate.fits or estimate.device_memory == 0),
    )
