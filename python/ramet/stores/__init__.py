"""What makes, reads, converts, partitions and describes stores."""
