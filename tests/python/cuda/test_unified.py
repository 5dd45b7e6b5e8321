"""UnifiedTensor against torch's own indexing."""

import multiprocessing
import os
import pickle

import numpy as np
import processes
import pytest
import small_graphs
import torch
import unified_child
from refusals import error_of
from unified_rows import ROWS, equal, host, on_gpu, on_own_pages, rows_of

import ramet
from ramet._support import torch_devices as devices
from ramet.cuda import UnifiedTensor

INTEGERS = "int8 uint8 int16 uint16 int32 uint32 int64 uint64"
FLOATING = "float16 bfloat16 float32 float64"
DTYPES = [getattr(torch, name) for name in f"bool {INTEGERS} {FLOATING}".split() if hasattr(torch, name)]


INDICES = [
    3,
    -1,
    np.int32(4),
    torch.tensor(5),
    slice(None),
    slice(3, 40, 4),
    slice(-5, None),
    slice(9, 2),
    [1, 2, -3],
    [],
    torch.tensor([0, 0, 49, -50]),
    torch.tensor([[1, 2], [3, -4]], dtype=torch.int32),
    torch.zeros(0, 3, dtype=torch.int64),
    np.array([[[1]], [[-2]]]),
    np.arange(ROWS) % 3 == 0,
    torch.arange(ROWS) % 5 == 1,
    torch.zeros(ROWS, dtype=torch.bool),
    ...,
]


@pytest.mark.parametrize("placement", ["in_place", "device", "pinned_copy"])
@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_indices_mean_what_they_mean_to_torch(index, placement):
    rows = rows_of()
    unified = UnifiedTensor(rows, placement=placement)
    assert equal(unified[index], rows[index])
    if isinstance(index, torch.Tensor):
        assert equal(unified[on_gpu(index)], rows[index])


def test_integers_of_every_width_are_ids():
    rows = rows_of()
    assert equal(UnifiedTensor(rows)[torch.tensor([1, 0, 1], dtype=torch.uint8)], rows[[1, 0, 1]])
    assert equal(UnifiedTensor(rows)[np.array([1, 49], np.uint16)], rows[[1, 49]])
    assert equal(UnifiedTensor(rows)[torch.tensor([7, -1], dtype=torch.int16)], rows[[7, 49]])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(ROWS,), (ROWS, 3), (ROWS, 2, 5), (ROWS, 0)], ids=str)
def test_every_dtype(dtype, shape):
    rows = rows_of(dtype, shape)
    unified = UnifiedTensor(rows)
    assert (unified.dtype, unified.shape, len(unified)) == (rows.dtype, rows.shape, ROWS)
    ids = [5, 0, 49]
    assert host(unified[ids]).tolist() == rows.tolist()[5:6] + rows.tolist()[0:1] + rows.tolist()[49:]
    unified[[1, 2]] = unified[[3, 4]]
    host(unified[0])
    assert rows[1].tolist() == rows[3].tolist()


ENCODE = {
    "float16": lambda rows: on_own_pages(rows.half()),
    "bfloat16": lambda rows: on_own_pages(rows.bfloat16()),
    "int8 by row": lambda rows: ramet.quantize(rows.numpy(), scale="row"),
    "int8 by column": lambda rows: ramet.quantize(rows.numpy(), scale="column"),
}


@pytest.mark.parametrize("encode", ENCODE.values(), ids=ENCODE)
def test_encoded_tables_come_as_they_are_or_as_float32(encode):
    table = ramet.Table(encode(torch.randn(ROWS, 13)))
    ids = np.array([4, 4, 17, 0])
    for placement in ("in_place", "device", "pinned_copy"):
        stored = UnifiedTensor(table, placement=placement)[ids]
        assert equal(stored, table.gather(torch.from_numpy(ids)))
        decoded = UnifiedTensor(table, placement=placement, decode=True)
        assert decoded.dtype == torch.float32
        assert equal(decoded[ids], table.gather(torch.from_numpy(ids), dtype="float32"))
    cached = UnifiedTensor(table, cached=[0, 4], decode=True)
    assert equal(cached[ids], table.gather(torch.from_numpy(ids), dtype="float32"))
    assert cached.cache_hits == 3


