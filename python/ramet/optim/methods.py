"""The optimizers: options and the engine's structs for them."""

from __future__ import annotations

from ramet import _core
from ramet._support.arguments import as_flag, as_real, shortened
from ramet.optim.sparse_optimizer import SparseOptimizer

STEPS = ("row", "all")


class SGD(SparseOptimizer):
    """Stochastic gradient descent, as torch's for sparse gradients. See SparseOptimizer.

    weight_decay: times the weight, is added to the gradient, as in torch's; rows without a gradient do not decay.
    """

    def __init__(
        self,
        embeddings,
        lr: float,
        *,
        weight_decay: float = 0,
        rounding: str = "nearest",
        seed: int = 0,
        average: bool = True,
    ):
        defaults = {"lr": lr, "weight_decay": weight_decay}
        super().__init__(embeddings, defaults, rounding=rounding, seed=seed, average=average)

    def _method(self, group: dict) -> _core.Sgd:
        return _core.Sgd(**_rates(group))


class AdaGrad(SparseOptimizer):
    """Steps divided by the root of the sum of squares so far (Duchi, Hazan, Singer, 2011), as torch's for sparse
    gradients. rowwise: one sum for a row, of the mean square of its gradient. weight_decay: as of SGD. See
    SparseOptimizer."""

    def __init__(
        self,
        embeddings,
        lr: float,
        eps: float = 1e-10,
        rowwise: bool = False,
        *,
        weight_decay: float = 0,
        rounding: str = "nearest",
        seed: int = 0,
        average: bool = True,
    ):
        defaults = {"lr": lr, "eps": eps, "rowwise": rowwise, "weight_decay": weight_decay}
        super().__init__(embeddings, defaults, rounding=rounding, seed=seed, average=average)

    def _method(self, group: dict) -> _core.AdaGrad:
        eps, rowwise = as_real(group["eps"], "eps"), as_flag(group["rowwise"], "rowwise")
        return _core.AdaGrad(**_rates(group), eps=eps, rowwise=rowwise)


class RMSProp(SparseOptimizer):
    """Steps divided by the root of a moving average of squares (Hinton, 2012), as torch's on the row alone.
    weight_decay: as of SGD. See SparseOptimizer."""

    def __init__(
        self,
        embeddings,
        lr: float,
        alpha: float = 0.99,
        eps: float = 1e-8,
        *,
        weight_decay: float = 0,
        rounding: str = "nearest",
        seed: int = 0,
        average: bool = True,
    ):
        defaults = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay}
        super().__init__(embeddings, defaults, rounding=rounding, seed=seed, average=average)

    def _method(self, group: dict) -> _core.RmsProp:
        alpha, eps = as_real(group["alpha"], "alpha", below=1), as_real(group["eps"], "eps")
        return _core.RmsProp(**_rates(group), alpha=alpha, eps=eps)


class Adam(SparseOptimizer):
    """Adam (Kingma, Ba, 2015), for the rows of a step alone. See SparseOptimizer.

    weight_decay: as of SGD.
    steps: "row": bias is corrected by the number of steps that the row was in, as torch.optim.Adam does on that row
        alone. "all": by the number of all steps, and eps is added before the correction, as in torch.optim.SparseAdam.
    """

    _is_decoupled = False

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
        betas = group["betas"]
        if not isinstance(betas, (tuple, list)) or len(betas) != 2:
            raise ValueError(f"betas is {shortened(betas)}, expected two numbers of at least 0 and below 1")
        return _core.Adam(
            **_rates(group),
            beta1=as_real(betas[0], "betas[0]", below=1),
            beta2=as_real(betas[1], "betas[1]", below=1),
            eps=as_real(group["eps"], "eps"),
            steps=getattr(_core.Steps, group["steps"]),
            decoupled=self._is_decoupled,
        )


class AdamW(Adam):
    """Adam whose weight decay is no part of the gradient (Loshchilov, Hutter, 2019): a step first takes
    lr * weight_decay of the weight away. As torch's on the row alone; options as of Adam."""

    _is_decoupled = True

    def __init__(
        self,
        embeddings,
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        steps: str = "row",
        **others,
    ):
        super().__init__(embeddings, lr, betas, eps, weight_decay, steps, **others)


def _rates(group: dict) -> dict[str, float]:
    """The common options of all methods."""
    return {
        "learning_rate": as_real(group["lr"], "lr"),
        "weight_decay": as_real(group["weight_decay"], "weight_decay"),
    }
