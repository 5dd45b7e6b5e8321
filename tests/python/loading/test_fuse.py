"""Loaders that average features over the first block themselves, and transpose blocks ahead."""

import gc
import pickle
from dataclasses import replace

import numpy as np
import processes
import pytest
from small_graphs import CITES, NUM_NODES, REVERSE, WRITES, heterogeneous, homogeneous

import ramet

torch = pytest.importorskip("torch")

from ramet.nn import Embedding, GINConv, TableRows, aggregate, edges_of  # noqa: E402  (needs torch)

NEEDED = {"num_neighbors": [4, 3], "input_nodes": "train", "batch_size": 40, "shuffle": True}
DTYPES = ["float32", "float16", "bfloat16", "int8 by row", "int8 by column"]
SAMPLERS = ["uniform", "labor", ramet.Labor(iterations=1), ramet.Labor(weights="horvitz-thompson")]


def graph_of(dtype: str, width: int = 19) -> ramet.Graph:
    rows = np.random.default_rng(3).standard_normal((NUM_NODES, width)).astype(np.float32)
    name, _, scaled_by = dtype.partition(" by ")
    if name == "int8":
        return homogeneous(feat=ramet.quantize(rows, scaled_by))
    return homogeneous(feat=torch.from_numpy(rows).to(getattr(torch, name)))


def pairs(graph, **options):
    """(fused batch, the same without fuse) of an epoch."""
    options = NEEDED | options
    features = options.pop("features", ramet.Features())
    fused = ramet.NeighborLoader(graph, features=replace(features, fuse=True), **options)
    return zip(fused, ramet.NeighborLoader(graph, features=features, **options))


@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_means_have_the_bits_of_gathered_rows(dtype, sampler):
    graph = graph_of(dtype)
    for fused, plain in pairs(graph, sampler=sampler):
        block, rows = fused.blocks[0], fused.x
        assert isinstance(rows, TableRows) and rows.shape == plain.x.shape and len(rows) == len(plain.x)
        assert rows.dtype == plain.x.dtype and fused.fingerprint() == plain.fingerprint()
        assert rows.destinations.equal(plain.x[: block.num_dst])
        assert rows.rows().equal(plain.x)
        for reduce in ("mean", "sum", "max", "min"):
            assert aggregate(block, rows, reduce).equal(aggregate(plain.blocks[0], plain.x, reduce)), reduce


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_rows_that_are_not_decoded_are_rounded_once(dtype):
    for fused, plain in pairs(graph_of(dtype), features=ramet.Features(decode=False)):
        assert fused.x.dtype == plain.x.dtype == getattr(torch, dtype)
        assert aggregate(fused.blocks[0], fused.x).equal(aggregate(plain.blocks[0], plain.x))


def test_rows_of_any_shape():
    for shape in ((), (2, 3)):
        rows = np.random.default_rng(0).standard_normal((NUM_NODES, *shape)).astype(np.float32)
        fused, plain = next(iter(pairs(homogeneous(feat=rows))))
        assert fused.x.destinations.shape[1:] == shape
        assert aggregate(fused.blocks[0], fused.x).equal(aggregate(plain.blocks[0], plain.x))


def test_without_hops_rows_are_gathered():
    for fused, plain in pairs(homogeneous(), num_neighbors=[]):
        assert not fused.blocks and fused.x.equal(plain.x)


def test_weights_of_the_user_and_scores():
    fused, plain = next(iter(pairs(graph_of("float16", 6))))
    block = fused.blocks[0]
    for heads in ([], [3]):
        weights = torch.randn(block.num_edges, *heads)
        for reduce in ("sum", "mean", "softmax"):
            wanted = aggregate(plain.blocks[0], plain.x, reduce, weights)
            assert aggregate(block, fused.x, reduce, weights).equal(wanted)
    weights = torch.randn(block.num_edges, requires_grad=True)
    aggregate(block, fused.x, "sum", weights).square().sum().backward()
    gradient, weights.grad = weights.grad, None
    aggregate(plain.blocks[0], plain.x, "sum", weights).square().sum().backward()
    assert gradient.equal(weights.grad)


@pytest.mark.parametrize("threads", [1, 2, 5, None])
def test_any_number_of_threads(threads):
    graph = graph_of("float16")
    expected = [
        aggregate(b.blocks[0], b.x)
        for b in ramet.NeighborLoader(graph, threads=1, features=ramet.Features(fuse=True), **NEEDED)
    ]
    loader = ramet.NeighborLoader(graph, threads=threads, features=ramet.Features(fuse=True, transpose="all"), **NEEDED)
    for batch, means in zip(loader, expected, strict=True):
        assert aggregate(batch.blocks[0], batch.x).equal(means)


