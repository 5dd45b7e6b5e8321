"""The steps that build Ramet with CUDA, as an offline machine can."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from gpu_check.carried import TESTS, doctest_folder
from gpu_check.facts import nvcc
from gpu_check.running import ROOT
from gpu_check.step import Step

# The last line of that step names the backend. A build of a newer CUDA than the driver's loads, and sees no GPU.
LOADS = """
import sys
from ramet import _core
if _core.cuda_backend() == "cuda" and sys.argv[1] == "True" and not _core.cuda_num_devices():
    sys.exit("the build sees no GPU")
print(_core.cuda_backend())
"""


def configure(build: Path, chips: str) -> list[str]:
    settings = {
        "CMAKE_BUILD_TYPE": "Release",
        "RAMET_CUDA": "ON",
        "RAMET_PYTHON": "ON",
        "RAMET_TESTS": "ON" if doctest_folder() else "OFF",
        "DOCTEST_INCLUDE_DIR": doctest_folder() or "",
        "Python_EXECUTABLE": sys.executable,
        **({"CMAKE_CUDA_ARCHITECTURES": chips} if chips else {}),
    }
    defined = [f"-D{name}={value}" for name, value in settings.items()]
    return ["cmake", "-S", str(ROOT), "-B", str(build), "-G", "Ninja", *defined]


def build_steps(out: Path, chips: str, environment: dict[str, str]) -> Iterator[Step]:
    """chips: as CMAKE_CUDA_ARCHITECTURES; "" for all that Ramet knows."""
    build = out / "cpp"
    compiler = {"CUDACXX": nvcc()} if nvcc() else {}
    limit = 420 if chips else 7200  # for one chip, or all
    yield Step("configure", configure(build, chips), 120, 5, environment={**environment, **compiler})
    for target in ("_core", *([TESTS] if doctest_folder() else [])):
        yield Step(f"build {target}", ["cmake", "--build", str(build), "--target", target], limit, 30)
    install = ["cmake", "--install", str(build), "--component", "python"]
    yield Step("package", [*install, "--prefix", str(out / "package")], 60, 2)


def load_step(environment: dict[str, str], has_gpu: bool) -> Step:
    return Step("load the build", [sys.executable, "-c", LOADS, str(has_gpu)], 60, environment=environment)
