"""Epochs of a NeighborLoader: its position, the iterator over one epoch, and attributes that other programs look
for."""

from __future__ import annotations

from collections.abc import Callable

from ramet import _core
from ramet._support import torch_devices
from ramet.loading import ranks
from ramet.loading.batch import Batch, Origin
from ramet.loading.epoch_monitor import LoaderEpochs
from ramet.loading.provided_tables import require_same_caches


class Epochs:
    """Where a loader is, and how it makes and hands out the batches of an epoch.

    start: (epoch, step) -> a stream of the engine's batches from that step on, whose next() returns None at the end.
    ranks: None, False or a process group. monitor: what compares epochs with those of other ranks, or None.
    """

    def __init__(
        self,
        start: Callable,
        num_steps: int,
        origin: Origin,
        *,
        ranks=None,
        monitor: LoaderEpochs | None = None,
        make_batch: Callable[[_core.Batch, Origin], Batch] = Batch,
    ):
        self.next = (0, 0)  # epoch and step of the next iterator's first batch
        self.position = (0, 0)  # the batch after the one that was handed out last
        self._start, self._num_steps, self._origin = start, num_steps, origin
        self._ranks, self._monitor = ranks, monitor
        self._make_batch = make_batch

    def begin(self) -> tuple:
        """(epoch, stream) of the next epoch."""
        ranks.warn_if_made_early(self._ranks, self._origin.world)
        epoch, step = self.next
        self.next, self.position = (epoch + 1, 0), (epoch, step)
        if self._monitor is not None:
            self._monitor.begin(epoch)
        return epoch, self._start(epoch, step)

    def hand_out(self, epoch: int, core: _core.Batch) -> Batch:
        """The batch, to be used on the stream that is current now."""
        self.position = (epoch, core.step + 1)
        if self._monitor is not None and core.step + 1 == self._num_steps:
            self._monitor.finish(epoch)
        if self._origin.device is not None:
            core.set_stream(torch_devices.handle(torch_devices.as_stream(None, self._origin.device)))
        return self._make_batch(core, self._origin)

    def finish(self, epoch: int) -> None:
        """All batches of the epoch were handed out."""
        self.position = (epoch + 1, 0)


class EpochIterator:
    """The batches of one epoch, the loader's next one when the first batch is asked for. Only then do its threads
    start. They stop when the iterator is exhausted, closed or dropped. caches: as of caches_of()."""

    def __init__(self, epochs: Epochs, caches: list[tuple]):
        self._epochs, self._caches = epochs, caches
        self._epoch: int | None = None  # before the first batch
        self._stream: _core.EpochStream | None = None

    def __iter__(self) -> EpochIterator:
        return self

    def __next__(self) -> Batch:
        if self._epoch is None:
            self._epoch = -1  # one that cannot begin has no batches
            self._epoch, self._stream = self._epochs.begin()
        if self._stream is None:
            raise StopIteration
        try:
            require_same_caches(self._caches)
            core = self._stream.next()
        except Exception:
            self.close()  # the epoch ends here, but the loader's position stays that of this batch
            raise
        if core is None:
            self._epochs.finish(self._epoch)
            self.close()
            raise StopIteration
        return self._epochs.hand_out(self._epoch, core)

    def close(self) -> None:
        """Stops the threads now; with cooperating ranks, after their current batch."""
        stream, self._stream = self._stream, None
        self._epoch = -1 if self._epoch is None else self._epoch
        if stream is not None:
            stream.close()

    def __del__(self) -> None:
        if getattr(self, "_stream", None) is not None:
            self.close()


class EpochSampler:
    """Where Lightning looks for `set_epoch`: `loader.sampler`, and `loader.batch_sampler.sampler`."""

    def __init__(self, set_epoch: Callable[[int], None]):
        self.set_epoch = set_epoch  # NeighborLoader.set_epoch

    @property
    def sampler(self) -> EpochSampler:
        return self
