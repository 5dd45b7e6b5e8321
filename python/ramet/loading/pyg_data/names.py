"""The names that tables of a graph have as attributes of PyG's storages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ramet._support.arguments import EdgeTypeName
from ramet._support.log import warn_once
from ramet.inputs.objects.pyg import TABLE_NAMES

TOPOLOGY = ("edge_index", "adj_t", "adj")
PYG_NAMES = {table: attribute for attribute, table in TABLE_NAMES.items()}
OF_PYG = {  # what PyG's classes read from a storage, and its loaders write into a batch
    *TOPOLOGY,
    *("num_nodes", "num_edges", "num_sampled_nodes", "num_sampled_edges"),
    *("batch", "ptr", "batch_size", "input_id", "root_n_id", "seed_time"),
}
Of = str | EdgeTypeName  # node type or edge type


def attribute_names(
    tables: Mapping[Of, Iterable[str]], is_hetero: bool, also: Collection[str] = ()
) -> dict[Of, dict[str, str]]:
    """By type, the attribute that each of its tables is: "feat" is `x`, "label" is `y`, and others have their own name.
    A name that is taken, by PyG or by another table of the storage, gets "node_" or "edge_" before it, which a log line
    says. is_hetero: whether each type has a storage of its own. also: more names that are taken."""
    found: dict[Of, dict[str, str]] = {}
    taken = {*OF_PYG, *also}
    for of, of_type in tables.items():
        taken = {*OF_PYG, *also} if is_hetero else taken
        names, found[of], is_node_type = list(of_type), {}, isinstance(of, str)
        for name in names:
            usual = PYG_NAMES.get(name, name) if is_node_type else name
            attribute = name if usual in names else usual  # "feat" beside "x"
            while attribute in taken:
                attribute = f"{'node' if is_node_type else 'edge'}_{attribute}"
            if attribute != usual:
                warn_once(
                    "the table %r of %r is the attribute %r of batches: its own name is taken",
                    name,
                    of,
                    attribute,
                    per=(of, name),
                )
            found[of][name] = attribute
            taken.add(attribute)
    return found
