"""EngineLoader: what the loaders of nodes and of links share, PyG's loaders with C++ threads that make the batches."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader
from torch_geometric.sampler.base import SubgraphType

from ramet._support.arguments import shortened
from ramet._support.log import warn_once
from ramet._support.memory import FaultWatch
from ramet.graph import Graph
from ramet.loading.batch import Batch
from ramet.loading.loader import Loader
from ramet.loading.samplers import Sampler
from ramet.pyg.ahead import Ahead
from ramet.pyg.assembly import assemble
from ramet.pyg.hooks import inherits
from ramet.pyg.order import engine_batches
from ramet.pyg.remote import StoresSource
from ramet.pyg.same_seeds import tell_of_same_seeds
from ramet.pyg.sampler import RametSampler, random_epoch, sampler_output

WORKERS = (
    "num_workers",
    "persistent_workers",
    "prefetch_factor",
    "multiprocessing_context",
    "worker_init_fn",
    "timeout",
)


class EngineLoader(DataLoader):
    """Before a loader of PyG among the base classes of a loader. Subclasses say what is special of their seeds.

    pyg_loader: PyG's class, whose methods the engine stands in for. sample_method: that of the sampler which it calls.
    own_seeds: the argument that gives a rank its own seeds.
    """

    pyg_loader: type
    sample_method: str
    own_seeds: str
    input_data: Any  # PyG's loaders set it, and what follows
    transform: Any
    transform_sampler_output: Any

    @property
    @abstractmethod
    def _sampler(self):
        """Under PyG's name."""

    @abstractmethod
    def _make_native(self, served: dict) -> Loader: ...

    @abstractmethod
    def _batch_of(self, core, engine: Any) -> Batch: ...

    @abstractmethod
    def _describe(self, out, batch: Any, input_id) -> None:
        """Adds to a Data or HeteroData what PyG says of the batch's seeds."""

    @abstractmethod
    def _metadata(self, batch: Any, input_id) -> tuple:
        """Of PyG's SamplerOutput."""

    def _begin(self, data, ahead: Ahead, kwargs: dict) -> None:
        """After PyG's `__init__`. Makes the engine's loader, which checks the arguments."""
        if isinstance(data, Graph):
            self._given = None
        self._native: Loader | None = None
        self._asked: tuple = ()
        self._ahead = ahead
        if self._is_ours:
            _ = self._engine
            if self._makes_batches:
                _tell_of_threads(kwargs)
        ahead.require_fused(self._is_ours and self._makes_batches and self._is_fused)

    @property
    def data(self):
        """The data as it was given. For a ramet.Graph, and in another process, it is made from the graph on access,
        with all edges."""
        return self._sampler.source.data if self._given is None else self._given

    @data.setter
    def data(self, data) -> None:
        self._given = data

    def __iter__(self) -> Iterator:
        if self._is_ours:
            tell_of_same_seeds(self)
        return self._batches() if self._makes_batches else super().__iter__()

    def __call__(self, index):
        """The batch of the seeds at the positions `index`: integers, or a bool mask."""
        if not self._collates:
            return super().__call__(index)
        index = _as_positions(index, len(self.dataset))
        self._sampler.source.renew()
        engine = self._engine
        core = engine._core.make(index, random_epoch(self.generator), 0)
        return self._finished(self._batch_of(core, engine), self._served)

    def __getstate__(self) -> dict:
        return {key: value for key, value in self.__dict__.items() if key not in ("_native", "_served", "_asked")}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state, _native=None)

    def check_worker_number_rationality(self) -> None:
        """Torch's warning of many worker processes, where there will be any."""
        if not self._makes_batches:
            super().check_worker_number_rationality()

    @property
    def _collates(self) -> bool:
        """Whether the engine makes a batch of seeds; else `collate_fn` does, or a sampler that is not ours."""
        is_ours = inherits(self._sampler, self.sample_method, RametSampler)
        return is_ours and inherits(self, "collate_fn", self.pyg_loader)

    @property
    def _is_ours(self) -> bool:
        return isinstance(self._sampler, RametSampler)

    @property
    def _makes_batches(self) -> bool:
        """Whether the engine makes the batches of loops; else torch's DataLoader does."""
        return self._collates and inherits(self, "_get_iterator", self.pyg_loader)

    @property
    def _engine(self) -> Loader:
        source = self._sampler.source
        served = self._ahead.served(source) if self._is_fused else {}
        rows = {(t, key): of_key.origin for t, of_type in served.items() for key, of_key in of_type.items()}
        asked = (self._is_fused, source.graph, self._sampler.options(), rows)
        if self._native is None or asked != self._asked:  # unpickled, or something was set
            self._native, self._served, self._asked = self._make_native(served), served, asked
        return self._native

    def filter_fn(self, out):
        """As PyG's: the batch of a sample, made by PyG's code; for a pair of stores also with the rows of edges."""
        source = getattr(self._sampler, "source", None)
        if self._given is None and source is not None:
            source.require_dense_edge_ids()
        if not isinstance(source, StoresSource):
            return super().filter_fn(out)
        plain = copy.copy(self)
        plain.data, plain.transform = (source.rows, source.data[1]), None
        data = super(EngineLoader, plain).filter_fn(out)
        source.rows.add_of_edges(data)
        return data if self.transform is None else self.transform(data)

    @property
    def _is_fused(self) -> bool:
        """Whether the engine gathers attributes; else PyG's own code does, from `data`."""
        sampler, source = self._sampler, self._sampler.source
        return (
            source.is_fused
            and inherits(self, "filter_fn", EngineLoader)
            and (self._given is None or self._given is source.template)
            and sampler.subgraph_type == SubgraphType.directional
            and self.transform_sampler_output is None
        )

    def _native_options(self, served: dict) -> dict:
        """Of the engine's loader, whatever the seeds are."""
        return self._sampler.options() | self._ahead.options(self._sampler.source, served)

    def _batches(self) -> Iterator:
        epoch = random_epoch(self.generator)
        self._sampler.source.renew(by_content=True)
        engine = self._engine
        served = self._served  # by this engine, whatever another loop asks for meanwhile
        watch = FaultWatch()

        def finished(core):
            watch.step()
            return self._finished(self._batch_of(core, engine), served)

        yield from engine_batches(self, engine, epoch, finished)

    def _finished(self, batch: Batch, served: dict):
        """The batch as the user gets it. served: the attributes that it has rows of."""
        sampler, given = self._sampler, self.input_data.input_id
        input_id = batch.input_id if given is None else given[batch.input_id]
        if self._is_fused:
            data = assemble(batch, sampler.source, served)
            self._describe(data, batch, input_id)
            return data if self.transform is None else self.transform(data)
        output = sampler_output(batch, sampler.source)
        output.metadata = self._metadata(batch, input_id)
        return self.filter_fn(sampler.finished(output))


