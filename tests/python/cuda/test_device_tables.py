"""Tables and embeddings on a device are those of the host, to the bit: docs/tables.md, "Tables on devices"."""

import emulated_devices
import numpy as np
import pytest
import torch
from small_graphs import NUM_NODES, homogeneous

import ramet
from ramet._support import torch_devices as devices

ROWS = 300
FLOATS = ("float32", "float16", "bfloat16")
METHODS = {
    "SGD": {"lr": 0.1, "weight_decay": 0.01},
    "AdaGrad": {"lr": 0.1, "rowwise": True, "weight_decay": 0.01},
    "RMSProp": {"lr": 0.1},
    "Adam": {"lr": 0.1, "weight_decay": 0.01},
    "AdamW": {"lr": 0.1},
}


def both(shape, dtype="float32", **options) -> list[ramet.Table]:
    return [ramet.Table.create(shape, dtype, location=location, **options) for location in ("host", "device")]


def rows_of(table: ramet.Table) -> np.ndarray:
    return table.gather(np.arange(len(table))).view(np.uint8)


def assert_same(host: ramet.Table, device: ramet.Table) -> None:
    assert (host.location, device.location) == ("host", "device")
    np.testing.assert_array_equal(rows_of(host), rows_of(device))


@pytest.mark.parametrize("placement", ("continuous", "chunked", "distributed"))
@pytest.mark.parametrize("dtype", FLOATS)
def test_rows_are_those_of_the_host(gpu, placement, dtype):
    for init in ("normal", "xavier", 2.5, lambda ids: np.outer(ids, [1, 2, 3]).astype(np.float32)):
        host, device = both((ROWS, 3), dtype, placement=placement, init=init, seed=4)
        assert_same(host, device)
    ids = np.random.default_rng(1).integers(0, ROWS, (20, 10))
    rows = np.random.default_rng(2).standard_normal((20, 10, 3), np.float32)
    there = devices.move(torch.from_numpy(rows), gpu), devices.move(torch.from_numpy(ids), gpu)
    for table in (host, device):
        table.scatter(ids, rows)
        table.add(torch.from_numpy(ids[::-1].copy()), torch.from_numpy(rows))
    assert_same(host, device)
    if placement != "distributed":  # whose calls go by the host
        host.add(ids, rows)
        device.add(there[1], there[0])
        device.scatter(ids[0], devices.move(torch.from_numpy(rows[0]), gpu))
        host.scatter(ids[0], rows[0])
        for wanted in ("float32", "float64"):
            gathered = device.gather(there[1], dtype=wanted)
            assert devices.is_on_device(gathered)
            np.testing.assert_array_equal(devices.on_host(gathered).numpy(), host.gather(ids, dtype=wanted))
    assert_same(host, device)
    on_host = torch.from_numpy(ids)
    assert torch.equal(device.gather(on_host), host.gather(on_host))


def test_views_are_the_memory_itself(gpu):
    table = ramet.Table.create((10, 2), "float32", location="device", init=1)
    tensor = table.torch()
    assert (tensor.shape, tensor.dtype) == (table.shape, torch.float32)
    tensor[3] = 7
    assert table[3].tolist() == [7, 7]
    assert table[2:4].tolist() == [[1, 1], [7, 7]]
    assert table.local().torch()[3].tolist() == [7, 7]
    assert [len(chunk) for chunk in table.chunks()] == [10]
    with pytest.raises(ValueError, match="on a device, where numpy has no arrays"):
        table.numpy()
    with pytest.raises(ValueError, match="lie in several arrays"):
        ramet.Table.create((10, 2), location="device", placement="chunked").torch()


def test_rows_that_lie_in_the_table_count_as_they_were(gpu):
    host, device = both((ROWS, 3), init="normal", seed=4)
    view = device.torch()[:-1]
    view = view if view.is_cuda else view.as_subclass(emulated_devices.OnDevice)
    for write in ("add", "scatter"):
        getattr(host, write)(np.arange(1, ROWS), host.numpy()[:-1].copy())
        getattr(device, write)(np.arange(1, ROWS), view)
        assert_same(host, device)


def test_what_does_not_fit_is_refused_by_name(gpu):
    table = ramet.Table.create((10, 2), location="device")
    there = devices.move(torch.tensor([3, 11]), gpu)
    for ids in ([3, 11], torch.tensor([3, 11]), there):
        with pytest.raises(IndexError, match=r"ids\[1\] = 11 is outside the 10 rows"):
            table.gather(ids)
        with pytest.raises(IndexError, match=r"ids\[1\] = 11 is outside the 10 rows"):
            table.add(ids, np.ones((2, 2), np.float32))
    assert not rows_of(table).any()
    with pytest.raises(ValueError, match=r"rows is float32\[2, 3\], but the rows are float32\[2, 2\]"):
        table.add([0, 1], devices.move(torch.ones(2, 3), gpu))
    with pytest.raises(TypeError, match="ids are float32"):
        table.gather(devices.move(torch.ones(2), gpu))
    with pytest.raises(ValueError, match="location is 'gpu', expected one of"):
        ramet.Table.create(10, location="gpu")
    with pytest.raises(MemoryError, match="bytes are free"):
        ramet.Table.create((1 << 40, 4), location="device")
    with pytest.raises(ValueError, match="lie on a device already"):
        ramet.cuda.UnifiedTensor(table)


