"""What the figures depend on: the machine and its software."""

from __future__ import annotations

import json
import os
import platform
import resource
import shutil
import subprocess
import sys
from pathlib import Path

PYTHON_FACTS = """
import importlib.metadata, json
def version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "none"
facts = {name: version(name) for name in ("numpy", "torch", "torch_geometric", "pytest")}
try:
    import torch
    facts["torch sees"] = f"CUDA {torch.version.cuda}, {torch.cuda.device_count()} GPUs"
except Exception as error:
    facts["torch sees"] = f"nothing: {type(error).__name__}: {error}"
print(json.dumps(facts))
"""
GPU_FIELDS = {
    "GPU": "name",
    "compute capability": "compute_cap",
    "driver": "driver_version",
    "GPU memory": "memory.total",
    "PCIe generation, greatest": "pcie.link.gen.gpumax",
    "PCIe generation, of the host": "pcie.link.gen.hostmax",
    "PCIe lanes": "pcie.link.width.current",
    "power limit": "power.limit",
    "persistence mode": "persistence_mode",
}
PATIENCE, FOR_TORCH = 20.0, 60.0  # seconds for a command that only tells something, and for torch from a cold disk
ATTRIBUTES = Path(__file__).with_name("attributes.py")
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage")


def output_of(
    *command: str, seconds: float = PATIENCE, patience: float = PATIENCE, environment: dict[str, str] | None = None
) -> str:
    """What a command prints; nothing where it is not there, fails, or takes longer than either time."""
    env = {**os.environ, **(environment or {})}
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=min(seconds, patience))
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def text_of(path: str | Path) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def first_line_of(path: str, key: str) -> str:
    return next((line.partition(":")[2].strip() for line in text_of(path).splitlines() if line.startswith(key)), "")


def nvcc() -> str:
    """The compiler's path, or nothing."""
    usual = "/usr/local/cuda/bin/nvcc"
    return os.environ.get("CUDACXX") or shutil.which("nvcc") or (usual if os.access(usual, os.X_OK) else "")


def sanitizer() -> str:
    """compute-sanitizer's path, or nothing. It lies beside the compiler where it is not in PATH."""
    beside = Path(nvcc() or "/usr/local/cuda/bin/nvcc").with_name("compute-sanitizer")
    return shutil.which("compute-sanitizer") or (str(beside) if beside.is_file() else "")


def of_gpu(seconds: float) -> dict[str, str]:
    """Of the first GPU; empty where there is none."""
    for fields in (GPU_FIELDS, {"GPU": "name", "driver": "driver_version"}):  # one that it does not know fails all
        asked = f"--query-gpu={','.join(fields.values())}"
        query = output_of("nvidia-smi", asked, "--format=csv,noheader", seconds=seconds)
        if query:
            facts = dict(zip(fields, (value.strip() for value in query.splitlines()[0].split(","))))
            return {**facts, "GPUs": str(len(query.splitlines()))}
    return {"GPU": "there is one, of which nvidia-smi does not tell"} if Path("/dev/nvidia0").exists() else {}


def space(folder: str | Path) -> str:
    """Free bytes of a file system."""
    try:
        return f"{shutil.disk_usage(folder).free / 2**30:.1f} GiB free"
    except OSError:
        return "none"


def of_python(seconds: float, environment: dict[str, str]) -> dict[str, str]:
    """Of its packages."""
    asked = [sys.executable, "-c", PYTHON_FACTS]
    lines = output_of(*asked, seconds=seconds / 2, patience=FOR_TORCH, environment=environment).splitlines()
    try:
        return json.loads(lines[-1])  # other packages may have printed before
    except (IndexError, ValueError):
        return {"torch": "told nothing in time"}


def of_driver(seconds: float) -> dict[str, str]:
    """What the first GPU's driver can do with host memory; empty where there is none."""
    try:
        return json.loads(output_of(sys.executable, "-I", "-S", str(ATTRIBUTES), seconds=seconds))
    except ValueError:
        return {}


def of_machine(out: Path, environment: dict[str, str], seconds: float) -> dict[str, str]:
    compiler = output_of(nvcc() or "nvcc", "--version", seconds=seconds / 4).splitlines()
    locked = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    pages = {f"huge pages, {name}": text_of(HUGE_PAGES / name).strip() for name in ("enabled", "shmem_enabled")}
    return {
        "nvcc": compiler[-2] if len(compiler) > 1 else "none",
        "compute-sanitizer": sanitizer() or "none",
        "python": platform.python_version(),
        **of_python(seconds, environment),
        **of_driver(seconds / 4),
        "processor": first_line_of("/proc/cpuinfo", "model name") or platform.machine(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory": first_line_of("/proc/meminfo", "MemTotal"),
        "memory available": first_line_of("/proc/meminfo", "MemAvailable"),
        "locked memory": "no limit" if locked == resource.RLIM_INFINITY else f"at most {locked} bytes",
        **pages,
        "disk of the results": space(out),
        "/dev/shm": space("/dev/shm"),
        "kernel": platform.release(),
    }