def test_a_heterogeneous_graph_by_edge_type():
    graph = heterogeneous()
    options = {"num_neighbors": [3, 2], "input_nodes": ("paper", "train"), "batch_size": 20}
    for fused, plain in pairs(graph, **options):
        block = fused.blocks[0]
        got, wanted = aggregate(block, fused.x), aggregate(plain.blocks[0], plain.x)
        assert got.keys() == wanted.keys() == {CITES, WRITES, REVERSE}
        assert all(got[t].equal(wanted[t]) for t in got)
        assert all(fused.x[t].destinations.equal(plain.x[t][: block.num_dst[t]]) for t in ("paper", "author"))


def test_the_loaders_means_are_handed_out_until_they_are_written_to():
    fused, plain = next(iter(pairs(graph_of("float32"))))
    block = fused.blocks[0]
    means = aggregate(block, fused.x)
    assert aggregate(block, fused.x).data_ptr() == means.data_ptr()
    means += 1
    assert aggregate(block, fused.x).equal(aggregate(plain.blocks[0], plain.x))


def test_layers_do_not_write_to_the_loaders_means():
    fused, _ = next(iter(pairs(graph_of("float32"))))
    block = fused.blocks[0]
    means = aggregate(block, fused.x)
    before = means.clone()
    GINConv(torch.nn.Identity(), aggr="mean", train_eps=True, eps=0.5)(fused.x, block)
    assert means.equal(before) and not means.requires_grad


@pytest.mark.parametrize("loader_too", [True, False])
def test_inference_mode(loader_too):
    graph = graph_of("float32")
    wanted = [aggregate(plain.blocks[0], plain.x) for _, plain in pairs(graph)]
    with torch.inference_mode(loader_too):
        for (fused, _), expected in zip(pairs(graph), wanted, strict=True):
            with torch.inference_mode():
                means = aggregate(fused.blocks[0], fused.x)
                assert means.equal(expected)
                assert aggregate(fused.blocks[0], fused.x).data_ptr() == means.data_ptr()
                means += 1
                assert aggregate(fused.blocks[0], fused.x).equal(expected)
                assert aggregate(fused.blocks[0], fused.x.to("cpu")).equal(expected)


def test_tables_that_are_given():
    graph, rows = homogeneous(), np.random.default_rng(1).standard_normal((NUM_NODES, 5)).astype(np.float32)
    hashed = ramet.Table.create(rows.shape, "float32", placement="chunked", ownership="hash")
    hashed.scatter(np.arange(NUM_NODES), rows)
    for table in (ramet.Table(rows), hashed):
        fused, plain = next(iter(pairs(graph, tables={"feat": table})))
        assert aggregate(fused.blocks[0], fused.x).equal(aggregate(plain.blocks[0], plain.x))
        assert aggregate(fused.blocks[0], fused.x, "max").equal(aggregate(plain.blocks[0], plain.x, "max"))
        assert fused.x.rows().equal(plain.x)


def test_table_rows_by_hand():
    graph = graph_of("bfloat16")
    batch = next(iter(ramet.NeighborLoader(graph, tables=(), **NEEDED)))
    block, table = batch.blocks[0], graph.table("feat")
    rows = TableRows(table, block.n_id, block)
    gathered = table.gather(block.n_id, dtype="float32")
    assert aggregate(block, rows).equal(aggregate(block, gathered))
    assert rows.destinations.equal(gathered[: block.num_dst]) and rows.rows().equal(gathered)
    assert TableRows(table.torch(), block.n_id, block.num_dst).destinations.equal(rows.destinations)
    raw = TableRows(table, block.n_id, block, decode=False)
    assert raw.dtype == torch.bfloat16 and raw.rows().equal(table.gather(block.n_id))
    inner = batch.blocks[1]
    assert aggregate(inner, TableRows(table, inner.n_id, inner)).equal(aggregate(inner, gathered))