@pytest.mark.without_gpu
def test_without_a_device_it_says_why():
    with pytest.raises(RuntimeError, match=r"CUDA|GPU|driver"):
        ramet.Table.create(10, location="device")


def test_saved_and_loaded(gpu, tmp_path):
    host, device = both((ROWS, 3), "float16", init="normal", seed=3)
    device.save(tmp_path / "rows")
    assert_same(ramet.Table.open(tmp_path / "rows"), device)
    other = ramet.Table.create((ROWS, 3), "float32", location="device", placement="chunked")
    other.copy_from(host)
    np.testing.assert_array_equal(other.gather(np.arange(ROWS)), host.gather(np.arange(ROWS), dtype="float32"))


def trained(method: str, location: str, gpu, dtype: str, rounding: str):
    """The rows and the state after steps with repeated ids, in one list and in several."""
    embedding = ramet.nn.Embedding(ROWS, 5, dtype, location=location, seed=2)
    optimizer = getattr(ramet.optim, method)(embedding, **METHODS[method], rounding=rounding)
    for step in range(3):
        optimizer.zero_grad()
        for call in range(2):
            generator = torch.Generator().manual_seed(10 * step + call)
            ids = torch.randint(ROWS, (80,), generator=generator)
            factor = torch.randn(80, 5, generator=generator)
            if location == "device" and call == 0:
                ids, factor = devices.move(ids, gpu), devices.move(factor, gpu)
            (embedding(ids) * factor.to(getattr(torch, dtype))).sum().backward()
        optimizer.step()
    return [rows_of(table) for table in (embedding.table, *optimizer.state_of(embedding).values())]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("dtype", "rounding"), [("float32", "nearest"), ("bfloat16", "stochastic")])
def test_embeddings_learn_the_same_bits(gpu, method, dtype, rounding):
    for host, device in zip(
        trained(method, "host", gpu, dtype, rounding), trained(method, "device", gpu, dtype, rounding)
    ):
        np.testing.assert_array_equal(host, device)


@pytest.mark.parametrize("placement", ("continuous", "chunked"))
def test_loaders_of_the_device_read_them_in_place(gpu, placement):
    graph = homogeneous()
    options = {"num_neighbors": [4, 3], "input_nodes": "train", "batch_size": 32, "shuffle": True, "seed": 3}
    host, device = both((NUM_NODES, 6), "float16", placement=placement, init="normal")
    there = ramet.NeighborLoader(graph, **options, device="cuda", tables={"feat": device})
    assert "lies on the device" in str(there.placement)
    for expected, batch in zip(ramet.NeighborLoader(graph, **options, tables={"feat": host}), there, strict=True):
        np.testing.assert_array_equal(expected.x.numpy(), batch.x.cpu().numpy())
    with pytest.raises(ValueError, match="which a loader on the CPU does not take"):
        ramet.NeighborLoader(graph, **options, tables={"feat": device})


@pytest.mark.parametrize(
    ("pieces", "place", "taken"),
    [("continuous", "auto", None), ("continuous", "in_place", "in_place"), ("chunked", "auto", "staged")],
)
def test_loaders_of_the_device_read_what_was_last_written_to_the_host(gpu, pieces, place, taken):
    graph, options = homogeneous(), {"num_neighbors": [4, 3], "input_nodes": "train", "batch_size": 300}
    owners = {"placement": pieces, "ownership": "hash" if pieces == "chunked" else None}
    table = ramet.Table.create((NUM_NODES, 6), "float16", init="normal", **owners)
    options |= {"tables": {"feat": table, "node": ramet.nn.Embedding(NUM_NODES, 3)}}
    here = ramet.NeighborLoader(graph, **options)
    options["device"] = "cuda"
    there = ramet.NeighborLoader(graph, **options, placement=ramet.Placement(tables=place, cache_rows=500))
    assert there.placement.keys() == {"topology", "feat"}
    assert there.placement["feat"].place in ([taken] if taken else ["in_place", "staged"])
    for _ in range(2):
        for expected, batch in zip(here, there, strict=True):
            np.testing.assert_array_equal(expected.x.numpy(), batch.x.cpu().numpy())
        table.scatter(np.arange(NUM_NODES), np.full((NUM_NODES, 6), 7, np.float16))
    refused = {"device": "its rows may be written"} | ({"in_place": "gaps"} if taken == "staged" else {})
    for wrong, words in refused.items():
        with pytest.raises(ValueError, match=f"placement of 'feat' is '{wrong}', but .*{words}"):
            ramet.NeighborLoader(graph, **options, placement={"feat": wrong})


def test_embeddings_on_a_disk_learn_the_same_bits(gpu, tmp_path):
    """Rows that the loop looks up are read ahead of it."""
    graph, learned = homogeneous(), []
    for device in (None, "cuda"):
        folder = tmp_path / str(device)
        folder.mkdir()
        embedding = ramet.nn.Embedding(NUM_NODES, 3, location="disk", path=folder, cache_rows=99, seed=1)
        optimizer = ramet.optim.AdaGrad(embedding, lr=0.1)
        tables = {"node": embedding}
        loader = ramet.NeighborLoader(graph, [4, 3], "train", 300, shuffle=True, tables=tables, device=device)
        for batch in loader:
            optimizer.zero_grad()
            embedding(batch.n_id).square().sum().backward()
            optimizer.step()
        learned.append(rows_of(embedding.table))
    np.testing.assert_array_equal(*learned)
