"""Makes, reads, converts, partitions and describes stores."""
