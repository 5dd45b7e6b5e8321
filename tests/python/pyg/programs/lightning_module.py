"""A LightningModule, with PyG's LightningNodeData as its data. Prints the test accuracy, and the loader's class."""

import logging
import warnings

import pytorch_lightning as lightning
import torch
import torch.nn.functional as F
from real_data import arguments, papers
from torch_geometric.nn import GraphSAGE

warnings.filterwarnings("ignore", message=".*does not have many workers|.*LeafSpec|.*pin_memory")
logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)


class Model(lightning.LightningModule):
    def __init__(self, num_features: int):
        super().__init__()
        self.net = GraphSAGE(num_features, 64, num_layers=2, out_channels=7, dropout=0.5)

    def logits(self, batch):
        size = batch.batch_size
        return self.net(batch.x, batch.edge_index)[:size], batch.y[:size]

    def training_step(self, batch, _):
        return F.cross_entropy(*self.logits(batch))

    def validation_step(self, batch, _):
        out, y = self.logits(batch)
        self.log("val", (out.argmax(dim=1) == y).float().mean(), batch_size=len(y))

    def test_step(self, batch, _):
        out, y = self.logits(batch)
        self.log("accuracy", (out.argmax(dim=1) == y).float().mean(), batch_size=len(y))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=0.01)


def main(args):
    if args.pyg:
        from torch_geometric.data import LightningNodeData
    else:
        from ramet.pyg import LightningNodeData

    data = papers(args.folder)
    lightning.seed_everything(0, verbose=False)
    module = LightningNodeData(
        data, num_neighbors=[10, 10], batch_size=200, eval_loader_kwargs={"num_neighbors": [25, 25], "batch_size": 1000}
    )
    quiet = {
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
    }
    trainer = lightning.Trainer(max_epochs=args.epochs, accelerator="cpu", devices=1, **quiet)
    model = Model(data.num_features)
    trainer.fit(model, datamodule=module)
    (result,) = trainer.test(model, datamodule=module, verbose=False)
    print(f"accuracy {result['accuracy']:.3f}, loader {type(module.train_dataloader()).__module__}")


if __name__ == "__main__":
    main(arguments(__doc__, epochs=8).parse_args())
