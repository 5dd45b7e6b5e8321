"""docs/pyg.md: rows of a Data are read where they lie, and show what they are when a batch is handed out."""

import copy
import itertools
import threading

import pytest
import torch
from pyg_graphs import CITES, assert_rows, heterogeneous, homogeneous, pairs_of
from torch_geometric.data import Data

import ramet.pyg
from ramet.storage.contents import EDGE


def make(data, **options):
    return ramet.pyg.NeighborLoader(data, [-1, -1], **({"batch_size": 30} | options))


def shared() -> Data:
    """x is in shared memory, y is not."""
    data = homogeneous()
    data.x, data.y = torch.randn(100, 7).share_memory_(), torch.arange(100) * 2
    return data


def graph_of(loader) -> ramet.Graph:
    return loader.node_sampler.source.graph


def test_rows_are_not_copied():
    data = shared()
    loader = make(data)
    assert graph_of(loader).tables() == [] and graph_of(loader).tables(EDGE) == []
    assert_rows([*loader, loader([5, 7])], data)
    data.edge_attr.share_memory_()
    assert_rows(make(data), data)


@pytest.mark.parametrize("share", [True, False], ids=["shared", "own"])
def test_what_is_written_shows_in_the_next_loop(share):
    data = shared()
    if not share:
        data.x = data.x.clone()
    loader = make(data)
    for write in (data.x.numpy().fill, torch.from_dlpack(data.x).fill_, data.x.data.fill_):
        for value in (1.0, 2.0):
            write(value)
            batches = list(loader)
            assert_rows(batches, data)
            assert all((batch.x == value).all() for batch in batches)


def test_rows_of_own_memory_show_what_they_are_when_a_batch_is_handed_out():
    data = shared()
    loader = make(data)
    for number, batch in enumerate(loader):
        assert (batch.y == (data.y[batch.n_id] if number == 0 else number)).all()
        data.y.numpy().fill(number + 1)


CHANGES = {
    "shared": lambda data: setattr(data, "x", torch.randn(100, 7).share_memory_()),
    "own": lambda data: setattr(data, "x", torch.randn(100, 2)),
    "y-shared": lambda data: setattr(data, "y", torch.randn(100, 3).share_memory_()),
    "set": lambda data: data.x.set_(torch.randn(100, 4)),
    "set-shared": lambda data: data.y.set_(torch.arange(100).share_memory_()),
    "moved": lambda data: data.y.share_memory_(),
    "resized": lambda data: data.y.resize_(100, 2).fill_(3),
    "by-column": lambda data: setattr(data, "y", torch.randn(100, 9).t().contiguous().t()),
    "strided": lambda data: setattr(data, "y", torch.randn(100, 9)[:, 2:5]),
    "one-row": lambda data: setattr(data, "y", torch.randn(9).expand(100, 9)),
    "grad": lambda data: data.x.requires_grad_(),
    "deleted": lambda data: delattr(data, "x"),
}


