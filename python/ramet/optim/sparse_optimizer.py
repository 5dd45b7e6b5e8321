"""SparseOptimizer: what the optimizers of embeddings share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import contextmanager
from itertools import combinations
from typing import Any

import torch

from ramet import _core
from ramet._support import interrupts
from ramet._support.arguments import UINT64_MAX, as_flag, as_int
from ramet.dtypes import dtype_name
from ramet.nn.embedding import Embedding
from ramet.optim import checkpoint
from ramet.optim.position import Begun, Position
from ramet.optim.trainable_rows import TrainableRecords, TrainableRows, trainable_of
from ramet.ranks.ranks import Ranks
from ramet.tables.communicator import Op, abort, all_to_all, begin, release
from ramet.tables.overlap import share_rows
from ramet.tables.storage import Storage
from ramet.tables.table import Table

ROUNDINGS = ("nearest", "stochastic")
REMEDY = "step() again makes the rest of it, zero_grad() gives it up"


class SparseOptimizer(torch.optim.Optimizer):
    """Applies what embeddings got in backward to those rows alone; the others, and their state, are not touched. The
    owner of a row sums its gradients in the order of ranks, calls and positions and applies the sum once: the same bits
    for any number of threads (docs/semantics.md, section 19). torch's learning rate schedulers work on it.

    embeddings: an Embedding, or several.
    rounding: of float16 and bfloat16 rows: "nearest", or "stochastic", to either neighbor, right in the mean; a pure
        function of (seed, row, step, column).
    average: whether the sum over ranks is divided by their number, as DistributedDataParallel does.

    The state is in tables of the same placement and owners, of float32; of an embedding on a disk it is beside the
    rows. Rows learn from one optimizer at a time: where another one is made for them, the one before is refused. All
    ranks of the embeddings make the optimizer and its steps together. ValueError on every rank where their optimizers
    differ, and where options do at a step that has an exchange. TypeError and ValueError for options that are no
    numbers or out of their range.
    """

    def __init__(self, embeddings, defaults: dict, *, rounding: str, seed: int, average: bool):
        self.embeddings = list(embeddings) if isinstance(embeddings, Iterable) else [embeddings]
        self._rounding, self._seed, self._average = rounding, seed, average
        self._position = Position()
        for ranks in _sets_of_ranks(self.embeddings):
            ranks.agree(lambda: (None, self._checked(defaults)))
        super().__init__([embedding.anchor for embedding in self.embeddings], defaults)
        forms = _core.optimizer_state(self._method(defaults))
        self._trainables = [trainable_of(embedding, forms, rounding == "stochastic") for embedding in self.embeddings]
        for trainable in self._trainables:
            trainable.take_over()

    def _checked(self, defaults: dict) -> dict:
        """What ranks have alike."""
        for embedding in self.embeddings:
            if not isinstance(embedding, Embedding):
                kind = f"{type(embedding).__module__}.{type(embedding).__name__}"
                raise TypeError(f"embeddings holds a {kind}, expected ramet.nn.Embedding")
        for one, other in combinations(self.embeddings, 2):
            if share_rows(one.table, other.table):
                raise ValueError(f"embeddings has the rows of {one.table} twice, to which steps would be applied twice")
        if self._rounding not in ROUNDINGS:
            raise ValueError(f"rounding is {self._rounding!r}, expected one of {ROUNDINGS}")
        self._seed = as_int(self._seed, "seed", 0, UINT64_MAX)
        self._average = as_flag(self._average, "average")
        self._method(defaults)
        return {
            "optimizer": type(self).__name__,
            **defaults,
            "rounding": self._rounding,
            "seed": self._seed,
            "average": self._average,
            "embeddings": [f"{dtype_name(e.table.dtype)}{list(e.table.shape)}" for e in self.embeddings],
        }

    def _method(self, group: dict):
        """The engine's optimizer with the options of a parameter group."""
        raise NotImplementedError

    def state_of(self, embedding: Embedding) -> dict[str, Table]:
        """The state of an embedding's rows, by name. ValueError where another optimizer has taken the rows over."""
        for trainable in self._trainables:
            if trainable.embedding is embedding:
                trainable.require_rows()
                return dict(trainable.state)
        raise KeyError("the optimizer does not have this embedding")

    @torch.no_grad()
    def step(self, closure=None):
        """One step with the gradients since zero_grad(). Returns what `closure`, which computes them, returns.

        Where a disk refuses, step() again makes the rest of it, with the same gradients and without calling `closure`,
        and zero_grad() gives it up. A step that was given up counts, so ranks go on with the same number. Gradients are
        spent by their step: until zero_grad() or a backward, step() makes steps without gradients, which count and
        change no row. Ctrl-C takes effect when the step is made. RuntimeError where a step failed and the gradients are
        others now, and where a load has failed in the middle."""
        begun = self._position.begun
        if begun is not None:
            loss = begun.loss
        elif closure is not None:
            with torch.enable_grad():
                loss = closure()
        else:
            loss = None
        with interrupts.held():
            self._require_whole()
            self._make_step(self._begin(loss))
            self._end_step()
        return loss

    def _begin(self, loss) -> Begun:
        """The step that was begun, or the next one."""
        changes, begun = self._changes(), self._position.begun
        if begun is None:
            begun = Begun(changes, loss, is_spent=changes == self._position.spent)
            self._position = self._position._replace(begun=begun)
        elif begun.changes != changes:
            raise RuntimeError(
                f"step {self._number + 1} failed, and its gradients are not those of now: zero_grad() gives it up"
            )
        return begun

    def _make_step(self, begun: Begun) -> None:
        """Makes the rest of the step."""
        by_channel: dict[Any, list[Any]] = {}
        for trainable in self._trainables:
            by_channel.setdefault(trainable.channel(), []).append(trainable)
        alone = by_channel.pop(None, [])
        together = {channel: trainables for channel, trainables in by_channel.items() if channel not in begun.ended}
        begun.awaited = {
            channel: [trainable.embedding.table._storage for trainable in trainables]
            for channel, trainables in together.items()
        }
        # First, so that other ranks wait while this one tries again what its disk has refused.
        for trainable in alone:
            if not self._has_made(trainable):
                trainable.apply(self._step_of(trainable), begun.gradients_of(trainable))
        for channel, trainables in together.items():
            self._step_together(trainables, begun, channel)
            begun.ended.add(channel)

    @property
    def _number(self) -> int:
        """Of steps that were made, or given up."""
        return self._position.number

    def _changes(self) -> tuple[int, ...]:
        """Which gradients there are: other ones have other numbers."""
        return tuple(embedding.pending.changes for embedding in self.embeddings)

    def _has_made(self, trainable: TrainableRows | TrainableRecords) -> bool:
        """Whether it has made the step that was begun."""
        return trainable.has_made(self._number + 1)

    def _end_step(self) -> None:
        self._position = Position(self._number + 1, spent=self._changes(), is_mixed=self._position.is_mixed)

    def _abort(self) -> None:
        """Other ranks do not wait for the step any more."""
        if self._position.begun is not None:
            self._position.begun.abort()

    def _step_together(self, trainables: list[TrainableRows], begun: Begun, channel) -> None:
        """Of embeddings that the same ranks share, in as many collectives as of one. An embedding that has made the
        step before an error takes part in the exchange, and changes no more."""
        tables = begun.awaited[channel]
        with _propagate_errors(tables):
            del begun.awaited[channel]  # from here on an error reaches them
            steps = [self._step_of(trainable) for trainable in trainables]
            for trainable in trainables:
                trainable.require_rows()
        if any(trainable.lacks_caches for trainable in trainables):
            begin(tables, Op.CACHE, step=self._number + 1)  # ranks make them together, in check()
        with _propagate_errors(tables):
            for trainable, step in zip(trainables, steps):
                trainable.check(step)
            inputs = [(rows, begun.gradients_of(trainable)) for rows, trainable in zip(tables, trainables)]
            settings = self._settings()
            options = settings.pop("options") | settings
        received = all_to_all(inputs, threads=torch.get_num_threads(), step=self._number + 1, options=options)
        with _propagate_errors(tables):
            for trainable, step, lists in zip(trainables, steps, received):
                if not self._has_made(trainable):
                    trainable.apply(step, lists)
        release(tables)

    def _step_of(self, trainable: TrainableRows | TrainableRecords) -> _core.OptimizerStep:
        return _core.OptimizerStep(
            self._method(self.param_groups[0]),
            number=self._number + 1,
            divisor=float(trainable.embedding.table.ranks) if self._average else 1.0,
            stochastic=self._rounding == "stochastic",
            seed=self._seed,
            row_ids=trainable.row_ids,
        )

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients. Gives up a failed step: ranks that wait for this one in it get an error."""
        with interrupts.held():
            if self._position.begun is not None:
                self._abort()
                self._end_step()
            for embedding in self.embeddings:
                embedding.zero_grad()

    @property
    def _step_supports_amp_scaling(self):
        """TypeError: torch.amp.GradScaler asks for this before a step, and would step by scaled gradients."""
        raise TypeError(
            "a GradScaler does not see the gradients of rows: scale no loss that rows learn from; autocast to bfloat16 "
            "needs no scaling"
        )

    def add_param_group(self, param_group: dict) -> None:
        """ValueError: an optimizer has the embeddings that it was made with."""
        if hasattr(self, "_trainables"):
            raise ValueError("an optimizer of embeddings gets all of them when it is made: make another one")
        super().add_param_group(param_group)

    def state_dict(self) -> dict:
        """TypeError: the state is in tables; save() and load() write and read it."""
        raise TypeError("the state lies in tables that ranks share: use optimizer.save(path), and load(path)")

    def load_state_dict(self, state_dict: dict) -> None:
        """TypeError, as state_dict()."""
        self.state_dict()

    def __getstate__(self) -> dict:
        """TypeError, as state_dict(): for copies and pickles, which torch makes of the options alone."""
        return self.state_dict()

    def save(self, path) -> None:
        """Writes a checkpoint to the folder `path`: the embeddings' rows and their state, in a part for each rank, and
        a text of options and step (docs/format.md, section 8). It takes the place of the one before when all ranks are
        done: whenever they are killed, there is the old or the new one. Gradients are not in it, nor schedulers.
        Collective: an error of one rank is one on every rank. OSError where the disk refuses or is too small.
        RuntimeError where a step was made by some embeddings alone, and where a load has failed in the middle."""
        if self._position.begun is not None and self._position.begun.awaited:
            raise RuntimeError(f"other ranks wait in step {self._number + 1} for this one: {REMEDY}")
        self._settle()
        checkpoint.save(path, self, self._settings())

    def load(self, path) -> None:
        """Continues where the checkpoint at `path` was saved: rows, state, options and step are those of then, and so
        are later steps, to the bit. Forgets gradients, and a step that failed. Ranks, owners and placements may be
        others. Ranks without a common file system each need the parts with their own rows. Collective.

        ValueError, naming both, where the optimizer, the embeddings' shapes or dtypes, or their state are others, and
        where ranks load different checkpoints; nothing has changed then. FileNotFoundError and CorruptStoreError, also
        for bytes that are not those that were saved.

        OSError, or another error, while rows are being copied, as of a disk that is full: some rows are those of the
        checkpoint, the others those of before. step() and save() are a RuntimeError then, until a load succeeds.
        """
        self._abort()
        self._on_every_rank(lambda: None)
        said = checkpoint.load(path, self, self._settings(), check=self._options_of, begin=self._mix)
        self.param_groups[0].update(self._options_of(said))
        self._average, self._rounding, self._seed = said["average"], said["rounding"], said["seed"]
        for trainable in self._trainables:
            trainable.restart(self._rounding == "stochastic")
        for embedding in self.embeddings:
            embedding.zero_grad()
        self._position = Position(said["step"], spent=self._changes())

    def _on_every_rank(self, ready: Callable[[], object]) -> list[list]:
        """Of each set of ranks what ready() returned on them. An error of one rank is one on every rank; ValueError
        where another optimizer has taken an embedding over."""

        def checked() -> tuple[None, object]:
            for embedding in self.embeddings:
                self.state_of(embedding)
            return None, ready()

        return [ranks.share(checked)[1] for ranks in _sets_of_ranks(self.embeddings)]

    def _settle(self) -> None:
        """Ends a step that every embedding has made. RuntimeError where rows are not all of one step, on any rank."""
        for steps in self._on_every_rank(self._steps_made):
            for rank, made in enumerate(steps):
                if made != steps[0]:
                    raise RuntimeError(f"rank {rank} has made {made} steps, but rank 0 {steps[0]}: {REMEDY}")
        if self._steps_made() > self._number:
            self._end_step()

    def _steps_made(self) -> int:
        """RuntimeError where some embeddings have made others."""
        self._require_whole()
        made, of = sum(map(self._has_made, self._trainables)), len(self._trainables)
        if 0 < made < of:
            raise RuntimeError(f"{made} of {of} embeddings have made step {self._number + 1}: {REMEDY}")
        return self._number + (made > 0)

    def _mix(self) -> None:
        """From here on rows are of two checkpoints."""
        self._position = self._position._replace(is_mixed=True)

    def _require_whole(self) -> None:
        if self._position.is_mixed:
            raise RuntimeError("load() has failed in the middle: some rows are loaded, others are not. Load again")

    def _settings(self) -> dict:
        options = {name: value for name, value in self.param_groups[0].items() if name != "params"}
        return {
            "optimizer": type(self).__name__,
            "step": self._number,
            "options": {name: _plain(value) for name, value in options.items()},
            "rounding": self._rounding,
            "seed": self._seed,
            "average": self._average,
        }

    def _options_of(self, said: dict) -> dict:
        """Those of a checkpoint. ValueError or TypeError where they are none."""
        if said["rounding"] not in ROUNDINGS:
            raise ValueError(f"rounding is {said['rounding']!r}, expected one of {ROUNDINGS}")
        as_flag(said["average"], "average")
        as_int(said["step"], "step", 0)
        as_int(said["seed"], "seed", 0, UINT64_MAX)
        said_options = {"weight_decay": 0} | said["options"]  # which not all checkpoints have
        options = {name: tuple(value) if isinstance(value, list) else value for name, value in said_options.items()}
        self._method({**self.param_groups[0], **options})
        return options


def _plain(value):
    """An option as a checkpoint's text has it: of numpy's and torch's numbers Python's."""
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    return value.item() if hasattr(value, "dtype") else value


@contextmanager
def _propagate_errors(tables: list[Storage]):
    """The other ranks wait for this one: an error inside is one on them, too."""
    try:
        yield
    except BaseException:
        abort(tables)
        raise


def _sets_of_ranks(embeddings: list) -> list[Ranks]:
    """The ranks that share embeddings, each set of them once."""
    sets: dict[tuple, Ranks] = {}
    for embedding in embeddings:
        if isinstance(embedding, Embedding) and embedding.table.ranks > 1:
            ranks = embedding.table._ranks
            if ranks.group is None:
                raise ValueError("an embedding over several ranks was unpickled: only its ranks make steps")
            sets.setdefault(tuple(ranks.group.members), ranks)
    return list(sets.values()) or [Ranks.alone()]
