"""A store that memory cannot hold: what is given up, and that rows of it are read page by page."""

import json
import os

import numpy as np
import processes
import pytest
from benchmarks import benchmark

import ramet
from ramet.stores.info import as_text, describe

limits = benchmark("memory_limit")
LIMIT = 128 << 20
ROWS, WIDTH = 1 << 20, 128  # 512 MiB of rows of 512 bytes
IDS = np.arange(0, ROWS, ROWS // 64)

PROGRAM = f"""
import json, sys
import numpy as np
import ramet

sys.modules["torch"] = None
graph = ramet.open(sys.argv[1])
before = graph.pages()
rows = graph.table("feat").gather(np.arange(0, {ROWS}, {ROWS // 64}))
flags = [line for line in open("/proc/self/smaps") if line.startswith("VmFlags") and " rr " in line]
after = graph.pages()
print(json.dumps([before, after, sorted(graph._core.read_by_row), rows[:, 0].tolist(), len(flags)]))
"""


@pytest.fixture
def store(tmp_path):
    """A store with a table that is all holes on the disk but for the rows IDS."""
    edges = np.arange(ROWS, dtype=np.int64)
    graph = ramet.from_edge_index(np.stack([edges, np.roll(edges, 1)]), num_nodes=ROWS)
    ramet.save(graph, tmp_path / "store", checksums=False)
    (tmp_path / "store" / "node" / "node").mkdir(parents=True)
    file = tmp_path / "store" / "node" / "node" / "feat.npy"
    rows = np.lib.format.open_memmap(file, "w+", np.float32, (ROWS, WIDTH))
    rows[IDS, 0] = IDS
    rows.flush()
    del rows
    descriptor = os.open(file, os.O_RDONLY)
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)
    return tmp_path / "store"


def test_tables_that_memory_cannot_hold_are_read_by_row(store):
    try:
        with limits.memory_limit(LIMIT) as join:
            output = processes.run("-c", PROGRAM, store, preexec_fn=join)
            text = processes.run("-m", "ramet", "info", store, preexec_fn=join)
    except limits.NoLimit as why:
        pytest.skip(f"no limit of memory can be set: {why}")
    before, after, names, values, mappings = json.loads(output.splitlines()[-1])
    assert names == ["node/node/feat"]
    assert before["by_row"] == ROWS * WIDTH * 4
    assert values == IDS.tolist()
    assert mappings == 1
    assert after["resident"] - before["resident"] <= 2 * len(IDS) * os.sysconf("SC_PAGESIZE")
    assert "more than memory holds: 536.9 MB are read page by page, of node/node/feat" in text


def test_what_memory_holds_is_not(store):
    graph = ramet.open(store)
    assert graph.pages()["by_row"] == 0
    assert describe(store)["read_by_row"] == []
    assert "more than memory" not in as_text(describe(store))
