"""Epochs of a NeighborLoader: the iterator over one, and where other programs look for `set_epoch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ramet import _core
from ramet.loading import ranks
from ramet.loading.batch import Batch
from ramet.loading.cooperative import CooperativeStream

if TYPE_CHECKING:
    from ramet.loading.neighbor_loader import NeighborLoader


class EpochIterator:
    """The batches of one epoch, the loader's next one when the first batch is asked for. Only then do its threads
    start. They stop when the iterator is exhausted, closed or dropped."""

    def __init__(self, loader: NeighborLoader):
        self._loader = loader
        self._epoch: int | None = None  # before the first batch
        self._stream: _core.EpochStream | CooperativeStream | None = None

    def __iter__(self) -> EpochIterator:
        return self

    def __next__(self) -> Batch:
        loader = self._loader
        if self._epoch is None:
            self._begin()
        try:
            core = None if self._stream is None else self._stream.next()
        except Exception:
            self.close()  # the epoch ends here, but the loader's position stays that of this batch
            raise
        if core is None:
            if self._stream is not None:
                loader._position = (self._epoch + 1, 0)
            self.close()
            raise StopIteration
        loader._position = (self._epoch, core.step + 1)
        if loader._watched is not None and core.step + 1 == len(loader):
            loader._watched.finish(self._epoch)
        if loader.device is not None:
            loader._take(core)
        return Batch(
            core,
            loader.graph,
            loader.world,
            loader._requests,
            seed=loader._options["seed"],
            group=None if loader._group is None else loader._group.channel.rows,
            agreed=loader._agreed,
            device=loader.device,
            decode=loader._decode,
        )

    def _begin(self) -> None:
        loader = self._loader
        ranks.say_made_too_early(loader._distributed, loader.world)
        epoch, step = loader._next
        loader._next, loader._position = (epoch + 1, 0), (epoch, step)
        self._epoch = epoch
        if loader._watched is not None:
            loader._watched.begin(epoch)
        if loader._cooperative is None:
            self._stream = loader._core.start(epoch, step)
        else:
            self._stream = CooperativeStream(loader._maker, epoch, step, len(loader), loader._prefetch)

    def close(self) -> None:
        """Stops the threads now; where ranks cooperate, when what they are making together is made."""
        stream, self._stream = self._stream, None
        self._epoch = -1 if self._epoch is None else self._epoch
        if isinstance(stream, CooperativeStream):
            stream.close()

    def __del__(self) -> None:
        if getattr(self, "_stream", None) is not None:
            self.close()


class EpochSampler:
    """Where Lightning looks for `set_epoch`: `loader.sampler`, and `loader.batch_sampler.sampler`."""

    def __init__(self, loader: NeighborLoader):
        self._loader = loader

    @property
    def sampler(self) -> EpochSampler:
        return self

    def set_epoch(self, epoch: int) -> None:
        """NeighborLoader.set_epoch."""
        self._loader.set_epoch(epoch)
