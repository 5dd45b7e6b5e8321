"""torchrun with a number of machines that changes: a run goes on from its checkpoint with whoever is there."""

import os
import signal
from pathlib import Path

import processes
import pytest

pytest.importorskip("torch")

import elastic_ranks
import torch.distributed as dist

pytestmark = pytest.mark.slow
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
QUICK = "is_host=0,last_call_timeout=1,keep_alive_interval=1,keep_alive_max_attempt=3"


def start_agent(port: int, *arguments):
    """torchrun of one machine, which has one rank."""
    elastic = (
        "--nnodes=1:2",
        "--nproc-per-node=1",
        "--max-restarts=3",
        "--monitor-interval=0.1",
        "--local-addr=localhost",
    )
    meeting = ("--rdzv-backend=c10d", f"--rdzv-endpoint=localhost:{port}", f"--rdzv-conf={QUICK}")
    program = (*elastic, *meeting, elastic_ranks.__file__, *arguments)
    return processes.start("-m", "torch.distributed.run", *program, env=ENVIRONMENT)


def walk(lines: list, steps: int) -> list[tuple[int, float]]:
    """The numbers and losses of the next steps, on which all ranks agree."""
    found = []
    for _ in range(steps):
        for line in lines:
            line.tell("a step")
        said = [line.hear() for line in lines]
        assert said == said[:1] * len(lines)
        found.append(said[0])
    return found


def is_of(agent, line: processes.Line) -> bool:
    return int(Path(f"/proc/{line.pid}/stat").read_text().rpartition(")")[2].split()[1]) == agent.pid


def test_a_run_goes_on_with_fewer_and_more_machines(world_of, store, tmp_path):
    """Losses are those of a run without a stop. A rank that dies is named by the other, which ends at once."""
    rendezvous = dist.TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    with processes.Meeting() as meeting:
        arguments = rendezvous.port, meeting.address, store, tmp_path / "checkpoint"
        agents = [start_agent(*arguments) for _ in range(2)]
        try:
            lines = meeting.expect(2)
            found = walk(lines, 3)
            (lost,) = (line for line in lines if is_of(agents[1], line))
            (kept,) = (line for line in lines if line is not lost)
            for pid in (agents[1].pid, lost.pid):
                os.kill(pid, signal.SIGKILL)
            kept.tell("a step")
            with pytest.raises(EOFError):
                kept.hear()

            alone = meeting.expect(1)
            found += walk(alone, 2)

            agents.append(start_agent(*arguments))
            found += walk(meeting.expect(2), 2)
        finally:
            for agent in agents:
                agent.kill()
    said = [processes.finish(agent) for agent in agents]
    assert f"could not be exchanged: rank {lost.role} (process {lost.pid}) has ended: " in said[0], said[0]

    with world_of(1) as world:
        (expected,) = world.call(elastic_ranks.first_losses, store, tmp_path / "other", 7)
    assert [step for step, _ in found] == list(range(1, 8))
    assert [loss for _, loss in found] == pytest.approx([loss for _, loss in expected], abs=1e-5)
