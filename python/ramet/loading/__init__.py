"""NeighborLoader and the batches it makes."""