@pytest.mark.parametrize("when", ["between loops", "in a loop"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_replaced_shows_in_the_next_batch(change, when):
    data = shared()
    loader = make(data)
    batches = iter(loader)
    assert_rows([next(batches)], data)
    if when == "between loops":
        assert_rows(batches, data)
    change(data)
    assert_rows([*batches, *loader, loader([1, 2])], data)


def test_rows_that_are_deleted_are_not_read():
    loader = make(shared())
    assert "tables=['x']" in repr(loader._engine)
    del loader.data.x, loader.data.y
    _ = list(loader)
    assert "tables=[]" in repr(loader._engine)


@pytest.mark.parametrize("when", ["between loops", "in a loop"])
def test_memory_that_is_freed_is_an_error(when):
    """Torch leaves such a tensor its shape."""
    data = shared()
    loader = make(data)
    batches = iter(loader)
    _ = next(batches) if when == "in a loop" else list(batches)
    data.y.untyped_storage().resize_(8)
    with pytest.raises(ValueError, match=r"'y' of shape \[100\] takes 800 bytes, its memory has 8"):
        _ = list(batches if when == "in a loop" else loader)


def test_fewer_rows_are_an_error():
    data = shared()
    loader = make(data)
    _ = list(loader)
    data.y.resize_(40)
    with pytest.raises(IndexError, match="is outside the 40 rows"):
        _ = list(loader)


def test_what_torch_indexes_is_said_once(caplog):
    data = shared()
    data.wide, data.grads = torch.randn(3, 100).t(), torch.randn(100, 2, requires_grad=True)
    for loader in (make(data), make(data)):
        for batch in loader:
            assert torch.equal(batch.wide, data.wide[batch.n_id]) and batch.grads.requires_grad
    (line,) = [record.message for record in caplog.records if "torch indexes" in record.message]
    assert line.endswith("'wide', which is slower: its rows are not contiguous: it has the strides [1, 100]")


def test_large_rows_get_huge_pages_and_may_go_meanwhile():
    x = torch.arange(17 << 20, dtype=torch.float32).view(-1, 1024)
    edges = torch.randint(len(x), (2, 1000))
    for freed in (False, True):
        data = Data(x=x.clone(), edge_index=edges)
        loader = make(data, input_nodes=torch.arange(30))
        if freed:
            del data.x
            data.num_nodes = len(x)
        batch = next(iter(loader))
        assert freed or torch.equal(batch.x, x[batch.n_id])
        for thread in threading.enumerate():
            if thread.name == "ramet-pages":
                thread.join()
        assert freed or torch.equal(data.x, x)


def test_threads_that_move_tensors_meanwhile():
    """Each batch has the rows that were there before, or after."""
    data = homogeneous(2000, 20_000)
    data.x = torch.arange(2000.0)[:, None].repeat(1, 64)
    loader = make(data, batch_size=50)
    ends = threading.Event()

    def move():
        while not ends.is_set():
            data.x.share_memory_()
            data.x = data.x.clone()
            data.edge_attr = data.edge_attr.clone()

    mover = threading.Thread(target=move)
    mover.start()
    try:
        for batch in itertools.chain(loader, loader):
            assert (batch.x == batch.n_id[:, None]).all() and torch.equal(batch.edge_attr, batch.e_id)
    finally:
        ends.set()
        mover.join()


def test_shared_memory_cannot_be_freed_while_a_loader_reads_it():
    data = shared()
    loader = make(data)
    _ = list(loader)
    with pytest.raises(RuntimeError, match="not resizable"):
        data.x.resize_(10_000, 10_000)
    with pytest.raises(RuntimeError):  # torch has changed the shape all the same
        loader([0])


def test_loaders_over_one_topology_share_it():
    data = homogeneous()
    train, evaluate = make(data), make(copy.copy(data))
    graph = graph_of(train)
    assert graph_of(evaluate) is graph and graph_of(make(copy.deepcopy(data))) is graph
    evaluate.data.mark = torch.arange(100)
    del evaluate.data.x
    assert all("x" not in batch and torch.equal(batch.mark, batch.n_id) for batch in evaluate)
    assert all("mark" not in batch and torch.equal(batch.x, batch.n_id) for batch in train)
    other = copy.copy(data)
    other.edge_index = data.edge_index[:, :10]
    other.edge_attr = data.edge_attr[:10]
    assert graph_of(make(other)) is not graph
    data.edge_index[0, 0] += 1
    assert graph_of(make(data)) is not graph


@pytest.mark.parametrize(
    "write",
    [torch.Tensor.__setitem__, lambda edges, at, value: edges.numpy().__setitem__(at, value)],
    ids=["torch", "numpy"],
)
def test_edges_that_are_written_to(write):
    """The next loop draws by them; a loop that runs draws by what was there when it began."""
    data = homogeneous()
    loader = make(data, batch_size=100)
    (before,) = loader
    write(data.edge_index, (0, slice(None)), 7)
    (batch,) = loader
    assert pairs_of(batch.edge_index, batch.n_id, batch.n_id) == {(7, v) for v in data.edge_index[1].tolist()}
    assert len(pairs_of(before.edge_index, before.n_id, before.n_id)) == 500
    data.edge_index = torch.tensor([[1], [0]])
    data.edge_attr = torch.tensor([5])
    batch = loader([0])
    assert batch.n_id.tolist() == [0, 1] and batch.edge_attr.tolist() == [5]
    data.edge_index = torch.tensor([[100], [0]])
    with pytest.raises(IndexError, match="100"):
        _ = list(loader)


@pytest.mark.parametrize("share", [True, False], ids=["shared", "own"])
@pytest.mark.parametrize("write", ["torch", "numpy"])
def test_weights_and_times_that_are_written_to(write, share):
    data = homogeneous()
    data.w, data.time = torch.ones(500), torch.zeros(500, dtype=torch.int64)
    if share:
        data.w.share_memory_(), data.time.share_memory_()
    by_weight, by_time = make(data, weight_attr="w"), make(data, time_attr="time", input_time=torch.zeros(100).long())
    for loader in (by_weight, by_time):
        assert sum(batch.num_edges for batch in loader) > 500
    if write == "torch":
        data.w.zero_(), data.time.fill_(1)
    else:
        data.w.numpy().fill(0), data.time.numpy().fill(1)
    for loader in (by_weight, by_time):
        assert sum(batch.num_edges for batch in loader) == 0


def test_rows_decide_the_number_of_nodes():
    data = shared()
    del data.y
    more = copy.copy(data)
    more.x = torch.randn(150, 7).share_memory_()
    _, batch = make(data), next(iter(make(more, input_nodes=torch.tensor([149]))))
    assert batch.n_id.tolist() == [149] and torch.equal(batch.x, more.x[149:])


def test_several_types():
    data = heterogeneous()
    data["paper"].x = data["paper"].x.share_memory_()
    data["author"].x = data["author"].x.view(-1, 1).share_memory_()
    loader = make(data, input_nodes="paper")
    assert graph_of(loader).tables("paper") == []
    for batch in loader:
        for t in ("paper", "author"):
            assert torch.equal(batch[t].x, data[t].x[batch[t].n_id])
        assert torch.equal(batch[CITES].edge_attr, data[CITES].edge_attr[batch[CITES].e_id])
