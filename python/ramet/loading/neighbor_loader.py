"""NeighborLoader: batches of nodes."""

from __future__ import annotations

from collections.abc import Mapping

from ramet._support import foreign_words
from ramet.graph import Graph
from ramet.loading.config import LoaderConfig
from ramet.loading.features import Features
from ramet.loading.loader import Loader
from ramet.loading.samplers import Sampler
from ramet.loading.times import Time


class NeighborLoader(Loader):
    """Mini-batches of sampled neighbors with gathered features, made ahead by C++ threads, in a fixed order.

    `num_neighbors` has the fanout of each hop, the seeds' hop first; -1 takes all neighbors. On a heterogeneous graph
    it is one list for every edge type, or a dict by edge type. docs/loader.md has the details of each argument.

    What is sampled
        sampler="uniform": or "labor", which needs fewer nodes; or ramet.Uniform(...), ramet.Labor(...) with options;
            or ramet.Weighted(table), which draws by a table of edge weights. Each has `dependent`.
        expand="every": each hop draws for all nodes so far; "once": for each node once, as PyG (`batch.edges()`).
        disjoint=False: with True each seed has its own tree, which shares no node with others (`batch.batch`).
        time=None: a ramet.Time(table), or the table: neighbors are no later than the seed, and trees are disjoint.
        seed=0: the random seed of all draws.
    Which batches
        input_nodes=None: the seeds: a split's name, ids, a bool mask, a node type, (type, one of these), or a dict of
            these by type; None: all nodes.
        input_time=None: int64 [input nodes]: the time of each, or a dict by type; None: its row of the time table.
            [input nodes, 2]: the first and the last time that each allows.
        batch_size=1: seeds of the GLOBAL batch; each rank gets its slice.
        shuffle=False, drop_last=False: whether to shuffle the seeds; to drop a last, smaller batch.
        tables=None: names of node and edge tables to gather; None: "feat" and "label". Or a dict, name to ramet.Table:
            rows come from it instead of the graph (None: the graph's); on a heterogeneous graph by node type.
            A node type may have a ramet.nn.Embedding there: on a disk it gets prefetch hints for each batch's nodes.
        features=None: a ramet.Features: whether rows are decoded, rounded, summed, or hidden at the seeds, before the
            model gets them.
    Speed
        threads=None: C++ threads, a batch for each; cooperating ranks: one for all. None: as many as the loop needs.
        prefetch=None: batches made ahead; None: about one per thread.
    Ranks
        ranks=None: rank and world size of torch.distributed; False: this process alone; or a process group; or a
            ramet.Cooperate: the ranks make each batch together.
    Device
        device=None: "cuda": batches are made on the GPU, bit-identical to the CPU's (docs/cuda.md).
        placement=None: a ramet.Placement: the home of topology and tables, and caches; or a word, or a dict by table.

    Each iteration is the next epoch, beginning with 0. Errors name the argument, the value and the bound (ValueError,
    TypeError, IndexError, KeyError). An error in a thread is raised in the loop, by its batch.
    """

    def __init__(
        self,
        graph: Graph,
        num_neighbors,
        input_nodes=None,
        batch_size: int = 1,
        *,
        shuffle: bool = False,
        drop_last: bool = False,
        sampler: Sampler | str = "uniform",
        seed: int = 0,
        expand: str = "every",
        disjoint: bool = False,
        time: Time | str | None = None,
        input_time=None,
        threads: int | None = None,
        prefetch: int | None = None,
        tables: tuple[str, ...] | Mapping | None = None,
        features: Features | None = None,
        ranks=None,
        device=None,
        placement=None,
        **unknown,
    ):
        foreign_words.check_arguments(unknown)
        config = LoaderConfig(
            graph=graph,
            num_neighbors=num_neighbors,
            input_nodes=input_nodes,
            batch_size=batch_size,
            shuffle=shuffle,
            drop_last=drop_last,
            sampler=sampler,
            seed=seed,
            expand=expand,
            disjoint=disjoint,
            time=time,
            input_time=input_time,
            tables=tables,
            features=features,
            threads=threads,
            prefetch=prefetch,
            ranks=ranks,
            device=device,
            placement=placement,
        )
        super().__init__(config)
