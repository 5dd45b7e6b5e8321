"""What caches of rows would hit, by policy and size: counted from batches' node ids alone."""

from ramet.caching.count import CacheCount, CacheSize, count_hits

__all__ = ["CacheCount", "CacheSize", "count_hits"]
