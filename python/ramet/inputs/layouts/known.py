"""The layouts that are known, in the order in which they are looked for."""

from ramet.inputs.layouts import (
    edge_list,
    graphbolt,
    graphstorm,
    heco,
    keyed_tables,
    masked_arrays,
    ogb,
    ogb_binary,
    successors,
    tgb,
    triples,
)

LAYOUTS = (
    ogb,
    ogb_binary,
    masked_arrays,
    graphbolt,
    graphstorm,
    keyed_tables,
    tgb,
    triples,
    successors,
    heco,
    edge_list,
)
