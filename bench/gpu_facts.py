"""What the figures of a GPU depend on: the machine and its software. Run as a program, it prints what packages and the
driver say, each a line of JSON: either may hang.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import json
import resource
import shutil
import sys
from contextlib import suppress
from pathlib import Path

from gpu_build import PATIENCE, nvcc, output_of, version_of_nvcc
from machine import facts, free_bytes, selected

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
ATTRIBUTES = {  # of CUdevice_attribute: what the driver can do with host memory
    "PAGEABLE_MEMORY_ACCESS": 88,
    "CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM": 91,
    "HOST_REGISTER_SUPPORTED": 99,
    "PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES": 100,
    "READ_ONLY_HOST_REGISTER_SUPPORTED": 113,
}
FOR_TORCH = 60.0  # seconds: from a cold disk


def sanitizer() -> str:
    """compute-sanitizer's path, or nothing. It lies beside the compiler where it is not in PATH."""
    beside = Path(nvcc() or "/usr/local/cuda/bin/nvcc").with_name("compute-sanitizer")
    return shutil.which("compute-sanitizer") or (str(beside) if beside.is_file() else "")


def of_gpu(seconds: float) -> dict[str, str]:
    """Of the first GPU; empty where there is none."""
    for fields in (GPU_FIELDS, {"GPU": "name", "driver": "driver_version"}):  # one that it does not know fails all
        asked = f"--query-gpu={','.join(fields.values())}"
        lines = output_of("nvidia-smi", asked, "--format=csv,noheader", seconds=min(seconds, PATIENCE)).splitlines()
        values = [value.strip() for value in lines[0].split(",")] if lines else []
        if len(values) == len(fields):
            return {**dict(zip(fields, values)), "GPUs": str(len(lines))}
    return {"GPU": "there is one, of which nvidia-smi does not tell"} if Path("/dev/nvidia0").exists() else {}


def of_machine(out: Path, environment: dict[str, str], seconds: float) -> dict[str, object]:
    lines = output_of(sys.executable, __file__, seconds=min(seconds / 2, FOR_TORCH), environment=environment)
    told: dict[str, str] = {}
    for line in lines.splitlines():
        with suppress(ValueError, TypeError):  # other packages may have printed before
            told |= json.loads(line)
    locked = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    return {
        "nvcc": version_of_nvcc(),
        "compute-sanitizer": sanitizer() or "none",
        **told,
        **facts(),
        "huge pages of shared memory": selected("/sys/kernel/mm/transparent_hugepage/shmem_enabled"),
        "locked memory": "no limit" if locked == resource.RLIM_INFINITY else f"at most {locked} bytes",
        "disk of the results": f"{free_bytes(out) / 2**30:.1f} GiB free",
        "/dev/shm": f"{free_bytes(Path('/dev/shm')) / 2**30:.1f} GiB free",
    }


# ---- the program


def version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "none"


def attributes() -> dict[str, str]:
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        return {"CUDA's driver": str(error)}
    device, value, found = ctypes.c_int(), ctypes.c_int(), {}
    if error := driver.cuInit(0) or driver.cuDeviceGet(ctypes.byref(device), 0):
        return {"CUDA's driver": f"error {error}"}
    for name, number in ATTRIBUTES.items():
        error = driver.cuDeviceGetAttribute(ctypes.byref(value), number, device)
        found[name] = f"error {error}" if error else str(value.value)
    return found


def main() -> None:
    print(json.dumps({name: version(name) for name in ("numpy", "torch", "torch_geometric", "pytest")}), flush=True)
    print(json.dumps(attributes()), flush=True)
    try:
        import torch  # which may not be there, and asks the driver, too

        seen = f"CUDA {torch.version.cuda}, {torch.cuda.device_count()} GPUs"
    except Exception as error:
        seen = f"nothing: {type(error).__name__}: {error}"
    print(json.dumps({"torch sees": seen}))


if __name__ == "__main__":
    main()
