"""docs/pyg.md: rows in shared memory are read where they lie; loaders over shallow copies share what is copied."""

import copy

import pytest
import torch
import torch.multiprocessing
from pyg_graphs import CITES, heterogeneous, homogeneous
from torch_geometric.data import Data

import ramet.pyg


def make(data, **options):
    return ramet.pyg.NeighborLoader(data, [-1, -1], **({"batch_size": 30} | options))


def shared() -> Data:
    """x is in shared memory, y is not."""
    data = homogeneous()
    data.x, data.y = torch.randn(100, 7).share_memory_(), torch.arange(100) * 2
    return data


def tables_of(loader) -> list[str]:
    """What the loader has a copy of, of its nodes."""
    return loader.node_sampler.source.graph.tables()


def assert_rows(batches, data) -> None:
    for batch in batches:
        for key in ("x", "y"):
            assert (key in batch) == (key in data)
            assert key not in data or torch.equal(batch[key], data[key][batch.n_id])
        assert torch.equal(batch.edge_attr, data.edge_attr[batch.e_id])


def test_shared_rows_are_not_copied():
    data = shared()
    loader = make(data)
    assert tables_of(loader) == ["y"]
    assert_rows([*loader, loader([5, 7])], data)
    data.edge_attr.share_memory_()
    assert_rows(make(data), data)


def test_what_is_written_shows_in_the_next_loop():
    data = shared()
    loader = make(data)
    view = data.x.numpy()
    for value in (1.0, 2.0):
        view[:] = value
        batches = list(loader)
        assert_rows(batches, data)
        assert all((batch.x == value).all() for batch in batches)


@pytest.mark.parametrize("when", ["between loops", "in a loop"])
@pytest.mark.parametrize(
    "change",
    [
        lambda data: setattr(data, "x", torch.randn(100, 7).share_memory_()),
        lambda data: setattr(data, "x", torch.randn(100, 2)),
        lambda data: setattr(data, "y", torch.randn(100, 3).share_memory_()),
        lambda data: data.x.set_(torch.randn(100, 4)),
        lambda data: data.y.set_(torch.arange(100).share_memory_()),
        lambda data: data.y.share_memory_(),
        lambda data: data.x.requires_grad_(),
        lambda data: delattr(data, "x"),
    ],
    ids=["shared", "own", "y-shared", "set", "set-shared", "moved", "grad", "deleted"],
)
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
    assert "tables=['edge_attr', 'x', 'y']" in repr(loader._engine)
    del loader.data.x, loader.data.y
    _ = list(loader)
    assert "tables=['edge_attr']" in repr(loader._engine)


def test_shared_memory_cannot_be_freed_while_a_loader_reads_it():
    data = shared()
    loader = make(data)
    _ = list(loader)
    with pytest.raises(RuntimeError, match="not resizable"):
        data.x.resize_(10_000, 10_000)
    with pytest.raises(RuntimeError):  # torch has changed the shape all the same
        loader([0])


def test_shallow_copies_share_what_was_copied():
    data = homogeneous()
    train, evaluate = make(data), make(copy.copy(data))
    graph = train.node_sampler.source.graph
    assert evaluate.node_sampler.source.graph is graph
    evaluate.data.mark = torch.arange(100)
    del evaluate.data.x
    assert all("x" not in batch and torch.equal(batch.mark, batch.n_id) for batch in evaluate)
    assert all("mark" not in batch and torch.equal(batch.x, batch.n_id) for batch in train)
    other = copy.copy(data)
    other.edge_index = data.edge_index[:, :10]
    other.edge_attr = data.edge_attr[:10]
    assert make(other).node_sampler.source.graph is not graph
    data.edge_index[0, 0] += 1
    assert make(data).node_sampler.source.graph is not graph


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
    assert loader.node_sampler.source.graph.tables("paper") == []
    for batch in loader:
        for t in ("paper", "author"):
            assert torch.equal(batch[t].x, data[t].x[batch[t].n_id])
        assert torch.equal(batch[CITES].edge_attr, data[CITES].edge_attr[batch[CITES].e_id])


@pytest.mark.parametrize("weight", [torch.ones(500).share_memory_(), torch.ones(500)], ids=["shared", "own"])
def test_weights_in_shared_memory_decide_draws(weight):
    data = shared()
    data.w, heavy = weight.clone(), data.edge_index[1] == int(data.edge_index[1, 0])
    data.w[heavy] = 0
    data.w[0] = 1
    if weight.is_shared():
        data.w.share_memory_()
    (batch,) = make(data, input_nodes=data.edge_index[1, :1], weight_attr="w")
    first = batch.edge_index[1] == 0
    assert batch.e_id[first].tolist() == [0] and torch.equal(batch.w, data.w[batch.e_id])


def _rank(number: int, data, queue) -> None:
    loader = make(data, input_nodes=torch.arange(number, 100, 2))
    assert_rows(loader, data)
    queue.put((number, tables_of(loader)))


def test_spawned_ranks_read_the_rows_that_torch_shares():
    data, context = shared(), torch.multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    torch.multiprocessing.spawn(_rank, (data, queue), nprocs=2)
    assert sorted(queue.get() for _ in range(2)) == [(0, []), (1, [])]
