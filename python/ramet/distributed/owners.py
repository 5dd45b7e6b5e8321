"""Who owns a node, for loaders and tables alike."""

from __future__ import annotations

from ramet import _core
from ramet.graph import Graph
from ramet.ranks.world import rank_and_world
from ramet.stores.ownership import as_owners, by_node_type


def ownership(graph: Graph, ownership=None, ranks=None) -> _core.Ownership | dict[str, _core.Ownership]:
    """Who owns which node of `graph`, as cooperative loaders and Table.create take it as `ownership`: an object with
    `parts` (the ranks), `num_nodes` and `owners(ids)`; a dict of these by node type where there are several.

    ownership: as of a cooperative NeighborLoader. None: ranges of ids with about equally many in-edges and nodes; of a
        part what it says itself.
    ranks: None, False or a process group, as of a NeighborLoader.

    Not collective: ranks that call it alike get the same. ValueError or TypeError for an ownership that does not fit.
    """
    return by_node_type(as_owners(ownership, graph, rank_and_world(ranks)[1]), graph)
