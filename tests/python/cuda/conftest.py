"""On a GPU, or where it is emulated: with a package of its own,

pip install --no-build-isolation --no-deps --upgrade --target build/emulated -Cbuild-dir=build/emulated-package \
  -Ccmake.define.RAMET_CUDA=EMULATED . && PYTHONPATH=build/emulated python -m pytest tests/python/cuda
"""

import emulated_devices
import pytest

import ramet.cuda
from ramet import _core
from ramet.cuda import torch_devices as devices


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


def pytest_configure(config):
    config.addinivalue_line("markers", "without_gpu: for machines without a GPU")
