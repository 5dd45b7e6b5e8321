"""UnifiedTensors page-lock the memory of their rows, and release it."""

from contextlib import nullcontext

import pytest
from other_threads import turns_during
from unified_rows import equal, rows_of

import ramet
from ramet import _core
from ramet._support.progress import locking_progress
from ramet.cuda import UnifiedTensor
from ramet.cuda import unified as unified_tensor


def test_registration_is_shared_and_ends_with_the_last():
    rows = rows_of(shape=(4096, 16))
    before = ramet.cuda.registered_bytes()
    first, second = UnifiedTensor(rows), UnifiedTensor(rows[100:])
    held = ramet.cuda.registered_bytes() - before
    assert rows.nbytes <= held <= rows.nbytes + 8192
    del first
    assert equal(second[0], rows[100])
    del second
    assert ramet.cuda.registered_bytes() == before


def test_refused_registration_becomes_a_copy(monkeypatch):
    if _core.cuda_backend() != "emulated":
        pytest.skip("the driver registers it")
    monkeypatch.setenv("RAMET_EMULATOR_REFUSE_REGISTER", "1")
    rows = rows_of()
    with pytest.warns(RuntimeWarning, match=r"copy of 1,400 bytes .*cannot page-lock"):
        unified = UnifiedTensor(rows)
    assert unified.placement == "pinned_copy"
    assert equal(unified[[1, 2]], rows[[1, 2]])
    with pytest.raises(RuntimeError, match="cannot page-lock"):
        UnifiedTensor(rows, copy_where_refused=False)


def test_page_locking_reports_progress_and_stops(monkeypatch):
    rows = rows_of(shape=(4096, 16))
    seen = []
    monkeypatch.setattr(unified_tensor, "locking_progress", lambda: nullcontext(lambda *at: seen.append(at)))
    with_progress = UnifiedTensor(rows)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (rows.nbytes, rows.nbytes)
    del with_progress
    before = ramet.cuda.registered_bytes()

    def interrupt(done, total):
        raise KeyboardInterrupt

    monkeypatch.setattr(unified_tensor, "locking_progress", lambda: nullcontext(interrupt))
    with pytest.raises(KeyboardInterrupt):
        UnifiedTensor(rows)
    assert ramet.cuda.registered_bytes() == before


def test_other_threads_go_on_while_pages_are_unlocked(monkeypatch):
    if _core.cuda_backend() != "emulated":
        pytest.skip("unlocking a small table takes no time")
    monkeypatch.setenv("RAMET_EMULATOR_UNREGISTER_MS", "400")
    tables = [UnifiedTensor(rows_of())]
    seconds, turns = turns_during(tables.clear)
    assert seconds >= 0.4
    assert turns >= 3


def test_progress_is_for_terminals(capsys):
    with locking_progress() as report:
        report(1, 2)
    assert capsys.readouterr().err == ""
