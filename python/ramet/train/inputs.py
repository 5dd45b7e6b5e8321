"""What tasks read from a store: features, tables, splits. Checked before any process starts."""

from __future__ import annotations

from ramet.dtypes import dtype_name
from ramet.loading.options import require_whole

SPLITS = ("train", "val", "test")


def find_features(graph) -> int:
    """The width of the features of a homogeneous graph. Raises ValueError for another graph, and for other tables."""
    require_whole(graph)
    if graph.is_hetero:
        types = ", ".join(graph.node_types)
        raise ValueError(f"the graph has several node or edge types ({types}); one is supported")
    feat = find_table(graph, "feat")
    is_float = feat.is_encoded or feat.dtype.kind == "f"
    if len(feat.shape) != 2 or not is_float or feat.shape[1] == 0:
        raise ValueError(f"table 'feat' is {form(feat)}; it must be [nodes, width] of floats")
    return feat.shape[1]


def find_table(graph, name):
    if name not in graph.tables():
        there = ", ".join(sorted(graph.tables())) or "none"
        raise ValueError(f"the graph has no node table {name!r} (it has: {there})")
    return graph.table(name)


def split_name(there, name):
    """The name of a split among those that are there: OGB's name of "val" is "valid"."""
    return "valid" if name == "val" and "val" not in there and "valid" in there else name


def find_splits(there, of, remedy) -> dict[str, str]:
    """The name of each split of a run among those that are there. ValueError for one that is missing. of: what they are
    splits of, in words."""
    names = {name: split_name(there, name) for name in SPLITS}
    missing = [name for name in SPLITS if names[name] not in there]
    if missing:
        found = ", ".join(sorted(there)) or "none"
        raise ValueError(f"the graph has no split {of}{missing[0]!r} (it has: {found}); {remedy}")
    return names


def form(array):
    return f"{list(array.shape)} of {dtype_name(array.dtype)}"
