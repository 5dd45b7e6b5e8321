"""One trainer's loop: the same code alone and as one rank of several."""

from __future__ import annotations

import time
import warnings

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from tqdm import tqdm

from ramet import Features, Placement, _core
from ramet._support.old_torch import FUSED_ADAM
from ramet.loading.fused import is_floating
from ramet.ranks.world import rank_and_world
from ramet.train.evaluate import inference, outputs, torch_threads
from ramet.train.folder import RunFolder
from ramet.train.model import build_model
from ramet.train.task import find_task


def fit(graph, config, *, splits=None, folder=None, progress=False) -> dict:
    """Trains a model on `graph` as `config` says and returns the run's metrics.

    Where torch.distributed is initialised this is one rank of the run, else it is alone. Rank 0
    evaluates, keeps the best model and writes `folder`, a path (None: nothing is written).
    `splits` (a dict of ids: train, val, test) replaces the splits of the store: of nodes or, for
    links, of edges. `progress` prints a line for every evaluation, and shows a bar where stderr is
    a terminal.
    """
    return _Fit(graph, config, splits, folder, progress).run()


class _Fit:
    def __init__(self, graph, config, splits, folder, progress):
        self.config = config
        self.rank, self.world = rank_and_world(None)
        self.task = find_task(graph, config, splits)
        self.graph = self.task.messages()
        self.dtype = getattr(torch, config.dtype)
        self.is_mixed = self.dtype == torch.bfloat16
        if self.is_mixed and self.rank == 0:
            _warn_of_bfloat16()
        self.model = build_model(config, self.task.num_features, self.task.num_classes)
        self.ddp = DistributedDataParallel(self.model) if self.world > 1 else self.model
        # The model is the same on every rank; dropout must not be.
        torch.manual_seed(config.seed + self.rank * 1_000_003)
        parameters = list(self.model.parameters())
        self.optimizer = torch.optim.Adam(parameters, lr=config.lr, weight_decay=config.weight_decay, fused=FUSED_ADAM)
        self.is_fused = False
        location = self._location_of_features()
        self.is_fused = location == "in_place" and _begins_with_means(graph, config)
        self.loader = self._make_loader(location)
        self.folder = RunFolder(folder) if folder and self.rank == 0 else None
        self.board = _board(folder) if self.folder and config.tensorboard else None
        self.best = None  # what _keep kept
        self.losses, self.epochs = [], []
        self.bar = tqdm(
            total=config.epochs * len(self.loader),
            desc="train",
            unit="batch",
            disable=None if progress and self.rank == 0 else True,
        )
        self.talks = progress and self.rank == 0

    def _location_of_features(self) -> str:
        """ "disk" or "in_place", as rank 0 decides for all: "auto" asks how much memory there is at the moment."""
        if self.config.placement != "auto":
            return self.config.placement
        decided = self._make_loader("auto").placement["feat"].place
        is_disk = torch.tensor([decided == "disk"])
        if self.world > 1:
            dist.broadcast(is_disk, src=0)
        return "disk" if is_disk else "in_place"

    def _make_loader(self, location: str):
        config = self.config
        cached = {"cache_rows": config.cache_rows, "look_ahead": config.look_ahead} if location == "disk" else {}
        return self.task.loader(
            self.graph,
            num_neighbors=list(config.num_neighbors),
            batch_size=config.batch_size,
            shuffle=True,
            threads=config.threads,
            features=Features(fuse=self.is_fused, dtype=config.dtype if self.is_mixed else None),
            placement=Placement(tables={"feat": location}, **cached),
            **config.sampling,
        )

    def run(self):
        bad_evaluations = 0
        for epoch in range(1, self.config.epochs + 1):
            begin = time.perf_counter()
            losses = self._train_epoch()
            seconds = time.perf_counter() - begin
            record = {"epoch": epoch, "loss": sum(losses) / len(losses), "seconds": seconds}
            if epoch % self.config.eval_every == 0 or epoch == self.config.epochs:
                bad_evaluations = 0 if self._validate(record) else bad_evaluations + 1
            self.losses += losses
            self.epochs.append(record)
            if self.folder:
                self.folder.write_metrics(self._metrics())
            if self.board:
                self._show(record)
            if self.config.patience and bad_evaluations >= self.config.patience:
                break
        self.bar.close()
        if self.board:
            self.board.close()
        return self._finish()

    def _train_epoch(self):
        """Trains for an epoch; the loss of each global batch."""
        self.ddp.train()
        losses = []
        for batch in self.loader:
            losses.append(self._step(batch))
            self.bar.update()
            if not self.bar.disable:
                self.bar.set_postfix(loss=f"{losses[-1].item():.4f}", refresh=False)
        return self._global_mean(torch.stack(losses)).tolist()

    def _step(self, batch):
        """A step of training; the loss."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.is_mixed):
            out = self.ddp(batch.x if self.is_fused else batch.x.to(self.dtype), batch.blocks)
        out = out.float() if self.is_mixed else out
        loss = self.task.loss(out, batch)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def _global_mean(self, values):
        """The mean over ranks; batch.mean scales so that this is the global batch's loss."""
        if self.world > 1:
            dist.all_reduce(values)
        return values / self.world

    def _validate(self, record):
        """Evaluates on rank 0, and tells every rank whether the model is the best so far."""
        better = torch.zeros(1)
        if self.rank == 0:
            begin = time.perf_counter()
            record |= self._evaluate("val")
            record["eval_seconds"] = time.perf_counter() - begin
            if self.talks:
                self.bar.write(_line(record))
            if self._is_best(record):
                better += 1
                self._keep(record)
        if self.world > 1:
            dist.broadcast(better, src=0)
        return bool(better)

    def _show(self, record):
        for name, value in record.items():
            if name != "epoch":
                self.board.add_scalar(name, value, record["epoch"])
        self.board.flush()

    def _is_best(self, record):
        if self.best is None:
            return True
        measure = f"val_{self.config.best_by}"
        if self.config.best_by == "loss":
            return record[measure] < self.best[measure]
        return record[measure] > self.best[measure]

    def _keep(self, record):
        state = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.best = {
            "model": state,
            "options": self.config.plain(),
            "num_features": self.task.num_features,
            "num_classes": self.task.num_classes,
            "inference": inference(self.config),
            "epoch": record["epoch"],
            **{name: value for name, value in record.items() if name.startswith("val_")},
        }
        if self.folder:
            self.folder.write_model(self.best)

    def _evaluate(self, split):
        """The loss and the metrics of the model on a split, by the inference of the run's models."""
        nodes = self.task.nodes(split)
        # The other ranks wait meanwhile, so their cores are free.
        with torch_threads(torch.get_num_threads() * self.world):
            threads = self.config.inference_threads * self.world
            out = outputs(self.graph, self.model, self.config, nodes, threads=threads, progress=not self.bar.disable)
            return {f"{split}_{name}": value for name, value in self.task.measure(out, split).items()}

    def _finish(self):
        metrics = self._metrics()
        if self.rank == 0:
            self.model.load_state_dict(self.best["model"])
            metrics |= self._evaluate("test")
            if self.folder:
                self.folder.write_metrics(metrics)
        if self.world > 1:
            dist.barrier()
        return metrics

    def _metrics(self):
        seconds = sum(record["seconds"] for record in self.epochs)
        best = self.best or {}
        return {
            "options": self.config.plain(),
            "inference": inference(self.config),
            "processes": self.world,
            "steps_per_epoch": len(self.loader),
            "losses": self.losses,
            "epochs": self.epochs,
            "train_seconds": seconds,
            "batches_per_second": len(self.losses) / seconds,
            "pipeline": vars(self.loader.summary()),
            "best_epoch": best.get("epoch"),
            **{name: best.get(name) for name in (f"val_{metric}" for metric in self.config.metrics)},
        }


def _board(folder):
    """A writer of TensorBoard's event files."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ImportError(f"tensorboard=True: {error}; pip install tensorboard") from None
    return SummaryWriter(folder)


def _begins_with_means(graph, config) -> bool:
    """Whether the first layer needs means of features alone, which the loader can make where they lie: GraphSAGE does,
    unless something is dropped before, and sums are float32."""
    begins_with_means = config.model == "sage" and config.dtype == "float32" and not config.input_dropout
    return begins_with_means and is_floating(graph.table("feat"), decode=True)


def _warn_of_bfloat16():
    if not _core.multiplies_bfloat16():
        warnings.warn(
            "dtype is bfloat16, but this processor has neither AVX512-BF16 nor AMX: training will be slower than with "
            "float32",
            stacklevel=4,
        )


def _line(record):
    measures = [f"{name[4:]} {value:.4f}   " for name, value in record.items() if name.startswith("val_")]
    return (
        f"epoch {record['epoch']:3d}   loss {record['loss']:.4f}   validation {''.join(measures)}"
        f"{record['seconds']:.1f} s + {record['eval_seconds']:.1f} s"
    )
