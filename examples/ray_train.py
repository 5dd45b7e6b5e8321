"""Node classification by Ray Train: workers of a machine share one copy of the graph, and each gets its slice of every
batch.

    python examples/ray_train.py STORE --workers 2

STORE has node tables "feat" and "label", and a split "train". On a cluster every machine has the store at this path.
Needs `pip install "ray[train]"`.
"""

import argparse
import tempfile
from itertools import pairwise
from pathlib import Path

import ray.train
import torch
import torch.nn.functional as F
from ray.train.torch import TorchTrainer, prepare_model

import ramet
from ramet.nn import SAGEConv


class Model(torch.nn.Module):
    def __init__(self, widths):
        super().__init__()
        self.convs = torch.nn.ModuleList(SAGEConv(a, b) for a, b in pairwise(widths))

    def forward(self, x, blocks):
        for conv, block in zip(self.convs[:-1], blocks):
            x = conv(x, block).relu()
        return self.convs[-1](x, blocks[-1])


def train(config):
    """A worker: a rank of torch.distributed, which the loader finds. `prepare_data_loader` is not needed."""
    graph = ramet.open(config["store"])
    classes = int(graph.table("label").numpy().max()) + 1
    torch.manual_seed(config["seed"])
    model = prepare_model(Model([graph.table("feat").shape[1], 64, classes]))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loader = ramet.NeighborLoader(graph, [10, 5], "train", config["batch_size"], shuffle=True, seed=config["seed"])
    parts = {"model": getattr(model, "module", model), "optimizer": optimizer, "loader": loader}
    if checkpoint := ray.train.get_checkpoint():  # a worker was lost: the run goes on as if it had not been
        with checkpoint.as_directory() as folder:
            for name, state in torch.load(f"{folder}/state.pt").items():
                parts[name].load_state_dict(state)
    for epoch in range(loader.state_dict()["epoch"], config["epochs"]):
        total = torch.zeros(())
        for batch in loader:
            loss = batch.mean(F.cross_entropy(model(batch.x, batch.blocks), batch.y, reduction="none"))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        torch.distributed.all_reduce(total)  # of each rank's share: batch.mean() makes their mean the batch's
        loss = float(total) / len(loader) / torch.distributed.get_world_size()
        with tempfile.TemporaryDirectory() as folder:
            torch.save({name: part.state_dict() for name, part in parts.items()}, f"{folder}/state.pt")
            is_first = torch.distributed.get_rank() == 0
            checkpoint = ray.train.Checkpoint.from_directory(folder) if is_first else None
            ray.train.report({"epoch": epoch, "loss": loss}, checkpoint=checkpoint)


def main(args):
    config = {"store": str(Path(args.store).resolve()), "epochs": args.epochs, "batch_size": 1024, "seed": 0}
    result = TorchTrainer(
        train,
        train_loop_config=config,
        scaling_config=ray.train.ScalingConfig(num_workers=args.workers),
        run_config=ray.train.RunConfig(storage_path=args.out, failure_config=ray.train.FailureConfig(max_failures=3)),
    ).fit()
    print(f"loss {result.metrics['loss']:.6f} after epoch {result.metrics['epoch']}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--out", help="folder of runs (default: Ray's, ~/ray_results)")
    main(parser.parse_args())
