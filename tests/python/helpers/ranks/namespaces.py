"""Several machines on one: programs that have a host name, an address, a process table and a view of the file system of
their own, wired to one switch.

Namespaces are those of processes and have no names, so they are gone with them, also where a test is killed: the first
process of a machine dies with the one that started it, and takes all others of the machine with it.
"""

import contextlib
import pickle
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import processes
import pytest
import world

TOOLS = ("ip", "unshare", "nsenter", "setpriv", "mount", "hostname")
SWITCH = "ip link add bridge type bridge && ip link set bridge up && echo ready && exec sleep infinity"
MACHINE = """
hostname {name} && echo ready || exit
until ip link show eth0 > /dev/null 2>&1; do sleep 0.02; done
ip addr add {address}/24 dev eth0 && ip link set eth0 up && ip link set lo up &&
mount --bind {hosts} /etc/hosts && {mounts} && exec "$@"
"""
MORTAL = ("setpriv", "--pdeathsig", "KILL")


def name_of(number: int) -> str:
    return f"machine-{number}"


def torchrun(machines: int, ranks: int) -> tuple:
    """What follows "python" on each machine, before a program that is to be so many ranks there."""
    launch = ("-m", "torch.distributed.run", f"--nnodes={machines}", f"--nproc-per-node={ranks}")
    return (*launch, "--rdzv-backend=c10d", f"--rdzv-endpoint={name_of(0)}:29500")


def call_on_machines(function, *arguments, machines: int, ranks: int, folder: Path, mounts=lambda k: "true") -> list:
    """What each rank's call of a function returns, by rank. The ranks have a process group (gloo)."""
    place = function.__module__, function.__code__.co_filename, function.__name__
    (folder / "call").write_bytes(pickle.dumps((*place, arguments)))
    run_on_machines(machines, folder, lambda k: (*torchrun(machines, ranks), __file__, folder), mounts)
    return [pickle.loads((folder / str(rank)).read_bytes()) for rank in range(machines * ranks)]


def be_rank(folder: Path) -> None:
    import torch.distributed as dist

    import ramet.distributed

    module, file, function, arguments = pickle.loads((folder / "call").read_bytes())
    dist.init_process_group("gloo")
    world.import_file(module, file)
    result = getattr(sys.modules[module], function)(*arguments)
    (folder / str(dist.get_rank())).write_bytes(pickle.dumps(result))
    dist.barrier()  # no rank closes its connections while another uses them
    ramet.distributed.destroy_process_group()


def run_on_machines(count: int, folder: Path, arguments, mounts) -> list[str]:
    """What `count` machines printed, each of which ran a Python program, all at the same time. Skips the test, saying
    what is missing, where machines cannot be made.

    folder: for a file. arguments, mounts: functions of a machine's number: what follows "python", and a shell command
    that shapes what the machine sees of the file system.
    """
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"no machines can be made of namespaces: {', '.join(missing)} not found")
    hosts = folder / "hosts"
    hosts.write_text("127.0.0.1 localhost\n" + "".join(f"{_address(k)} {name_of(k)}\n" for k in range(count)))
    with contextlib.ExitStack() as stack:
        switch = stack.enter_context(_running((*MORTAL, "unshare", "--net", "sh", "-c", SWITCH)))
        machines = [stack.enter_context(_running(_machine(k, hosts, mounts(k)), arguments(k))) for k in range(count)]
        for k, machine in enumerate(machines):
            _plug_in(machine, switch, k)
        outputs = _finish_all(machines)
    assert all(machine.returncode == 0 for machine in machines), "\n".join(outputs)
    return outputs


def _address(number: int) -> str:
    return f"10.77.0.{number + 1}"


def _machine(number: int, hosts: Path, mounts: str) -> tuple:
    """The launcher of a program on a machine, which waits for its cable."""
    script = MACHINE.format(name=name_of(number), address=_address(number), hosts=hosts, mounts=mounts)
    own = ("--net", "--uts", "--mount", "--pid", "--mount-proc", "--fork", "--kill-child")
    return (*MORTAL, "unshare", *own, "sh", "-c", script, "sh", sys.executable)


@contextlib.contextmanager
def _running(launcher: tuple, arguments: tuple = ()):
    """A program that has said that it is ready. Skips the test where it has not."""
    process = processes.start(*arguments, launcher=launcher, env={"GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1"})
    try:
        said = process.stdout.readline()
        if said != "ready\n":
            pytest.skip(f"no machines can be made of namespaces, which root may: {said.strip()}")
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _plug_in(machine: subprocess.Popen, switch: subprocess.Popen, number: int) -> None:
    """A cable from the machine's eth0 to the switch."""
    port = f"port{number}"
    cable = ("eth0", "netns", machine.pid, "type", "veth", "peer", "name", port, "netns", switch.pid)
    at_switch = ("nsenter", "--net", "--target", switch.pid)
    for command in (
        ("ip", "link", "add", *cable),
        (*at_switch, "ip", "link", "set", port, "master", "bridge", "up"),
    ):
        subprocess.run([str(word) for word in command], check=True)


def _finish_all(machines: list[subprocess.Popen]) -> list[str]:
    """What all machines printed. When one fails the others end, too, which may wait for it."""
    outputs = [""] * len(machines)

    def finish(k):
        outputs[k] = processes.finish(machines[k])
        if machines[k].returncode != 0:
            for machine in machines:
                machine.kill()

    threads = [threading.Thread(target=finish, args=(k,)) for k in range(len(machines))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outputs


if __name__ == "__main__":
    be_rank(Path(sys.argv[1]))
