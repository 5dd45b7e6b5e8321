"""float16, bfloat16 and int8 with a scale: encoded, stored, shared, gathered and loaded; and what is refused."""

import json
import pickle

import numpy as np
import pytest
from small_graphs import NUM_NODES, heterogeneous, homogeneous, numpy_of

import ramet
from ramet.cli import main
from ramet.dtypes import LARGEST, as_float32, dtype_name, encode
from ramet.tensors import to_tensor

torch = ramet.tensors.torch_or_none()
needs_torch = pytest.mark.skipif(torch is None, reason="needs torch")

FORMS = {
    "float16": {"dtype": "float16"},
    "bfloat16": {"dtype": "bfloat16"},
    "int8 by row": {"dtype": "int8", "scale": "row"},
    "int8 by column": {"dtype": "int8", "scale": "column"},
}
forms = pytest.mark.parametrize("form", FORMS)


def features(rows=300, width=7) -> np.ndarray:
    """Values over many magnitudes, a row and a column of zeros, and a negative zero."""
    random = np.random.default_rng(3)
    x = (random.standard_normal((rows, width)) * 10.0 ** random.uniform(-3, 3, (rows, width))).astype(np.float32)
    x[5:6], x[:, 2], x[6:7, 0] = 0, 0, -0.0
    return x


def encoded(x, form: str):
    return encode(x, FORMS[form]["dtype"], "x", scale=FORMS[form].get("scale", "row"))


def stored(graph, tmp_path, form: str, **options) -> ramet.Graph:
    ramet.save(graph, tmp_path / form, **FORMS[form], **options)
    return ramet.open(tmp_path / form)


# ---- encoding


def within_bound(x, form: str, decoded) -> bool:
    error = np.abs(decoded.astype(np.float64) - x)
    if form == "float16":
        return bool(np.all(error <= np.maximum(np.abs(x) * 2.0**-11, 2.0**-25)))
    if form == "bfloat16":
        return bool(np.all(error <= np.abs(x) * 2.0**-8))
    return bool(np.all(error <= encoded(x, form).scale * (0.5 + 1e-4)))


@forms
def test_encoding_and_back_keeps_its_bound(form):
    x = features()
    rows = encoded(x, form)
    decoded = as_float32(rows)
    assert within_bound(x, form, decoded)
    assert not decoded[5].any() and not decoded[:, 2].any()
    again = encoded(decoded, form)  # what was encoded once stays what it is
    np.testing.assert_array_equal(as_float32(again), decoded)


@forms
def test_chunks_do_not_matter(form, monkeypatch):
    x = features()
    whole = encoded(x, form)
    monkeypatch.setattr("ramet.dtypes.CHUNK_VALUES", 50)
    np.testing.assert_array_equal(as_float32(encoded(x, form)), as_float32(whole))
    np.testing.assert_array_equal(as_float32(encoded(x.astype(np.float64), form)), as_float32(whole))


def test_encoding_starts_from_float32():
    x = np.array([[1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-8 + 2.0**-40]])  # ties in float32, to even
    assert as_float32(encode(x, "float16", "x"))[0, 0] == 1
    assert as_float32(encode(x, "bfloat16", "x"))[0, 1] == 1


@needs_torch
def test_bfloat16_rounds_as_torch_does():
    words = np.random.default_rng(0).integers(0, 2**32, 200_000, np.uint32)
    halves = (np.arange(65536, dtype=np.uint32) << 16)[:, None] + np.array([0, 0x7FFF, 0x8000, 0x8001], np.uint32)
    x = np.concatenate((words, halves.ravel())).view(np.float32)
    x = x[(np.abs(x) <= LARGEST["bfloat16"]) | ~np.isfinite(x)]
    ours, theirs = encode(x, "bfloat16", "x"), torch.from_numpy(x).bfloat16()
    np.testing.assert_array_equal(as_float32(ours), theirs.float().numpy())


