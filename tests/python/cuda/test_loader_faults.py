"""Loaders where the driver refuses, memory is short, or a fork came in between. docs/cuda.md"""

from __future__ import annotations

import tempfile
from contextlib import nullcontext

import processes
import pytest
from other_threads import turns_during
from refusals import error_of
from small_graphs import homogeneous

import ramet
from ramet import _core
from ramet.loading import engine


@pytest.fixture(scope="module")
def graph():
    return homogeneous()


@pytest.fixture
def emulated(monkeypatch):
    """Faults that no driver has when it is asked to."""
    if _core.cuda_backend() != "emulated":
        pytest.skip("only the emulator refuses on request")
    return monkeypatch


def loader_of(graph, device, **arguments):
    return ramet.NeighborLoader(graph, [4, 3], "train", 32, shuffle=True, device=device, **arguments)


def prints(loader) -> list[str]:
    return [batch.fingerprint() for batch in loader]


def test_refused_registration_is_staged_and_told(graph, gpu, emulated):
    emulated.setenv("RAMET_EMULATOR_REFUSE_REGISTER", "1")
    loader = loader_of(graph, gpu, placement=ramet.Placement(device_memory=0))
    for placed in loader.placement.values():
        assert placed.place == "staged"
        assert "not in place" in placed.why and "page-lock" in placed.why
    assert prints(loader) == prints(loader_of(graph, None))


def test_refused_registration_is_an_error_where_it_was_asked_for(graph, gpu, emulated):
    emulated.setenv("RAMET_EMULATOR_REFUSE_REGISTER", "1")
    with pytest.raises(RuntimeError, match=r"cannot page-lock .*usual reason"):
        loader_of(graph, gpu, placement="in_place")


def test_drivers_that_lock_nothing_for_reading_alone_read_stores_in_shared_memory(graph, gpu, emulated, tmp_path):
    """docs/cuda.md, Refusals."""
    emulated.setenv("RAMET_EMULATOR_REGISTER_READ_ONLY", "0")
    with tempfile.TemporaryDirectory(prefix="ramet-test-", dir="/dev/shm") as folder:
        ramet.save(graph, f"{folder}/store")
        loader = loader_of(ramet.open(f"{folder}/store"), gpu, placement="in_place")
        assert prints(loader) == prints(loader_of(graph, None))
        del loader
    ramet.save(graph, tmp_path / "store")
    on_disk = loader_of(ramet.open(tmp_path / "store"), gpu, placement=ramet.Placement(device_memory=0))
    for placed in on_disk.placement.values():  # a temporary folder may be in memory, too
        assert placed.place == "in_place" or "a store in /dev/shm may be locked" in placed.why
    assert prints(on_disk) == prints(loader_of(graph, None))


@pytest.mark.parametrize("last", ["loader", "batch"])
def test_other_threads_go_on_while_pages_are_unlocked(graph, gpu, emulated, last):
    """docs/cuda.md, What it costs."""
    loader = loader_of(graph, gpu, placement=ramet.Placement("in_place", "staged"))
    owners = {"loader": loader, "batch": next(iter(loader))}
    del loader
    owners = {last: owners[last]}
    emulated.setenv("RAMET_EMULATOR_UNREGISTER_MS", "400")  # one array
    seconds, turns = turns_during(owners.clear)
    assert seconds >= 0.4
    assert turns >= 3


def test_page_locking_reports_progress_and_stops(graph, gpu, monkeypatch):
    """docs/cuda.md, Registration."""
    seen = []
    monkeypatch.setattr(engine, "locking_progress", lambda: nullcontext(lambda *at: seen.append(at)))
    before = ramet.cuda.registered_bytes()
    loader = loader_of(graph, gpu, placement="in_place")
    assert sum(done for done, total in seen if done == total) >= ramet.cuda.registered_bytes() - before > 0
    del loader

    def interrupt(done, total):
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "locking_progress", lambda: nullcontext(interrupt))
    with pytest.raises(KeyboardInterrupt):
        loader_of(graph, gpu, placement="in_place")
    assert ramet.cuda.registered_bytes() == before


def test_a_device_without_memory_for_a_copy(graph, gpu, emulated):
    emulated.setenv("RAMET_EMULATOR_MEMORY", "10000")
    with pytest.raises(MemoryError, match="device memory"):
        loader_of(graph, gpu, placement="device")


def test_a_device_without_memory_for_batches(graph, gpu, emulated):
    """The error comes in the place of the batch, and the loader goes on when there is memory again."""
    loader = loader_of(graph, gpu, placement={"topology": "device", "feat": "in_place", "label": "in_place"})
    emulated.setenv("RAMET_EMULATOR_MEMORY", "1")
    with pytest.raises(MemoryError, match="device memory"):
        next(iter(loader))
    emulated.delenv("RAMET_EMULATOR_MEMORY")
    loader.set_epoch(0)
    assert prints(loader) == prints(loader_of(graph, None))


def test_a_forked_child_is_refused(graph, gpu):
    """In it CUDA's state is the parent's, and of no use."""
    loader = loader_of(graph, gpu)
    next(iter(loader))
    said = processes.in_fork(error_of, lambda: next(iter(loader)))
    assert said.startswith("RuntimeError") and "fork" in said
    assert prints(loader_of(graph, gpu)) == prints(loader_of(graph, None))


@pytest.mark.without_gpu
def test_without_a_gpu(graph):
    with pytest.raises(RuntimeError) as error:
        loader_of(graph, "cuda")
    assert str(error.value) == ramet.cuda.why_not()
    with pytest.raises(RuntimeError):
        ramet.sample(graph, [1, 2], [3], device="cuda:0")
    assert prints(loader_of(graph, "cpu")) == prints(loader_of(graph, None))
