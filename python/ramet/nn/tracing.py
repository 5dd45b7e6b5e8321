"""Whether operators are being recorded, so that the engine must be called through one."""

from __future__ import annotations

import torch

from ramet._support.old_torch import is_compiling

_PLAIN = (torch.Tensor, torch.nn.Parameter)


def is_traced(tensor) -> bool:
    """Whether a call on `tensor` is recorded, by torch.compile, torch.export, make_fx or torch.jit.trace, or is looked
    at by a mode or a subclass of tensors, as fake tensors are. NotImplementedError for a tensor that one of
    torch.func's transforms looks at.
    """
    compiles = is_compiling()
    if not compiles and torch._C._functorch.is_functorch_wrapped_tensor(tensor):  # noqa: SLF001 (torch's)
        raise NotImplementedError(
            "torch.func's transforms (grad, vjp, jvp, vmap, ...) do not know the operators of ramet.nn: backward() and "
            "torch.autograd.grad() do"
        )
    return (
        compiles
        or type(tensor) not in _PLAIN
        or torch._C._len_torch_dispatch_stack() > 0  # noqa: SLF001 (torch's)
        or torch.jit.is_tracing()
    )