def test_tables_of_a_store(tmp_path):
    ramet.save(small_graphs.heterogeneous(), tmp_path / "store")
    graph = ramet.open(tmp_path / "store")
    feat = graph.table("feat", "paper")
    ids = torch.tensor([3, 499, 0])
    for unified in (
        UnifiedTensor(feat),
        UnifiedTensor.from_store(tmp_path / "store", "feat", "paper"),
        UnifiedTensor.from_store(graph, "feat", "paper", "cuda", placement="device"),
    ):
        assert equal(unified[ids], feat.gather(ids))
        assert unified.nbytes == feat.numpy().nbytes
    with pytest.raises(ValueError, match="read-only"):
        unified[ids] = 1.0
    with pytest.raises(KeyError, match="no table 'nothing'"):
        UnifiedTensor.from_store(graph, "nothing", "paper")


def test_pickles_as_its_source(tmp_path):
    ramet.save(small_graphs.homogeneous(), tmp_path / "store")
    unified = UnifiedTensor.from_store(tmp_path / "store", "feat", cached=[1, 2], max_sms=3)
    data = pickle.dumps(unified)
    assert len(data) < 2000
    again = pickle.loads(data)
    assert again.num_cached == 2
    assert equal(again[[5, 1]], host(unified[[5, 1]]))


def test_goes_to_another_process(tmp_path):
    ramet.save(small_graphs.homogeneous(), tmp_path / "store")
    unified = UnifiedTensor.from_store(tmp_path / "store", "feat")
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(2) as pool:
        there = pool.map(unified_child.gather, [(pickle.dumps(unified), ids) for ids in ([3, 1], [999])], 1)
    assert [torch.tensor(rows).tolist() for rows in there] == [host(unified[ids]).tolist() for ids in ([3, 1], [999])]


def test_keeps_its_source_alive():
    unified = UnifiedTensor(rows_of(torch.int64, (1 << 16, 4)).mul_(0).add_(7))
    torch.full((1 << 16, 4), 3)  # would get the memory
    assert host(unified[[0, 65535]]).tolist() == [[7] * 4] * 2


def test_gather_into_and_on_a_stream():
    rows = rows_of()
    unified = UnifiedTensor(rows)
    out = devices.empty((2, 7), torch.float32, devices.as_device(None))
    assert unified.gather([1, 2], out=out, max_sms=1) is out
    assert equal(out, rows[[1, 2]])
    assert equal(
        unified.gather(on_gpu([[3], [4]]), stream=devices.as_stream(None, unified.device)),
        rows[torch.tensor([[3], [4]])],
    )
    assert equal(unified.gather(on_gpu([3, 4]), check=True), rows[[3, 4]])


