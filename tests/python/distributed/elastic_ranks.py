"""A rank that torchrun starts again when others come or go. It trains from the last checkpoint on, a step whenever the
test asks for one, as examples/embeddings.py does."""

import datetime
import sys
from collections.abc import Iterator
from itertools import chain, islice, repeat
from pathlib import Path
from types import SimpleNamespace

import processes
import torch.distributed as dist

import ramet
import ramet.distributed

sys.path.append(str(Path(__file__).parents[3] / "examples"))

from embeddings import Trainer

OPTIONS = {"hidden": 8, "num_neighbors": [3, 2], "batch_size": 400, "lr": 0.01, "seed": 0}


def losses(store: str, folder: Path) -> Iterator[tuple[int, float]]:
    """The number and loss of each step, after which there is a checkpoint."""
    options = OPTIONS | {"cooperative": True, "placement": "distributed"}
    trainer = Trainer(ramet.open(store), SimpleNamespace(**options))
    trainer.load(folder)
    for batch in chain.from_iterable(repeat(trainer.loader)):
        loss = trainer.step(batch)
        dist.all_reduce(loss)
        trainer.save(folder)
        yield trainer.steps, loss.item() / dist.get_world_size()


def first_losses(store: str, folder: Path, count: int) -> list[tuple[int, float]]:
    return list(islice(losses(store, folder), count))


if __name__ == "__main__":
    address, store, folder = sys.argv[1:]
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=processes.PATIENCE))
    try:
        line, found = processes.visit(address, str(dist.get_rank())), losses(store, Path(folder))
        while line.hear():
            line.tell(next(found))
    finally:
        ramet.distributed.destroy_process_group()
