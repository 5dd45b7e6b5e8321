"""What torch 2.2 and 2.3 lack, under one name for all versions.

torch.library.custom_op came with torch 2.4. Older ones compile models around what is `outside_of_graphs`.
"""

from __future__ import annotations

import contextlib
import sys
import threading

import torch
from torch.utils import _pytree as pytree  # as torch.export's documentation names it

IS_OLD = torch.__version__ < (2, 4)
FUSED_ADAM = not IS_OLD  # on a CPU
HOOKS_SEE_KEYWORDS = not IS_OLD  # register_module_forward_hook's

if not IS_OLD:
    custom_op = torch.library.custom_op
    get_autocast_dtype, is_autocast_enabled = torch.get_autocast_dtype, torch.is_autocast_enabled
    get_device_module = torch.get_device_module
    is_compiling = torch.compiler.is_compiling
    register_pytree_node = pytree.register_pytree_node

    def outside_of_graphs(function):
        return function

else:
    is_compiling = torch._utils.is_compiling  # noqa: SLF001 (torch's)
    outside_of_graphs = torch.compiler.disable

    def custom_op(name: str, **_):
        """An operator that cannot be recorded."""

        def refuse(*_):
            raise NotImplementedError(f"{name} inside of a graph needs torch 2.4; this is {torch.__version__}")

        vars(refuse).update(register_fake=lambda *_, **__: None, register_autograd=lambda *_, **__: None)
        return lambda function: refuse

    def is_autocast_enabled(device: str) -> bool:
        return torch.is_autocast_cpu_enabled() if device == "cpu" else torch.is_autocast_enabled()

    def get_autocast_dtype(device: str) -> torch.dtype:
        return torch.get_autocast_cpu_dtype() if device == "cpu" else torch.get_autocast_gpu_dtype()

    def get_device_module(device: torch.device):
        return getattr(torch, device.type)

    def register_pytree_node(cls, flatten, unflatten, *, flatten_with_keys_fn, **options) -> None:
        pytree.register_pytree_node(cls, flatten, unflatten, **options)


# Unsigned integers of which torch has no arithmetic everywhere; torch 2.2 has none of them.
WIDE_UNSIGNED = {getattr(torch, name) for name in ("uint16", "uint32") if hasattr(torch, name)}


def eagerly():
    """A context in which compiled functions run as they are written."""
    if "torch._dynamo" not in sys.modules:  # torch.compile imports it
        return contextlib.nullcontext()
    has_stances = hasattr(torch.compiler, "set_stance")  # since 2.6
    return torch.compiler.set_stance("force_eager") if has_stances else _without_tracer()


@contextlib.contextmanager
def _without_tracer():
    """Compiled functions call set_eval_frame to be traced, which does nothing in this thread then."""
    frames, thread = sys.modules["torch._dynamo"].eval_frame, threading.get_ident()
    before = frames.set_eval_frame
    frames.set_eval_frame = lambda callback: None if threading.get_ident() == thread else before(callback)
    try:
        yield
    finally:
        frames.set_eval_frame = before
