"""What a user does with a batch: writes into it, moves it, and asks for it in the words of PyG and DGL."""

import numpy as np
import pytest
from small_graphs import CITES, heterogeneous, homogeneous, numpy_of

import ramet

torch = ramet._support.tensors.torch_or_none()
needs_torch = pytest.mark.skipif(torch is None, reason="needs torch")
GARBAGE = (-(2**63), -1, 2**20, 2**40, 2**63 - 1)


def loader_of(graph, **options) -> ramet.NeighborLoader:
    return ramet.NeighborLoader(graph, [4, 3], "train", 20, **options)


@pytest.fixture
def batch(graph) -> ramet.Batch:
    return next(iter(loader_of(graph)))


# ---- written to in place


def use(batch) -> list[str]:
    """Every accessor; the errors' texts."""
    errors = []
    uses = [lambda: batch.fingerprint(), lambda: batch.tables, lambda: repr(batch), lambda: batch.scales]
    names = ("edge_index", "edge_weight", "e_id", "position", "n_id", "indptr", "indices", "num_edges", "plan")
    for block in batch.blocks:
        uses += [lambda block=block, name=name: getattr(block, name) for name in names]
    for call in uses:
        try:
            call()
        except (ValueError, IndexError) as error:
            errors.append(str(error))
    return errors


@pytest.mark.parametrize("value", GARBAGE)
@pytest.mark.parametrize("sampler", ["uniform", "labor"])
def test_offsets_that_were_written_to_are_errors(graph, sampler, value):
    for at in (0, 1, -1, slice(None)):
        for i in range(2):
            batch = next(iter(loader_of(graph, sampler=sampler)))
            numpy_of(batch.blocks[i].indptr)[at] = value
            errors = use(batch)
            assert errors, (at, value)
            assert all("indptr[" in error and "written to" in error for error in errors)


@pytest.mark.parametrize("value", GARBAGE)
@pytest.mark.parametrize("name", ["indices", "n_id", "position", "e_id", "edge_weight", "edge_index"])
def test_other_arrays_may_hold_anything(graph, name, value):
    batch = next(iter(loader_of(graph, sampler=ramet.Labor(weights="horvitz-thompson"))))
    for block in batch.blocks:
        array = numpy_of(getattr(block, name))
        array[...] = array.dtype.type(value % 2**31)
    assert use(batch) == []


def test_a_batch_goes_on_after_a_descending_block(graph, batch):
    """Sums like DGL's `block.indptr -= block.indptr[0]` are harmless; a mistake is told where it is used."""
    block = batch.blocks[0]
    numpy_of(block.indptr)[1:-1] = numpy_of(block.indptr)[1:-1][::-1].copy()
    with pytest.raises(ValueError, match=r"indptr\[2\] = .* of edge type 0 in a block, expected .* to .*written to"):
        _ = block.edge_index
    assert batch.blocks[1].edge_index.shape == (2, batch.blocks[1].num_edges)


# ---- moved


@needs_torch
def test_a_batch_is_on_the_cpu_already(batch):
    assert batch.to("cpu") is batch
    assert batch.to(torch.device("cpu")) is batch
    assert batch.to(batch.device) is batch
    assert batch.to("cpu", non_blocking=True) is batch


@needs_torch
@pytest.mark.parametrize("make", [homogeneous, heterogeneous])
def test_a_moved_batch_has_all_its_tensors_there(make):
    graph = make()
    there = torch.device("meta")
    seeds = ("paper", "train") if graph.is_hetero else "train"
    batch = next(iter(ramet.NeighborLoader(graph, [4, 3], seeds, 20)))
    moved = batch.to("meta", non_blocking=True)
    assert (batch.device, moved.device) == (None, there)
    assert moved.to("meta") is moved
    assert moved.num_seeds == batch.num_seeds and moved.fingerprint() == batch.fingerprint()

    def check(one, other):
        if isinstance(one, dict):
            assert one.keys() == other.keys()
            for key in one:
                check(one[key], other[key])
        elif isinstance(one, torch.Tensor):
            assert (one.device.type, other.device) == ("cpu", there)
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
        else:
            assert one == other

    for name in ("seeds", "n_id", "x", "y", "tables"):
        check(getattr(batch, name), getattr(moved, name))
    for one, other in zip(batch.blocks, moved.blocks, strict=True):
        for name in ("num_src", "num_edges", "n_id", "indptr", "indices", "edge_index", "e_id", "position"):
            check(getattr(one, name), getattr(other, name))
        check(one.edge_weight, other.edge_weight)
    assert moved.x is moved.x or graph.is_hetero


