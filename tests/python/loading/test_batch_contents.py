"""What a batch holds: tensors in the pool's memory, rows of tables, the mean over its seeds."""

import gc
import re

import numpy as np
import processes
import pytest
from small_graphs import NUM_NODES, homogeneous, numpy_of
from small_loaders import STEPS, make

import ramet

torch = ramet._support.tensors.torch_or_none()
needs_torch = pytest.mark.skipif(torch is None, reason="needs torch")


# ---- what a batch holds


def test_batches_outlive_the_loader():
    graph = homogeneous(seed=3)
    feat, label = graph.table("feat").numpy().copy(), graph.table("label").numpy().copy()
    loader = make(graph)
    batches = list(loader)
    expected = [batch.fingerprint() for batch in batches]
    tensors = [(batch.n_id, batch.x, batch.seeds, batch.y) for batch in batches]
    del loader, graph
    gc.collect()
    assert [batch.fingerprint() for batch in batches] == expected
    batches.clear()
    gc.collect()
    for n_id, x, seeds, y in tensors:
        np.testing.assert_array_equal(x, feat[n_id])
        np.testing.assert_array_equal(y, label[seeds])


def test_tensors_share_the_memory_of_the_pool(graph):
    loader = make(graph)
    batch = next(iter(loader))
    assert np.shares_memory(numpy_of(batch.x), batch._core.table(0))
    assert np.shares_memory(numpy_of(batch.n_id), batch._core.n_id(0))
    assert np.shares_memory(numpy_of(batch.seeds), numpy_of(batch.n_id))
    block = batch.blocks[0]
    assert np.shares_memory(numpy_of(block.indices), batch._core.indices(0, 0))
    x = batch.x
    x[0] = 5  # a batch is the caller's to write to
    assert float(batch.x[0, 0]) == 5
    expected = numpy_of(x).copy()
    del batch, block
    gc.collect()
    in_use = loader.buffer_bytes["in_use"]
    assert in_use >= numpy_of(x).nbytes  # one tensor keeps its buffer
    assert len(list(loader)) == STEPS
    np.testing.assert_array_equal(x, expected)
    del x
    gc.collect()
    assert loader.buffer_bytes["in_use"] == 0


@needs_torch
def test_batches_hold_tensors(graph):
    batch = next(iter(make(graph)))
    of_batch = {"seeds": torch.int64, "n_id": torch.int64, "x": torch.float32, "y": torch.int64}
    of_block = {"indptr": torch.int64, "indices": torch.int32, "edge_index": torch.int64}
    of_block |= {"e_id": torch.int64, "position": torch.int64}
    for holder, dtypes in ((batch, of_batch), (batch.blocks[0], of_block)):
        assert {name: getattr(holder, name).dtype for name in dtypes} == dtypes


WITHOUT_TORCH = """
import pickle, sys
sys.modules["torch"] = None
import numpy as np, ramet, small_graphs
graph = small_graphs.homogeneous()
loader = ramet.NeighborLoader(graph, [3, 3], "train", 20, shuffle=True)
for batch in loader:
    block = batch.blocks[-1]
    arrays = [batch.seeds, batch.n_id, batch.x, batch.y]
    arrays += [block.indptr, block.indices, block.edge_index, block.e_id, block.position]
    assert all(type(array) is np.ndarray for array in arrays)
    np.testing.assert_array_equal(batch.x, graph.table("feat").gather(batch.n_id))
    np.testing.assert_array_equal(batch.y, graph.table("label").numpy()[batch.seeds])
    assert batch.mean(np.ones(20)[: batch.num_seeds]) == 1
print(batch.fingerprint())
try:
    graph.table("feat").torch()
except ImportError as error:
    assert "torch" in str(error)
else:
    raise SystemExit("no error")
"""


def test_arrays_where_torch_is_absent(graph):
    *_, last = make(graph, num_neighbors=[3, 3], batch_size=20, shuffle=True)
    assert processes.run("-c", WITHOUT_TORCH).strip() == last.fingerprint()


