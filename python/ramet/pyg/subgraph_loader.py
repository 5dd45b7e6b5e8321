"""SubgraphBatches: what PyG's loaders of clusters and of GraphSAINT have in common, over the engine's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
from torch.utils.data import DataLoader
from torch_geometric.data import Data

from ramet.pyg.ahead import Ahead
from ramet.pyg.assembly import assemble
from ramet.pyg.hooks import inherits
from ramet.pyg.order import engine_batches
from ramet.pyg.sampler import random_epoch
from ramet.pyg.source import Source, source_of
from ramet.subgraphs.loader import SubgraphLoader
from ramet.subgraphs.subgraph import Subgraph


class SubgraphBatches(DataLoader):
    """A DataLoader over the numbers of subgraphs, whose batches C++ threads of this process make ahead."""

    source: Source

    def _begin(self, data, kwargs: dict) -> Ahead:
        """Takes the data, and the engine's own options out of the arguments of a DataLoader."""
        for name in ("dataset", "collate_fn"):  # which Lightning hands over
            kwargs.pop(name, None)
        self.source = source_of(data)
        if self.source.is_hetero or not self.source.is_fused:
            raise TypeError(f"data is {data!r}, expected a Data with edge_index, or a graph of one type")
        return Ahead.taken_from(kwargs)

    def _set_engine(self, ahead: Ahead, make, *args, **options) -> None:
        """make: the class of the engine's loader, with its arguments after the graph."""
        self._ahead, self._made_by = ahead, (make, args, options)
        self._make_engine()

    def _make_engine(self) -> None:
        ahead, (make, args, options) = self._ahead, self._made_by
        self._served = ahead.served(self.source)
        options = options | ahead.options(self.source, self._served)
        self._engine: SubgraphLoader = make(self.source.graph, *args, **options)

    def __getstate__(self) -> dict:
        return {key: value for key, value in self.__dict__.items() if key not in ("_engine", "_served")}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._make_engine()

    def __iter__(self) -> Iterator[Data]:
        makes_batches = inherits(self, "_get_iterator", DataLoader)
        return self._batches() if makes_batches else super().__iter__()

    def check_worker_number_rationality(self) -> None:
        """Torch's warning of many worker processes: there are none."""

    def _batches(self) -> Iterator[Data]:
        self._renew(by_content=True)
        assembled = partial(self._assembled, self._engine, self._served)
        yield from engine_batches(self, self._engine, random_epoch(self.generator), assembled)

    def _made(self, numbers) -> Data:
        """The batch of some subgraphs, for a DataLoader that collates itself."""
        self._renew()
        numbers = np.asarray(numbers, np.int64).reshape(-1)
        core = self._engine._core.make(numbers, random_epoch(self.generator), 0)
        return self._assembled(self._engine, self._served, core)

    def _renew(self, by_content: bool = False) -> None:
        """As of Source. GraphSAINT's norms are estimated again."""
        graph = self.source.graph
        self.source.renew(by_content)
        if self.source.graph is not graph:
            self._make_engine()

    def _assembled(self, engine: SubgraphLoader, served: dict, core) -> Data:
        """engine, served: as they were when the loop began."""
        batch = Subgraph(core, engine.origin)
        data = assemble(batch, self.source, served)
        if engine.norms is not None:
            data.node_norm, data.edge_norm = batch.node_norm, batch.edge_norm
        return data
