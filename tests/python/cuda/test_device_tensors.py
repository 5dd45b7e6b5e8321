"""Tensors of a device, as DLPack hands them over: docs/cuda.md, "Streams and lifetimes". The emulator's are the
CPU's, so these tests need a GPU."""

import gc

import numpy as np
import pytest
import torch
from small_graphs import homogeneous

import ramet
from ramet import _core

CUDA, CUDA_HOST = 2, 3  # kinds of devices, as dlpack.h numbers them


@pytest.fixture(autouse=True)
def real_gpu(gpu):
    if _core.cuda_backend() == "emulated":
        pytest.skip("the emulator's memory is the CPU's")


def loader_of(graph, gpu) -> ramet.NeighborLoader:
    return ramet.NeighborLoader(graph, [4, 3], "train", 32, device=gpu, placement="in_place")


def tensors_of(batch) -> dict[str, torch.Tensor]:
    block = batch.blocks[0]
    return {
        "x": batch.x,
        "y": batch.y,
        "n_id": batch.n_id,
        "seeds": batch.seeds,
        "indptr": block.indptr,
        "indices": block.indices,
        "edge_index": block.edge_index,
    }


def test_tensors_of_a_batch_are_of_the_device(gpu):
    batch = next(iter(loader_of(homogeneous(), gpu)))
    for name, tensor in tensors_of(batch).items():
        assert tensor.device == gpu, name
        assert tuple(map(int, tensor.__dlpack_device__())) == (CUDA, gpu.index), name
        again = torch.from_dlpack(tensor)
        assert again.data_ptr() == tensor.data_ptr(), name
        assert torch.equal(again, tensor), name
        with pytest.raises((BufferError, RuntimeError, TypeError)):
            np.from_dlpack(tensor)  # which has no tensors of a device


def test_a_tensor_handed_on_outlives_its_batch_and_loader(gpu):
    loader = loader_of(homogeneous(), gpu)
    batches = iter(loader)
    kept, expected = [], []
    for _ in range(3):
        for tensor in tensors_of(next(batches)).values():
            kept.append(torch.from_dlpack(tensor))
            expected.append(tensor.cpu())
    for _ in batches:  # which would write to buffers that nobody holds
        pass
    batches.close()
    del batches, loader, tensor
    gc.collect()
    torch.cuda.synchronize(gpu)
    assert all(torch.equal(tensor.cpu(), values) for tensor, values in zip(kept, expected, strict=True))


def test_a_consumer_on_another_stream_sees_what_was_written(gpu):
    """A capsule is made for the consumer's stream, which then waits for the current one."""
    batch = next(iter(loader_of(homogeneous(), gpu)))
    side, x = torch.cuda.Stream(gpu), batch.x
    torch.cuda._sleep(20_000_000)  # the write is late
    x.fill_(7)
    capsule = x.__dlpack__(stream=side.cuda_stream)
    with torch.cuda.stream(side):
        doubled = torch.from_dlpack(capsule) * 2
    batch.record_stream(side)
    side.synchronize()
    assert torch.equal(doubled.cpu(), torch.full_like(x, 14).cpu())


def test_the_rows_of_a_table_on_a_device_are_a_tensor_over_them(gpu):
    table = ramet.Table.create((10, 4), location="device", ranks=False, init=1.0)
    rows = table.torch()
    assert tuple(map(int, rows.__dlpack_device__())) == (CUDA, gpu.index)
    rows[3] = 5.0
    torch.cuda.synchronize(gpu)
    assert table.gather([3]).tolist() == [[5.0] * 4]
    view = torch.from_dlpack(rows)
    del table, rows
    gc.collect()
    assert view[3].tolist() == [5.0] * 4


def test_gathered_rows_are_torchs_own(gpu):
    """UnifiedTensor writes into torch's memory, which another library may take by DLPack as well."""
    unified = ramet.cuda.UnifiedTensor(torch.arange(12.0).reshape(4, 3))
    rows = unified[torch.tensor([2, 0], device=gpu)]
    assert tuple(map(int, rows.__dlpack_device__())) == (CUDA, gpu.index)
    assert torch.from_dlpack(rows).tolist() == [[6, 7, 8], [0, 1, 2]]


def test_pinned_memory_is_the_hosts(gpu):
    """Its tensors are CPU tensors to whoever reads them in place."""
    pinned = torch.arange(12.0).reshape(4, 3).pin_memory()
    assert int(pinned.__dlpack_device__()[0]) in (CUDA_HOST, 1)
    assert ramet.cuda.UnifiedTensor(pinned)[[3]].tolist() == [[9, 10, 11]]


def test_what_needs_host_memory_refuses_tensors_of_a_device(gpu):
    there = torch.ones(4, 3, device=gpu)
    with pytest.raises(ValueError, match="lies on cuda"):
        ramet.Table(there)
    with pytest.raises(ValueError, match="lies on cuda"):
        ramet.cuda.UnifiedTensor(there)
    with pytest.raises(TypeError):  # also the engine itself, which would follow the pointer
        _core.Table(there, None, bfloat16=False, writable=True)
