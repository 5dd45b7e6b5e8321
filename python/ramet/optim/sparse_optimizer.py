"""SparseOptimizer: what the optimizers of embeddings share."""

from __future__ import annotations

import torch

from ramet import _core
from ramet.arguments import UINT64_MAX, as_int
from ramet.nn.embedding import Embedding
from ramet.tables.table import Table

ROUNDINGS = ("nearest", "stochastic")


class SparseOptimizer(torch.optim.Optimizer):
    """Applies what embeddings got in backward to those rows alone; the others, and their state, are not touched. The
    gradients of a row are summed in the order of calls and positions and applied once: the same bits for any number of
    threads (docs/semantics.md, section 19). torch's learning rate schedulers work on it.

    embeddings: an Embedding, or several.
    rounding: of float16 and bfloat16 rows: "nearest", or "stochastic", to either neighbor, right in the mean; a pure
        function of (seed, row, step, column).

    The state is in float32 tables, beside the rows. ValueError for options out of their range, when they are used.
    """

    def __init__(self, embeddings, defaults: dict, rounding: str = "nearest", seed: int = 0):
        self.embeddings = [embeddings] if isinstance(embeddings, Embedding) else list(embeddings)
        for embedding in self.embeddings:
            if not isinstance(embedding, Embedding):
                raise TypeError(f"embeddings holds a {type(embedding).__name__}, expected ramet.nn.Embedding")
        if rounding not in ROUNDINGS:
            raise ValueError(f"rounding is {rounding!r}, expected one of {ROUNDINGS}")
        self._rounding, self._seed = rounding, as_int(seed, "seed", 0, UINT64_MAX)
        self._number = 0
        super().__init__([embedding.anchor for embedding in self.embeddings], defaults)
        forms = _core.optimizer_state(self._method(self.param_groups[0]))
        self._state = [_zeros(embedding.table, forms) for embedding in self.embeddings]

    def _method(self, group: dict):
        """The engine's optimizer with the options of a parameter group."""
        raise NotImplementedError

    def state_of(self, embedding: Embedding) -> dict[str, Table]:
        """The state of an embedding's rows, by name."""
        return dict(self._state[self._position(embedding)])

    def _position(self, embedding: Embedding) -> int:
        for position, known in enumerate(self.embeddings):
            if known is embedding:
                return position
        raise KeyError("the optimizer does not have this embedding")

    @torch.no_grad()
    def step(self, closure=None):
        """One step with the gradients since zero_grad(). Returns what `closure`, which computes them, returns."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._number += 1
        for embedding, state in zip(self.embeddings, self._state):
            gradients = [(kept.ids, kept.gradients) for kept in embedding.pending.in_order()]
            if gradients:
                self._apply(embedding.table, list(state.values()), gradients)
        return loss

    def _apply(self, table: Table, state: list[Table], gradients: list) -> None:
        step = _core.OptimizerStep(
            self._method(self.param_groups[0]),
            number=self._number,
            divisor=1.0,
            stochastic=self._rounding == "stochastic",
            seed=self._seed,
            row_ids=None,
        )
        rows, state_rows = table._core, [rows._core for rows in state]
        threads = torch.get_num_threads()
        _core.apply_gradients(step, rows, state_rows, gradients, own=(0, len(table)), threads=threads)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients."""
        for embedding in self.embeddings:
            embedding.zero_grad()


def _zeros(table: Table, forms) -> dict[str, Table]:
    return {name: Table.create(table.shape[:1] if per_row else table.shape, dtype) for name, dtype, per_row in forms}
