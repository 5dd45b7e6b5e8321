"""SaintLoader: batches of sampled nodes with the edges among them, and GraphSAINT's normalization."""

from __future__ import annotations

from ramet import _core
from ramet._support.arguments import UINT64_MAX, as_int, check_word
from ramet.graph import Graph
from ramet.loading.options import MAX_THREADS, as_graph, require_whole
from ramet.loading.ranks import Cooperate
from ramet.ranks.world import rank_and_world
from ramet.stores.ordered_edges import Needs, ordered_edges
from ramet.subgraphs.loader import SubgraphLoader
from ramet.subgraphs.subgraph import Norms

SAMPLERS = ("node", "edge", "walk")
AT_A_TIME = 64  # subgraphs that are counted: the number does not depend on threads


class SaintLoader(SubgraphLoader):
    """GraphSAINT's batches: nodes that are drawn anew for each, and all edges among them (Zeng et al.: "GraphSAINT:
    graph sampling based inductive learning method", ICLR 2020). Of a graph with one type of nodes and one of edges.

    sampler: what is drawn. "node": nodes, by the sum of 1 / in-degree^2 over the destinations of their edges. "edge":
        edges, by 1 / out-degree of the source + 1 / in-degree of the destination. "walk": roots, all nodes alike, from
        which walks of `walk_length` steps follow the edges.
    batch_size: draws for a subgraph, with repeats; its nodes are those that were drawn.
    num_steps: subgraphs of an epoch. Of several ranks each gets one in a step.
    walk_length=2: steps; 0 is the roots alone.
    sample_coverage=50: subgraphs are drawn beforehand until they have so many times the nodes of the graph. From them
        come `node_norm` and `edge_norm` of batches, which hold for any number of steps. 0: batches have none.
    seed=0: of all draws.
    tables, features, threads, prefetch, ranks, placement: as of NeighborLoader.

    Each iteration is the next epoch, with other subgraphs. A batch is a ramet.Subgraph: `n_id` has its nodes by id.
    The norms take 4 bytes for each node and edge, in each process. Raises what NeighborLoader raises, and ValueError
    for a graph of several types, without nodes, or without edges to draw by.
    """

    slices_batches = False

    def __init__(
        self,
        graph: Graph,
        sampler: str,
        batch_size: int,
        num_steps: int,
        *,
        walk_length: int = 2,
        sample_coverage: int = 50,
        seed: int = 0,
        **options,
    ):
        self._check_names(options)
        require_whole(as_graph(graph))
        settings = {
            "sampler": check_word(sampler, "sampler", SAMPLERS),
            "batch_size": as_int(batch_size, "batch_size", 1),
            "walk_length": as_int(walk_length, "walk_length", 0) if sampler == "walk" else 0,
            "num_steps": as_int(num_steps, "num_steps", 1),
            "seed": as_int(seed, "seed", 0, UINT64_MAX),
        }
        coverage = as_int(sample_coverage, "sample_coverage", 0)
        if len(graph.node_types) != 1 or len(graph.edge_types) != 1:
            raise ValueError(f"the graph has the types {graph.node_types} and {graph.edge_types}, expected one of each")
        outgoing = None if sampler == "node" else ordered_edges(graph, graph.edge_types[0], Needs(outgoing=True))
        subgraphs = _core.make_saint(graph._core, outgoing, **settings)
        if coverage > 0:
            self.norms = _norms(graph, subgraphs, coverage, options.get("threads"))
        super().__init__(graph, subgraphs, settings, options, batch_size=_ranks(options), seed=seed)

    def state_dict(self) -> dict:
        """As of NeighborLoader; its step counts subgraphs, so that any number of ranks can go on."""
        state = super().state_dict()
        return state | {"step": min(state["step"] * self.world, self._settings["num_steps"])}

    def load_state_dict(self, state: dict) -> None:
        """As of NeighborLoader. ValueError for a state in the midst of a step of so many ranks."""
        done = state["step"] if isinstance(state, dict) and isinstance(state.get("step"), int) else 0
        steps, rest = divmod(done, self.world)
        if rest > 0 and done < self._settings["num_steps"]:
            raise ValueError(f"the state is at subgraph {done}, where no step of {self.world} ranks begins")
        super().load_state_dict(state if rest == steps == 0 else state | {"step": steps + (rest > 0)})


def _norms(graph: Graph, subgraphs: _core.Subgraphs, coverage: int, threads: int | None) -> Norms:
    threads = 0 if threads is None else as_int(threads, "threads", 1, MAX_THREADS)
    counts, num_nodes = _core.SaintCounts(graph._core, subgraphs), 0
    while num_nodes < coverage * graph.num_nodes():
        num_nodes = counts.add(AT_A_TIME, threads)
    return Norms(counts.node_norm(), counts.edge_norm())


def _ranks(options: dict) -> int:
    """How many subgraphs a step has."""
    ranks = options.get("ranks")
    return 1 if isinstance(ranks, Cooperate) else rank_and_world(ranks)[1]