def test_quantize_in_full():
    x = np.array([[127.0, -63.5, 0.5, 1.5], [0, 0, 0, 0], [-2.54, 0, 1.27, 0.0127]], np.float32)
    by_row = ramet.quantize(x)
    assert by_row.values.tolist() == [[127, -64, 0, 2], [0, 0, 0, 0], [-127, 0, 64, 1]]
    assert by_row.scale.shape == (3, 1) and by_row.scale.dtype == np.float32
    assert by_row.scale[:2, 0].tolist() == [1, 0]
    by_column = ramet.quantize(x, scale="column")
    assert by_column.scale.shape == (1, 4)
    assert by_column.values[0].tolist() == [127, -127, 50, 127]
    deep = ramet.quantize(np.ones((3, 2, 5)))
    assert deep.scale.shape == (3, 1, 1)
    assert ramet.quantize(np.zeros((0, 4), np.float32)).scale.shape == (0, 1)
    assert ramet.quantize(np.zeros((0, 4), np.float32), "column").scale.shape == (1, 4)
    tiny = ramet.quantize(np.float32([[1e-45, -1e-45]]))  # a scale that is no float32 any more
    assert (tiny.values * tiny.scale).tolist() == [[0, 0]]


@pytest.mark.parametrize(
    ("dtype", "value", "message"),
    [
        ("float16", 65505, r"x\[250, 3\] is 65505.0, beyond the 65504 of float16"),
        ("bfloat16", -3.4e38, r"x\[250, 3\] is -3.4.*e\+38, beyond the 3.38953e\+38 of bfloat16"),
        ("float32", 1e39, r"x\[250, 3\] is 1e\+39, beyond the 3.40282e\+38 of float32"),
        ("int8", np.nan, r"x\[250, 3\] is nan, and int8 holds finite"),
        ("int8", -np.inf, r"x\[250, 3\] is -inf, and int8 holds finite"),
        ("int8", 1e39, r"x\[250, 3\] is 1e\+39, and int8 holds finite"),
    ],
)
def test_values_that_do_not_fit(dtype, value, message, monkeypatch):
    monkeypatch.setattr("ramet.dtypes.CHUNK_VALUES", 100)
    x = features().astype(np.float64)
    x[250, 3] = value
    for scale in ("row", "column"):
        with pytest.raises(ValueError, match=message):
            encode(x, dtype, "x", scale=scale)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_infinities_and_nan_stay(dtype):
    x = np.array([np.inf, -np.inf, np.nan, 1], np.float32)
    np.testing.assert_array_equal(as_float32(encode(x, dtype, "x")), x)


# ---- stores


@forms
def test_saved_tables_decode_to_what_was_encoded(form, tmp_path):
    graph = homogeneous()
    x = graph.table("feat").numpy()
    store = stored(graph, tmp_path, form)
    table = store.table("feat")
    expected = as_float32(encoded(x, form))
    ids = np.random.default_rng(0).integers(0, NUM_NODES, 5000)
    for threads in (1, 2):
        np.testing.assert_array_equal(table.gather(ids, threads, dtype="float32"), expected[ids])
    assert (table.scale is not None) == form.startswith("int8")
    assert table.is_encoded and not store.table("label").is_encoded
    np.testing.assert_array_equal(store.table("label").numpy(), graph.table("label").numpy())
    assert main(["verify", str(tmp_path / form), "--quiet"]) == 0
    for other in (pickle.loads(pickle.dumps(table)), ramet.open(tmp_path / form, "copy-on-write").table("feat")):
        np.testing.assert_array_equal(other.gather(ids, dtype=np.float32), expected[ids])


