"""Loader: the batches of an epoch."""

from __future__ import annotations

from functools import partial

from ramet import _core
from ramet._support import html
from ramet._support.arguments import as_int
from ramet._support.openmp import share_cores
from ramet.loading.batch import Batch, Origin
from ramet.loading.config import LoaderConfig
from ramet.loading.cooperative import GroupThread
from ramet.loading.engine import make_core
from ramet.loading.epoch_monitor import LoaderEpochs
from ramet.loading.epochs import EpochIterator, Epochs, EpochSampler
from ramet.loading.placement import TOPOLOGY, Placed, presamples
from ramet.loading.presampling import presample
from ramet.loading.provided_tables import caches_of, require_same_caches
from ramet.loading.ranks import warn_of_global_batch
from ramet.loading.states import checked_position
from ramet.loading.summary import Summary
from ramet.stores.ownership import by_node_type


class Loader:
    """What NeighborLoader, LinkLoader and loaders of subgraphs share: the batches of a LoaderConfig."""

    batch_class: type[Batch] = Batch
    slices_batches = True  # whether each rank gets a slice of `batch_size`
    edges_ahead = False  # whether the threads make `edge_index` and `e_id` of batches of expand="once", too
    link_order = _core.LinkOrder.FIRST_OCCURRENCE

    def __init__(self, config: LoaderConfig):
        self.config, self.graph, self.device = config, config.graph, config.device
        self._ranks = config.find_ranks()
        self.rank, self.world, self._group = self._ranks.rank, self._ranks.world, self._ranks.group
        self._cooperative: _core.CooperativeLoader | None = None
        self.ownership: _core.Ownership | dict[str, _core.Ownership] | None = None
        self._presamples = self._group is not None and presamples(config.placement)
        if self._ranks.together is None:
            self._make()
        else:
            self._ranks.together.compare(self._make)
        if self._presamples:
            self._group.gather(self._make_presampled)
        self.origin = self._make_origin()
        self._epochs = self._make_epochs()
        self._caches = caches_of(config.requests.values())
        config.release()
        if self.slices_batches:
            warn_of_global_batch(config.batch_size, self.rank, self.world)

    def _make(self) -> dict:
        """Makes the loader; returns the values that all ranks must share. If ranks presample together, this loader has
        no rows."""
        config, ranks = self.config, self._ranks
        owners = config.owners(ranks)
        self._set_core(config.of_topology() if self._presamples else config, owners)
        config.require_rows(ranks, owners)
        self.ownership = None if owners is None else by_node_type(owners, self.graph)
        return config.alike(ranks, owners, self._core)

    def _make_presampled(self) -> None:
        presampled = presample(self._cooperative, GroupThread(self._group), self.graph)
        self._set_core(self.config, self.config.owners(self._ranks), presampled=presampled)

    def _set_core(self, config: LoaderConfig, owners: list[_core.Ownership] | None, **presampled) -> None:
        made = {"edges_ahead": self.edges_ahead, "link_order": self.link_order}
        self._core = make_core(config, self._ranks, owners, **made, **presampled)
        if owners is not None:
            self._cooperative = _core.CooperativeLoader(self._core, owners=owners, rank=self._group.rank)

    def _make_origin(self) -> Origin:
        config = self.config
        return Origin(
            self.graph,
            self.world,
            config.requests,
            config.options["seed"],
            group=None if self._group is None else self._group.channel.rows,
            device=self.device,
            decode=config.features.decode,
            fused=config.fused,
            links=config.link_origin,
        )

    def _make_epochs(self) -> Epochs:
        start, pulling, among = self._core.start, self._ranks.pulling, self._ranks.among
        if self._cooperative is not None:
            start = partial(self._cooperative.start, thread=GroupThread(self._group))
        elif pulling is not None:
            start = partial(self._core.start_pulling, thread=GroupThread(pulling))
        monitor = self._monitor() if self.world > 1 else None
        return Epochs(start, len(self), self.origin, ranks=among, monitor=monitor, make_batch=self.batch_class)

    def _monitor(self) -> LoaderEpochs:
        """Known on every rank by what is sampled."""
        config = self.config
        what = [self.options, config.seed_types, config.input_ends]
        name = f"a loader over {config.input_name} (batch_size={config.options['batch_size']})"
        return LoaderEpochs(self._ranks.among, what, name)

    @property
    def options(self) -> dict:
        """All options that affect the batches, as numbers and strings."""
        return self.config.options

    @property
    def seed_types(self) -> list[str]:
        return self.config.seed_types

    def __len__(self) -> int:
        """Batches per epoch, the same number on every rank."""
        return self._core.num_steps

    def __repr__(self) -> str:
        return (
            f"<ramet.{type(self).__name__} {', '.join(f'{name}={value}' for name, value in self._described().items())}>"
        )

    def _repr_html_(self) -> str:
        return html.table(f"ramet.{type(self).__name__}", ("", ""), [*self._described().items(), ("graph", self.graph)])

    def _described(self) -> dict:
        return {"batches": f"{len(self):,}"} | self.config.shown() | {"rank": f"{self.rank} of {self.world}"}

    def __reduce__(self):
        raise TypeError(
            f"a {type(self).__name__} is not pickled: pickle its graph, which is a handle, and make a loader there"
        )

    def __iter__(self) -> EpochIterator:
        require_same_caches(self._caches)
        share_cores(self._core.max_threads)
        return EpochIterator(self._epochs, self._caches)

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
        """As `batch_sampler`. The sampler of neighbors is an option, not this."""
        return EpochSampler(self.set_epoch)

    def state_dict(self) -> dict:
        """The position of the loader (the epoch and its number of returned batches, without those made ahead), and its
        inputs. A few integers, the same on every rank."""
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
        """The bottleneck of the loop and the costs of its batches, over all iterators of this process so far;
        `print` it."""
        core, held = self._core, self.buffer_bytes
        return Summary(
            **core.summary(),
            max_threads=core.max_threads,
            max_prefetch=core.max_prefetch,
            max_sampled=core.max_sampled,
            cache_bytes=core.cache_bytes,
            pool_bytes=held["in_use"] + held["idle"],
            derived_bytes=core.derived_bytes,
            unsorted_by=self.config.unsorted_by,
        )

    @property
    def cache_use(self) -> dict[str, int]:
        """Counts of a loader with a cache (`Placement.cache_rows`): rows found in the cache, "hits", and rows read,
        "misses", so far in this process."""
        summary = self._core.summary()
        return {"hits": summary["cache_hits"], "misses": summary["cache_misses"]}

    @property
    def placement(self) -> dict[str | tuple[str, str], Placed]:
        """Where the loader has each table, how it reads it, and why; on a heterogeneous graph by (node type, table).
        With a device, also where the "topology" is."""
        keys: list = [
            name if not self.graph.is_hetero else (node_type, name) for node_type, name in self.config.requests
        ]
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
