"""A loop over ramet.pyg.NeighborLoader whose steps fault many pages in keeps its memory by itself (docs/pyg.md, "One
copy")."""

import processes
import pytest

PROGRAM = """
import resource, torch
from torch_geometric.data import Data
import ramet.pyg

torch.set_num_threads(1)
data = Data(x=torch.ones(400, 4), edge_index=torch.randint(400, (2, 4000)))
faults = []
for _ in ramet.pyg.NeighborLoader(data, [3], batch_size=20):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(20_000_000).add_(1)
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(min(faults[:2]), sorted(faults[-9:])[4])
"""


@pytest.mark.parametrize(("environment", "keeps"), [({}, True), ({"MALLOC_ARENA_MAX": "8"}, False)])
def test_pages_are_not_faulted_in_again(environment, keeps, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    first, last = map(int, processes.run(program, env=environment).split()[-2:])
    assert first > 10_000
    assert (last < first / 10) is keeps


GIVEN_BACK = """
import torch, ramet, ramet._support.memory as memory

assert ramet.keep_memory()
memory.FaultWatch._is_done = memory.FaultWatch._keeps = True
rows = [torch.ones(1_000_000) for _ in range(200)]
del rows
kept = memory._resident()
memory.available_memory = lambda: 1 << 20
memory.FaultWatch().step()
print(kept, memory._resident())
"""


def test_it_is_given_back_where_memory_is_short(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(GIVEN_BACK)
    kept, left = map(int, processes.run(program).split()[-2:])
    assert kept - left > 600e6