def test_what_no_table_rows_are_made_of():
    graph = graph_of("float32")
    block = next(iter(ramet.NeighborLoader(graph, tables=(), **NEEDED))).blocks[0]
    feat, n_id = graph.table("feat"), block.n_id
    with pytest.raises(TypeError, match="table is a Embedding, whose rows learn: gather them, as in embedding"):
        TableRows(Embedding(NUM_NODES, 4), n_id, block)
    with pytest.raises(TypeError, match="table is a tensor that requires a gradient, whose rows learn"):
        TableRows(torch.zeros(NUM_NODES, 4, requires_grad=True), n_id, block)
    with pytest.raises(TypeError, match="table holds int64, expected float32, float16, bfloat16, or int8 with a scale"):
        TableRows(graph.table("label"), n_id, block)
    with pytest.raises(TypeError, match="ids has dtype float64; ids are integers"):
        TableRows(feat, n_id.double(), block)
    with pytest.raises(ValueError, match=f"n_id has 3 ids, but the block has {block.num_src} sources"):
        TableRows(feat, n_id[:3], block)
    with pytest.raises(ValueError, match=r"n_id has shape \[1, \d+\], expected one dimension"):
        TableRows(feat, n_id[None], block)
    with pytest.raises(ValueError, match=f"block is 5000, expected at most {block.num_src}"):
        TableRows(feat, n_id, 5000)
    beyond = n_id.clone()
    beyond[-1] = NUM_NODES
    with pytest.raises(IndexError, match=rf"ids\[{len(n_id) - 1}\] = 1000 is outside the 1000 rows"):
        aggregate(block, TableRows(feat, beyond, block))
    other = next(iter(ramet.NeighborLoader(heterogeneous(), [2], input_nodes=("paper", "train")))).blocks[0]
    with pytest.raises(TypeError, match="block is of a heterogeneous graph: give the number of destinations"):
        TableRows(feat, n_id, other)
    with pytest.raises(ValueError, match=f"n_id has {block.num_dst} ids, but the edges have {block.num_src} sources"):
        aggregate(block, TableRows(feat, n_id[: block.num_dst], block.num_dst))


WRONG = [
    ({"expand": "once"}, ValueError, "features.fuse is True, which expand='once' does not take: it makes no blocks"),
    ({"tables": ("label",)}, ValueError, "is True, but there is no table 'feat' to fuse: `tables` does not name"),
    ({"tables": {"feat": ramet.Table(np.zeros(NUM_NODES, np.int64))}}, ValueError, "are {'node': 'int64'}, exp"),
    ({"features": ramet.Features(transpose=True), "expand": "once"}, ValueError, r"\.transpose is True, which expand="),
    ({"features": "fuse"}, TypeError, r"features is 'fuse', expected a ramet\.Features"),
    ({"fuse": True}, TypeError, r"no 'fuse': `features=ramet\.Features\(fuse=\.\.\.\)`"),
]


@pytest.mark.parametrize("options, error, words", WRONG, ids=str)
def test_what_does_not_go_together(options, error, words):
    with pytest.raises(error, match=words):
        ramet.NeighborLoader(homogeneous(), **{"features": ramet.Features(fuse=True)} | NEEDED | options)


WRONG_FIELDS = [
    ({"decode": None}, TypeError, "features.decode is None, expected True or False"),
    ({"fuse": "feat"}, TypeError, "features.fuse is 'feat', expected True or False"),
    ({"transpose": "some"}, ValueError, "features.transpose is 'some', expected True, False or 'all'"),
    ({"transpose": 7}, TypeError, "features.transpose is 7, expected True or False"),
    ({"dtype": "float16"}, ValueError, "features.dtype is 'float16', expected None or bfloat16"),
    ({"dtype": "bfloat16", "decode": False}, ValueError, "features.decode=False keeps rows as they are stored"),
    ({"dtype": "bfloat16", "fuse": True}, ValueError, "features.fuse=True sums rows in float32"),
]


@pytest.mark.parametrize("fields, error, words", WRONG_FIELDS, ids=str)
def test_fields_of_features_are_checked_when_they_are_made(fields, error, words):
    with pytest.raises(error, match=words):
        ramet.Features(**fields)


def test_int8_that_is_not_decoded_is_refused():
    with pytest.raises(ValueError, match="or int8 with a scale and features"):
        ramet.NeighborLoader(graph_of("int8 by row"), features=ramet.Features(fuse=True, decode=False), **NEEDED)