@forms
def test_a_saved_table_may_be_saved_again(form, tmp_path):
    graph = homogeneous()
    first = stored(graph, tmp_path, form)
    ramet.save(first, tmp_path / "copy")
    ramet.save(first, tmp_path / "same", **FORMS[form])
    ids = np.arange(NUM_NODES)
    for copy in (tmp_path / "copy", tmp_path / "same"):
        table = ramet.open(copy).table("feat")
        assert repr(table) == repr(first.table("feat"))
        assert table.numpy().tobytes() == first.table("feat").numpy().tobytes()
    ramet.save(first, tmp_path / "back", dtype="float32")
    back = ramet.open(tmp_path / "back").table("feat")
    assert back.dtype == np.float32 and back.scale is None
    np.testing.assert_array_equal(back.numpy(), first.table("feat").gather(ids, dtype="float32"))
    for dtype in ("float32", "float16", "bfloat16", "int8"):  # from each to each
        ramet.save(first, tmp_path / "other", dtype=dtype)
        assert ramet.open(tmp_path / "other").table("feat").shape == back.shape


@pytest.mark.parametrize("form", [str, np.dtype, "numpy's scalar type", "torch"])
def test_dtypes_in_any_form(form, tmp_path):
    for name in ("float32", "float16", "bfloat16", "int8"):
        if form is str:
            dtype = name
        elif form == "torch":
            dtype = getattr(torch or pytest.skip("needs torch"), name)
        elif name == "bfloat16":
            dtype = ramet.bfloat16
        else:
            dtype = np.dtype(name) if form is np.dtype else np.dtype(name).type
        ramet.save(homogeneous(), tmp_path / "store", dtype={"feat": dtype})
        table = ramet.open(tmp_path / "store").table("feat")
        assert dtype_name(table.dtype) == name
        if name == "int8":
            with pytest.raises(ValueError, match="or as one of"):
                table.gather([0], dtype=dtype)
        else:
            assert dtype_name(table.gather([0], dtype=dtype).dtype) == name


def test_dtypes_by_table_of_every_node_type(tmp_path):
    graph = heterogeneous()
    ramet.save(graph, tmp_path / "store", dtype={"feat": "int8"})
    store = ramet.open(tmp_path / "store")
    for node_type in ("paper", "author"):
        table = store.table("feat", node_type)
        assert table.dtype == np.int8
        assert table.scale.shape == (graph.num_nodes(node_type), 1)
    assert store.table("age", "author").dtype == graph.table("age", "author").dtype


def test_large_tables_are_encoded_in_files_beside_the_store(tmp_path, monkeypatch):
    monkeypatch.setattr("ramet.stores.recode.LARGE", 1000)
    graph = homogeneous()
    ramet.save(graph, tmp_path / "store", dtype="int8")
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
    expected = ramet.quantize(graph.table("feat").numpy())
    np.testing.assert_array_equal(ramet.open(tmp_path / "store").table("feat").numpy(), expected.values)


@forms
def test_graphs_in_memory_take_them(form, tmp_path):
    x = features(4, 3)
    weight = features(3, 3)
    rows = encoded(x, form)
    graph = ramet.from_edge_index(
        [[0, 1, 2], [1, 3, 0]], 4, nodes={"feat": rows}, edges={"w": encoded(weight, form)}, undirected=True
    )
    ids = np.arange(4)
    np.testing.assert_array_equal(graph.table("feat").gather(ids, dtype="float32"), as_float32(rows))
    table = graph.table("w", ("node", "to", "node"))  # a reverse has its edge's row
    expected = as_float32(encoded(weight, form))[graph.edge_ids() % 3]
    np.testing.assert_array_equal(table.gather(np.arange(6), dtype="float32"), expected)
    ramet.save(graph, tmp_path / "store")
    assert repr(ramet.open(tmp_path / "store").table("w", ("node", "to", "node"))) == repr(table)
    np.testing.assert_array_equal(ramet.Table(rows).gather(ids, dtype="float32"), as_float32(rows))
    copy = pickle.loads(pickle.dumps(ramet.Table(rows)))
    np.testing.assert_array_equal(copy.gather(ids, dtype="float32"), as_float32(rows))


