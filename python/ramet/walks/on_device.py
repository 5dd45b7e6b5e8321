"""Walks on a GPU, of starts that are there."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from ramet import _core
from ramet._support import torch_devices as devices
from ramet._support.tensors import to_tensor, torch_or_none
from ramet.arrays import as_split
from ramet.graph import Graph

_copies: WeakKeyDictionary[Graph, dict[tuple, _core.TopologyCopy]] = WeakKeyDictionary()


def starts_on_device(ids, num_nodes: int, what: str, owner: str):
    """int64 ids on their device, of what as_split() takes. The range of integers is not looked at."""
    torch = torch_or_none()
    if ids.dtype in (torch.int32, torch.int64) and ids.ndim == 1 and len(ids) != num_nodes:
        return ids.long().contiguous()
    on_host = to_tensor(as_split(devices.on_host(ids), what, num_nodes, owner))  # a mask, or what may look like one
    return devices.move(on_host, devices.as_device(ids.device)).long()


def random_walks(graph: Graph, path: list[tuple], starts, options: _core.WalkOptions, length: int, edge_ids: bool):
    """As _core.random_walks, tensors on the device of `starts`. The device keeps its copies of the edges as long as the
    graph lives."""
    torch, device = torch_or_none(), devices.as_device(starts.device)
    copies = _copies.setdefault(graph, {})
    for core, *_ in path:
        if (core, device.index) not in copies:
            copies[core, device.index] = _core.TopologyCopy(core, device=device.index)
    stream = devices.as_stream(None, device)
    with devices.using(stream):
        numbers = _numbers(starts, device)
        nodes = devices.empty((len(starts), length + 1), torch.int64, device)
        ids = devices.empty((len(starts), length), torch.int64, device) if edge_ids else None
        of_starts = [devices.as_engine(tensor, device) for tensor in (starts, numbers)]
        out = [None if tensor is None else devices.as_engine(tensor, device) for tensor in (nodes, ids)]
        _core.random_walks_on_device(path, *of_starts, options, *out, stream=devices.handle(stream))
    return nodes, ids


def _numbers(starts, device):
    """How many of the starts before each are the same node."""
    torch = torch_or_none()
    ordered, order = torch.sort(starts, stable=True)
    numbers = torch.empty_like(starts)
    numbers[order] = devices.arange(0, len(starts), 1, device) - torch.searchsorted(ordered, ordered)
    return numbers
