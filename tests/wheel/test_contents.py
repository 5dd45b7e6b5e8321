"""What the source distribution and the extension are made of."""

import platform
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEEDED = ("CMakeLists.txt", "LICENSE", "README.md", "cmake", "include", "pyproject.toml", "python", "src")
OBJECTS = ROOT / "build/release"
OF_ONE_ISA = re.compile(r"(avx2|avx512)\.cc\.o$")
AVX = re.compile(r"^ *[0-9a-f]+:\tv[a-z]|%[yz]mm", re.MULTILINE)


def test_the_source_distribution_has_what_a_build_needs_and_nothing_else(tmp_path):
    import scikit_build_core.build as backend

    name = backend.build_sdist(str(tmp_path))
    with tarfile.open(tmp_path / name) as archive:
        files = {member.partition("/")[2] for member in archive.getnames()}
    tracked = subprocess.run(["git", "ls-files", *NEEDED], cwd=ROOT, check=True, capture_output=True, text=True)
    assert files == {"PKG-INFO", *tracked.stdout.split("\n")} - {""}


def output_of(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.skipif(platform.machine() != "x86_64", reason="of x86-64's instructions")
def test_wider_instructions_are_in_their_files_alone():
    objects = [file for folder in ("src", "python/bind") for file in (OBJECTS / folder).rglob("*.o")]
    wide = {file for file in objects if OF_ONE_ISA.search(file.name)}
    assert len(wide) == 3
    for file in wide:  # the linker keeps one copy of a function that several files define: it must not be this one
        assert not re.findall(r"^.* W .*$", output_of("nm", "--defined-only", str(file)), re.MULTILINE)
    plain = [str(file) for file in objects if file not in wide]
    assert not AVX.search(output_of("objdump", "--disassemble", "--no-show-raw-insn", *plain))