@needs_torch
def test_torch_bfloat16_in_and_out():
    x = torch.from_numpy(features(NUM_NODES)).bfloat16()
    graph = homogeneous(brain=x, turned=x.t().contiguous().t())
    for name in ("brain", "turned"):
        table = graph.table(name)
        assert table.dtype == ramet.bfloat16
        assert table.torch().dtype == torch.bfloat16 and torch.equal(table.torch(), x)
        ids = torch.tensor([5, 0, 999])
        assert torch.equal(table.gather(ids), x[ids])
        assert torch.equal(table.gather(ids, dtype=torch.float32), x[ids].float())
        out = torch.empty(3, 7, dtype=torch.bfloat16)
        assert table.gather(ids, out=out) is out and torch.equal(out, x[ids])
        words = x[ids].view(torch.int16).numpy().view(np.uint16)
        np.testing.assert_array_equal(table.gather(ids.numpy())["bfloat16"], words)


def test_bfloat16_without_torch(monkeypatch):
    rows = encode(features(), "bfloat16", "x")
    monkeypatch.setattr("ramet.tensors.torch_or_none", lambda: None)
    handed_on = to_tensor(rows)
    assert handed_on.dtype == np.uint16 and np.shares_memory(handed_on, rows)


# ---- buffers of the caller


def test_out_is_filled_and_returned():
    x = features()
    ids = np.array([7, 0, 7, 299])
    for rows in (x, ramet.quantize(x), encode(x, "float16", "x")):
        table = ramet.Table(rows)
        out = np.empty((4, 7), np.float32)
        assert table.gather(ids, dtype="float32", out=out) is out
        np.testing.assert_array_equal(out, table.gather(ids, dtype="float32"))
        raw = np.empty((4, 7), table.dtype)
        assert table.gather(ids, 2, out=raw) is raw
        np.testing.assert_array_equal(raw, table.numpy()[ids])


def test_out_may_be_a_mapped_file(tmp_path):
    x = features()
    out = np.memmap(tmp_path / "out", np.float32, "w+", shape=(2, 7))
    assert ramet.Table(x).gather([4, 0], out=out) is out
    np.testing.assert_array_equal(np.fromfile(tmp_path / "out", np.float32).reshape(2, 7), x[[4, 0]])


@pytest.mark.parametrize(
    ("out", "error", "message"),
    [
        (np.empty((2, 7)), ValueError, r"out is float64\[2, 7\], but the rows are float32\[2, 7\]"),
        (np.empty((3, 7), "f4"), ValueError, r"out is float32\[3, 7\]"),
        (np.empty((2, 8), "f4"), ValueError, r"out is float32\[2, 8\]"),
        (np.empty((7, 2), "f4").T, ValueError, "C-contiguous"),
        (np.broadcast_to(np.float32(0), (2, 7)), ValueError, "C-contiguous"),
        (np.zeros(57, "i1")[1:].view("f4").reshape(2, 7), ValueError, "aligned"),
        ([[0] * 7] * 2, TypeError, "out is a list"),
    ],
)
def test_outs_that_do_not_fit(out, error, message):
    table = ramet.Table(ramet.quantize(features()))
    with pytest.raises(error, match=message):
        table.gather([1, 2], dtype="float32", out=out)