def _as_positions(index, count: int) -> np.ndarray:
    """int64, of integers from -count, or of a bool mask. TypeError and ValueError for others."""
    index = torch.as_tensor(index)
    if index.dtype == torch.bool:
        if index.shape != (count,):
            raise ValueError(f"index is a bool mask of shape {list(index.shape)}, but there are {count} seeds")
        index = index.nonzero()
    if index.numel() > 0 and (index.is_floating_point() or index.is_complex()):
        raise TypeError(f"index is {shortened(index)}, expected positions of seeds, which are integers, or a bool mask")
    index = index.view(-1)
    return torch.where(index < 0, index + count, index).numpy().astype(np.int64, copy=False)


def sampler_for(data, num_neighbors, given, **options):
    """The sampler of a loader: `given`, or a RametSampler where that is None, or says only how it draws."""
    if given is None or isinstance(given, Sampler):
        return RametSampler(data, num_neighbors, method=given, **options)
    return given


def require_callable(function, name: str) -> None:
    if function is not None and not callable(function):
        raise TypeError(f"{name} is {shortened(function)}, expected a function of a batch")


def _tell_of_threads(kwargs: dict) -> None:
    given = [name for name in WORKERS if kwargs.get(name)]
    if given:
        warn_once("%s has no effect: C++ threads of this process make batches ahead", ", ".join(given))
