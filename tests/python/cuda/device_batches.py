"""Compares batches of a device with those of the CPU."""

import torch
from whole import arrays_of


def tensors_of(value) -> list:
    if isinstance(value, dict):
        return [tensor for key in sorted(value, key=str) for tensor in tensors_of(value[key])]
    return [value]


def contents(batch) -> list:
    """Every tensor of a batch."""
    return [*arrays_of(batch), *tensors_of(batch.tables)]


def assert_same(batch, expected, device) -> None:
    assert batch.fingerprint() == expected.fingerprint()
    got, wanted = contents(batch), contents(expected)
    assert len(got) == len(wanted)
    for tensor, other in zip(got, wanted):
        assert tensor.device.type == device.type
        assert tensor.dtype == other.dtype
        assert torch.equal(tensor.cpu(), other)