def test_outs_that_must_not_be_written():
    x = features()
    table = ramet.Table(x)
    with pytest.raises(ValueError, match="memory of table"):
        table.gather([1, 2], out=x[:2])
    rows = ramet.quantize(x)
    with pytest.raises(ValueError, match="memory of the scale of table"):
        ramet.Table(rows).gather(np.arange(10), dtype="float32", out=rows.scale[:70].reshape(10, 7))
    ids = np.arange(14)
    with pytest.raises(ValueError, match="memory of ids"):
        table.gather(ids[12:], out=ids[7:].view(np.float32).reshape(2, 7))
    frozen = np.empty((2, 7), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        table.gather([1, 2], out=frozen)
    out = np.zeros((2, 7), np.float32)
    with pytest.raises(IndexError, match=r"ids\[1\] = 300 is outside the 300 rows"):
        table.gather([1, 300], out=out)


@pytest.mark.parametrize(
    ("rows", "dtype", "message"),
    [
        (np.zeros((3, 2), np.int8), "float32", "holds int8 and has no scale; float32, float16, bfloat16"),
        (np.zeros(3, np.int64), "float32", "holds int64; float32"),
        (np.zeros(3, np.int64), "bfloat16", "holds int64; float32"),
        (np.zeros(3, np.float16), "int8", r"dtype is 'int8'; .* come as float16 \(None\) or as one of \('float32',"),
        (np.zeros(3, np.float16), [5], r"dtype is \[5\]; rows of table come as float16"),
    ],
)
def test_dtypes_that_a_table_has_not(rows, dtype, message):
    with pytest.raises(ValueError, match=message):
        ramet.Table(rows).gather([0], dtype=dtype)


@needs_torch
@pytest.mark.parametrize("stored", ["float32", "float16", "bfloat16", "float64", "int8 by row"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_gathers_round_to_any_float(stored, dtype):
    x, ids, wanted = features(), np.array([[3, 0], [7, 3]]), getattr(torch, dtype)
    rows = encoded(x, stored) if stored in FORMS else x.astype(stored)
    table = ramet.Table(rows)
    wide = torch.from_numpy(x.astype(stored) if stored == "float64" else as_float32(rows))
    expected = wide[torch.from_numpy(ids)].to(wanted)
    got, out = table.gather(torch.from_numpy(ids), dtype=wanted), torch.empty_like(expected)
    assert got.dtype == wanted and torch.equal(got, expected)
    assert table.gather(ids, dtype=dtype, out=out) is out and torch.equal(out, expected)
    with pytest.raises(ValueError, match=f"but the rows are {dtype}"):
        table.gather(ids, dtype=dtype, out=np.empty((2, 2, 7), np.int32))


# ---- the loader


@forms
def test_batches_decode_or_hand_on(form, tmp_path):
    graph = homogeneous()
    store = stored(graph, tmp_path, form)
    decoded = as_float32(encoded(graph.table("feat").numpy(), form))
    for decode in (True, False):
        for batch in ramet.NeighborLoader(
            store, [4, 3], "train", 50, threads=2, features=ramet.Features(decode=decode)
        ):
            n_id = numpy_of(batch.n_id)
            if decode:
                assert numpy_of(batch.x).dtype == np.float32
                np.testing.assert_array_equal(batch.x, decoded[n_id])
                continue
            x = batch.x if form != "bfloat16" or torch is None else batch.x.view(torch.int16).numpy().view(np.uint16)
            raw = store.table("feat").numpy()[n_id]
            np.testing.assert_array_equal(x, raw["bfloat16"] if form == "bfloat16" else raw)
            if form.startswith("int8"):
                np.testing.assert_array_equal(batch.x * batch.scales["feat"], decoded[n_id])
            else:
                assert batch.scales == {}


def test_heterogeneous_batches(tmp_path):
    graph = heterogeneous()
    for scale in ("row", "column"):
        ramet.save(graph, tmp_path / "store", dtype="int8", scale=scale)
        store = ramet.open(tmp_path / "store")
        given = dict(num_neighbors=[3, 2], input_nodes=("paper", "train"), batch_size=20)
        for decode, hand_on in zip(
            ramet.NeighborLoader(store, **given),
            ramet.NeighborLoader(store, **given, features=ramet.Features(decode=False)),
            strict=True,
        ):
            for node_type in ("paper", "author"):
                rows = numpy_of(hand_on.x[node_type] * hand_on.scales["feat"][node_type])
                np.testing.assert_array_equal(decode.x[node_type], rows)
            np.testing.assert_array_equal(decode.y, hand_on.y)


@needs_torch
@forms
def test_inference_and_training_decode(form, tmp_path):
    from ramet.nn import layerwise
    from ramet.train.task import find_task

    graph = homogeneous()
    store = stored(graph, tmp_path, form)
    decoded = as_float32(encoded(graph.table("feat").numpy(), form))

    def own_rows(x, block):
        return x[: block.num_dst]

    np.testing.assert_array_equal(layerwise(store, [own_rows, own_rows]), decoded)
    brain = layerwise(store, [own_rows, own_rows], dtype=torch.bfloat16)  # hidden rows are bfloat16, too
    assert torch.equal(brain, torch.from_numpy(decoded).bfloat16())
    assert find_task(store, dict.fromkeys(("train", "val", "test"), np.arange(9))).num_features == 8


# ---- bad input


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"dtype": "float64"}, ValueError, "dtype is 'float64'; features are float32, float16, bfloat16 or int8"),
        ({"dtype": np.dtype("f8")}, ValueError, r"dtype is dtype\('float64'\); features are float32"),
        ({"dtype": 5}, ValueError, "dtype is 5; features are float32"),
        ({"dtype": "int8", "scale": "both"}, ValueError, "scale is 'both'; int8 is scaled by row or by column"),
        ({"scale": "both"}, ValueError, "scale is 'both'; int8 is scaled by row or by column"),
        ({"dtype": {5: "int8"}}, TypeError, "dtype names a table 5; the names of tables are strings"),
        ({"dtype": {"none": "int8"}}, KeyError, "no node type has such a table"),
        ({"dtype": {"label": "int8"}}, ValueError, "node/node/label holds int64"),
        ({"dtype": {"spoilt": "int8"}}, ValueError, r"node/node/spoilt\[3\] is nan"),
        ({"dtype": {"large": "float16"}}, ValueError, r"node/node/large\[999\] is 70000"),
    ],
)
def test_saving_refuses_before_it_writes(tmp_path, arguments, error, message):
    spoilt, large = np.zeros((2, NUM_NODES), np.float32)
    spoilt[3], large[999] = np.nan, 7e4
    with pytest.raises(error, match=message):
        ramet.save(homogeneous(spoilt=spoilt, large=large), tmp_path / "store", **arguments)
    assert list(tmp_path.iterdir()) == []


