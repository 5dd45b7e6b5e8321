"""Methods of PyG's and torch's loaders that subclasses override and users set: each is called as it is there."""

import logging
import os
import warnings

import pytest
import torch
from pyg_graphs import homogeneous

import ramet.pyg
from ramet._support import log


def make(kind=ramet.pyg.NeighborLoader, data=None, **options):
    """All neighbors, so that batches of the same seeds are the same."""
    data = homogeneous() if data is None else data
    if issubclass(kind, ramet.pyg.ShaDowKHopSampler):
        return kind(data, 1, -1, **({"batch_size": 30} | options))
    return kind(data, [-1, -1], **({"batch_size": 30} | options))


def assert_same(found, expected, *without: str) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert {*one.keys()} - {*without} == {*other.keys()}
        for key, value in other:
            assert torch.equal(torch.as_tensor(one[key]), torch.as_tensor(value)), key


class Filters(ramet.pyg.NeighborLoader):
    def filter_fn(self, out):
        batch = super().filter_fn(out)
        batch.mark = out.node + 1
        return batch


@pytest.mark.parametrize("options", [{}, {"transform": torch.nn.Identity()}, {"filter_per_worker": True}], ids=str)
def test_filter_fn_is_called_for_every_batch(options):
    loader = make(Filters, **options)
    for batches in (list(loader), [loader(range(30 * k, min(30 * k + 30, 100))) for k in range(4)]):
        assert_same(batches, list(make()), "mark")
        assert all(torch.equal(batch.mark, batch.n_id + 1) for batch in batches)


def test_filter_fn_of_a_graph():
    loader = make(Filters, ramet.from_pyg(homogeneous()))
    assert all(torch.equal(batch.mark, batch.n_id + 1) and len(batch.x) == len(batch.n_id) for batch in loader)


class Collates(ramet.pyg.NeighborLoader):
    def collate_fn(self, index):
        out = super().collate_fn(index)
        out.metadata = (out.metadata[0] + 1000 * os.getpid(), out.metadata[1])
        return out


@pytest.mark.parametrize("num_workers", [0, 2])
def test_collate_fn_is_called_in_worker_processes_where_they_are_asked_for(num_workers):
    loader = make(Collates, num_workers=num_workers, filter_per_worker=False)
    batches = list(loader)
    seeds = torch.cat([batch.input_id for batch in batches])
    assert (seeds % 1000).tolist() == list(range(100))
    makers = set((seeds // 1000).tolist())
    assert makers == {os.getpid()} if num_workers == 0 else os.getpid() not in makers and len(makers) == 2
    assert (loader([3, 5]).input_id % 1000).tolist() == [3, 5]


def test_collate_fn_that_is_set_on_a_loader_is_called():
    loader = make()
    assert len(next(iter(loader)).input_id) == 30
    collate = loader.collate_fn
    loader.collate_fn = lambda index: collate(index[:7])
    assert [len(batch.input_id) for batch in loader] == [7, 7, 7, 7]


def test_get_iterator_is_called():
    class Counts(ramet.pyg.NeighborLoader):
        loops = 0

        def _get_iterator(self):
            self.loops += 1
            return super()._get_iterator()

    loader = make(Counts)
    assert_same([*loader, *loader], [*make(), *make()])
    assert loader.loops == 2


def test_a_samplers_own_method_is_called():
    class Fewer(ramet.pyg.RametSampler):
        def sample_from_nodes(self, index, **kwargs):
            index.node, index.input_id = index.node[:5], index.input_id[:5]
            return super().sample_from_nodes(index, **kwargs)

    data = homogeneous()
    sampler = Fewer(data, [-1, -1])
    assert [batch.batch_size for batch in make(data=data, neighbor_sampler=sampler)] == [5, 5, 5, 5]


def test_shadows_collate_is_called():
    class Marks(ramet.pyg.ShaDowKHopSampler):
        def __collate__(self, n_id):
            batch = super().__collate__(n_id)
            batch.mark = torch.tensor(n_id)
            return batch

    loader, plain = make(Marks), list(make(ramet.pyg.ShaDowKHopSampler))
    assert_same(list(loader), plain, "mark")
    assert torch.cat([batch.mark for batch in loader]).tolist() == list(range(100))
    loader.collate_fn = len
    assert list(loader) == [30, 30, 30, 10]


@pytest.mark.parametrize("kind", [ramet.pyg.NeighborLoader, ramet.pyg.ShaDowKHopSampler])
def test_nothing_warns_of_workers_that_nobody_makes(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader = make(kind, num_workers=500, persistent_workers=True)
    loader.collate_fn = len
    with pytest.warns(UserWarning, match="500 worker processes"):
        loader.check_worker_number_rationality()


def test_workers_that_are_made_are_not_said_to_have_no_effect(caplog, monkeypatch):
    monkeypatch.setattr(log, "_warned", set())
    with caplog.at_level(logging.WARNING, "ramet"):
        make(Collates, num_workers=1)
        assert not caplog.records
        make(Filters, num_workers=1)
    assert [record.name for record in caplog.records] == ["ramet"]
