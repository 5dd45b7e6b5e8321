"""Ramet with CUDA, as a machine without a network builds it, or as one with a compiler builds it for others.

    python3.12 bench/gpu_build.py .gpu/prebuilt [--architecture 90]

puts the extension and the C++ tests into that folder, each packed, and build.json. The stable ABI of Python 3.12 is
that of later ones. Small packages come from .gpu/wheels, which `make gpu-pack` fills. Needs the standard library alone.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.machinery
import json
import lzma
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACK = ROOT / ".gpu"
MODULE, TESTS = "_core.abi3.so", "ramet_cuda_tests"
SOURCES = ("CMakeLists.txt", "cmake", "include", "src", "python/bind", "tests/cuda")  # of what is compiled
STABLE_ABI = (3, 12)  # the first Python with all that the extension needs of it
PATIENCE = 20.0  # seconds for a command that only tells something


def output_of(*command: str, seconds: float = PATIENCE, environment: dict[str, str] | None = None) -> str:
    """What a command prints in this time; nothing where it is not there, or fails."""
    env = {**os.environ, **(environment or {})}
    try:
        done = subprocess.run(command, env=env, capture_output=True, timeout=seconds)
        return done.stdout.decode().strip() if done.returncode == 0 else ""
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode().strip()
    except OSError:
        return ""


def nvcc() -> str:
    """The compiler's path, or nothing."""
    usual = "/usr/local/cuda/bin/nvcc"
    return os.environ.get("CUDACXX") or shutil.which("nvcc") or (usual if os.access(usual, os.X_OK) else "")


def version_of_nvcc() -> str:
    lines = output_of(nvcc() or "nvcc", "--version").splitlines()
    return lines[-2] if len(lines) > 1 else "none"


# ---- building


def environment_of(out: Path) -> dict[str, str]:
    """For programs that use the package under `out`: packages that this Python has not come from .gpu/wheels."""
    site = out / "site"
    for wheel in sorted((PACK / "wheels").glob("*.whl")):
        if not is_there(wheel, site):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(site)
    paths = [str(out / "package"), str(site), os.environ.get("PYTHONPATH", "")]
    interfaces = dict.fromkeys(("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"), "lo")  # without a network
    return {"PYTHONPATH": os.pathsep.join(filter(None, paths)), **interfaces}


def is_there(wheel: Path, site: Path) -> bool:
    module = wheel.name.split("-")[0].lower()
    return importlib.machinery.PathFinder.find_spec(module, [str(site), *sys.path]) is not None


def doctest_folder() -> Path | None:
    """The folder that holds doctest/doctest.h, of which the C++ tests are made; None: there is none."""
    folders = (PACK / "include", Path("/usr/include"), Path("/usr/local/include"))
    return next((folder for folder in folders if (folder / "doctest/doctest.h").is_file()), None)


def copy_python_files(package: Path) -> None:
    """The package without its compiled part."""
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "python/ramet", package, ignore=shutil.ignore_patterns("__pycache__", "_core*.so"))


def commands(out: Path, chips: str) -> Iterator[tuple[str, list[str], float, float]]:
    """(name, command, seconds after which it hangs, and with which it is worth to begin) of what builds. chips: as
    CMAKE_CUDA_ARCHITECTURES; "" for all that Ramet knows."""
    build, limit = str(out / "cpp"), 420 if chips else 7200
    settings = {
        "CMAKE_BUILD_TYPE": "Release",
        "RAMET_CUDA": "ON",
        "RAMET_PYTHON": "ON",
        "RAMET_TESTS": "ON" if doctest_folder() else "OFF",
        "DOCTEST_INCLUDE_DIR": doctest_folder() or "",
        "Python_EXECUTABLE": sys.executable,
        **({"CMAKE_CUDA_ARCHITECTURES": chips} if chips else {}),
        **({"CMAKE_CUDA_COMPILER": nvcc()} if nvcc() else {}),
    }
    defined = [f"-D{name}={value}" for name, value in settings.items()]
    yield "configure", ["cmake", "-S", str(ROOT), "-B", build, "-G", "Ninja", *defined], 120, 5
    for target in ("_core", *([TESTS] if doctest_folder() else [])):
        yield f"build {target}", ["cmake", "--build", build, "--target", target], limit, 30
    install = ["cmake", "--install", build, "--component", "python", "--prefix", str(out / "package")]
    yield "package", install, 60, 2


def built_tests(out: Path) -> Path:
    return out / "cpp/tests/cuda" / TESTS


# ---- a build for another machine: the extension, the C++ tests, each as FILE.xz or as it is, and build.json


def digest_of_sources() -> str:
    digest = hashlib.sha256()
    for name in SOURCES:
        files = [ROOT / name] if (ROOT / name).is_file() else sorted((ROOT / name).rglob("*"))
        for file in files:
            if file.is_file() and file.suffix != ".pyc":
                digest.update(str(file.relative_to(ROOT)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def keep_build(folder: Path, package: Path, tests: Path, chips: str) -> int:
    """Puts a build into `folder`, without its symbols and packed to a seventh; returns its bytes."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in (package / MODULE, tests):
        plain = Path(shutil.copy2(file, folder))
        output_of("strip", "--strip-unneeded", str(plain))
        with plain.open("rb") as source, lzma.open(folder / f"{file.name}.xz", "wb") as packed:
            shutil.copyfileobj(source, packed)
        plain.unlink()
    about = {"sources": digest_of_sources(), "chips": chips, "nvcc": version_of_nvcc()}
    (folder / "build.json").write_text(json.dumps(about, indent=1) + "\n")
    return sum(file.stat().st_size for file in folder.iterdir())


def use_build(folder: Path, package: Path, tests: Path) -> str:
    """Puts the build of `folder` to the Python files, and says what it is, or why it is none."""
    try:
        about = json.loads((folder / "build.json").read_text())
        module = next((file.name.removesuffix(".xz") for file in folder.glob("_core*.so*")), MODULE)
        unpack(folder / module, package / module)
        unpack(folder / TESTS, tests)
        same = about["sources"] == digest_of_sources()
        return f"made elsewhere for {about['chips']}, of {'these' if same else 'OTHER'} sources"
    except (OSError, ValueError, KeyError, lzma.LZMAError) as error:
        return f"{folder} is no build: {error}"


def unpack(file: Path, to: Path) -> None:
    """Also where it is not packed."""
    to.parent.mkdir(parents=True, exist_ok=True)
    packed = file.with_name(f"{file.name}.xz")
    with lzma.open(packed) if packed.is_file() else file.open("rb") as source, to.open("wb") as target:
        shutil.copyfileobj(source, target)
    to.chmod(0o755)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="of the build, for bench/run.py --prebuilt elsewhere")
    parser.add_argument("--architecture", default="", help="as CMAKE_CUDA_ARCHITECTURES; default: all that Ramet knows")
    chosen = parser.parse_args()
    if sys.version_info < STABLE_ABI:
        parser.error("needs Python 3.12 or newer, whose stable ABI other versions load")
    out = ROOT / "build/gpu-prebuilt"
    environment = os.environ | environment_of(out)
    copy_python_files(out / "package/ramet")
    for name, command, *_ in commands(out, chosen.architecture):
        print(f"gpu-prebuilt: {name}", flush=True)
        subprocess.run(command, check=True, env=environment)
    size = keep_build(chosen.folder, out / "package/ramet", built_tests(out), chosen.architecture or "all chips")
    print(f"gpu-prebuilt: {size / 2**20:.1f} MiB in {chosen.folder}")


if __name__ == "__main__":
    main()
