"""Stands for ramet._support.torch_devices where the GPU is emulated: CPU tensors of a class of their own are those on
the device, and work is done when the context of its stream is left, since torch frees memory without asking the
emulator.
"""

import contextlib

import torch

from ramet import _core
from ramet._support import torch_devices as devices

DEVICE = torch.device("cpu", 0)
in_use: list[torch.Tensor] = []  # by work that is not done


class OnDevice(torch.Tensor):
    """A tensor on the device."""


def replace(set_attribute=setattr) -> None:
    """By all functions below, which have the names and arguments of those that they stand for."""
    for name, function in list(globals().items()):
        if callable(function) and hasattr(devices, name) and function.__module__ == __name__:
            set_attribute(devices, name, function)


def use_device() -> None:
    """For a process that no fixture has prepared, before it asks for a device."""
    if _core.cuda_backend() == "emulated":
        replace()


def problem() -> str:
    return ""


def as_device(device):
    if device not in (None, "cuda", "cuda:0", 0, DEVICE, torch.device("cpu")):
        raise ValueError(f"device is {str(device)!r}, expected a CUDA device")
    return DEVICE


def holds(device, tensor) -> bool:
    return isinstance(tensor, OnDevice)


def is_on_device(value):
    return isinstance(value, OnDevice)


def on_host(value):
    return value.as_subclass(torch.Tensor).detach().clone() if is_on_device(value) else value


def page_locked(shape, dtype):
    return torch.empty(shape, dtype=dtype)


def staged(tensor):
    return on_host(tensor)


def free_bytes(device) -> int:
    return 1 << 40


def new_stream(device) -> int:
    return 0


def wait_for(stream) -> None:
    _core.cuda_synchronize(0)


def empty(shape, dtype, device):
    in_use.append(torch.empty(shape, dtype=dtype).as_subclass(OnDevice))
    return in_use[-1]


def arange(start, stop, step, device):
    return torch.arange(start, stop, step).as_subclass(OnDevice)


def move(tensor, device):
    return tensor if holds(device, tensor) else tensor.clone().as_subclass(OnDevice)


def as_stream(stream, device):
    return 0 if stream is None else stream


def handle(stream) -> int:
    return stream


@contextlib.contextmanager
def using(stream):
    try:
        yield
    finally:
        _core.cuda_synchronize(0)
        in_use.clear()


def as_current(device):
    return contextlib.nullcontext()


def mark_use(tensor, stream) -> None:
    pass
