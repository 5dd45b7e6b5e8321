"""These tests need PyG."""

import importlib.util

import pytest

collect_ignore_glob = [] if importlib.util.find_spec("torch_geometric") else ["*.py"]


@pytest.fixture(scope="module")
def batch():
    """Of three hops."""
    from trimmed import batch_of

    return batch_of([5, 4, 3])


@pytest.fixture(scope="module")
def hetero():
    """A batch of two hops and three types of nodes."""
    from trimmed import hetero_batch_of

    return hetero_batch_of([5, 4])