def test_importing_and_looping_do_not_import_torch():
    program = (
        "import sys, ramet, small_graphs\n"
        "g = small_graphs.homogeneous()\n"
        "for batch in ramet.NeighborLoader(g, [3], 'train', 50): batch.fingerprint()\n"
        "print(sorted({'torch', 'scipy', 'torch_geometric', 'tqdm'} & set(sys.modules)))"
    )
    assert processes.run("-c", program).strip() == "[]"


# ---- tables


def test_features_and_labels(graph):
    for batch in make(graph):
        np.testing.assert_array_equal(batch.x, graph.table("feat").numpy()[numpy_of(batch.n_id)])
        np.testing.assert_array_equal(batch.y, graph.table("label").numpy()[numpy_of(batch.seeds)])
        assert set(batch.tables) == {"feat", "label"}


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"])
def test_tables_of_every_type_and_shape(dtype):
    if not hasattr(torch or np, np.dtype(dtype).name):
        pytest.skip(f"this torch has no {np.dtype(dtype)}")
    random = np.random.default_rng(0)
    one, many = random.integers(0, 2, NUM_NODES).astype(dtype), random.integers(0, 2, (NUM_NODES, 3, 0, 5))
    deep = random.integers(0, 100, (NUM_NODES, 2, 3)).astype(dtype)
    graph = homogeneous(year=one, none=many.astype(dtype), deep=deep)
    batch = next(iter(make(graph, tables=("deep", "year", "none"), features=ramet.Features(decode=False))))
    assert list(batch.tables) == ["deep", "year", "none"]
    for name, rows in batch.tables.items():
        assert numpy_of(rows).dtype == np.dtype(dtype)
        np.testing.assert_array_equal(rows, graph.table(name).numpy()[numpy_of(batch.n_id)])
    with pytest.raises(AttributeError, match=r"batch\.x needs the table 'feat'.*\['deep', 'year', 'none'\]"):
        _ = batch.x


def test_missing_tables_are_missed_when_they_are_used():
    bare = ramet.from_arrays([0, 1, 2], [1, 0])
    batch = next(iter(ramet.NeighborLoader(bare, [1])))
    assert batch.tables == {}
    with pytest.raises(AttributeError, match=r"batch\.x needs the table 'feat'"):
        _ = batch.x
    with pytest.raises(AttributeError, match=r"batch\.y needs the table 'label'"):
        _ = batch.y
    assert not hasattr(batch, "x")


def test_tables_that_are_named_must_be_there(graph):
    assert next(iter(make(graph, tables=()))).tables == {}
    assert set(next(iter(make(graph, tables=["label"]))).tables) == {"label"}
    with pytest.raises(KeyError, match=r"tables names 'year'.*'feat', 'label'"):
        make(graph, tables=("feat", "year"))
    with pytest.raises(ValueError, match=r"tables names \('node', 'to', 'node'\), expected a name, or a pair"):
        make(graph, tables=[("node", "to", "node")])
    for wrong in ("feat", 5, graph.table("feat")):
        with pytest.raises(TypeError, match=f"tables is {re.escape(repr(wrong))}, expected a tuple of names"):
            make(graph, tables=wrong)


@needs_torch
def test_mean_is_the_mean_of_the_global_batch(graph):
    loader = make(graph)
    for batch in loader:
        loss = torch.arange(batch.num_seeds, dtype=torch.float64, requires_grad=True)
        assert batch.mean(loss).item() == pytest.approx(loss.detach().mean().item())
    with pytest.raises(ValueError, match="per_seed has 3 rows, but the batch has 5 seeds"):
        batch.mean(torch.ones(3))
    with pytest.raises(
        ValueError, match="per_seed is one number, expected a loss in each row, as with reduction='none'"
    ):
        batch.mean(torch.ones(5).mean())


@needs_torch
def test_mean_of_no_seeds_is_zero_and_differentiable(graph):
    batch = ramet.sample(graph, [], [3, 3])
    weight = torch.ones(1, requires_grad=True)
    loss = batch.mean(weight * torch.ones(0))
    loss.backward()
    assert (loss.item(), weight.grad.item()) == (0, 0)