def test_quantized_rows_are_compared_by_identity():
    rows = ramet.quantize(features())
    assert rows == rows and rows != ramet.quantize(features()) and len({rows}) == 1


@pytest.mark.parametrize(
    ("values", "scale", "error", "message"),
    [
        (np.zeros((3, 2), np.uint8), np.zeros((3, 1), "f4"), TypeError, r"values is uint8\[3, 2\]"),
        (np.zeros((3, 2), np.int8), np.zeros((3, 1)), TypeError, r"scale is float64\[3, 1\]"),
        (np.zeros((3, 2), np.int8), None, TypeError, "scale is a NoneType"),
        (np.zeros((3, 2), np.int8), np.zeros(3, "f4"), ValueError, r"scale has shape \[3\]; .* \[3, 1\] .* \[1, 2\]"),
        (np.zeros((3, 2), np.int8), np.float32([[1], [-1], [1]]), ValueError, r"scale\[1, 0\] is -1.0"),
        (np.zeros((3, 2), np.int8), np.float32([[1, np.nan]]), ValueError, r"scale\[0, 1\] is nan"),
    ],
)
def test_quantized_rows_that_contradict_themselves(values, scale, error, message):
    with pytest.raises(error, match=message):
        ramet.Quantized(values, scale)


def test_tables_of_rows_and_their_scale():
    rows = ramet.quantize(features())
    expected = as_float32(rows)[[3, 1]]
    unaligned = np.zeros(4 * len(rows.scale) + 1, np.uint8)[1:].view(np.float32).reshape(rows.scale.shape)
    unaligned[:] = rows.scale
    sparse = np.repeat(rows.scale, 2, axis=0)[::2]
    for scale in (rows.scale, unaligned, sparse, *([torch.from_numpy(rows.scale)] if torch else [])):
        table = ramet.Table(rows.values, scale=scale)
        assert table.scale.flags.c_contiguous and table.scale.flags.aligned
        np.testing.assert_array_equal(table.gather([3, 1], dtype="float32"), expected)
    with pytest.raises(TypeError, match="rows is Quantized and has its scale"):
        ramet.Table(rows, scale=rows.scale)


