"""Batches of links of a device are those of the CPU, to the bit: docs/semantics.md, sections 12 and 27."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from small_graphs import NUM_NODES, homogeneous

import ramet


@pytest.mark.parametrize("exclude", [None, "self"])
@pytest.mark.parametrize("mode", ["binary", "triplet"])
def test_batches_are_those_of_the_cpu(gpu, exclude, mode):
    graph = homogeneous(time=np.arange(NUM_NODES))
    options = {"num_neighbors": [4, 3], "batch_size": 64, "shuffle": True, "exclude": exclude, "negatives": mode}
    loader = ramet.LinkLoader(graph, **options, device=gpu)
    assert loader.placement["topology"].place == "device"
    for batch, expected in zip(loader, ramet.LinkLoader(graph, **options), strict=True):
        assert batch.fingerprint() == expected.fingerprint()
        names = ["n_id", "x", "input_id", "edge_label_index"]
        names += ["edge_label"] if mode == "binary" else ["src_index", "dst_pos_index", "dst_neg_index"]
        for name in names:
            tensor, other = getattr(batch, name), getattr(expected, name)
            assert tensor.device.type == gpu.type
            assert torch.equal(tensor.cpu(), other)
