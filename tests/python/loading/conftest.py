"""The graph of the tests here that make none of their own."""

import pytest
from small_graphs import homogeneous

import ramet


@pytest.fixture(scope="module")
def graph() -> ramet.Graph:
    return homogeneous()
