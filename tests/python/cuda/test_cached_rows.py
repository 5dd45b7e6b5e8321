"""Rows cached in device memory, of a table and of an Embedding: docs/caches.md, "Rows in device memory". Steps leave
the bits of docs/semantics.md, section 19."""

import copy
import multiprocessing
import pickle
import signal

import emulated_devices
import numpy as np
import pytest
import torch
from small_graphs import homogeneous

import ramet
from ramet._support import torch_devices as devices
from ramet.optim.trainable_rows import TrainableRows
from ramet.tables.cached_rows import CachedRows

ROWS, WIDTH = 300, 5
CACHED = np.arange(0, ROWS, 3)
METHODS = {
    "SGD": {"lr": 0.1, "weight_decay": 0.01},
    "AdaGrad": {"lr": 0.1, "rowwise": True},
    "Adam": {"lr": 0.1, "weight_decay": 0.01},
}


def made(dtype="float32", cached=CACHED) -> ramet.nn.Embedding:
    embedding = ramet.nn.Embedding(ROWS, WIDTH, dtype, seed=2)
    embedding.table.cache(cached)
    return embedding


def make_step(embedding, optimizer, number: int, gpu=None) -> torch.Tensor:
    """Of repeated ids in two calls: with a device, one of them has its ids there. Returns the rows of that one."""
    optimizer.zero_grad()
    for call in range(2):
        generator = torch.Generator().manual_seed(10 * number + call)
        ids = torch.randint(ROWS, (8, 10), generator=generator)
        factor = torch.randn(8, 10, WIDTH, generator=generator)
        if gpu is not None and call == 1:
            ids, factor = devices.move(ids, gpu), devices.move(factor, gpu)
        rows = embedding(ids)
        (rows * factor.to(rows.dtype)).sum().backward()
    optimizer.step()
    assert gpu is None or devices.is_on_device(rows)
    return devices.on_host(rows.detach())


def rows_of(table: ramet.Table) -> np.ndarray:
    return table.gather(np.arange(len(table))).view(np.uint8)


def everything(optimizer) -> list[np.ndarray]:
    [embedding] = optimizer.embeddings
    return [rows_of(table) for table in (embedding.table, *optimizer.state_of(embedding).values())]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("dtype", "rounding"), [("float32", "nearest"), ("bfloat16", "stochastic")])
