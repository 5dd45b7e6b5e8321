"""What a machine without a GPU, or a build without CUDA, says."""

import subprocess
import sys

import pytest
import torch

import ramet
from ramet import _core

pytestmark = pytest.mark.without_gpu


def test_says_why():
    assert not ramet.cuda.is_available()
    why = ramet.cuda.why_not()
    assert why
    with pytest.raises(RuntimeError) as error:
        ramet.cuda.devices()
    if _core.cuda_backend() is None:
        assert "RAMET_CUDA=ON" in why and "docs/cuda.md" in why
        assert str(error.value) == why


def test_a_tensor_cannot_be_made():
    with pytest.raises(RuntimeError) as error:
        ramet.cuda.UnifiedTensor(torch.zeros(3, 2))
    assert str(error.value) == ramet.cuda.why_not()


def test_import_needs_neither_torch_nor_gpu():
    code = "import sys, ramet; ramet.cuda.registered_bytes(); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
