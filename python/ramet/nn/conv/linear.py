"""Linear maps of layers, with PyG's names and initial values, and widths taken from the first rows."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch.nn.parameter import Parameter, UninitializedParameter, is_lazy


class Linear(torch.nn.Module):
    """x [..., in_channels] times `weight` [out_channels, in_channels], and `bias` [out_channels].

    in_channels: -1: as wide as the first rows, or the first state_dict loaded.
    glorot: first weights uniform within sqrt(6 / (in + out)), as Glorot and Bengio have them (2010); else, as torch
        has it, within 1 / sqrt(in), as is the bias.
    """

    def __init__(self, in_channels: int, out_channels: int, bias: bool = True, *, glorot: bool = False):
        super().__init__()
        self.in_channels, self.out_channels, self.glorot = in_channels, out_channels, glorot
        lazy = in_channels < 0
        self.weight = UninitializedParameter() if lazy else Parameter(torch.empty(out_channels, in_channels))
        if bias:
            self.bias = Parameter(torch.empty(out_channels))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if is_lazy(self.weight):
            return
        if self.glorot:
            glorot(self.weight)
        else:
            self.weight.data.uniform_(*_bounds(self.in_channels))
        if self.bias is not None:
            self.bias.data.uniform_(*_bounds(self.in_channels))

    def ready(self, width: int) -> Linear:
        """This map; if its width was unknown, its weights are made for rows of `width`."""
        if self.in_channels < 0:  # what torch.compile can see
            is_first = is_lazy(self.weight)
            self._materialize(width)
            if is_first:
                self.reset_parameters()
        return self

    def forward(self, x):
        self.ready(x.shape[-1])
        return F.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, bias={self.bias is not None}"

    def _materialize(self, width: int) -> None:
        self.in_channels = width
        if is_lazy(self.weight):  # not, where another Linear shares it and has been ready before
            self.weight.materialize((self.out_channels, width))

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        """As torch does; weights of unknown width cannot be detached, and are saved unchanged."""
        if not is_lazy(self.weight):
            super()._save_to_state_dict(destination, prefix, keep_vars)
            return
        destination[prefix + "weight"] = self.weight
        if self.bias is not None:
            destination[prefix + "bias"] = self.bias if keep_vars else self.bias.detach()

    def _load_from_state_dict(self, state_dict, prefix, *args):
        weight = state_dict.get(prefix + "weight")
        if weight is not None and is_lazy(self.weight) and not is_lazy(weight):
            self._materialize(weight.shape[-1])
        elif weight is not None and is_lazy(weight) and not is_lazy(self.weight):
            self.in_channels, self.weight = -1, UninitializedParameter()
        super()._load_from_state_dict(state_dict, prefix, *args)


def are_plain(*maps, kinds: tuple = (Linear,)) -> bool:
    """Whether a layer may compute with the weights of these maps (None: no map) in any order: they are of these kinds,
    and have no hooks, replacements or parametrizations."""
    for lin in maps:
        if lin is None:
            continue
        if type(lin) not in kinds or lin._forward_pre_hooks or lin._forward_hooks:  # noqa: SLF001 (torch's)
            return False
        if lin._backward_pre_hooks or lin._backward_hooks:  # noqa: SLF001 (torch's)
            return False
    return True


def glorot(values: torch.Tensor | None) -> None:
    """Uniform within sqrt(6 / (sum of the last two sizes)), in place."""
    if values is not None:
        bound = math.sqrt(6 / (values.shape[-2] + values.shape[-1]))
        values.data.uniform_(-bound, bound)


def zeros(values: torch.Tensor | None) -> None:
    if values is not None:
        values.data.zero_()


def reset(module) -> None:
    """Initial values for a module of any kind: by its reset_parameters, or by its children's."""
    if hasattr(module, "reset_parameters"):
        module.reset_parameters()
        return
    for child in getattr(module, "children", list)():
        reset(child)


def _bounds(fan_in: int) -> tuple[float, float]:
    bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0.0
    return -bound, bound
