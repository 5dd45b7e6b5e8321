"""Means over the first block that a device's loader makes: those of the CPU's, to the bit. docs/semantics.md, 20."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from device_batches import tensors_of
from small_graphs import NUM_NODES, heterogeneous, homogeneous

import ramet
from ramet.nn import SAGEConv, TableRows, aggregate, edges_of

ROWS = np.random.default_rng(3).standard_normal((NUM_NODES, 13)).astype(np.float32)
STORED = {
    "float32": lambda: ROWS,
    "float16": lambda: ROWS.astype(np.float16),
    "int8 by row": lambda: ramet.quantize(ROWS, "row"),
    "int8 by column": lambda: ramet.quantize(ROWS, "column"),
}


def loader_of(graph, device=None, fuse=True, decode=True, **arguments):
    options = {"num_neighbors": [4, 3], "input_nodes": "train", "batch_size": 64, "shuffle": True, "seed": 3}
    features = ramet.Features(fuse=fuse, decode=decode)
    return ramet.NeighborLoader(graph, **options | arguments, device=device, features=features)


def same(one, other) -> bool:
    pairs = zip(tensors_of(one), tensors_of(other), strict=True)
    return all(a.dtype == b.dtype and torch.equal(a.cpu(), b.cpu()) for a, b in pairs)


def means_of(batch) -> dict:
    """Those that its loader made."""
    rows = batch.x if isinstance(batch.x, dict) else {"node": batch.x}
    all_means = [means.rows for of_type in rows.values() for means in of_type._ready.means]
    return dict(enumerate(all_means))


@pytest.mark.parametrize("place", ["device", "in_place", "staged"])
@pytest.mark.parametrize(
    "stored, sampler, decode",
    [
        ("float32", "uniform", True),
        ("float32", ramet.Labor(weights="horvitz-thompson"), True),
        ("float16", "labor", True),
        ("float16", "uniform", False),
        ("int8 by row", "uniform", True),
        ("int8 by column", "uniform", True),
    ],
    ids=str,
)
def test_means_are_those_of_the_cpu(gpu, stored, sampler, decode, place):
    graph = homogeneous(feat=STORED[stored]())
    arguments = {"sampler": sampler, "decode": decode}
    pairs = zip(loader_of(graph, gpu, placement=place, **arguments), loader_of(graph, **arguments), strict=True)
    for batch, expected in pairs:
        assert batch.fingerprint() == expected.fingerprint()
        assert isinstance(batch.x, TableRows) and batch.x.dtype == expected.x.dtype
        assert same(means_of(batch), means_of(expected)) and len(means_of(batch)) == 1
        assert same(batch.x.destinations, expected.x.destinations)
        assert aggregate(batch.blocks[0], batch.x) is means_of(batch)[0]
        assert same(batch.x.rows(), expected.x.rows())
        assert same(aggregate(batch.blocks[0], batch.x, "max"), aggregate(expected.blocks[0], expected.x, "max"))


def test_where_the_rows_are_is_told(gpu):
    """Rows that are not copied are averaged by the CPU: what is read in place is not measured."""
    fits, too_large = (
        loader_of(homogeneous(), gpu, placement=ramet.Placement(device_memory=size)).placement["feat"]
        for size in (1 << 20, 0)
    )
    assert (fits.place, too_large.place) == ("device", "staged")
    assert "processors average the rows of its sources" in too_large.why


@pytest.mark.parametrize("place", ["device", "staged"])
def test_types_of_edges_and_topology_of_the_host(gpu, place):
    graph = heterogeneous()
    arguments = {"num_neighbors": [3, 2], "input_nodes": ("paper", "train"), "batch_size": 40}
    for topology in ("device", "staged"):
        placement = ramet.Placement(topology, place)
        pairs = zip(loader_of(graph, gpu, placement=placement, **arguments), loader_of(graph, **arguments), strict=True)
        for batch, expected in pairs:
            assert same(aggregate(batch.blocks[0], batch.x), aggregate(expected.blocks[0], expected.x))
            assert same(means_of(batch), means_of(expected)) and len(means_of(batch)) == len(graph.edge_types)


@pytest.mark.parametrize("topology", ["device", "staged"])
def test_blocks_are_transposed_ahead(gpu, topology):
    graph = heterogeneous()
    options = {"num_neighbors": [3, 2, 2], "input_nodes": ("paper", "train"), "batch_size": 40}
    for ahead, first in ((True, 1), ("all", 0), (False, 3)):
        features = ramet.Features(transpose=ahead)
        placement = ramet.Placement(topology)
        batch = next(iter(ramet.NeighborLoader(graph, **options, features=features, device=gpu, placement=placement)))
        for index, block in enumerate(batch.blocks):
            for edge_type in graph.edge_types:
                edges = edges_of(block[edge_type])
                ready = edges.derived.pop("transposed", None)
                assert (ready is not None) == (index >= first)
                if ready is not None:
                    assert ready.edges.device.type == gpu.type and ready.indptr.equal(edges.transposed.indptr)
                    assert ready.indices.equal(edges.transposed.indices)
                    assert ready.edges.equal(edges.transposed.edges.int())


@pytest.mark.parametrize("placement", ["continuous", "chunked"])
@pytest.mark.parametrize("location", ["host", "device"])
def test_tables_that_are_given(gpu, location, placement):
    table = ramet.Table.create(ROWS.shape, placement=placement, location=location)
    table.scatter(np.arange(NUM_NODES), ROWS)
    graph = homogeneous(feat=ROWS)
    expected = next(iter(loader_of(graph)))
    batch = next(iter(loader_of(graph, gpu, tables={"feat": table, "label": None})))
    assert same(means_of(batch), means_of(expected)) and same(batch.x.destinations, expected.x.destinations)
    assert same(aggregate(batch.blocks[0], batch.x, "min"), aggregate(expected.blocks[0], expected.x, "min"))
    assert same(batch.x.rows(), expected.x.rows()) and same(batch.x.n_id, expected.x.n_id)
    assert batch.to("cpu").x.rows().device.type == "cpu"


def test_ids_on_a_device_are_checked(gpu):
    ids = torch.tensor([3, 0, 7], dtype=torch.int32, device=gpu)
    rows = TableRows(ROWS, ids, 2)
    assert rows.device == ids.device and rows.n_id.dtype == torch.int64
    np.testing.assert_array_equal(rows.rows().cpu(), ROWS[[3, 0, 7]])
    with pytest.raises(TypeError, match="has dtype float32; ids are integers"):
        TableRows(ROWS, ids.float(), 2)
    with pytest.raises(ValueError, match=r"n_id has shape \[3, 1\], expected one dimension"):
        TableRows(ROWS, ids[:, None], 2)


def test_a_layer_and_what_follows_a_batch(gpu):
    graph = homogeneous(feat=ROWS)
    batch, expected = next(iter(loader_of(graph, gpu))), next(iter(loader_of(graph)))
    assert batch.nbytes == expected.nbytes
    layer = SAGEConv(13, 5)
    at_host = batch.to("cpu")
    assert same(layer(at_host.x, at_host.blocks[0]), layer(expected.x, expected.blocks[0]))
    assert aggregate(at_host.blocks[0], at_host.x).equal(aggregate(expected.blocks[0], expected.x))
    again = pickle.loads(pickle.dumps(batch.x))
    assert again.rows().equal(expected.x.rows())


def test_means_are_of_no_other_batch(gpu):
    loader = loader_of(homogeneous(feat=ROWS), gpu)
    kept = next(iter(loader)).x  # whose arrays stay, so that no other batch is at their addresses
    for other in loader:
        edges = edges_of(other.blocks[0])
        assert kept.means_over(edges.derived["known"], by_weights=False) is None
        assert other.x.means_over(edges.derived["known"], by_weights=False) is means_of(other)[0]
