"""The layouts that are known, in the order in which they are looked for."""

from ramet.inputs.layouts import (
    edge_list,
    graphbolt,
    graphstorm,
    heco,
    keyed_tables,
    ogb,
    ogb_binary,
    successors,
    tgb,
    triples,
)

LAYOUTS = (ogb, ogb_binary, graphbolt, graphstorm, keyed_tables, tgb, triples, successors, heco, edge_list)
