"""The twin: sampling, shuffling, slicing and fingerprints, slow and obvious.

Written from docs/semantics.md (and docs/format.md, section 3, for names) alone, without a look at the engine,
and kept so: where the two differ, either the page or the engine is wrong. Section numbers are that page's.
Integers are Python's, cut to 64 bits by hand.
"""

from .batch import TwinBatch, TwinBlock, sample
from .digest import fingerprint
from .epochs import global_batches, shuffle_rounds, shuffled, slice_of
from .graph import Csc, TwinGraph
from .keys import DEFAULT_EDGE, MASK, G, absorb, draw, encode_edge_type, encode_name, fnv1a, hash_of, mix64, seed_for

__all__ = [
    "DEFAULT_EDGE",
    "MASK",
    "Csc",
    "G",
    "TwinBatch",
    "TwinBlock",
    "TwinGraph",
    "absorb",
    "draw",
    "encode_edge_type",
    "encode_name",
    "fingerprint",
    "fnv1a",
    "global_batches",
    "hash_of",
    "mix64",
    "sample",
    "seed_for",
    "shuffle_rounds",
    "shuffled",
    "slice_of",
]
