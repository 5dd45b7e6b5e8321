"""The cost of batches, an epoch and caches, from a sample: docs/estimate.md."""

from ramet.costs.caches import Caches, count_hits
from ramet.costs.job import Estimate, estimate
from ramet.costs.ranks import count_ranks, make_together

__all__ = ["Caches", "Estimate", "count_hits", "count_ranks", "estimate", "make_together"]
