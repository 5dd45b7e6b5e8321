"""NeighborLoader: the batches of an epoch."""

from __future__ import annotations

from collections.abc import Mapping

from ramet import _core, foreign_words, html
from ramet.arguments import as_flag, as_int, shortened
from ramet.cuda import torch_devices
from ramet.graph import Graph
from ramet.loading.cooperative import Maker
from ramet.loading.epochs import EpochIterator, EpochSampler
from ramet.loading.options import (
    MAX_PREFETCH,
    MAX_THREADS,
    as_device,
    as_graph,
    as_input_nodes,
    refuse_part,
    sample_options,
)
from ramet.loading.placement import PLACES, TOPOLOGY, Placed, device_options
from ramet.loading.ranks import rank_and_world, say_global_batch_size
from ramet.loading.summary import Summary
from ramet.loading.table_requests import as_requests, described, for_engine
from ramet.loading.watch import Watched
from ramet.stores.ownership import as_owners


class NeighborLoader:
    """Mini-batches of sampled neighbors with gathered features, made ahead by threads, in a fixed order.

    graph: a Graph.
    num_neighbors: fanouts, the seeds' hop first, as in PyG; DGL's lists have it last. -1 takes all neighbors, 0 none.
        On a heterogeneous graph one list for every edge type, or a dict of lists by edge type.
    input_nodes: the seeds of an epoch: None (all nodes), the name of a split, ids, or a bool mask; on a heterogeneous
        graph a pair (node type, any of these).
    batch_size: seeds in the GLOBAL batch, over all ranks; each rank gets its contiguous slice.
    shuffle, drop_last: as their names say. seed: of everything random, see docs/semantics.md.
    replace: of sampler="uniform" alone: draws may repeat; -1 takes all neighbors once, all the same.
    sampler: "uniform" (each destination picks on its own) or "labor" (layer-neighbor sampling, arXiv 2210.13339:
        destinations share their sources' randomness, so that a batch has fewer nodes, about half where in-degrees are
        several times the fanouts, which are then what a destination takes in expectation).
    importance_iterations: of "labor" alone, LABOR-i: fewer nodes still, more work; 0 is LABOR-0. From 1 on, what a
        rank samples depends on the whole slice it has, so that several ranks do not give the batch of one, unless they
        cooperate.
    layer_dependent: of "labor" alone: all hops use the same randomness; fewer nodes, at correlated layers, of which the
        first hop alone is unbiased.
    weights: of "labor": what `block.edge_weight` is. "normalized": they add up to 1 at each destination; the plain mean
        for LABOR-0. "horvitz-thompson": unbiased also where nothing may be picked, at a larger error.
        docs/semantics.md, section 8, says what both estimate, and how well.
    dependent: kappa, steps of a block of dependent minibatches (Balin et al., arXiv:2310.12403): random choices turn
        slowly within a block, so that a node's sampled neighbors are mostly those of the batch before, which a cache
        of features still has; each batch alone is distributed as ever. With "labor" that holds for nodes that the
        batch before did not have, too. 1: every batch is independent.
    threads: C++ threads that make batches, exactly so many. None: as many as keep up with the loop, decided while it
        runs: 1 where training takes longer than making a batch, since cores that training uses are not idle; up to
        this rank's share of the cores (at most 8) where it does not.
    prefetch: batches made ahead. None: as many as threads, and one more where these are decided by the loader. Memory
        is bounded by these batches beside those the caller holds; `summary()` has the figures.
    tables: names of tables to gather ahead. A node table, "label" at the seeds, any other at all nodes, is in
        `batch.tables`; an edge table, where no node type has one of the name, is `block.table(name)` of each block.
        None: the node tables "feat" and "label", as far as the graph has them.
    decode: float16, bfloat16 and quantized int8 tables arrive as float32, decoded as they are gathered. False: as they
        are stored (bfloat16 as uint16 where torch is absent), and `batch.scales` has the scales of int8.
    distributed: None finds rank and world size of torch.distributed; False: this process alone, as for validation on
        rank 0; or a process group.
    cooperative: True: all ranks make each batch together: every node is sampled, and its rows read, by the rank that
        owns it alone, and layers pull the rows of sources from each other (`ramet.distributed.Cooperative`, which
        docs/cooperative.md explains). A process group: ranks cooperate inside the group and work data-parallel between
        groups. Every rank of `distributed` makes its loader, with the same arguments. `threads` then work on one batch.
    ownership: of cooperative loaders, who owns a node: "range" (the default: ranges of ids with about equally many
        in-edges and nodes), "hash", a vector of ranks [num_nodes] or the path of an .npy file of it; or a dict of
        these by node type. Where the graph is a part (`ramet.partition`), None: rank k of the group opens part k.
    cache_rows: rows of each table gathered at all nodes, at most so many, that are kept in faster memory; `cache_use`
        says what comes of it. With a device: rows of tables that are read in place, in the device's memory, chosen
        when the loader is made. Of cooperative loaders: rows that this rank keeps from batch to batch, for tables on
        slow storage.
    device: None or "cpu"; or "cuda", "cuda:1", a torch.device: batches arrive on the GPU, made there by kernels that
        read the store where it lies; the same batches, to the bit. docs/cuda.md.
    placement: with a device, where it has the topology and the tables: "device" (a copy in its memory), "in_place"
        (it reads the host's memory, of which all processes share one copy), "staged" (processors gather, or sample,
        and copy) or "auto" (a copy where it fits, else the faster of the other two, measured); or a dict of these by
        table, and "topology". `placement` of the loader says what was decided, and why.
    device_memory: bytes that copies may take by "auto"; None: half of what is free.
    cache_by: which rows `cache_rows` are, with a device: "degree", those of nodes with most out-edges, or
        "presampling", those in most of the first 20 batches.
    max_sms: multiprocessors that gathering may use, with a device; None: all of them.

    Each iteration is the next epoch, beginning with 0. An iterator takes its epoch when its first batch is asked for:
    one that hands out no batch uses up none. Several may run at once, each with an epoch of its own; `state_dict`
    speaks of the one that handed out a batch last. An iterator that crosses a fork after its first batch raises; a new
    one works in the child, unless the loader is cooperative: its connections are its parent's. docs/epochs.md has
    Lightning and Accelerate.

    Raises ValueError, TypeError, IndexError or KeyError naming the argument, the value and the bound. What goes wrong
    in a thread is raised in the loop, in the place of its batch.
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
        replace: bool = False,
        sampler: str = "uniform",
        importance_iterations: int = 0,
        layer_dependent: bool = False,
        weights: str = "normalized",
        seed: int = 0,
        dependent: int = 1,
        threads: int | None = None,
        prefetch: int | None = None,
        tables: tuple[str, ...] | None = None,
        decode: bool = True,
        distributed=None,
        cooperative=None,
        ownership=None,
        cache_rows: int = 0,
        device=None,
        placement=None,
        device_memory: int | None = None,
        cache_by: str = "degree",
        max_sms: int | None = None,
        **unknown,
    ):
        foreign_words.refuse_arguments(unknown)
        self.graph = as_graph(graph)
        self.device = as_device(device)
        only_with_device = {"placement": placement, "device_memory": device_memory, "max_sms": max_sms}
        _refuse_without_device(self.device, cooperative, only_with_device, cache_rows)
        self._group = _make_group(cooperative, distributed, ownership=ownership)
        if self._group is None:
            refuse_part(graph)
        self.rank, self.world = rank_and_world(distributed)
        self._distributed = distributed
        sampling = {
            "replace": replace,
            "seed": seed,
            "sampler": sampler,
            "importance_iterations": importance_iterations,
            "layer_dependent": layer_dependent,
            "weights": weights,
            "dependent": dependent,
        }
        batches = {
            "batch_size": batch_size,
            "shuffle": as_flag(shuffle, "shuffle"),
            "drop_last": as_flag(drop_last, "drop_last"),
        }
        ahead = {"threads": threads, "prefetch": prefetch}
        decode = as_flag(decode, "decode")
        on = only_with_device | {"cache_rows": cache_rows, "cache_by": cache_by}
        self._cooperative: _core.CooperativeLoader | None = None
        self._agreed: set[int] = set()  # see Batch
        self._cached = (0, 0)  # hits and misses of a device's cache

        def make() -> dict:
            self._make_core(num_neighbors, input_nodes, sampling, batches, ahead, tables=tables, decode=decode, on=on)
            if self._group is None:
                return {}
            return self._cooperate(ownership, cache_rows=cache_rows, **ahead) | {"decode": decode}

        if self._group is None:
            make()
        else:
            self._group.compare(make)
        self._next = (0, 0)  # epoch and step of the next iterator's first batch
        self._position = (0, 0)  # the batch after the one that was handed out last
        say_global_batch_size(batch_size, self.rank, self.world)

    def _make_core(
        self, num_neighbors, input_nodes, sampling: dict, batches: dict, ahead: dict, *, tables, decode: bool, on: dict
    ) -> None:
        graph, group = self.graph, self._group
        seed_type, ids = as_input_nodes(input_nodes, graph, "input_nodes")
        self._requests = tuple(as_requests(graph, graph.node_types[seed_type], tables))
        self._decode = decode
        sample = sample_options(graph, num_neighbors, **sampling)
        batches = batches | {"batch_size": as_int(batches["batch_size"], "batch_size", 1)}
        threads, prefetch = ahead["threads"], ahead["prefetch"]
        self._options = sample | batches
        self._watched = self._watch(input_nodes, seed_type, ids) if self.world > 1 else None
        sample_core = _core.SampleOptions(**sample)
        self._core = _core.NeighborLoader(
            graph._core,
            sample_core,
            **batches,
            seed_type=seed_type,
            input_nodes=ids,
            rank=self.rank if group is None else group.index,
            world=self.world if group is None else group.count,
            threads=0 if threads is None else as_int(threads, "threads", 1, MAX_THREADS),
            prefetch=0 if prefetch is None else as_int(prefetch, "prefetch", 1, MAX_PREFETCH),
            tables=for_engine(graph, self._requests),
            decode=decode,
            on=_core.DeviceOptions() if self.device is None else self._device_options(**on),
        )
        self._sample, self._seed_type = sample_core, seed_type

    def _watch(self, input_nodes, seed_type: int, ids) -> Watched:
        """Known on every rank by what is sampled. Ids are compared at their ends, which costs nothing."""
        what = [self._options, seed_type, ids if ids is None else (len(ids), *ids[:8].tolist(), *ids[-8:].tolist())]
        name = f"{input_nodes!r}" if isinstance(input_nodes, str) else "its input nodes"
        return Watched(self._distributed, what, f"a loader over {name} (batch_size={self._options['batch_size']})")

    def _device_options(self, placement, **options) -> _core.DeviceOptions:
        names = [name for _, name in self._requests]
        return _core.DeviceOptions(**device_options(self.device.index, placement, names, **options))

    def _cooperate(self, ownership, *, threads, prefetch, cache_rows) -> dict:
        """What the ranks of the group must have alike."""
        group = self._group
        owners = as_owners(ownership, self.graph, group.size)
        self._cooperative = _core.CooperativeLoader(
            self._core,
            owners=owners,
            rank=group.rank,
            threads=threads or 1,
            cache_rows=as_int(cache_rows, "cache_rows", 0),
        )
        self._prefetch = prefetch or 1
        self._maker = Maker(self._cooperative, group)
        return self._options | {
            "prefetch": self._prefetch,
            "part": "its own" if self.graph.part in (None, (group.rank, group.size)) else self.graph.part[0],
            "tables": [described(self.graph, t, name) for t, name in self._requests],
            "ownership": [f"{of_type.digest():016x}" for of_type in owners],
            "graph, input_nodes and options": f"{self._core.fingerprint():016x}",
        }

    def __len__(self) -> int:
        """Batches per epoch, the same number on every rank."""
        return self._core.num_steps

    def __repr__(self) -> str:
        return f"<ramet.NeighborLoader {', '.join(f'{name}={value}' for name, value in self._described().items())}>"

    def _repr_html_(self) -> str:
        return html.table("ramet.NeighborLoader", ("", ""), [*self._described().items(), ("graph", self.graph)])

    def _described(self) -> dict:
        fanouts, options = self._options["fanouts"], self._options
        return {
            "batches": f"{len(self):,}",
            "batch_size": f"{options['batch_size']:,}",
            "num_neighbors": dict(zip(self.graph.edge_types, fanouts)) if self.graph.is_hetero else fanouts[0],
            "sampler": options["sampler"],
            "seed_type": self.graph.node_types[self._seed_type],
            "shuffle": options["shuffle"],
            "tables": sorted({name for _, name in self._requests}),
            "rank": f"{self.rank} of {self.world}",
        }

    def __iter__(self) -> EpochIterator:
        return EpochIterator(self)

    def set_epoch(self, epoch: int) -> None:
        """The epoch of the iterator that asks for its first batch next. Right after `load_state_dict` the epoch that
        was loaded keeps its step."""
        epoch = as_int(epoch, "epoch", 0)
        if epoch != self._next[0]:
            self._next = self._position = (epoch, 0)

    @property
    def batch_sampler(self) -> EpochSampler:
        """Its `sampler.set_epoch` is the loader's: Lightning looks for it there. Nothing else is in it."""
        return EpochSampler(self)

    @property
    def sampler(self) -> EpochSampler:
        """As `batch_sampler`. What picks neighbors is an option, not this."""
        return EpochSampler(self)

    def state_dict(self) -> dict:
        """Where the loader is: epoch and number of batches handed out of it (not those made ahead), and what it
        samples from. A few integers; the same on every rank."""
        epoch, step = self._position
        return {
            "epoch": epoch,
            "step": step,
            "options": dict(self._options),
            "fingerprint": self._core.fingerprint(),
        }

    def load_state_dict(self, state: dict) -> None:
        """The next iterator continues exactly where `state` was taken, on any number of ranks. Raises ValueError,
        naming the difference, if `state` is of another store, other input nodes or other options."""
        if not isinstance(state, Mapping) or not isinstance(state.get("options", {}), Mapping):
            raise TypeError(f"the state is {shortened(state)}: it is not from NeighborLoader.state_dict")
        missing = {"epoch", "step", "options", "fingerprint"} - set(state)
        if missing:
            raise ValueError(f"the state lacks {sorted(missing)}: it is not from NeighborLoader.state_dict")
        for name, value in self._options.items():
            if state["options"].get(name) != value:
                raise ValueError(f"the state is of a loader with {name}={state['options'].get(name)}, not {value}")
        if state["fingerprint"] != self._core.fingerprint():
            raise ValueError("the state is of a loader over another graph or other input nodes")
        epoch, step = as_int(state["epoch"], "epoch", 0), as_int(state["step"], "step", 0)
        if step > len(self):
            raise ValueError(f"the state is at step {step}, but an epoch has {len(self)}")
        self._next = self._position = (epoch, step)

    def _take(self, core: _core.Batch) -> None:
        """The batch is used on the stream that is current now."""
        core.hand_over(torch_devices.handle(torch_devices.as_stream(None, self.device)))
        hits, misses = self._cached
        self._cached = (hits + core.cache_hits, misses + core.cache_lookups - core.cache_hits)

    def summary(self) -> Summary:
        """What bounds the loop, and what its batches cost, over all iterators so far in this process; `print` it."""
        core, held = self._core, self.buffer_bytes
        together = self._cooperative is not None  # one batch after the other
        return Summary(
            **core.summary(),
            max_threads=1 if together else core.max_threads,
            max_prefetch=self._prefetch if together else core.max_prefetch,
            pool_bytes=held["in_use"] + held["idle"],
        )

    @property
    def cache_use(self) -> dict[str, int]:
        """With `cache_rows`: rows that the cache had, "hits", and that were read, "misses", so far in this process."""
        hits, misses = self._cached if self._cooperative is None else self._cooperative.cache_use()
        return {"hits": hits, "misses": misses}

    @property
    def placement(self) -> dict[str, Placed]:
        """Of a loader with a device: where it has the "topology" and each table, and why; on a heterogeneous graph by
        (node type, table). Else empty."""
        keys = [name if not self.graph.is_hetero else (node_type, name) for node_type, name in self._requests]
        return {
            key: Placed(PLACES[place], nbytes, why)
            for key, (_, place, nbytes, why) in zip([TOPOLOGY, *keys], self._core.placement)
        }

    @property
    def buffer_bytes(self) -> dict[str, int]:
        """Bytes of batches alive or being made, and of recycled buffers that wait for the next batch. With a device:
        of its memory."""
        core = self._core
        if self.device is not None:
            return {"in_use": core.device_bytes_in_use, "idle": core.device_bytes_idle}
        return {"in_use": core.buffer_bytes_in_use, "idle": core.buffer_bytes_idle}


def _make_group(cooperative, distributed, **only_there):
    """The group of a cooperative loader, or None."""
    if cooperative is None or cooperative is False:
        for name, value in only_there.items():
            if not (value is None or (isinstance(value, int) and value == 0)):
                raise ValueError(f"{name} is given, which only a cooperative loader takes (cooperative=True)")
        return None
    from ramet.distributed.group import Group  # imports torch

    return Group(cooperative, distributed)


def _refuse_without_device(device, cooperative, only_with_device: dict, cache_rows) -> None:
    together = not (cooperative is None or cooperative is False)
    if device is not None:
        if together:
            raise ValueError(f"device is {str(device)!r}, but cooperative loaders make their batches on the CPU")
        return
    for name, value in only_with_device.items():
        if value is not None:
            raise ValueError(f"{name} is given, which only a loader with a device takes (device='cuda')")
    if not together and not (isinstance(cache_rows, int) and cache_rows == 0):
        raise ValueError("cache_rows is given, which only a loader with a device, or a cooperative one, takes")
