"""The optimizers: options and the engine's structs for them."""

from __future__ import annotations

from ramet import _core
from ramet.optim.sparse_optimizer import SparseOptimizer

STEPS = ("row", "all")


class SGD(SparseOptimizer):
    """Stochastic gradient descent, as torch's for sparse gradients. See SparseOptimizer."""

    def __init__(self, embeddings, lr: float, *, rounding: str = "nearest", seed: int = 0, average: bool = True):
        super().__init__(embeddings, {"lr": lr}, rounding=rounding, seed=seed, average=average)

    def _method(self, group: dict) -> _core.Sgd:
        return _core.Sgd(learning_rate=group["lr"])


class AdaGrad(SparseOptimizer):
    """Steps divided by the root of the sum of squares so far (Duchi, Hazan, Singer, 2011), as torch's for sparse
    gradients. rowwise: one sum for a row, of the mean square of its gradient. See SparseOptimizer."""

    def __init__(
        self,
        embeddings,
        lr: float,
        eps: float = 1e-10,
        rowwise: bool = False,
        *,
        rounding: str = "nearest",
        seed: int = 0,
        average: bool = True,
    ):
        super().__init__(
            embeddings, {"lr": lr, "eps": eps, "rowwise": rowwise}, rounding=rounding, seed=seed, average=average
        )

    def _method(self, group: dict) -> _core.AdaGrad:
        return _core.AdaGrad(learning_rate=group["lr"], eps=group["eps"], rowwise=group["rowwise"])


class RMSProp(SparseOptimizer):
    """Steps divided by the root of a moving average of squares (Hinton, 2012), as torch's on the row alone. See
    SparseOptimizer."""

    def __init__(
        self,
        embeddings,
        lr: float,
        alpha: float = 0.99,
        eps: float = 1e-8,
        *,
        rounding: str = "nearest",
        seed: int = 0,
        average: bool = True,
    ):
        super().__init__(
            embeddings, {"lr": lr, "alpha": alpha, "eps": eps}, rounding=rounding, seed=seed, average=average
        )

    def _method(self, group: dict) -> _core.RmsProp:
        return _core.RmsProp(learning_rate=group["lr"], alpha=group["alpha"], eps=group["eps"])


class Adam(SparseOptimizer):
    """Adam (Kingma, Ba, 2015), for the rows of a step alone. See SparseOptimizer.

    weight_decay: times the weight, is added to the gradient.
    steps: "row": bias is corrected by the number of steps that the row was in, as torch.optim.Adam does on that row
        alone. "all": by the number of all steps, and eps is added before the correction, as in torch.optim.SparseAdam.
    """

    def __init__(
        self,
        embeddings,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        steps: str = "row",
        *,
        rounding: str = "nearest",
        seed: int = 0,
        average: bool = True,
    ):
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "steps": steps}
        super().__init__(embeddings, defaults, rounding=rounding, seed=seed, average=average)

    def _method(self, group: dict) -> _core.Adam:
        if group["steps"] not in STEPS:
            raise ValueError(f"steps is {group['steps']!r}, expected one of {STEPS}")
        return _core.Adam(
            learning_rate=group["lr"],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            steps=getattr(_core.Steps, group["steps"]),
        )
