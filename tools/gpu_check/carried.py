"""What came with the checkout from a machine with a network and a compiler: small packages in .gpu/, and a build."""

from __future__ import annotations

import hashlib
import importlib.machinery
import json
import lzma
import shutil
import sys
import zipfile
from pathlib import Path

from gpu_check.facts import nvcc, output_of
from gpu_check.running import ROOT

PACK = ROOT / ".gpu"
MODULE, TESTS = "_core.abi3.so", "ramet_cuda_tests"
SOURCES = ("CMakeLists.txt", "cmake", "include", "src", "python/bind", "tests/cuda")  # of what is compiled


def unpack_wheels(wheels: Path, site: Path) -> list[str]:
    """The carried packages that this Python has not go to `site`; their names."""
    missing = [wheel for wheel in sorted(wheels.glob("*.whl")) if not is_there(wheel, site)]
    for wheel in missing:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
    return [wheel.name.split("-")[0] for wheel in missing]


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
    compiler = output_of(nvcc(), "--version").splitlines()
    about = {"sources": digest_of_sources(), "chips": chips, "nvcc": compiler[-2] if len(compiler) > 1 else ""}
    (folder / "build.json").write_text(json.dumps(about, indent=1) + "\n")
    return sum(file.stat().st_size for file in folder.iterdir())


def use_build(folder: Path, package: Path, tests: Path) -> str:
    """Puts the build of `folder` to the Python files, and says what it is. Raises OSError, ValueError, KeyError or
    lzma.LZMAError where that is none."""
    about = json.loads((folder / "build.json").read_text())
    module = next((file.name.removesuffix(".xz") for file in folder.glob("_core*.so*")), MODULE)
    unpack(folder / module, package / module)
    unpack(folder / TESTS, tests)
    tests.chmod(0o755)
    same = about["sources"] == digest_of_sources()
    return f"made elsewhere for {about['chips']}, of {'these' if same else 'OTHER'} sources"


def unpack(file: Path, to: Path) -> None:
    """Also where it is not packed."""
    to.parent.mkdir(parents=True, exist_ok=True)
    packed = file.with_name(f"{file.name}.xz")
    with lzma.open(packed) if packed.is_file() else file.open("rb") as source, to.open("wb") as target:
        shutil.copyfileobj(source, target)