@pytest.mark.parametrize("dtype", [torch.int8, torch.float16, torch.float32], ids=str)
@pytest.mark.parametrize("columns", [25, 301, 602])
def test_every_order_and_limit_gathers_the_same(dtype, columns):
    """docs/cuda.md, "How fast" and "Beside training": rows of 2.5 MB and more, which are several regions."""
    rows = rows_of(dtype, (100_000 // columns * 25, columns))
    ids = torch.randint(0, len(rows), (300,))
    ids[7] = ids[200] = 5
    expected = rows[ids]
    placed = [{"placement": place} for place in ("in_place", "device", "pinned_copy")]
    for options in (*placed, {"cached": [5]}, {"order": "sorted", "max_sms": 0}):
        unified = UnifiedTensor(rows, **options)
        assert equal(unified[ids], expected)
        for order in ("auto", "sorted", "as_given"):
            for max_sms in (None, 0, 1):
                assert equal(unified.gather(on_gpu(ids), order=order, max_sms=max_sms), expected)
                assert equal(unified.gather(ids.int(), order=order, max_sms=max_sms, check=True), expected)
    with pytest.raises(IndexError, match=r"ids\[1\] = -3 is outside"):
        unified.gather(on_gpu([0, -3, 1 << 40]), check=True)


def test_a_stream_uses_the_ids_it_is_given(monkeypatch):
    """Also those that become int64 first: their memory is read by the stream."""
    rows = rows_of()
    unified = UnifiedTensor(rows)
    stream = devices.as_stream(None, unified.device)
    marked = []
    monkeypatch.setattr(devices, "mark_use", lambda tensor, on: marked.append(tensor))
    for dtype in (torch.int64, torch.int16):
        ids = on_gpu([3, 4], dtype)
        assert equal(unified.gather(ids, stream=stream), rows[[3, 4]])
        unified.scatter(ids, unified[[3, 4]], stream=stream)
        assert sum(tensor is ids for tensor in marked) == 2


def test_checks():
    unified = UnifiedTensor(rows_of())
    with pytest.raises(IndexError, match=r"ids\[1\] = 50 is outside the 50 rows"):
        unified.gather(on_gpu([0, 50, -1]), check=True)
    with pytest.raises(IndexError, match=r"ids\[2\] = -1 is outside the 50 rows"):
        unified.gather(on_gpu([0, 5, -1]), check=True)
    with pytest.raises(IndexError, match=r"ids\[1\] is -1, but there are 50 rows"):
        unified.gather([0, -1])
    out = on_gpu(torch.full((2, 7), 3.0))
    unified.gather(on_gpu([50, -9]), out=out)
    assert equal(out, torch.full((2, 7), 3.0))
    for index in (50, -51, [0, 50], torch.tensor([[-51]])):
        with pytest.raises(IndexError, match="but there are 50 rows"):
            unified[index]
    with pytest.raises(IndexError, match=r"ids\[0\] = 77"):
        unified.scatter(on_gpu([77, 1]), unified[[0, 1]], check=True)


@pytest.mark.parametrize("placement", ["in_place", "device", "pinned_copy"])
def test_writes(placement):
    rows = rows_of()
    expected, before = rows.clone(), rows.clone()
    unified = UnifiedTensor(rows, placement=placement)
    for index, value in (
        (3, 1.5),
        (slice(4, 8), torch.arange(7.0)),
        ([9, -1], torch.rand(2, 7)),
        (torch.arange(ROWS) > 45, 2),
        (torch.tensor([[20, 21], [22, 23]]), torch.rand(2, 2, 7)),
    ):
        unified[index] = value
        expected[index] = value if isinstance(value, torch.Tensor) else float(value)
    unified.scatter(on_gpu([30, 31, 30]), on_gpu(torch.stack([torch.full((7,), float(i)) for i in range(3)])))
    expected[30], expected[31] = 2.0, 1.0
    assert equal(unified[:], expected)
    assert torch.equal(rows, expected if placement == "in_place" else before)
    with pytest.raises(ValueError, match="decodes"):
        UnifiedTensor(on_own_pages(rows.half()), placement=placement, decode=True)[0] = 1


def test_cache():
    rows = rows_of()
    mask = torch.arange(ROWS) < 10
    for cached in (range(10), np.arange(10), mask, on_gpu(torch.arange(10))):
        unified = UnifiedTensor(rows, cached=cached)
        assert equal(unified[torch.arange(5, 15)], rows[5:15])
        assert (unified.num_cached, unified.cache_hits) == (10, 5)
        assert unified.device_bytes == 10 * 28 + 4 * ROWS
    assert "10 rows cached" in repr(unified)
    with pytest.raises(IndexError, match=r"ids\[1\] = 50"):
        UnifiedTensor(rows, cached=[0, 50])
    with pytest.raises(ValueError, match="no use"):
        UnifiedTensor(rows, cached=[0], placement="device")
    with pytest.raises(ValueError, match="cache"):
        unified[0] = 1
    with pytest.raises(TypeError, match="cached"):
        UnifiedTensor(rows, cached=[0.5])


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: UnifiedTensor([[1.0]]), TypeError, "source is a list"),
        (lambda: UnifiedTensor(torch.zeros(4, 4).T), ValueError, "strides"),
        (lambda: UnifiedTensor(np.zeros((4, 4))[:, ::2]), ValueError, "C-contiguous"),
        (lambda: UnifiedTensor(torch.zeros(())), ValueError, "0 dimensions"),
        (lambda: UnifiedTensor(torch.zeros(2, dtype=torch.complex64)), TypeError, "complex64"),
        (lambda: UnifiedTensor(torch.zeros(2), placement="disk"), ValueError, "placement is 'disk'"),
        (lambda: UnifiedTensor(torch.zeros(2), "cpu"), ValueError, "device is 'cpu'"),
        (lambda: UnifiedTensor(torch.zeros(2), max_sms=-1), ValueError, "max_sms"),
        (lambda: UnifiedTensor(torch.zeros(2), order="random"), ValueError, r"order is 'random', .*'sorted'"),
        (lambda: UnifiedTensor(torch.zeros(2), order=3), TypeError, "order is 3"),
        (lambda: UnifiedTensor(torch.zeros(2, dtype=torch.int8), decode=True), ValueError, "without a scale"),
    ],
)
def test_sources_and_options_that_do_not_fit(make, error, match):
    with pytest.raises(error, match=match):
        make()


