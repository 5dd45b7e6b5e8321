#!/usr/bin/env python3
"""Fails where a header or a source does not compile without what others happen to include before it.

    check_includes.py             each header that no source includes first, alone
    check_includes.py --sources   each source alone, which proves the header that it includes first, too

Unity builds compile sources together, and so cannot find a missing include. Nothing is built: compilers only parse.
A header of vector code is named for its instructions, and compiled for them where they exist; one of CUDA is compiled
for the emulator.
"""

import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
APART = ROOT / "build" / "apart"
PARSE = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
AVX512 = [f"-mavx512{subset}" for subset in ("f", "bw", "dq", "vl")]
VECTORS = {"x86_64": "_avx", "aarch64": "_neon"}  # in the names of headers


def files_in(*folders: str, endings: tuple[str, ...]) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in endings)


def first_include(source: Path) -> Path | None:
    """The project's header that `source` includes before all others."""
    found = re.search(r'^#include (["<])(.+)[">]', source.read_text(), re.MULTILINE)
    if not found or found[1] == "<":
        return None
    places = (source.parent, ROOT / "include", ROOT / "src", ROOT / "tests")
    return next((path for folder in places if (path := (folder / found[2]).resolve()).exists()), None)


def headers_alone() -> list[list[str]]:
    """A command for each header that no source includes first."""
    proven = {first_include(source) for source in files_in("src", "python/bind", "tests", endings=(".cc", ".cu"))}
    commands = []
    for header in files_in("include", "src", endings=(".h", ".cuh")):
        of = next((machine for machine, name in VECTORS.items() if name in header.stem), None)
        if header in proven or of not in (None, platform.machine()):
            continue
        options = AVX512 if of == "x86_64" else ["-isystem", "tests/emulator"] if "cuda" in header.parts else []
        compiler = os.environ.get("CXX", "c++")
        commands.append(
            [compiler, *PARSE, *options, "-Iinclude", "-Isrc", "-x", "c++", "-include", str(header), "/dev/null"]
        )
    return commands


def sources_alone() -> list[list[str]]:
    """A command for each source: clang's, which parses faster, where it is."""
    compiler = shutil.which("clang++")
    choice = [f"-DPython_EXECUTABLE={sys.executable}", *([f"-DCMAKE_CXX_COMPILER={compiler}"] if compiler else [])]
    subprocess.run(["cmake", "--preset", "apart", *choice], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    commands = []
    for entry in json.loads((APART / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        if Path(entry["file"]).is_relative_to(ROOT / ".venv"):
            continue
        output = words.index("-o")
        commands.append([*words[:output], *words[output + 2 :], "-fsyntax-only"])
    return commands


def run(command: list[str]) -> bool:
    done = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    return done.returncode == 0


def main(arguments: list[str]) -> None:
    commands = sources_alone() if arguments == ["--sources"] else headers_alone()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(run, commands))
    print(f"includes: {len(outcomes)} files parsed alone")
    if not all(outcomes):
        sys.exit(f"includes: {outcomes.count(False)} of them need what others include")


if __name__ == "__main__":
    main(sys.argv[1:])
