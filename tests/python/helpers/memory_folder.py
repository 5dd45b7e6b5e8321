"""A tmp_path in memory for tests that write many stores, each of which waits until a disk has it."""

import shutil
import tempfile
from pathlib import Path

import pytest

MEMORY = "/dev/shm"


@pytest.fixture
def tmp_path(tmp_path):
    if not Path(MEMORY).is_dir() or shutil.disk_usage(MEMORY).free < 1 << 30:
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="ramet-test-", dir=MEMORY) as folder:
        yield Path(folder)