@pytest.mark.parametrize(
    ("use", "error", "match"),
    [
        (lambda u: u[1, 2], TypeError, "tuple of 2"),
        (lambda u: u[True], TypeError, "bool"),
        (lambda u: u[1.5], TypeError, "float"),
        (lambda u: u["feat"], TypeError, "str"),
        (lambda u: u[None], TypeError, "NoneType"),
        (lambda u: u[[0.5]], TypeError, "float64"),
        (lambda u: u[torch.zeros(2)], TypeError, "torch.float32"),
        (lambda u: u[np.ones(3, bool)], IndexError, r"shape \[3\]"),
        (lambda u: u[np.array([2**63], np.uint64)], IndexError, "beyond int64"),
        (lambda u: u.gather([1], out=torch.zeros(1, 7)), ValueError, "out lies on cpu"),
        (lambda u: u.gather([1], out=on_gpu(torch.zeros(2, 7))), ValueError, r"float32\[2, 7\]"),
        (lambda u: u.gather([1], out=on_gpu(torch.zeros(1, 7).double())), ValueError, "float64"),
        (lambda u: u.gather([1] * 7, out=on_gpu(torch.zeros(7, 7)).T), ValueError, "strides"),
        (lambda u: u.gather([1], out=3), TypeError, "out is a int"),
        (lambda u: u.gather([1], max_sms=-3), ValueError, "max_sms"),
        (lambda u: u.gather([1], order="random"), ValueError, r"order is 'random', .*'sorted'"),
    ],
)
def test_uses_that_do_not_fit(use, error, match):
    with pytest.raises(error, match=match):
        use(UnifiedTensor(rows_of()))


def test_describes_itself():
    unified = UnifiedTensor(rows_of(torch.float16), decode=True)
    assert repr(unified) == f"<ramet.cuda.UnifiedTensor float16[50, 7] as float32 in_place for {unified.device}>"
    assert ramet.cuda.devices()[0]["multiprocessors"] > 0
    assert ramet.cuda.is_available()


def test_a_forked_child_says_so():
    unified = UnifiedTensor(rows_of())
    message = processes.in_fork(error_of, lambda: unified[0])
    assert message.startswith("RuntimeError") and "fork" in message and str(os.getpid()) in message
