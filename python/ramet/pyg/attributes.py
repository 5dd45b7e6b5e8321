"""Attributes of a PyG storage, whose rows are read in place: by the engine, or by torch."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
import torch
from torch_geometric.loader.utils import index_select

from ramet import _core
from ramet._support.arguments import as_folder
from ramet._support.log import warn_once
from ramet._support.tensors import to_tensor
from ramet.arrays import MAX_DIMENSIONS, STORABLE
from ramet.dtypes import SCALE_SUFFIX
from ramet.loading.pyg_data.names import TOPOLOGY
from ramet.storage.contents import RESERVED
from ramet.tables.table import Table


@dataclass(frozen=True)
class Served:
    """An attribute whose rows the engine gathers ahead of the loop, as the table `name`: one of the graph, or `rows`,
    which lie in shared memory. value: what the attribute was; None where rows are not the data's."""

    value: torch.Tensor
    name: str
    rows: Table | None = None

    @property
    def origin(self):
        """The identity of the memory of rows."""
        return layout_of(self.value)

    def is_current(self, value) -> bool:
        """Whether the engine gathers the rows of `value`, the current value of the attribute."""
        if self.rows is None:
            return value is self.value
        return is_in_shared_memory(value) and layout_of(value) == layout_of(self.value)


def attributes_ahead(store, belongs) -> dict[str, Served]:
    """The attributes of a storage whose rows the engine gathers ahead, by name. belongs: the storage's `is_node_attr`
    or `is_edge_attr`."""
    found = {k: value.detach() for k, value in store.items() if is_in_shared_memory(value) and is_table_name(k)}
    return {
        key: Served(value, key, Table(value))
        for key, value in found.items()
        if key not in TOPOLOGY and belongs(key) and dim_of(store, key) % value.dim() == 0
    }


def is_in_shared_memory(value) -> bool:
    """Whether rows lie in shared memory, one after the other: threads read them ahead, since torch does not move them.
    Memory that is the process's own it moves, and frees, when it hands the tensor to another process."""
    return reads_in_place(value) and value.is_shared() and value.is_contiguous()


def layout_of(tensor: torch.Tensor) -> tuple:
    """The memory layout of a tensor's elements, and their dtype."""
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


def select(store, key: str, index: torch.Tensor):
    """The rows `index` of an attribute: of a tensor, an array, a TensorFrame, a list or a tuple."""
    value, dim = store[key], dim_of(store, key)
    if isinstance(value, (list, tuple)):
        return [value[i] for i in index.tolist()]
    if isinstance(value, np.ndarray) and value.dtype.kind not in "biufc":  # such as names
        return value.take(index.cpu().numpy(), dim)
    if not isinstance(value, torch.Tensor):
        return index_select(value, index.cpu(), dim)
    if reads_in_place(value) and dim % value.dim() == 0:
        return _gather(key, value, index.cpu()).to(index.device)
    if value.layout not in (torch.strided, torch.sparse_coo):
        name = str(value.layout).removeprefix("torch.")
        raise TypeError(f"attribute {key!r} is {name}, of which torch takes no rows: make it dense, or sparse_coo")
    _tell_of_torch(key, value)
    return index_select(value, index.to(value.device), dim)


def _gather(key: str, value: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """By the engine, while Python's lock is held: so no thread moves, resizes or frees the tensor meanwhile."""
    last = sum((size - 1) * stride for size, stride in zip(value.shape, value.stride()))
    needed = (value.storage_offset() + last + 1) * value.element_size()
    if value.untyped_storage().nbytes() < needed:
        has = value.untyped_storage().nbytes()
        raise ValueError(f"attribute {key!r} of shape {list(value.shape)} takes {needed} bytes, its memory has {has}")
    rows = _core.gather_held(value.detach(), index.contiguous().numpy(), threads=torch.get_num_threads())
    return to_tensor(rows)


def reads_in_place(value) -> bool:
    """Whether the engine can read the rows of an attribute. A tensor that requires a gradient is left to torch, which
    then knows where the rows came from."""
    return (
        type(value) is torch.Tensor
        and value.layout == torch.strided
        and value.device.type == "cpu"
        and not (value.requires_grad or value.is_inference() or value.is_neg())  # whose memory has other signs
        and 1 <= value.dim() <= MAX_DIMENSIONS
        and value.numel() > 0
        and _is_storable(value.dtype)
        and value[0].is_contiguous()
    )


def _tell_of_torch(key: str, value: torch.Tensor) -> None:
    """Once for each attribute and reason."""
    if value.layout != torch.strided:
        reason = f"it is {str(value.layout).removeprefix('torch.')}"
    elif value.device.type != "cpu":
        reason = f"it is on {value.device}"
    elif value.is_neg():
        reason = "it has torch's negative bit: resolve_neg() gives a copy without it"
    elif value.numel() > 0 and not value[0].is_contiguous():
        reason = f"its rows are not contiguous: it has the strides {list(value.stride())}"
    else:
        return
    warn_once("torch indexes the attribute %r, which is slower: %s", key, reason, per=(key, reason))


def dim_of(store, key: str) -> int:
    """The dimension of an attribute that counts nodes or edges."""
    return store._parent().__cat_dim__(key, store[key], store)  # noqa: SLF001 (PyG's link from a storage to its Data)


def version_of(value) -> int:
    """Torch's count of writes to a tensor; 0 for other values."""
    counts = isinstance(value, torch.Tensor) and not value.is_inference()
    return value._version if counts else 0  # noqa: SLF001 (torch's count of writes)


@functools.cache
def _is_storable(dtype: torch.dtype) -> bool:
    if dtype == torch.bfloat16:
        return True
    try:
        return torch.empty(0, dtype=dtype).numpy().dtype.str in STORABLE
    except TypeError:  # a dtype that numpy does not have
        return False


def is_table_name(key: str) -> bool:
    if key in RESERVED or key.endswith(SCALE_SUFFIX):
        return False
    try:
        as_folder(key, "a table")
    except ValueError:
        return False
    return True
