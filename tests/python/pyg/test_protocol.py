"""ramet.pyg.NeighborLoader as a torch DataLoader: order, samplers, workers, transforms, other people's loaders."""

import logging
import multiprocessing
import os
import re
from itertools import chain
from unittest import mock

import pytest
import torch
import torch_geometric.loader as pyg_loaders
from pyg_graphs import heterogeneous, homogeneous, same
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, WeightedRandomSampler
from torch_geometric.loader import CachedLoader, ImbalancedSampler, PrefetchLoader, ZipLoader

import ramet.pyg
from ramet._support import log


def make(data=None, fanouts=(3, 3), **options):
    return ramet.pyg.NeighborLoader(
        homogeneous() if data is None else data, list(fanouts), **({"batch_size": 30} | options)
    )


def seeds_of(batches) -> list[list[int]]:
    return [batch.input_id.tolist() for batch in batches]


@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("by", ["manual_seed", "generator"])
def test_the_order_is_torchs(by, drop_last):
    """The seeds of each batch are those of a plain DataLoader with the same random state."""

    def run(kind, data):
        generator = torch.Generator().manual_seed(3) if by == "generator" else None
        torch.manual_seed(3)
        options = {"batch_size": 30, "shuffle": True, "drop_last": drop_last, "generator": generator}
        loader = kind(data, **options) if kind is DataLoader else make(data, **options)
        return [[x.tolist() if kind is DataLoader else x.input_id.tolist() for x in loader] for _ in range(2)]

    ours = run(ramet.pyg.NeighborLoader, homogeneous())
    assert ours == run(DataLoader, range(100))
    assert ours[0] != ours[1] and len(ours[0]) == (3 if drop_last else 4)


def test_an_epoch_repeats_with_torchs_seed_alone():
    loader = make(shuffle=True)
    runs = []
    for seed in (7, 7, 8):
        torch.manual_seed(seed)
        runs.append(list(loader))
    assert all(map(same, runs[0], runs[1])) and seeds_of(runs[0]) != seeds_of(runs[2])
    plain = make(shuffle=False)
    assert not all(map(same, plain, plain)), "every epoch draws other neighbors"


def test_samplers_decide_what_is_a_batch():
    data = homogeneous()
    weighted = WeightedRandomSampler(torch.arange(100.0), 70, generator=torch.Generator().manual_seed(1))
    batches = list(make(data, sampler=weighted))
    assert [batch.batch_size for batch in batches] == [30, 30, 10]
    lists = [[1, 2, 3], [4], [5, 5]]
    assert seeds_of(make(data, batch_size=1, batch_sampler=lists)) == lists
    assert seeds_of(make(data, batch_size=1, batch_sampler=BatchSampler(range(50, 60), 4, True))) == [
        [50, 51, 52, 53],
        [54, 55, 56, 57],
    ]
    twice = make(data, sampler=RandomSampler(range(100), replacement=True, num_samples=200))
    assert sum(batch.batch_size for batch in twice) == 200
    assert seeds_of(make(data, batch_size=None, sampler=[4, 2])) == [[4], [2]]

    def endless():
        while True:
            yield [1, 2]

    endless_batches = iter(make(data, batch_size=1, batch_sampler=_Iterable(endless)))
    assert [next(endless_batches).batch_size for _ in range(500)] == [2] * 500


class _Iterable:
    def __init__(self, make_iterator):
        self._make = make_iterator

    def __iter__(self):
        return self._make()


def test_imbalanced_sampler_draws_classes_alike():
    data = homogeneous()
    data.y = (torch.arange(100) >= 10).long()
    torch.manual_seed(12345)
    shares = torch.cat([batch.y[: batch.batch_size] for batch in make(data, sampler=ImbalancedSampler(data))])
    assert 0.3 < shares.float().mean() < 0.7
    runs = []
    for _ in range(2):
        torch.manual_seed(5)
        runs.append(seeds_of(make(data, sampler=ImbalancedSampler(data))))
    assert runs[0] == runs[1] and len({seed for batch in runs[0] for seed in batch}) < 100


@pytest.mark.parametrize("index", [[3, 1], torch.tensor([3, 1]), torch.tensor([-97, -99])])
def test_a_loader_is_called_with_positions(index):
    loader = make(input_nodes=torch.arange(99, -1, -1))
    batch = loader(index)
    assert batch.n_id[:2].tolist() == [96, 98] and batch.input_id.tolist() == [3, 1] and batch.batch_size == 2
    mask = torch.zeros(100, dtype=torch.bool)
    mask[[1, 3]] = True
    assert loader(mask).n_id[:2].tolist() == [98, 96]
    wrong = [(IndexError, "100", [100]), (TypeError, "index is tensor(1.5", 1.5), (ValueError, "shape [3]", mask[:3])]
    for error, message, given in wrong:
        with pytest.raises(error, match=re.escape(message)):
            loader(given)


def test_what_pyg_looks_for_is_there():
    data = homogeneous()
    loader = make(data, shuffle=True)
    assert isinstance(loader, pyg_loaders.NeighborLoader) and isinstance(loader, DataLoader)
    assert loader.data is data and len(loader.node_sampler.num_neighbors) == 2 and loader.input_nodes is None
    torch.manual_seed(0)
    output = loader.collate_fn([1, 2])
    batch = loader.filter_fn(output) if not loader.filter_per_worker else output
    assert batch.n_id[:2].tolist() == [1, 2] and torch.equal(batch.edge_attr, batch.e_id)