def test_steps_leave_the_bits_that_they_leave_without_a_cache(gpu, tmp_path, method, dtype, rounding):
    plain, cached = made(dtype, None), made(dtype)
    one, other = (getattr(ramet.optim, method)(e, **METHODS[method], rounding=rounding) for e in (plain, cached))
    changes = {2: np.arange(ROWS), 3: None, 4: [7, 7, 299], 5: []}
    for number in range(6):
        if number in changes:
            cached.table.cache(changes[number])
        expected = make_step(plain, one, number)
        assert torch.equal(make_step(cached, other, number, None if number == 3 else gpu), expected)
    assert cached.table.cached.tolist() == []
    cached.table.cache(CACHED)
    for number in range(6, 8):
        make_step(plain, one, number)
        make_step(cached, other, number, gpu)
    other.save(tmp_path / "saved")
    assert (
        ramet.Table.open(tmp_path / "saved", "weight", "embedding-0").numpy().view(np.uint8) == rows_of(plain.table)
    ).all()
    for a, b in zip(everything(one), everything(other), strict=True):
        np.testing.assert_array_equal(a, b)
    make_step(plain, one, 8)
    make_step(cached, other, 8, gpu)
    other.load(tmp_path / "saved")
    one.load(tmp_path / "saved")
    for number in range(9, 11):
        make_step(plain, one, number)
        make_step(cached, other, number, gpu)
    for a, b in zip(everything(one), everything(other), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_cache_that_ends_between_backward_and_step(gpu):
    plain, cached = made(cached=None), made()
    for embedding in (plain, cached):
        ids, optimizer = torch.arange(ROWS), ramet.optim.SGD(embedding, lr=1.0)
        (embedding(ids if embedding is plain else devices.move(ids, gpu)).square().sum()).backward()
        embedding.table.cache(None)
        optimizer.step()
    np.testing.assert_array_equal(rows_of(plain.table), rows_of(cached.table))


WAYS = {
    "weight": lambda embedding: embedding.weight,
    "numpy": lambda embedding: embedding.table.numpy(),
    "local": lambda embedding: embedding.table.local().numpy(),
    "slice": lambda embedding: embedding.table[0:ROWS],
    "state_dict": lambda embedding: embedding.state_dict()["weight"],
    "deepcopy": lambda embedding: copy.deepcopy(embedding).weight,
    "pickle": lambda embedding: pickle.loads(pickle.dumps(embedding)).weight,
    "gather": lambda embedding: embedding.table.gather(np.arange(ROWS)),
    "rows": lambda embedding: ramet.nn.TableRows(embedding.table, torch.arange(ROWS), ROWS).rows(),
    "flush": lambda embedding: embedding.table.flush(),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_the_process_asks_the_host_for_has_the_steps(gpu, way):
    plain, cached = made(cached=None), made()
    view, before = cached.table.numpy(), cached.table.numpy().copy()
    for embedding, device in ((plain, None), (cached, gpu)):
        make_step(embedding, ramet.optim.SGD(embedding, lr=1.0), 0, device)
    assert repr(cached.table) == repr(plain.table)
    assert (cached.table.scale, cached.table.is_encoded) == (None, False)
    np.testing.assert_array_equal(view[CACHED], before[CACHED])  # which none of these writes back
    got = WAYS[way](cached)
    np.testing.assert_array_equal(view if got is None else np.asarray(got), plain.table.numpy())


def test_a_dropped_table_leaves_its_steps_to_other_handles(gpu):
    plain, cached = made(cached=None), made()
    other = pickle.loads(pickle.dumps(cached.table))
    one, optimizer = ramet.optim.SGD(plain, lr=1.0), ramet.optim.SGD(cached, lr=1.0)
    make_step(plain, one, 0)
    make_step(cached, optimizer, 0, gpu)
    assert not np.array_equal(rows_of(other), rows_of(plain.table))
    del cached, optimizer
    np.testing.assert_array_equal(rows_of(other), rows_of(plain.table))


def test_a_step_whose_part_on_the_host_fails_is_made_once(gpu, monkeypatch):
    plain, cached = made(cached=None), made()
    one, other = (ramet.optim.Adam(embedding, lr=0.1) for embedding in (plain, cached))
    make_step(plain, one, 0)
    apply, failures = TrainableRows._apply, [MemoryError("no memory")]

    def fail_once(self, step, lists):
        if lists and failures:
            raise failures.pop()
        apply(self, step, lists)

    monkeypatch.setattr(TrainableRows, "_apply", fail_once)
    with pytest.raises(MemoryError, match="no memory"):
        make_step(cached, other, 0, gpu)
    other.step()
    for a, b in zip(everything(one), everything(other), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("write", ["scatter", "refresh", "load_state_dict"])
def test_a_write_that_cannot_reach_the_device_ends_the_cache(gpu, monkeypatch, write, error):
    embedding = made()
    table, given = embedding.table, np.full((ROWS, WIDTH), 9, np.float32)
    table.numpy()[:] = given if write == "refresh" else 0
    writes = {
        "scatter": lambda: table.scatter(np.arange(ROWS), given),
        "refresh": table.refresh,
        "load_state_dict": lambda: embedding.load_state_dict({"weight": torch.from_numpy(given)}),
    }

    def fail(self, ids):
        raise error

    monkeypatch.setattr(CachedRows, "read_host", fail)
    with pytest.raises(error):
        writes[write]()
    monkeypatch.undo()
    assert table.cached is None
    assert (table.numpy() == 9).all()


def write_in_child(embedding, queue) -> None:
    table, zeros = embedding.table, np.zeros((ROWS, WIDTH), np.float32)
    calls = {
        "scatter": lambda: table.scatter(np.arange(ROWS), zeros),
        "add": lambda: table.add(np.arange(ROWS), -table.numpy()),
        "copy_from": lambda: table.copy_from(ramet.Table(zeros)),
        "load_state_dict": lambda: embedding.load_state_dict({"weight": torch.from_numpy(zeros)}),
        "refresh": table.refresh,
    }
    for name, call in calls.items():
        try:
            queue.put((name, call()))
        except Exception as error:
            queue.put((name, f"{type(error).__name__}: {error}"))


def test_a_forked_child_reads_what_is_written_back_and_writes_nothing(gpu):
    embedding = made()
    make_step(embedding, ramet.optim.SGD(embedding, lr=1.0), 0, gpu)
    before = embedding.table.numpy().copy()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=write_in_child, args=(embedding, queue), daemon=True)
    process.start()
    try:
        answers = [queue.get(timeout=60) for _ in range(5)]
        process.join(60)
    finally:
        process.kill()
    for name, answer in answers:
        assert "RuntimeError: the table has rows cached on a device by process" in str(answer), name
    np.testing.assert_array_equal(embedding.table.numpy(), before)


def test_writes_of_the_table_reach_both_and_those_of_others_after_refresh(gpu):
    embedding, there = made(), devices.move(torch.arange(6), gpu)
    table = embedding.table
    view = table.numpy()
    optimizer = ramet.optim.SGD(embedding, lr=1.0)
    make_step(embedding, optimizer, 0, gpu)
    table.scatter([0, 1, 0], np.full((3, WIDTH), [[1], [2], [3]], np.float32))
    table.add([0, 1], np.ones((2, WIDTH), np.float32))
    assert view[:2, 0].tolist() == [4, 3]
    assert devices.on_host(table.gather(there))[:2, 0].tolist() == [4, 3]
    assert devices.on_host(table.gather(there, dtype="float64")).dtype == torch.float64
    make_step(embedding, optimizer, 1, gpu)
    with pytest.raises(ValueError, match=r"changed cached rows since the last flush\(\)"):
        table.refresh()
    table.flush()
    view[:6] = 7
    assert (devices.on_host(table.gather(there)) == 7).all(1).tolist() == [False, True, True, False, True, True]
    table.refresh()
    assert (devices.on_host(table.gather(there)) == 7).all()
    make_step(embedding, optimizer, 2, gpu)
    embedding.load_state_dict({"weight": torch.full((ROWS, WIDTH), 9.0)})
    assert (devices.on_host(embedding(there)) == 9).all()


def train_until_killed(pickled: bytes, queue) -> None:
    emulated_devices.use_device()
    table, embedding = pickle.loads(pickled)
    queue.put(table.gather([1, 9]).tolist())
    table.scatter([2], np.full((1, 2), 9, np.float32))
    embedding.table.cache(CACHED)
    optimizer = ramet.optim.SGD(embedding, lr=1.0)
    make_step(embedding, optimizer, 0, devices.as_device("cuda:0"))
    embedding.table.flush()
    make_step(embedding, optimizer, 1, devices.as_device("cuda:0"))
    queue.put(None)
    signal.pause()


def test_another_process_has_the_same_rows_and_leaves_what_it_flushed_when_killed(gpu):
    """Of cached rows what was flushed, and of the others what the last step left. docs/tables.md, "Tables on
    devices"."""
    table = ramet.Table.create((10, 2), location="device", placement="chunked", init="uniform")
    embedding, plain = made(cached=None), made(cached=None)
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=train_until_killed, args=(pickle.dumps((table, embedding)), queue), daemon=True)
    process.start()
    try:
        assert queue.get(timeout=60) == table.gather([1, 9]).tolist()
        assert queue.get(timeout=60) is None
    finally:
        process.kill()
        process.join()
    assert table.gather([2]).tolist() == [[9, 9]]
    optimizer = ramet.optim.SGD(plain, lr=1.0)
    make_step(plain, optimizer, 0)
    flushed = plain.weight[CACHED].clone()
    make_step(plain, optimizer, 1)
    assert not torch.equal(plain.weight[CACHED], flushed)
    plain.weight[CACHED] = flushed
    assert torch.equal(embedding.weight, plain.weight)


def test_what_does_not_fit_is_refused_by_name(gpu):
    table = ramet.Table.create((ROWS, WIDTH), init=1)
    table.cache([3])
    for ids, error, message in (
        ([0, ROWS], IndexError, rf"ids\[1\] = {ROWS} is outside the {ROWS} rows"),
        ([5, -1], IndexError, rf"ids\[1\] = -1 is outside the {ROWS} rows"),
        ([0.5], TypeError, "ids"),
    ):
        with pytest.raises(error, match=message):
            table.cache(ids)
    assert table.cached.tolist() == [3]
    table.cache(devices.move(torch.tensor([4, 3, 4]), gpu))
    assert table.cached.tolist() == [3, 4]
    with pytest.raises(IndexError, match=rf"ids\[1\] = {ROWS} is outside the {ROWS} rows"):
        table.gather(devices.move(torch.tensor([0, ROWS]), gpu))
    graph = homogeneous()
    for refused, message in (
        (ramet.Table.create((9, 2), location="device"), "on the device; cached are continuous"),
        (ramet.Table.create((9, 2), placement="chunked"), "the rows are chunked"),
        (ramet.Table(ramet.quantize(np.ones((9, 2), np.float32))), "the rows of the table have a scale"),
        (graph.table("feat"), "the table is read-only"),
    ):
        with pytest.raises(ValueError, match=message):
            refused.cache([1])


def test_a_loader_reads_cached_rows_as_steps_leave_them(gpu):
    graph = homogeneous()
    embedding = ramet.nn.Embedding(graph.num_nodes(), WIDTH, seed=1)
    table, optimizer = embedding.table, ramet.optim.SGD(embedding, lr=1.0)
    table.cache(np.arange(0, len(table), 2))

    def made(**options) -> ramet.NeighborLoader:
        return ramet.NeighborLoader(graph, [2], "train", 8, tables={"feat": table}, **options)

    loader = made(device="cuda", placement=ramet.Placement(cache_rows=1))
    assert loader.placement["feat"].place == "in_place"
    for _ in range(2):
        make_step(embedding, optimizer, 0, gpu)
        for batch in loader:
            x, ids = devices.on_host(batch.x), devices.on_host(batch.n_id)
            assert torch.equal(x, devices.on_host(table.gather(batch.n_id)))
            assert batch.cache_use == {"hits": int((ids % 2 == 0).sum()), "misses": int((ids % 2).sum())}
    for options, message in (
        ({}, "a ramet.Table with rows on a device in tables"),
        ({"device": "cuda", "placement": "staged"}, "are cached on the device, but processors would read them"),
        ({"device": "cuda", "features": ramet.Features(fuse=True)}, "processors would average them"),
    ):
        with pytest.raises(ValueError, match=message):
            made(**options)
    batches = iter(loader)
    next(batches)
    table.cache([1])
    for again in (batches, iter(made(device="cuda"))):
        table.cache([2])
        with pytest.raises(ValueError, match="other rows cached than when the loader was made"):
            next(again)


@pytest.mark.without_gpu
def test_without_a_device_it_says_why():
    table = ramet.Table.create(10)
    with pytest.raises(RuntimeError, match=r"CUDA|GPU|driver"):
        table.cache([1])
    assert table.cached is None