def test_what_cannot_be_quantized():
    for bad in ("rows", None, 1):
        with pytest.raises(ValueError, match="scale is"):
            ramet.quantize(features(), bad)
    with pytest.raises(TypeError, match="x has dtype int64"):
        ramet.quantize(np.arange(3))


def test_names_of_scales_are_taken():
    with pytest.raises(ValueError, match=r"nodes\['feat.scale'\]: a table's name cannot end in '.scale'"):
        ramet.from_arrays([0, 0], [], nodes={"feat.scale": np.zeros((1, 1), np.float32)})
    with pytest.raises(ValueError, match=r"edges\['w.scale'\]: a table's name cannot end in '.scale'"):
        ramet.from_arrays([0, 1], [0], edges={"w.scale": np.zeros(1)})


def test_a_store_without_its_scale(tmp_path, capsys):
    ramet.save(homogeneous(), tmp_path / "store", dtype="int8")
    scale = tmp_path / "store/node/node/feat.scale.npy"
    np.save(scale, np.full((NUM_NODES, 1), np.nan, np.float32))
    assert main(["verify", str(tmp_path / "store"), "--quiet"]) == 1
    assert "feat.scale.npy, entry 0: nan is no scale" in capsys.readouterr().err
    np.save(scale, np.zeros((NUM_NODES, 2), np.float32))
    with pytest.raises(ramet.CorruptStoreError, match=r"float32\[1000, 2\], but int8\[1000, 8\] needs"):
        ramet.open(tmp_path / "store")
    scale.unlink()
    with pytest.raises(ramet.CorruptStoreError, match=r"feat.scale.npy: is missing"):
        ramet.open(tmp_path / "store")


# ---- the command line


@pytest.mark.parametrize("scale", ["row", "column"])
def test_build_and_info(tmp_path, capsys, scale):
    indptr, indices = np.array([0, 1, 2, 2]), np.array([1, 2])
    parts = {"adj_data": np.ones(2), "adj_indices": indices, "adj_indptr": indptr, "adj_shape": (3, 3)}
    attributes = {
        "attr_data": [1.0, 2, 3],
        "attr_indices": [0, 1, 1],
        "attr_indptr": [0, 1, 2, 3],
        "attr_shape": (3, 2),
    }
    np.savez(tmp_path / "graph.npz", **parts, **attributes, labels=np.zeros(3, int))
    argv = ["build", tmp_path / "store", tmp_path / "graph.npz", "--dtype", "int8", "--scale", scale, "--quiet"]
    assert main(list(map(str, argv))) == 0
    assert main(["info", str(tmp_path / "store"), "--json"]) == 0
    feat = json.loads(capsys.readouterr().out)["node_types"][0]["tables"]["feat"]
    scale_bytes = 12 if scale == "row" else 8
    assert feat == {"dtype": "int8", "shape": [3, 2], "bytes": 6, "scale": scale, "scale_bytes": scale_bytes}
    assert main(["info", str(tmp_path / "store")]) == 0
    assert f"int8[3, 2], 6 B, a scale per {scale}, {scale_bytes} B" in capsys.readouterr().out
    ramet.build(tmp_path / "brain", tmp_path / "graph.npz", dtype="bfloat16")
    decoded = ramet.open(tmp_path / "brain").table("feat").gather([0, 1, 2], dtype="float32")
    assert decoded.tolist() == [[1, 0], [0, 2], [0, 3]]
