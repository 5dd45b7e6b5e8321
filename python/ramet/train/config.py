"""The options of a training run, checked when they are made."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

from ramet.arrays import INT32_MAX
from ramet.loading.placement import MAX_LOOK_AHEAD
from ramet.loading.samplers import Sampler, as_sampler

MODELS = ("sage", "gat", "gin")
DTYPES = ("float32", "float64", "bfloat16")
METRICS = {"node": ("accuracy",), "link": ("mrr", "hits@10")}  # of each task; the first chooses the best model
MEASURES = ("accuracy", "mrr", "loss")
LOCATIONS = ("auto", "in_place", "disk")
HEADS = 4  # of gat's hidden layers; its last layer has one


@dataclass(frozen=True)
class Config:
    """What `ramet train` needs to know. `batch_size` is that of the global batch."""

    store: str
    out: str | None = None  # the run folder; None: runs/<store>-<model>-<time>
    task: str = "node"  # what is learned: classes of nodes, or links
    model: str = "sage"
    hidden: int = 128
    num_neighbors: tuple[int, ...] = (15, 10)  # one per layer, the seeds' hop first
    sampler: Sampler | str | dict = "uniform"  # as of NeighborLoader, or what Sampler.plain() gives
    epochs: int = 10
    batch_size: int = 1024
    processes: int = 1
    threads: int | None = None  # sampling threads per process; None: as many as keep up with training
    placement: str = "auto"  # of the features, as of ramet.Placement; auto: "disk" where memory cannot hold them
    cache_rows: int = 0  # of features from a disk, kept in memory by each process
    look_ahead: int = 16  # batches that are sampled before the rows of one are chosen, with a cache before a disk
    keep_memory: bool = True  # ramet.keep_memory() in every trainer process
    seed: int = 0
    lr: float = 0.003
    weight_decay: float = 0.0
    dropout: float = 0.5
    input_dropout: float = 0.0
    dtype: str = (
        "float32"  # of parameters and arithmetic; bfloat16: of products of matrices and rows, see docs/training.md
    )
    eval_every: int = 1  # epochs between validations
    best_by: str | None = None  # what makes a model the best one in validation: "loss", or None: accuracy, of links mrr
    patience: int | None = None  # stop after so many validations without a better one
    tensorboard: bool = False  # event files in the run folder

    def __post_init__(self):
        _one_of("task", self.task, METRICS)
        _one_of("model", self.model, MODELS)
        object.__setattr__(self, "sampler", as_sampler(self.sampler))
        _one_of("dtype", self.dtype, DTYPES)
        if self.best_by is None:
            object.__setattr__(self, "best_by", self.metrics[0])
        _one_of("best_by", self.best_by, (self.metrics[0], "loss"))
        _one_of("placement", self.placement, LOCATIONS)
        for name in ("hidden", "epochs", "batch_size", "processes", "eval_every"):
            _at_least(name, getattr(self, name), 1)
        for name, bound in (("cache_rows", INT32_MAX), ("look_ahead", MAX_LOOK_AHEAD)):
            if getattr(self, name) > bound:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at most {bound}")
        if self.cache_rows and self.placement == "in_place":
            raise ValueError(f"cache_rows is {self.cache_rows}, with placement 'in_place': there is no disk to cache")
        for name in ("threads", "patience"):
            if getattr(self, name) is not None:
                _at_least(name, getattr(self, name), 1)
        for name in ("lr", "weight_decay", "seed", "cache_rows", "look_ahead"):
            _at_least(name, getattr(self, name), 0)
            if getattr(self, name) == math.inf:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be finite")
        for name in ("dropout", "input_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must lie in [0, 1)")
        if not self.num_neighbors:
            raise ValueError("num_neighbors is empty; it needs one number per layer")
        for fanout in self.num_neighbors:
            _at_least("num_neighbors", fanout, -1)
        if self.model == "gat" and len(self.num_neighbors) > 1 and self.hidden % HEADS:
            raise ValueError(f"hidden is {self.hidden}; gat needs a multiple of its {HEADS} heads")

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of what models are judged by, beside the loss."""
        return METRICS[self.task]

    @property
    def sampling(self) -> dict:
        """The options of the NeighborLoader for sampling."""
        return {"sampler": self.sampler, "seed": self.seed}

    def plain(self) -> dict:
        """The options of numbers and strings alone, from which a Config can be made again."""
        return vars(self) | {"sampler": as_sampler(self.sampler).plain()}

    @property
    def cores(self) -> int:
        """One process's share of the cores that this one may use."""
        return max(1, len(os.sched_getaffinity(0)) // self.processes)

    @property
    def inference_threads(self) -> int:
        return self.threads or self.cores


def _one_of(name, value, allowed):
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(allowed)}")


def _at_least(name, value, bound):
    if not value >= bound:  # nor NaN
        raise ValueError(f"{name} is {value}; it must be at least {bound}")
