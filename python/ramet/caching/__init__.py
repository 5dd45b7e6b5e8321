"""What caches of rows would hit, by policy and size, and what the disk behind them would read: counted from batches'
node ids alone."""

from ramet.caching.count import CacheCount, CacheSize, count_hits
from ramet.caching.disk import Disk, Reads

__all__ = ["CacheCount", "CacheSize", "Disk", "Reads", "count_hits"]