def test_transforms():
    seen = []

    def of_output(output):
        seen.append(output)
        output.node = output.node.clone()
        return output

    data = homogeneous()
    loader = make(data, transform=lambda batch: (batch.n_id, batch), transform_sampler_output=of_output)
    for n_id, batch in loader:
        assert torch.equal(n_id, batch.x) and torch.equal(batch.edge_attr, batch.e_id)
    assert len(seen) == 4 and seen[0].metadata[0].tolist() == list(range(30))


def test_arguments_of_workers_are_accepted_and_said_to_have_no_effect_once(caplog, monkeypatch):
    monkeypatch.setattr(log, "_warned", set())
    options = {"num_workers": 1, "persistent_workers": True, "prefetch_factor": 3, "multiprocessing_context": "spawn"}
    with caplog.at_level(logging.WARNING, "ramet"):
        loaders = [make(worker_init_fn=print, **options) for _ in range(2)]
    assert [record.name for record in caplog.records].count("ramet") == 1 and "num_workers" in caplog.text
    for _ in range(2):
        assert len(list(loaders[0])) == 4
    assert loaders[0].num_workers == 1 and multiprocessing.active_children() == []
    with pytest.raises(ValueError, match="persistent_workers"):
        make(persistent_workers=True)


def test_an_edge_type_that_is_added_needs_another_loader():
    hetero = heterogeneous()
    before, known = make(hetero, input_nodes="paper"), set(hetero.edge_types)
    hetero["author", "knows", "author"].edge_index = torch.tensor([[0], [1]])
    assert set(next(iter(make(hetero, input_nodes="paper"))).edge_types) > known
    with pytest.raises(ValueError, match="make another loader"):
        next(iter(before))


def test_other_peoples_loaders_take_it():
    data = homogeneous()
    cached = CachedLoader(make(data), transform=lambda batch: batch)
    assert all(map(same, list(cached), list(cached)))
    assert len(list(PrefetchLoader(make(data), device="cpu"))) == 4
    halves = [make(data, input_nodes=torch.arange(0, 50)), make(data, input_nodes=torch.arange(50, 100))]
    for first, second in ZipLoader(halves, batch_size=10):
        assert int(first.n_id[:10].max()) < 50 <= int(second.n_id[:10].min())
    zipped = ZipLoader(halves, batch_size=10)
    assert [batch.batch_size for batch in zipped([0, 1])] == [2, 2]


def test_lightnings_modules_of_data_have_our_loaders():
    pytest.importorskip("pytorch_lightning")
    data, nodes = homogeneous(), torch.arange(100)
    given = {"num_neighbors": [3, 3], "batch_size": 30, "eval_loader_kwargs": {"num_neighbors": [5], "batch_size": 10}}
    module = ramet.pyg.LightningNodeData(data, input_train_nodes=nodes[:60], input_test_nodes=nodes[60:], **given)
    train, test = module.train_dataloader(), module.test_dataloader()
    assert type(train) is type(test) is ramet.pyg.NeighborLoader
    assert sorted(chain(*seeds_of(train))) == list(range(60)) and seeds_of(train) != seeds_of(train)
    assert [(batch.batch_size, len(batch.num_sampled_nodes)) for batch in test] == [(10, 2)] * 4
    links = data.edge_index[:, :100]
    module = ramet.pyg.LightningLinkData(data, input_train_edges=links, neg_sampling="binary", **given)
    assert type(module.train_dataloader()) is ramet.pyg.LinkNeighborLoader
    assert sum(len(batch.edge_label) for batch in module.train_dataloader()) == 200


@pytest.mark.parametrize(
    ("options", "sampler", "seeds_by_step"),
    [
        ({"overfit_batches": 0.5}, "SequentialSampler", [30, 30]),
        ({"strategy": "ddp"}, "DistributedSampler", [30, 30, 30, 10]),
        ({"strategy": "ddp", "use_distributed_sampler": False}, "RandomSampler", [30, 30, 30, 10]),
    ],
    ids=str,
)
def test_lightning_makes_the_loader_again(options, sampler, seeds_by_step, tmp_path):
    """With another sampler: for training by one process of several, and for predictions, whose seeds it records."""
    with mock.patch.dict(os.environ):  # Lightning leaves what describes its ranks
        check_lightning(options, sampler, seeds_by_step, tmp_path)


def check_lightning(options, sampler, seeds_by_step, tmp_path):
    lightning = pytest.importorskip("pytorch_lightning")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    data = homogeneous()
    data.x = torch.randn(100, 8)

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer, self.seen = torch.nn.Linear(8, 1), []

        def train_dataloader(self):
            return make(data, shuffle=True)

        def predict_dataloader(self):
            return make(data)

        def training_step(self, batch, _):
            self.seen.append(batch.input_id.tolist())
            return self.layer(batch.x[: batch.batch_size]).sum()

        def predict_step(self, batch, _):
            return batch.input_id

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False}
    trainer = lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        devices=1,
        enable_model_summary=False,
        default_root_dir=tmp_path,
        **quiet,
        **options,
    )
    try:
        model = Model()
        trainer.fit(model)
        assert type(trainer.train_dataloader) is ramet.pyg.NeighborLoader
        assert type(trainer.train_dataloader.sampler).__name__ == sampler
        assert [len(seeds) for seeds in model.seen] == 2 * seeds_by_step
        if "overfit_batches" not in options:
            epochs = [list(chain(*seeds)) for seeds in (model.seen[:4], model.seen[4:])]
            assert epochs[0] != epochs[1] and sorted(epochs[0]) == sorted(epochs[1]) == list(range(100))
        assert torch.cat(trainer.predict(model)).tolist() == list(range(100))
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
