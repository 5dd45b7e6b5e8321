"""Features(dtype="bfloat16"): rows of floats arrive rounded to nearest, however they are stored."""

import numpy as np
import pytest
import torch
from small_graphs import heterogeneous, homogeneous

import ramet

NODES, WIDTH = 3_000, 37


def rows(seed=0):
    """Rows among which are all kinds of numbers, and ties."""
    rng = np.random.default_rng(seed)
    found = rng.normal(size=(NODES, WIDTH)).astype(np.float32)
    found[1, :6] = [np.inf, -np.inf, -0.0, 1e-40, 3.4e38, 65504]
    found[2, :4] = [1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-8, 1 + 2**-8 + 2**-20]
    found[3] = np.nan
    return found


def graph_of(table) -> ramet.Graph:
    rng = np.random.default_rng(1)
    labels = rng.normal(size=NODES).astype(np.float32)
    return ramet.from_edge_index(
        rng.integers(0, NODES, (2, 10 * NODES)), num_nodes=NODES, nodes={"feat": table, "label": labels}
    )


def bits(tensor):
    return tensor.contiguous().view(torch.int16)


TABLES = {
    "float32": lambda: rows(),
    "float16": lambda: np.clip(rows(), -6e4, 6e4).astype(np.float16),
    "int8": lambda: ramet.quantize(np.nan_to_num(np.clip(rows(), -9, 9)), "row"),
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("stored", TABLES)
def test_rows_are_those_of_float32_rounded(stored, threads):
    graph = graph_of(TABLES[stored]())
    options = {"num_neighbors": [5, 5], "batch_size": 900, "threads": threads, "seed": 3}
    plain = ramet.NeighborLoader(graph, **options)
    for wide, narrow in zip(
        plain, ramet.NeighborLoader(graph, **options, features=ramet.Features(dtype="bfloat16")), strict=True
    ):
        assert wide.x.dtype == torch.float32 and narrow.x.dtype == torch.bfloat16
        is_nan = wide.x.isnan()
        assert torch.equal(narrow.x.isnan(), is_nan)
        assert torch.equal(bits(narrow.x)[~is_nan], bits(wide.x.bfloat16())[~is_nan])
        assert narrow.y.dtype == torch.float32 and torch.equal(narrow.y, wide.y)
        assert narrow.nbytes == wide.nbytes - 2 * wide.x.numel()


def test_stored_bfloat16_is_handed_out_as_it_is(tmp_path):
    ramet.save(graph_of(np.clip(rows(), -9, 9)), tmp_path / "store", dtype="bfloat16")
    graph = ramet.open(tmp_path / "store")
    narrow = next(iter(ramet.NeighborLoader(graph, [3], batch_size=500, features=ramet.Features(dtype=torch.bfloat16))))
    kept = next(iter(ramet.NeighborLoader(graph, [3], batch_size=500, features=ramet.Features(decode=False))))
    assert torch.equal(bits(narrow.x), bits(kept.x))


def test_every_node_type_and_tables_that_are_given():
    graph = heterogeneous()
    batch = next(iter(ramet.NeighborLoader(graph, [2], ("paper", None), 20, features=ramet.Features(dtype="bfloat16"))))
    assert {x.dtype for x in batch.x.values()} == {torch.bfloat16}
    given = ramet.Table(np.arange(homogeneous().num_nodes() * 3, dtype=np.float32).reshape(-1, 3))
    loader = ramet.NeighborLoader(
        homogeneous(), [2], batch_size=20, tables={"feat": given}, features=ramet.Features(dtype="bfloat16")
    )
    batch = next(iter(loader))
    assert torch.equal(batch.x, torch.as_tensor(given.gather(batch.n_id)).bfloat16())


def test_integers_and_doubles_stay():
    for table in (np.arange(NODES * 2).reshape(NODES, 2), rows().astype(np.float64)):
        loader = ramet.NeighborLoader(graph_of(table), [2], features=ramet.Features(dtype="bfloat16"))
        assert next(iter(loader)).x.dtype == torch.from_numpy(table).dtype
