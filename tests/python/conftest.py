"""Fixtures for every test here."""

import functools
import gc
import importlib.util
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
import world as ranks
from comparison import both, edge_list, odd
from small_graphs import heterogeneous, homogeneous

import ramet


@pytest.fixture(scope="session")
def small():
    """A graph of one type with a hub, node 299, and the twin's form of it."""
    return both(300, edge_list(300, 300, 2000, seed=1, hub=150))


@pytest.fixture(scope="session")
def hetero():
    """A graph of several types with names that need encoding, and the twin's form of it."""
    return odd()


@pytest.fixture(scope="module")
def graph() -> ramet.Graph:
    """A graph of one type."""
    return homogeneous()


@pytest.fixture(scope="session")
def store(tmp_path_factory) -> str:
    """The folder of that graph."""
    folder = tmp_path_factory.mktemp("stores") / "graph"
    ramet.save(homogeneous(), folder)
    return str(folder)


@pytest.fixture(scope="session")
def several_types(tmp_path_factory) -> str:
    """The folder of a graph of several types."""
    folder = tmp_path_factory.mktemp("stores") / "several"
    ramet.save(heterogeneous(), folder)
    return str(folder)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of real datasets, which are not part of the project: RAMET_TEST_DATA, else
    shared/data beside the repository. Tests that need it are skipped where it is not there."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("RAMET_TEST_DATA", beside))
    if not folder.is_dir():
        pytest.skip(f"no datasets: {folder} is not there (set RAMET_TEST_DATA)")
    return folder


@pytest.fixture(autouse=True)
def same_random_numbers():
    """A test draws the same ones alone and after others."""
    np.random.seed(0)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)


@pytest.fixture(scope="module")
def one_thread():
    """For torch: what is small is slow with threads that wait for each other."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def template():
    """What forks the ranks of all tests."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("ranks need torch")
    with ranks.template() as line:
        yield line


@pytest.fixture(scope="module")
def run_script(request, template, tmp_path_factory):
    """Runs a script in a folder of its own, without importing torch anew: `run_script(path, *arguments, ranks=3)`."""
    template.ask("import", request.module.__name__, request.module.__file__)
    return lambda *command, **more: ranks.run_script(template, tmp_path_factory.mktemp("script"), *command, **more)


@pytest.fixture(scope="module")
def world_of(request, template):
    """Makes ranks: `with world_of(3) as world`. For tests that end them or leave them in a bad state."""
    template.ask("import", request.module.__name__, request.module.__file__)
    return functools.partial(ranks.World, template)


@pytest.fixture(scope="module")
def in_another_process(world_of):
    """Calls a function in a process that is no child of this one."""
    with world_of(1) as world:
        yield lambda *call: world.call(*call)[0]


@pytest.fixture(scope="module")
def world(request, world_of):
    """The ranks of a file, which says in WORLD how many."""
    with world_of(request.module.WORLD) as world:
        yield world


def pytest_collection_finish(session):
    """What is there before the first test is no test's garbage: collections in tests look at theirs alone."""
    gc.collect()
    gc.freeze()


def pytest_configure(config):
    """A shell's background job inherits an ignored Ctrl-C, and so would every process of these tests."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