@needs_torch
def test_edge_rows_and_scales_move():
    random = np.random.default_rng(0)
    rows = random.standard_normal((300, 4)).astype(np.float32)
    graph = ramet.from_edge_index(
        random.integers(0, 50, (2, 300)),
        50,
        nodes={"feat": ramet.quantize(rows[:50])},
        edges={"edge_attr": rows, "more": rows.astype(np.float16)},
    )
    options = {"tables": ("feat", "edge_attr"), "features": ramet.Features(decode=False)}
    batch = next(iter(ramet.NeighborLoader(graph, [4], None, 20, **options)))
    moved = batch.to("meta")
    for of in (batch, moved):
        where = "cpu" if of is batch else "meta"
        block = of.blocks[0]
        tensors = [block.table("edge_attr"), block.table("more") if of is batch else block.table("edge_attr")]
        assert {x.device.type for x in [*tensors, of.scales["feat"]]} == {where}
        assert tensors[0].shape == (block.num_edges, 4)


@needs_torch
def test_what_is_no_device_is_refused(batch):
    for dtype in (torch.float16, torch.zeros(1), True, 1.5):
        with pytest.raises(TypeError, match="expected a device"):
            batch.to(dtype)
    with pytest.raises(RuntimeError, match="float16"):
        batch.to("float16")
    if not torch.cuda.is_available():
        with pytest.raises((AssertionError, RuntimeError), match=r"CUDA|NVIDIA"):
            batch.to("cuda")


# ---- words of PyG and DGL


@pytest.mark.parametrize(
    ("word", "advice"),
    [
        ("num_workers", "threads"),
        ("persistent_workers", "threads"),
        ("pin_memory", "device='cuda'"),
        ("transform", "in the loop"),
        ("collate_fn", "in the loop"),
        ("worker_init_fn", "no worker processes"),
        ("directed", "from sources to destinations"),
        ("subgraph_type", "from sources to destinations"),
        ("time_attr", r"time=ramet\.Time\(table"),
        ("use_uva", "placement='in_place'"),
        ("fanouts", "the seeds' hop first"),
    ],
)
def test_arguments_of_other_loaders_are_named(graph, word, advice):
    with pytest.raises(TypeError, match=f"NeighborLoader has no '{word}': .*{advice}"):
        loader_of(graph, **{word: 4})
    with pytest.raises(TypeError, match="unexpected keyword argument 'batchsize'"):
        loader_of(graph, batchsize=4)


@pytest.mark.parametrize(
    ("of", "word", "advice"),
    [
        ("Batch", "edge_index", "batch.blocks.*edge_index"),
        ("Batch", "e_id", "e_id.*position"),
        ("Batch", "edge_attr", r"block.table\('edge_attr'\)"),
        ("Batch", "srcdata", "batch.tables"),
        ("Batch", "batch_size", "num_seeds"),
        ("Batch", "x_dict", "batch.x"),
        ("Batch", "cuda", r"batch.to\('cuda'\)"),
        ("Batch", "nothing_at_all", ""),
        ("Block", "srcdata", "batch.tables"),
        ("Block", "edata", "block.table"),
        ("Block", "num_dst_nodes", "num_dst"),
        ("Graph", "x", r"graph.table\('feat'\)"),
        ("Graph", "ndata", "graph.table"),
        ("Graph", "edge_index", "graph.indices"),
        ("Graph", "num_classes", "graph.table"),
        ("Graph", "metadata", "graph.node_types, graph.edge_types"),
        ("Graph", "train_mask", r"graph.split\('train'\)"),
    ],
)
def test_attributes_of_others_are_named(graph, batch, of, word, advice):
    one = {"Batch": batch, "Block": batch.blocks[0], "Graph": graph}[of]
    with pytest.raises(AttributeError, match=rf"^ramet.{of} has no '{word}'" + (f": .*{advice}" if advice else "$")):
        getattr(one, word)
    assert not hasattr(one, word)


