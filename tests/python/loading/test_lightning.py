"""Programs that run the loop themselves: Lightning's run is the plain loop's, also resumed; Accelerate's too."""

import logging
import warnings

import pytest
from small_graphs import WIDTH

import ramet

torch = pytest.importorskip("torch")
EPOCHS = 3


@pytest.fixture(scope="module")
def lightning():
    """The package, quiet."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = pytest.importorskip("pytorch_lightning")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    return module


def make_loader(graph, **options) -> ramet.NeighborLoader:
    defaults = {"num_neighbors": [3, 2], "input_nodes": "train", "batch_size": 40, "shuffle": True}
    return ramet.NeighborLoader(graph, **(defaults | options))


def make_validation_loader(graph) -> ramet.NeighborLoader:
    return make_loader(graph, input_nodes="val", shuffle=False, ranks=False)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.ModuleList([torch.nn.Linear(WIDTH, 16), torch.nn.Linear(16, 5)])

    def forward(self, batch):
        x = batch.x
        for layer, block in zip(self.layers, batch.blocks):
            source, destination = block.edge_index
            sums = x.new_zeros(block.num_dst, x.shape[1]).index_add(0, destination, x[source])
            x = layer((x[: block.num_dst] + sums).tanh())
        return x

    def loss(self, batch):
        return batch.mean(torch.nn.functional.cross_entropy(self(batch), batch.y, reduction="none"))


def plain_run(graph, epochs=EPOCHS) -> list[tuple]:
    """(epoch, step, loss) of every batch."""
    model, loader, run = Model(), make_loader(graph), []
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        for batch in loader:
            loss = model.loss(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            run.append((batch.epoch, batch.step, loss.item()))
    return run


@pytest.fixture(scope="module")
def expected(graph) -> list[tuple]:
    run = plain_run(graph)
    assert len(run) == EPOCHS * 6 and len({loss for _, _, loss in run}) == len(run)
    return run


def lightning_run(lightning, graph, folder, *, checkpoint=None, in_hook=False, **options) -> list[tuple]:
    """The same by Lightning, which saves a checkpoint after every batch and every epoch."""

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model, self.run = Model(), []

        def training_step(self, batch, _):
            loss = self.model.loss(batch)
            self.run.append((batch.epoch, batch.step, loss.item()))
            return loss

        def validation_step(self, batch, _):
            self.log("val_loss", self.model.loss(batch), batch_size=batch.num_seeds)

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=0.01)

    if in_hook:
        Module.train_dataloader = lambda self: make_loader(graph)
        Module.val_dataloader = lambda self: make_validation_loader(graph)

    class Save(lightning.Callback):
        def on_train_batch_end(self, trainer, module, *_):
            trainer.save_checkpoint(folder / f"after-{len(module.run)}.ckpt")

        def on_train_epoch_end(self, trainer, module):
            trainer.save_checkpoint(folder / f"epoch-{trainer.current_epoch}.ckpt")

        def on_validation_end(self, trainer, module):
            if not trainer.sanity_checking:
                trainer.save_checkpoint(folder / f"validated-{trainer.current_epoch}.ckpt")

    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    module = Module()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = lightning.Trainer(
            accelerator="cpu",
            devices=1,
            max_epochs=EPOCHS,
            enable_checkpointing=False,
            callbacks=[Save()],
            default_root_dir=folder,
            **quiet,
            **options,
        )
        loaders = () if in_hook else (make_loader(graph), make_validation_loader(graph))
        trainer.fit(module, *loaders, ckpt_path=checkpoint)
    return module.run


@pytest.fixture(scope="module")
def checkpoints(lightning, graph, expected, tmp_path_factory):
    """The folder of a run's checkpoints; the run is the plain loop's, losses bit for bit."""
    folder = tmp_path_factory.mktemp("lightning")
    assert lightning_run(lightning, graph, folder) == expected
    return folder


def test_lightnings_run_is_the_plain_loops(lightning, graph, expected, tmp_path):
    """With loaders that its hooks make, and without its distributed sampler."""
    assert lightning_run(lightning, graph, tmp_path, in_hook=True, use_distributed_sampler=False) == expected


@pytest.mark.parametrize(
    ("name", "done"),
    [
        ("after-1", 1),
        ("after-6", 6),  # an epoch's last batch
        ("after-10", 10),  # in the middle of an epoch
        ("validated-0", 6),
        ("epoch-0", 6),
        ("epoch-1", 12),
    ],
)
def test_a_run_that_lightning_resumes_is_the_uninterrupted_one(
    lightning, graph, expected, checkpoints, tmp_path, name, done
):
    run = lightning_run(lightning, graph, tmp_path, checkpoint=checkpoints / f"{name}.ckpt")
    assert run == expected[done:]


def test_epochs_of_which_lightning_takes_a_part(lightning, graph, expected, tmp_path):
    """limit_train_batches leaves epochs early; the next one is the next one all the same."""
    run = lightning_run(lightning, graph, tmp_path, limit_train_batches=2, reload_dataloaders_every_n_epochs=1)
    assert [place for *place, _ in run] == [[epoch, step] for epoch in range(EPOCHS) for step in range(2)]
    assert run[:2] == expected[:2]


def test_accelerate_hands_the_loader_back(graph, expected):
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True)
    model = Model()
    mine = make_loader(graph)
    model, optimizer, loader = accelerator.prepare(model, torch.optim.Adam(model.parameters(), lr=0.01), mine)
    assert loader is mine
    run = []
    for epoch in range(EPOCHS):
        loader.set_epoch(epoch)
        for batch in loader:
            with accelerator.accumulate(model):
                loss = model.loss(batch)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            run.append((batch.epoch, batch.step, loss.item()))
    assert run == expected
