"""Storages of batches whose to(), cuda(), pin_memory(), clone() and so on keep the hops of `edge_index`."""

from __future__ import annotations

from torch_geometric.data.storage import BaseStorage, EdgeStorage, GlobalStorage

from ramet.loading.hops import Hops, hop_edges_of, remember_hops


def set_edge_index(store: BaseStorage, edge_index, hops: Hops | None) -> None:
    """Sets an edge_index that knows its hops, if it has any, in this storage and its copies."""
    if hops is None:
        store.edge_index = edge_index
        return
    store.edge_index = remember_hops(edge_index, hops)
    object.__setattr__(store, "__class__", _CLASSES.get(type(store), type(store)))


def _knowing_hops(storage_class: type) -> type:
    class Storage(storage_class):
        def apply(self, func, *args):
            before = hop_edges_of(self.get("edge_index"))
            super().apply(func, *args)
            now = self.get("edge_index")
            if before is not None and now is not before.edge_index and now.shape == before.edge_index.shape:
                remember_hops(now, before.hops)
            return self

        def __reduce_ex__(self, protocol):  # pickles know PyG's class
            return storage_class.__new__, (storage_class,), self.__getstate__()

    return Storage


_CLASSES = {storage_class: _knowing_hops(storage_class) for storage_class in (GlobalStorage, EdgeStorage)}
