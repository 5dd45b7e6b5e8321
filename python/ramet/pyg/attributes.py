"""Which attributes of a PyG storage the engine serves as tables, and what becomes of the others."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch_geometric.loader.utils import index_select

from ramet.arguments import as_folder
from ramet.arrays import MAX_DIMENSIONS, STORABLE
from ramet.dtypes import SCALE_SUFFIX
from ramet.stores.contents import RESERVED
from ramet.tables.table import Table

TOPOLOGY = ("edge_index", "adj_t", "adj")


@dataclass(frozen=True)
class Served:
    """An attribute whose rows the engine gathers, as the table `name`. Either the graph has a copy: version is torch's
    count of writes to `value` when it was copied, None for one that nobody writes to. Or, with `rows`, they are read
    where they lie."""

    value: torch.Tensor
    name: str
    version: int | None = None
    rows: Table | None = None

    def is_current(self, value) -> bool:
        """Whether the rows that the engine gathers are those of `value`, what the attribute is now."""
        if self.rows is not None:
            return is_in_place(value) and layout_of(value) == layout_of(self.value)
        return value is self.value and (self.version is None or version_of(value) == self.version)


def copied_attributes(store, belongs) -> dict[str, Served]:
    """The attributes of a storage that tables can hold, by name, but for those that are read where they lie. belongs:
    the storage's `is_node_attr` or `is_edge_attr`."""
    found = _fitting(store, belongs)
    return {k: Served(value, k, version_of(value)) for k, value in found.items() if not is_in_place(value)}


def attributes_in_place(store, belongs) -> dict[str, Served]:
    """The attributes of a storage whose rows are read where they lie, by name. `belongs` as of copied_attributes."""
    found = {k: value.detach() for k, value in _fitting(store, belongs).items() if is_in_place(value)}
    return {k: Served(value, k, rows=Table(value)) for k, value in found.items()}


def is_in_place(value) -> bool:
    """Whether rows are read where they lie: in shared memory, from which torch moves no tensor. Memory that is the
    process's own it moves, and frees, when it hands the tensor to another process."""
    return _is_plain(value) and value.is_shared() and value.is_contiguous()


def layout_of(tensor: torch.Tensor) -> tuple:
    """Where the elements of a tensor lie, and what they are."""
    return tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype


def _fitting(store, belongs) -> dict[str, torch.Tensor]:
    return {
        key: value
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
        _is_plain(value)
        and 1 <= value.dim() <= MAX_DIMENSIONS
        and value.numel() > 0
        and _is_storable(value.dtype)
        and _is_table_name(key)
    )


def _is_plain(value) -> bool:
    return (
        type(value) is torch.Tensor
        and value.layout == torch.strided
        and value.device.type == "cpu"
        and not (value.requires_grad or value.is_inference())
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
