"""Rows for a UnifiedTensor, and comparison with what the device holds."""

import mmap

import torch

from ramet import _core
from ramet._support import torch_devices as devices

ROWS = 50


def rows_of(dtype=torch.float32, shape=(ROWS, 7)) -> torch.Tensor:
    """Rows in pages of their own: small tensors share pages with others, which a driver then does not copy."""
    words = torch.randint(0, 2, shape) if dtype == torch.bool else torch.randint(0, 100, shape)
    return on_own_pages(words.to(dtype))


def on_own_pages(tensor) -> torch.Tensor:
    memory = torch.frombuffer(mmap.mmap(-1, max(tensor.nbytes, 1)), dtype=torch.uint8)
    return memory[: tensor.nbytes].view(tensor.dtype).reshape(tensor.shape).copy_(tensor)


def on_gpu(values, dtype=None) -> torch.Tensor:
    return devices.move(torch.as_tensor(values, dtype=dtype), devices.as_device(None))


def host(tensor) -> torch.Tensor:
    """What a tensor on the device holds, when its stream has got there."""
    _core.cuda_synchronize(0)
    return tensor.as_subclass(torch.Tensor).cpu()


def equal(result, expected) -> bool:
    assert devices.holds(devices.as_device(None), result)
    result = host(result)
    return result.dtype == expected.dtype and result.shape == expected.shape and bool((result == expected).all())
