"""NeighborLoader: the batches of an epoch."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ramet import _core, foreign_words, html
from ramet.arguments import as_flag, as_int
from ramet.graph import Graph
from ramet.loading.batch import Origin
from ramet.loading.combinations import (
    CPU,
    EMBEDDED,
    GIVEN,
    GIVEN_THERE,
    PART,
    RANKS,
    SEVERAL,
    SUPPORTED,
    check,
    kind_of,
)
from ramet.loading.cooperative import GroupThread
from ramet.loading.embeddings import (
    listeners_of,
    require_all_rows,
    require_own_rows,
    rows_of_embeddings,
    split_embeddings,
)
from ramet.loading.epochs import EpochIterator, Epochs, EpochSampler
from ramet.loading.features import Features, as_features
from ramet.loading.fused import fused_tables
from ramet.loading.given_tables import names_of_given, pulling_group, require_owned_alike
from ramet.loading.options import (
    MAX_PREFETCH,
    MAX_THREADS,
    as_device,
    as_graph,
    as_inputs,
    for_sampling,
    require_whole,
    sample_options,
)
from ramet.loading.placement import NOWHERE, TOPOLOGY, Placed, as_placement, on_device, on_host, presamples
from ramet.loading.presampling import presample
from ramet.loading.ranks import Cooperate, cooperating_group, rank_and_world, warn_of_global_batch
from ramet.loading.samplers import Sampler, as_sampler
from ramet.loading.states import checked_position, inputs_alike
from ramet.loading.summary import Summary
from ramet.loading.table_requests import as_requests, described, for_engine, narrowed_tables
from ramet.loading.times import Time
from ramet.loading.watch import Watched
from ramet.progress import locking_progress
from ramet.stores.ownership import as_owners, by_node_type
from ramet.tables.owners import digest_of

PULLED_AHEAD = 4  # batches: the same on every rank, however many cores its machine has


class NeighborLoader:
    """Mini-batches of sampled neighbors with gathered features, made ahead by C++ threads, in a fixed order.

    `num_neighbors` has the fanout of each hop, the seeds' hop first; -1 takes all neighbors. On a heterogeneous graph
    it is one list for every edge type, or a dict by edge type. docs/loader.md has the details of each argument.

    What is sampled
        sampler="uniform": or "labor", which needs fewer nodes; or ramet.Uniform(...), ramet.Labor(...) with options;
            or ramet.Weighted(table), which draws by a table of edge weights.
        expand="every": each hop draws for all nodes so far; "once": for each node once, as PyG (`batch.edges()`).
        disjoint=False: each seed has a tree of its own, which shares no node with others (`batch.batch`).
        time=None: a ramet.Time(table), or the table: neighbors are no later than the seed, and trees are disjoint.
        seed=0: of everything random.
    Which batches
        input_nodes=None: the seeds: a split's name, ids, a bool mask or (type, one of these), or a dict of these by
            type; None: all nodes.
        input_time=None: int64 [input nodes]: the time of each, or a dict by type; None: its row of the time table.
        batch_size=1: seeds of the GLOBAL batch, of which each rank gets its slice.
        shuffle=False, drop_last=False: of the seeds; of a last batch that is smaller.
        tables=None: names of node and edge tables to gather; None: "feat" and "label". Or a dict, name to ramet.Table:
            rows come from that instead of the graph (None: the graph's); on a heterogeneous graph by node type.
            A node type may have a ramet.nn.Embedding there: on a disk it reads ahead the rows of a batch's nodes.
        features=None: a ramet.Features: whether rows are decoded, rounded, or summed before the model gets them.
    Speed
        threads=None: C++ threads, a batch for each; cooperating ranks: one for all. None: as many as the loop needs.
        prefetch=None: batches made ahead; None: about one per thread.
    Ranks
        ranks=None: rank and world size of torch.distributed; False: this process alone; or a process group; or a
            ramet.Cooperate: the ranks make each batch together.
    Device
        device=None: "cuda": batches are made on the GPU, bit-identical to the CPU's (docs/cuda.md).
        placement=None: where topology and tables lie, and caches: a ramet.Placement; or a place, or a dict by table.

    Each iteration is the next epoch, beginning with 0. Errors name the argument, the value and the bound (ValueError,
    TypeError, IndexError, KeyError). What fails in a thread is raised in the loop, in the place of its batch.
    """

    edges_ahead = False  # whether the threads make `edge_index` and `e_id` of batches of expand="once", too

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
        self.graph, self.device, self._asked = as_graph(graph), as_device(device), as_placement(placement)
        self._features = as_features(features)
        kind = kind_of(self.device, ranks)
        tables, embeddings = split_embeddings(tables)
        given = {"device": self.device, "input_time": input_time, "time": time}
        given["expand"] = None if isinstance(expand, str) and expand == "every" else expand
        given["disjoint"] = None if disjoint is False else disjoint
        given[GIVEN] = names_of_given(tables, "host")
        given[GIVEN_THERE] = names_of_given(tables, "device")
        given[EMBEDDED] = list(embeddings) or None
        given[SEVERAL] = list(input_nodes) if isinstance(input_nodes, Mapping) and len(input_nodes) > 1 else None
        given = {name: value for name, value in given.items() if value is not None}
        check(kind, given | self._features.given() | self._asked.given())
        if kind not in SUPPORTED[PART]:
            require_whole(graph)
        self._group = cooperating_group(ranks) if kind == RANKS else None
        self._pulling = pulling_group(tables) if kind == CPU else None
        among = ranks.among if isinstance(ranks, Cooperate) else ranks
        self.rank, self.world = rank_and_world(among)
        sampling = {"sampler": sampler, "seed": seed, "expand": expand, "disjoint": disjoint, "time": time}
        inputs = (input_nodes, input_time)
        batches = {
            "batch_size": batch_size,
            "shuffle": as_flag(shuffle, "shuffle"),
            "drop_last": as_flag(drop_last, "drop_last"),
        }
        ahead = {"threads": threads, "prefetch": prefetch}
        self.ownership = None
        self._cooperative: _core.CooperativeLoader | None = None

        def make(presampled: list | None = None) -> dict:
            looked_up = rows_of_embeddings(self.graph, embeddings)
            rows = {"tables": tables, "looked_up": listeners_of(self.graph, looked_up)}
            owners = None if self._group is None else as_owners(ranks.ownership, self.graph, self._group.size)
            own = {"owners": owners, "presampled": presampled}
            self._make_core(num_neighbors, inputs, sampling, batches, ahead, **rows, **own)
            if owners is not None:
                return self._cooperate(owners, looked_up) | {"features.decode": self._features.decode}
            require_all_rows(looked_up)
            return {
                "batches": len(self),
                "prefetch": self._core.max_prefetch,
                "placement": f"{self._asked}",
                "tables": self._described_tables(),
            }

        together = self._group or self._pulling
        if together is None:
            make()
        else:
            together.compare(make)
        if self._group is not None and presamples(self._asked):
            thread = GroupThread(self._group)
            self._group.gather(lambda: make(presample(self._cooperative, thread, self.graph)))
        self.origin = self._make_origin()
        self._epochs = self._make_epochs(among, input_nodes)
        warn_of_global_batch(batch_size, self.rank, self.world)

    def _make_core(
        self,
        num_neighbors,
        inputs: tuple,
        sampling: dict,
        batches: dict,
        ahead: dict,
        *,
        tables,
        looked_up,
        owners: list[_core.Ownership] | None,
        presampled: list | None,
    ) -> None:
        graph, group = self.graph, self._group
        input_nodes, input_time = inputs
        sample = sample_options(graph, num_neighbors, **sampling)
        chosen = as_inputs(input_nodes, input_time, graph, "input_nodes", sample["time"])
        self.seed_types = [graph.node_types[of_type.node_type] for of_type in chosen]
        self._requests = as_requests(graph, self.seed_types, tables, sample["expand"])
        features = self._features
        self._fused = fused_tables(graph, self._requests, features.decode) if features.fuse else {}
        formed = {"fused": self._fused, "narrowed": narrowed_tables(graph, self._requests, features)}
        batches = batches | {"batch_size": as_int(batches["batch_size"], "batch_size", 1)}
        threads, prefetch = ahead["threads"], ahead["prefetch"]
        few = 0 if group is None else 1  # 0: the engine decides, which ranks that pull rows do alike
        ahead_alike = few if self._pulling is None else PULLED_AHEAD
        # Ranks that cooperate sample the first batches together, with a loader that has no tables.
        is_first = owners is not None and presamples(self._asked) and presampled is None
        requests = {} if is_first else self._requests
        self.options = sample | batches
        self.sample_options = for_sampling(sample)
        make = partial(
            _core.NeighborLoader,
            graph._core,
            self.sample_options,
            **batches,
            inputs=chosen,
            rank=self.rank if group is None else group.index,
            world=self.world if group is None else group.count,
            threads=few if threads is None else as_int(threads, "threads", 1, MAX_THREADS),
            prefetch=ahead_alike if prefetch is None else as_int(prefetch, "prefetch", 1, MAX_PREFETCH),
            tables=for_engine(graph, requests, sample["expand"], self._pulling is not None, **formed),
            looked_up=[] if is_first else looked_up,
            decode=features.decode,
            edges_ahead=self.edges_ahead,
            transpose=features.transposed,
            **(NOWHERE if is_first else self._placed_options(owners, presampled)),
        )
        self._core = make() if self.device is None else _with_locking_progress(make)
        arrays = [array for of_type in chosen for array in (of_type.ids, of_type.times)]
        self._ends = [a if a is None else (len(a), *a[:8].tolist(), *a[-8:].tolist()) for a in arrays]

    def _placed_options(self, owners: list[_core.Ownership] | None, presampled: list | None) -> dict:
        names = [name for _, name in self._requests]
        if self.device is not None:
            return on_device(self._asked, names, self.device.index)
        pulls, of_owners = self._pulling is not None, {}
        if owners is not None:
            of_owners = {"owners": owners, "owner_rank": self._group.rank, "presampled": presampled or []}
        return on_host(self._asked, names, together=pulls or self._group is not None, pulls=pulls, **of_owners)

    def _cooperate(self, owners: list[_core.Ownership], looked_up: dict) -> dict:
        """What the ranks of the group must have alike."""
        group = self._group
        require_owned_alike(self.graph, self._requests, owners, group.rank)
        require_own_rows(self.graph, looked_up, owners, group.rank)
        self.ownership = by_node_type(owners, self.graph)
        self._cooperative = _core.CooperativeLoader(self._core, owners=owners, rank=group.rank)
        digest = self._core.fingerprint()
        return self.options | {
            "placement": f"{self._asked}",
            "prefetch": self._core.max_prefetch,
            "part": "its own" if self.graph.part in (None, (group.rank, group.size)) else self.graph.part[0],
            "tables": self._described_tables(),
            "ownership": list(map(digest_of, owners)),
            "graph and input_nodes": inputs_alike(self.graph, self.seed_types, self._ends[::2], digest),
        }

    def _described_tables(self) -> list[str]:
        return [described(self.graph, *key, table) for key, table in self._requests.items()]

    def _make_origin(self) -> Origin:
        rows = None if self._group is None else self._group.channel.rows
        return Origin(
            self.graph,
            self.world,
            self._requests,
            self.options["seed"],
            group=rows,
            device=self.device,
            decode=self._features.decode,
            fused=self._fused,
        )

    def _make_epochs(self, among, input_nodes) -> Epochs:
        start = self._core.start
        if self._cooperative is not None:
            start = partial(self._cooperative.start, thread=GroupThread(self._group))
        elif self._pulling is not None:
            start = partial(self._core.start_pulling, thread=GroupThread(self._pulling))
        watched = self._watch(among, input_nodes) if self.world > 1 else None
        return Epochs(start, len(self), self.origin, ranks=among, watched=watched)

    def _watch(self, among, input_nodes) -> Watched:
        """Known on every rank by what is sampled. Ids are compared at their ends, which costs nothing."""
        what = [self.options, self.seed_types, self._ends]
        name = f"{input_nodes!r}" if isinstance(input_nodes, str) else "its input nodes"
        return Watched(among, what, f"a loader over {name} (batch_size={self.options['batch_size']})")

    def __len__(self) -> int:
        """Batches per epoch, the same number on every rank."""
        return self._core.num_steps

    def __repr__(self) -> str:
        return f"<ramet.NeighborLoader {', '.join(f'{name}={value}' for name, value in self._described().items())}>"

    def _repr_html_(self) -> str:
        return html.table("ramet.NeighborLoader", ("", ""), [*self._described().items(), ("graph", self.graph)])

    def _described(self) -> dict:
        fanouts, options = self.options["fanouts"], self.options
        return {
            "batches": f"{len(self):,}",
            "batch_size": f"{options['batch_size']:,}",
            "num_neighbors": dict(zip(self.graph.edge_types, fanouts)) if self.graph.is_hetero else fanouts[0],
            "sampler": as_sampler(options["sampler"]),
            "seed_type": " and ".join(self.seed_types),
            "shuffle": options["shuffle"],
            "tables": sorted({name for _, name in self._requests}),
            "rank": f"{self.rank} of {self.world}",
        }

    def __reduce__(self):
        raise TypeError("a NeighborLoader is not pickled: pickle its graph, which is a handle, and make a loader there")

    def __iter__(self) -> EpochIterator:
        return EpochIterator(self._epochs)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next iterator that asks for its first batch. Right after `load_state_dict`, the epoch
        that was loaded keeps its step.
        """
        epoch = as_int(epoch, "epoch", 0)
        if epoch != self._epochs.next[0]:
            self._epochs.next = self._epochs.position = (epoch, 0)

    @property
    def batch_sampler(self) -> EpochSampler:
        """Its `sampler.set_epoch` is the loader's: Lightning looks for it there. Nothing else is in it."""
        return EpochSampler(self.set_epoch)

    @property
    def sampler(self) -> EpochSampler:
        """As `batch_sampler`. What picks neighbors is an option, not this."""
        return EpochSampler(self.set_epoch)

    def state_dict(self) -> dict:
        """Where the loader is: the epoch and the number of batches returned of it (not those made ahead), and what it
        samples from. A few integers, the same on every rank.
        """
        epoch, step = self._epochs.position
        return {
            "epoch": epoch,
            "step": step,
            "options": dict(self.options),
            "fingerprint": self._core.fingerprint(),
            "tables": self._core.tables_digest(),
        }

    def load_state_dict(self, state: dict) -> None:
        """The next iterator continues exactly where `state` was taken, on any number of ranks. Raises ValueError naming
        the difference if `state` is of another store, other input nodes or their times, other options, or other weights
        or times to draw by.
        """
        epoch, step = checked_position(state, self.state_dict(), len(self))
        self._epochs.next = self._epochs.position = (epoch, step)

    def summary(self) -> Summary:
        """What bounds the loop and what its batches cost, over all iterators of this process so far; `print` it."""
        core, held = self._core, self.buffer_bytes
        return Summary(
            **core.summary(),
            max_threads=core.max_threads,
            max_prefetch=core.max_prefetch,
            max_sampled=core.max_sampled,
            cache_bytes=core.cache_bytes,
            pool_bytes=held["in_use"] + held["idle"],
        )

    @property
    def cache_use(self) -> dict[str, int]:
        """Of a loader with a cache (`Placement.cache_rows`): rows that the cache had, "hits", and that were read,
        "misses", so far in this process."""
        summary = self._core.summary()
        return {"hits": summary["cache_hits"], "misses": summary["cache_misses"]}

    @property
    def placement(self) -> dict[str, Placed]:
        """Where the loader has each table, how it reads it, and why; on a heterogeneous graph by (node type, table).
        With a device, also where the "topology" is."""
        keys = [name if not self.graph.is_hetero else (node_type, name) for node_type, name in self._requests]
        keys = keys if self.device is None else [TOPOLOGY, *keys]
        return {key: Placed(*decision) for key, decision in zip(keys, self._core.placement, strict=True)}

    @property
    def buffer_bytes(self) -> dict[str, int]:
        """Bytes of batches alive or being made, and of recycled buffers that wait for the next batch. With a device:
        of its memory."""
        core = self._core
        if self.device is not None:
            return {"in_use": core.device_bytes_in_use, "idle": core.device_bytes_idle}
        return {"in_use": core.buffer_bytes_in_use, "idle": core.buffer_bytes_idle}


def _with_locking_progress(make):
    with locking_progress() as report:
        return make(progress=report)
