"""On a GPU, or where it is emulated: with a package of its own,

pip install --no-build-isolation --no-deps --upgrade --target build/emulated -Cbuild-dir=build/emulated-package \
  -Ccmake.define.RAMET_CUDA=EMULATED . && PYTHONPATH=build/emulated python -m pytest tests/python/cuda
"""

import emulated_devices
import pytest

import ramet.cuda
from ramet import _core
from ramet._support import torch_devices as devices


@pytest.fixture(autouse=True)
def gpu(request, monkeypatch):
    """The device of a test, for whom CPU tensors stand where it is emulated. Tests of what happens without a GPU are
    marked with `without_gpu` and run without one alone."""
    emulated = _core.cuda_backend() == "emulated"
    if emulated:
        emulated_devices.replace(monkeypatch.setattr)
    missing = ramet.cuda.why_not()
    if bool(missing) != (request.node.get_closest_marker("without_gpu") is not None):
        pytest.skip(missing or "there is a GPU")
    if missing:
        return None
    return devices.as_device("cuda:0")


class FailuresAtOnce:
    """Shows each failure as it happens, for a run that may be ended: pytest shows them when all is over."""

    def __init__(self, config):
        self._plugins = config.pluginmanager

    def pytest_runtest_logreport(self, report):
        if report.failed:
            terminal = self._plugins.get_plugin("terminalreporter")
            terminal.ensure_newline()
            for text in filter(None, (report.longreprtext, report.capstdout, report.capstderr)):
                terminal.write_line(text)


def pytest_addoption(parser):
    parser.addoption("--failures-at-once", action="store_true", help="show failures as they happen, too")


def pytest_configure(config):
    config.addinivalue_line("markers", "without_gpu: for machines without a GPU")
    if config.getoption("--failures-at-once", False):
        config.pluginmanager.register(FailuresAtOnce(config))