@pytest.mark.parametrize("transpose, expected", [(False, [0, 0, 0]), (True, [0, 1, 1]), ("all", [1, 1, 1])])
@pytest.mark.parametrize("graph", [homogeneous, heterogeneous])
def test_blocks_are_transposed_ahead(graph, transpose, expected):
    graph = graph()
    options = {"num_neighbors": [3, 2, 2], "input_nodes": (graph.node_types[0], None), "batch_size": 30}
    batch = next(iter(ramet.NeighborLoader(graph, features=ramet.Features(transpose=transpose), **options)))
    of_types = [[edges_of(b[t]) for t in graph.edge_types] if graph.is_hetero else [edges_of(b)] for b in batch.blocks]
    assert [[edges.core.is_transposed for edges in of_block] for of_block in of_types] == [
        [bool(wanted)] * len(graph.edge_types) for wanted in expected
    ]


def test_a_step_has_the_gradients_of_one_without():
    graph, weight = graph_of("float32"), torch.randn(19, 7, generator=torch.Generator().manual_seed(0))

    def gradient(batch):
        layer = weight.clone().requires_grad_()
        h = (aggregate(batch.blocks[0], batch.x) @ layer).relu()
        aggregate(batch.blocks[1], h).square().sum().backward()
        return layer.grad

    for fused, plain in pairs(graph, features=ramet.Features(transpose=True)):
        assert gradient(fused).equal(gradient(plain))


def test_after_a_fork():
    graph = graph_of("float32")
    loader = ramet.NeighborLoader(graph, features=ramet.Features(fuse=True, transpose=True), **NEEDED)

    def sums():
        return [aggregate(batch.blocks[0], batch.x).sum().item() for batch in loader]

    assert processes.in_fork(sums) == sums()


def test_a_loader_that_is_left_early_and_resumed():
    graph = graph_of("float32")
    loader = ramet.NeighborLoader(graph, features=ramet.Features(fuse=True, transpose="all"), threads=2, **NEEDED)
    expected = [aggregate(batch.blocks[0], batch.x) for batch in loader]
    loader.set_epoch(0)
    iterator = iter(loader)
    for _ in range(3):
        next(iterator)
    del iterator
    state = loader.state_dict()
    plain = ramet.NeighborLoader(graph, **NEEDED)  # how rows come is no part of what is sampled
    plain.load_state_dict(state)
    assert state == plain.state_dict()
    other = ramet.NeighborLoader(graph, features=ramet.Features(fuse=True), **NEEDED)
    other.load_state_dict(state)
    for batch, means in zip(other, expected[3:], strict=True):
        assert aggregate(batch.blocks[0], batch.x).equal(means)


def test_buffers_return_when_the_last_tensor_dies():
    graph = graph_of("float32", 256)
    loader = ramet.NeighborLoader(
        graph, features=ramet.Features(fuse=True, transpose="all"), prefetch=1, threads=1, **NEEDED
    )
    iterator = iter(loader)
    for _ in range(len(loader)):  # to the end: nothing is made ahead
        batch = next(iterator)
    means = aggregate(batch.blocks[0], batch.x)
    of_batch = loader.buffer_bytes["in_use"]
    assert batch.x.destinations.nbytes + means.nbytes < of_batch
    del batch, iterator
    gc.collect()
    assert means.nbytes <= loader.buffer_bytes["in_use"] < of_batch / 2
    del means
    gc.collect()
    assert loader.buffer_bytes["in_use"] == 0


def test_counts_and_the_summary():
    fused, plain = next(iter(pairs(graph_of("float32", 512))))
    rows = fused.x.destinations.nbytes + aggregate(fused.blocks[0], fused.x).nbytes
    assert fused.nbytes == plain.nbytes - plain.x.nbytes + rows
    assert fused.timings["gather"] > 0 and "TableRows" in repr(fused.x)
    loader = ramet.NeighborLoader(graph_of("float32"), features=ramet.Features(fuse=True, transpose="all"), **NEEDED)
    batches = list(loader)
    assert loader.summary().bytes == sum(batch.nbytes for batch in batches)
    assert loader.summary().gather_seconds == pytest.approx(sum(batch.timings["gather"] for batch in batches))
    assert "feat" in batches[0]._repr_html_()


def test_pickled_and_moved():
    fused, plain = next(iter(pairs(graph_of("float16"))))
    again = pickle.loads(pickle.dumps(fused.x))
    assert aggregate(fused.blocks[0], again).equal(aggregate(plain.blocks[0], plain.x))
    assert again.destinations.equal(fused.x.destinations)
    moved = fused.to("meta")
    assert moved.x.device.type == "meta" and moved.x.destinations.device.type == "meta"
