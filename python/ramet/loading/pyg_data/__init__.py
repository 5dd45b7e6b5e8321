"""Batches as PyG's Data and HeteroData. Its modules import torch_geometric, but for `names` and `sources`."""
