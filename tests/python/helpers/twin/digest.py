"""The fingerprint: docs/semantics.md, section 7."""

from __future__ import annotations

from .batch import TwinBatch
from .keys import MASK, G, absorb, hash_of, mix64


def fingerprint(batches: list[TwinBatch]) -> str:
    values = set()
    for batch in batches:
        for block in batch.blocks:
            for edge_type, indptr in block.indptr.items():
                start = absorb(absorb(4, block.hop), hash_of(edge_type))
                first = block.first_dst[edge_type[2]]
                for row, node in enumerate(batch.n_id[edge_type[2]][first : first + block.num_dst[edge_type[2]]]):
                    for edge_id in block.e_id[edge_type][indptr[row] : indptr[row + 1]]:
                        values.add(absorb(absorb(start, node), edge_id))
    first = sum(mix64(f) for f in values) & MASK
    last = (sum(mix64(f ^ G) for f in values) + len(values)) & MASK
    return f"{first:016x}{last:016x}"