def test_a_table_is_no_attribute():
    graph = homogeneous(year=np.arange(1000))
    batch = next(iter(loader_of(graph, tables=("year",))))
    with pytest.raises(AttributeError, match=r"batch.tables\['year'\]"):
        _ = batch.year
    with pytest.raises(AttributeError, match=r"batch.x needs the table 'feat', which was not gathered"):
        _ = batch.x


def test_counts_are_methods_and_say_so(graph):
    for use in (
        lambda: graph.num_nodes > 5,
        lambda: graph.num_nodes == 1000,
        lambda: 2 * graph.num_nodes,
        lambda: range(graph.num_nodes),
        lambda: int(graph.num_nodes),
        lambda: np.zeros(graph.num_nodes),
    ):
        with pytest.raises(TypeError, match=r"write graph.num_nodes\(\)"):
            use()
    with pytest.raises(TypeError, match=r"write graph.num_edges\(\)"):
        _ = graph.num_edges / 2
    assert "graph.num_nodes()" in f"{graph.num_nodes}"
    assert (graph.num_nodes(), graph.num_nodes("node"), graph.num_edges()) == (1000, 1000, 8000)
    assert heterogeneous().num_edges(edge_type=CITES) == 3000


def test_rows_by_brackets(graph):
    table, rows = graph.table("feat"), graph.table("feat").numpy()
    np.testing.assert_array_equal(table[3], rows[3])
    np.testing.assert_array_equal(table[np.int32(3)], rows[3])
    np.testing.assert_array_equal(table[[5, 0, 5]], rows[[5, 0, 5]])
    np.testing.assert_array_equal(table[np.array([7])], rows[[7]])
    np.testing.assert_array_equal(table[10:20:3], rows[10:20:3])
    np.testing.assert_array_equal(table[-5:], rows[-5:])
    assert len(graph.table("label")[:]) == len(graph.table("label")) == 1000
    for wrong in (1000, -1, [0, 1000]):
        with pytest.raises(IndexError, match=r"1000|-1"):
            table[wrong]
    with pytest.raises(TypeError, match="one index, of rows, not 2"):
        table[[1, 2], 0]
    if torch is not None:
        assert isinstance(table[torch.tensor([1])], torch.Tensor)
        np.testing.assert_array_equal(numpy_of(table[torch.tensor([1, 2])]), rows[[1, 2]])


# ---- shown


def test_loaders_and_summaries_are_printed(graph):
    loader = loader_of(graph, shuffle=True)
    for part in ("batches=11", "batch_size=20", "num_neighbors=[4, 3]", "tables=['feat', 'label']", "shuffle=True"):
        assert part in repr(loader)
    for _ in loader:
        pass
    assert repr(loader.summary()) == f"<ramet.Summary: {loader.summary()}>"
    assert "-bound: the loop waited" in repr(loader.summary())


@pytest.mark.parametrize("make", [homogeneous, heterogeneous])
def test_notebooks_show_tables(make):
    graph = make()
    loader = ramet.NeighborLoader(graph, [4, 3], ("paper", "train") if graph.is_hetero else "train", 20)
    batch = next(iter(loader))
    for shown, part in ((graph, "split train"), (batch, "block 1"), (loader, "num_neighbors")):
        text = shown._repr_html_()
        assert text.startswith("<div>") and text.count("<tr>") == text.count("</tr>") > 3
        assert part in text and "feat" in text
    assert "&lt;" in loader._repr_html_() and "<ramet" not in loader._repr_html_()
