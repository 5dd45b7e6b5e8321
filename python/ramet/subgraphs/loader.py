"""SubgraphLoader: what ClusterLoader and SaintLoader have in common."""

from __future__ import annotations

from ramet import _core
from ramet._support import foreign_words
from ramet.graph import Graph
from ramet.loading.batch import Origin
from ramet.loading.config import LoaderConfig
from ramet.loading.loader import Loader
from ramet.subgraphs.subgraph import Norms, Subgraph, SubgraphOrigin

OPTIONS = ("tables", "features", "threads", "prefetch", "ranks", "placement")  # as of NeighborLoader


class SubgraphLoader(Loader):
    """A loader whose batches are subgraphs. `state_dict`, `set_epoch`, `summary` and so on are as of NeighborLoader."""

    batch_class = Subgraph
    edges_ahead = True
    norms: Norms | None = None

    def __init__(self, graph: Graph, subgraphs: _core.Subgraphs, settings: dict, options: dict, **batches):
        """settings: of the subgraphs, for `options`. options: of the user. batches: others of LoaderConfig."""
        self._settings = settings
        super().__init__(LoaderConfig(graph, [], expand="once", subgraphs=subgraphs, **batches, **options))

    @classmethod
    def _check_names(cls, options: dict) -> None:
        """TypeError for arguments that no loader of subgraphs has."""
        foreign_words.check_arguments({name: options[name] for name in options if name not in OPTIONS}, cls.__name__)

    def _make_origin(self) -> Origin:
        return SubgraphOrigin(**vars(super()._make_origin()), norms=self.norms)

    @property
    def options(self) -> dict:
        return self.config.options | self._settings

    def _described(self) -> dict:
        shown = super()._described() | self._settings
        return {name: value for name, value in shown.items() if name not in ("num_neighbors", "sampler", "seed_type")}
