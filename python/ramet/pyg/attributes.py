"""Which attributes of a PyG storage the engine serves as tables, and what becomes of the others."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch_geometric.loader.utils import index_select

from ramet.arguments import as_folder
from ramet.arrays import MAX_DIMENSIONS, STORABLE
from ramet.dtypes import SCALE_SUFFIX
from ramet.stores.contents import RESERVED

TOPOLOGY = ("edge_index", "adj_t", "adj")


@dataclass(frozen=True)
class Served:
    """An attribute that the table `table` has a copy of. version: torch's count of writes to it when it was copied;
    None for one that nobody writes to."""

    value: torch.Tensor
    version: int | None
    table: str

    def is_current(self, value) -> bool:
        """Whether `value`, what the attribute is now, is what the table has."""
        return value is self.value and (self.version is None or version_of(value) == self.version)


def served_attributes(store, belongs) -> dict[str, Served]:
    """The attributes of a storage that tables can hold, by name. belongs: the storage's `is_node_attr` or
    `is_edge_attr`."""
    return {
        key: Served(value, version_of(value), key)
        for key, value in store.items()
        if key not in TOPOLOGY and fits_table(key, value) and belongs(key) and dim_of(store, key) % value.dim() == 0
    }


def select(store, key: str, index: torch.Tensor):
    """The rows `index` of an attribute that no table has: of a tensor, an array, a TensorFrame, a list or a tuple."""
    value = store[key]
    if isinstance(value, (list, tuple)):
        return [value[i] for i in index.tolist()]
    index = index.to(value.device) if isinstance(value, torch.Tensor) else index
    return index_select(value, index, dim_of(store, key))


def dim_of(store, key: str) -> int:
    """The dimension of an attribute that counts nodes or edges."""
    return store._parent().__cat_dim__(key, store[key], store)  # noqa: SLF001 (PyG's link from a storage to its Data)


def version_of(value) -> int:
    """Torch's count of writes to a tensor; 0 for what has none."""
    counts = isinstance(value, torch.Tensor) and not value.is_inference()
    return value._version if counts else 0  # noqa: SLF001 (torch's count of writes)


def fits_table(key: str, value) -> bool:
    """Whether `value` is a plain tensor that a store can hold under this name. A tensor that requires a gradient is
    left to torch, which then knows where the rows came from."""
    return (
        type(value) is torch.Tensor
        and value.layout == torch.strided
        and value.device.type == "cpu"
        and not (value.requires_grad or value.is_inference())
        and 1 <= value.dim() <= MAX_DIMENSIONS
        and value.numel() > 0
        and _is_storable(value.dtype)
        and _is_table_name(key)
    )


def _is_storable(dtype: torch.dtype) -> bool:
    if dtype == torch.bfloat16:
        return True
    try:
        return torch.empty(0, dtype=dtype).numpy().dtype.str in STORABLE
    except TypeError:  # a dtype that numpy does not have
        return False


def _is_table_name(key: str) -> bool:
    if key in RESERVED or key.endswith(SCALE_SUFFIX):
        return False
    try:
        as_folder(key, "a table")
    except ValueError:
        return False
    return True
