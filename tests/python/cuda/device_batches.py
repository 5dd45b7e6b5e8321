"""Compares batches of a device with those of the CPU."""

import torch


def tensors_of(value) -> list:
    if isinstance(value, dict):
        return [tensor for key in sorted(value, key=str) for tensor in tensors_of(value[key])]
    return [value]


def contents(batch) -> list:
    """Every tensor of a batch."""
    found = [batch.seeds, *tensors_of(batch.n_id), *tensors_of(batch.tables)]
    if batch.batch is not None:
        found += tensors_of(batch.batch)
    if batch.expand == "once":
        names = ("edge_index", "e_id", "position", "edge_weight")
        return found + [getattr(batch.edges(t), name) for t in batch.graph.edge_types for name in names]
    for block in batch.blocks:
        for name in ("indptr", "indices", "edge_index", "e_id", "position", "edge_weight", "n_id"):
            found += tensors_of(getattr(block, name))
    return found


def assert_same(batch, expected, device) -> None:
    assert batch.fingerprint() == expected.fingerprint()
    got, wanted = contents(batch), contents(expected)
    assert len(got) == len(wanted)
    for tensor, other in zip(got, wanted):
        assert tensor.device.type == device.type
        assert tensor.dtype == other.dtype
        assert torch.equal(tensor.cpu(), other)
