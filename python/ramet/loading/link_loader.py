"""LinkLoader: batches of edges, or other pairs of nodes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ramet._support import foreign_words
from ramet._support.arguments import as_int
from ramet.graph import Graph
from ramet.loading.config import LoaderConfig
from ramet.loading.features import Features
from ramet.loading.link_batch import LinkBatch
from ramet.loading.links import Links
from ramet.loading.loader import Loader
from ramet.loading.negatives import Negatives
from ramet.loading.samplers import Sampler
from ramet.loading.times import Time


class LinkLoader(Loader):
    """Mini-batches of pairs of nodes, with exact negatives, without the pairs' own edges among the messages.

    A step's pairs are a slice of the epoch's shuffled pairs. Their distinct ends are the seeds, for which neighbors are
    sampled as by NeighborLoader; the arguments that are not listed here are the same. docs/links.md is the guide.

    Which pairs
        edges=None: edges of an edge type: their ids (`block.e_id`'s numbers), a bool mask in the order of ids, the name
            of a split, or None for all; or int64 [2, n], sources above destinations, which need not be edges; or (edge
            type, one of these); or a dict of these by edge type, whose pairs are in one batch.
        batch_size=1: pairs of the GLOBAL batch, without negatives; each rank gets its slice.
        labels=None: [pairs, ...], a row for each pair, or a dict by edge type.
        edge_time=None: int64 [pairs], with a `time`: when each pair is. None: its edge's row of the time table.
    Negatives
        negatives=None: a ramet.Negatives, or its mode, "binary" or "triplet". Never an edge of `graph`: with
            `graph.edge_subgraph(...)`, of which edges hidden from it may be negatives.
    No leak
        exclude="auto": which edges no hop draws, of those that the global batch's pairs are. "self": the edges
            themselves: by id where `edges` are ids, else all parallel ones. "reverse": their reverses, too: of a graph
            made with undirected=True, or of the type that PyG's ToUndirected calls rev_... A dict from edge types to
            their reverse types, or None. "auto": "reverse" where the graph knows reverses, else "self". None: nothing.
            A ramet.SpotTarget: only at nodes of low degree.

    Each iteration is the next epoch. Raises as NeighborLoader does, KeyError where a pair has no exact negative.
    """

    batch_class = LinkBatch

    def __init__(
        self,
        graph: Graph,
        num_neighbors,
        edges=None,
        batch_size: int = 1,
        *,
        labels=None,
        edge_time=None,
        negatives: Negatives | str | None = None,
        exclude="auto",
        shuffle: bool = False,
        drop_last: bool = False,
        sampler: Sampler | str = "uniform",
        seed: int = 0,
        expand: str = "every",
        disjoint: bool = False,
        time: Time | str | None = None,
        threads: int | None = None,
        prefetch: int | None = None,
        tables: tuple[str, ...] | Mapping | None = None,
        features: Features | None = None,
        ranks=None,
        device=None,
        placement=None,
        **unknown,
    ):
        foreign_words.check_arguments(unknown, "ramet.LinkLoader")
        config = LoaderConfig(
            graph=graph,
            num_neighbors=num_neighbors,
            links=Links(edges, labels, edge_time, negatives, exclude),
            batch_size=batch_size,
            shuffle=shuffle,
            drop_last=drop_last,
            sampler=sampler,
            seed=seed,
            expand=expand,
            disjoint=disjoint,
            time=time,
            tables=tables,
            features=features,
            threads=threads,
            prefetch=prefetch,
            ranks=ranks,
            device=device,
            placement=placement,
        )
        super().__init__(config)


def sample_links(graph: Graph, edges, num_neighbors, *, epoch: int = 0, step: int = 0, **options) -> LinkBatch:
    """The batch of one step, without tables: what a LinkLoader with these `options` makes of these pairs, and excludes
    for them. `edges` as there, all in one batch. Raises as LinkLoader does, TypeError for options of many batches."""
    for name in ("batch_size", "shuffle", "drop_last", "tables", "ranks", "prefetch"):
        if name in options:
            raise TypeError(f"ramet.sample_links has no {name!r}: it makes one batch, of all pairs, without tables")
    epoch, step = as_int(epoch, "epoch", 0), as_int(step, "step", 0)
    loader = LinkLoader(graph, num_neighbors, edges, tables=(), ranks=False, **options)
    positions = np.arange(len(loader), dtype=np.int64)
    return LinkBatch(loader._core.make(positions, epoch, step), loader.origin)
