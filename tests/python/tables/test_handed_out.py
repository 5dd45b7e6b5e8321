"""Descriptors of a new table that other ranks open: not handed out any more once the table is there, or is not."""

import pytest

from ramet.ranks.ranks import Ranks
from ramet.tables import create
from ramet.tables.shared_storage import HostPieces


class Pieces(HostPieces):
    def __init__(self):
        self.handed_out = []

    def here(self, ranks):
        return self

    def share(self, piece):
        self.handed_out.append(super().share(piece))
        return self.handed_out[-1]

    def forget(self, handle):
        self.handed_out.remove(handle)


class Unlucky(Ranks):
    """Of which another one fails at some meeting."""

    meetings = 0

    def share(self, make):
        shared = super().share(make)
        self.meetings -= 1
        if self.meetings == 0:
            raise ValueError("rank 1 cannot cooperate")
        return shared


@pytest.mark.parametrize("meetings", [1, 2, 3])
def test_what_was_handed_out_is_taken_back(monkeypatch, meetings):
    """Where another rank has no memory; where it cannot open the pieces; where nothing fails."""
    pieces, ranks = Pieces(), Unlucky.alone()
    ranks.meetings = meetings
    monkeypatch.setitem(create.PIECES, "host", pieces)
    monkeypatch.setattr(create.Ranks, "of", lambda _: ranks)
    where = {"placement": "continuous", "location": "host", "ranks": None, "ownership": None}
    try:
        create.create((5, 3), "float32", lambda memory: None, **where, init=0, seed=0)
        assert meetings == 3
    except ValueError as error:
        assert str(error) == "rank 1 cannot cooperate" and meetings < 3
    assert pieces.handed_out == []
