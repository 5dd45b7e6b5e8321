"""float16, bfloat16 and int8 with a scale: encoded, stored, shared and loaded; and what is refused."""

import json
import pickle

import numpy as np
import pytest
from encoded_rows import FORMS, encoded, features, forms, stored
from small_graphs import NUM_NODES, heterogeneous, homogeneous, numpy_of
from source_files import write_npz

import ramet
from ramet._support.tensors import to_tensor
from ramet.commands.main import main
from ramet.dtypes import LARGEST, as_float32, dtype_name, encode

torch = ramet._support.tensors.torch_or_none()
needs_torch = pytest.mark.skipif(torch is None, reason="needs torch")


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
    monkeypatch.setattr("ramet.storage.recode.LARGE", 1000)
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
        words = x[ids].view(torch.int16).numpy().view(np.uint16)
        np.testing.assert_array_equal(table.gather(ids.numpy())["bfloat16"], words)


def test_bfloat16_without_torch(monkeypatch):
    rows = encode(features(), "bfloat16", "x")
    monkeypatch.setattr("ramet._support.tensors.torch_or_none", lambda: None)
    handed_on = to_tensor(rows)
    assert handed_on.dtype == np.uint16 and np.shares_memory(handed_on, rows)


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
    from ramet.train.node_task import NodeTask

    graph = homogeneous()
    store = stored(graph, tmp_path, form)
    decoded = as_float32(encoded(graph.table("feat").numpy(), form))

    def own_rows(x, block):
        return x[: block.num_dst]

    np.testing.assert_array_equal(layerwise(store, [own_rows, own_rows]), decoded)
    brain = layerwise(store, [own_rows, own_rows], dtype=torch.bfloat16)  # hidden rows are bfloat16, too
    assert torch.equal(brain, torch.from_numpy(decoded).bfloat16())
    assert NodeTask(store, dict.fromkeys(("train", "val", "test"), np.arange(9))).num_features == 8


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


# ---- the command line


@pytest.mark.parametrize("scale", ["row", "column"])
def test_build_and_info(tmp_path, capsys, scale):
    file = write_npz(tmp_path / "graph.npz")
    argv = ["build", tmp_path / "store", file, "--dtype", "int8", "--scale", scale, "--quiet"]
    assert main(list(map(str, argv))) == 0
    assert main(["info", str(tmp_path / "store"), "--json"]) == 0
    feat = json.loads(capsys.readouterr().out)["node_types"][0]["tables"]["feat"]
    scale_bytes = 12 if scale == "row" else 8
    assert feat == {"dtype": "int8", "shape": [3, 2], "bytes": 6, "scale": scale, "scale_bytes": scale_bytes}
    assert main(["info", str(tmp_path / "store")]) == 0
    assert f"int8[3, 2], 6 B, a scale per {scale}, {scale_bytes} B" in capsys.readouterr().out
    ramet.build(tmp_path / "brain", file, dtype="bfloat16")
    decoded = ramet.open(tmp_path / "brain").table("feat").gather([0, 1, 2], dtype="float32")
    assert decoded.tolist() == [[1, 3], [0, 0], [5, 0]]
