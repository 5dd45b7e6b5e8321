"""Graphs of every kind, for the engine and for the twin."""

import pytest
from methods import KINDS, make


@pytest.fixture(scope="module", params=KINDS)
def case(request, tmp_path_factory):
    """(kind, engine's graph, twin's graph, type of seeds)."""
    return request.param, *make(request.param, tmp_path_factory.mktemp("case"))
