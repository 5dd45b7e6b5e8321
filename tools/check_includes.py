#!/usr/bin/env python3
"""Fails where a header or a source does not compile without what others happen to include before it.

    check_includes.py             each header that no source includes first, alone
    check_includes.py --sources   each source alone, which proves the header that it includes first, too

Unity builds compile sources together, and so cannot find a missing include. Nothing is built: compilers only parse.
Sources of the library are parsed for aarch64, where clang and headers for it are: so they are known to compile there.
A header of vector code is named for its instructions, and compiled for them where they exist; one of CUDA is compiled
for the emulator.

Parsing headers that many include takes most of the time. They are precompiled together for files whose first include
brings all of them: so nothing is visible that a file lacks.
"""

import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[1]
APART = ROOT / "build" / "apart"
PARSE = ["-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
AVX512 = [f"-mavx512{subset}" for subset in ("f", "bw", "dq", "vl")]
VECTORS = {"x86_64": "_avx", "aarch64": "_neon"}  # in the names of headers
INCLUDE = re.compile(r'^ *# *include ([<"])(.+)[>"]', re.MULTILINE)
# What takes long to parse and many files include, most first.
PARTS = (
    "doctest/doctest.h",
    "nanobind/ndarray.h",
    "string",
    "vector",
    "include/ramet/graph.h",
    "include/ramet/array.h",
    "memory",
    "algorithm",
    "functional",
    "include/ramet/sampler.h",
)
ENOUGH = 6  # files that start alike, for which that start is precompiled
AARCH64 = "aarch64-linux-gnu"
# In a source that is another one on other machines, or none: words, and headers.
NATIVE = re.compile(r"x86_64|RAMET_AVX|_avx2\.cc")
NATIVE_HEADERS = frozenset(("emmintrin.h", "immintrin.h", "liburing.h"))


def files_in(*folders: str, endings: tuple[str, ...]) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in endings)


@cache
def includes(file: Path) -> list[Path | str]:
    """What `file` includes: the project's headers, and the names of others."""
    places = (file.parent, ROOT / "include", ROOT / "src", ROOT / "tests", ROOT / "tests" / "emulator")
    names = [name for _, name in INCLUDE.findall(file.read_text())]
    found = [next((path for place in places if (path := place / name).is_file()), name) for name in names]
    return [header.resolve() if isinstance(header, Path) else header for header in found]


def first_include(source: Path) -> Path | None:
    """The project's header that `source` includes before all others."""
    first = next(iter(includes(source)), None)
    return first if isinstance(first, Path) else None


def includes_of_all(file: Path) -> set[str]:
    """The headers that `file` includes, itself or by the project's headers: names, and paths in the project."""
    seen, left = set[Path | str](), [*includes(file)]
    while left:
        header = left.pop()
        if header not in seen:
            seen.add(header)
            left += includes(header) if isinstance(header, Path) else []
    return {header if isinstance(header, str) else str(header.relative_to(ROOT)) for header in seen}


Start = tuple[tuple[str, ...], tuple[str, ...]]  # options of a compiler, and headers


@dataclass(frozen=True)
class Parse:
    """How a compiler parses a file, and the header or source that compiles alone where that passes."""

    options: tuple[str, ...]
    file: tuple[str, ...]
    proven: Path

    def parts(self) -> tuple[str, ...]:
        """What may be precompiled for it."""
        there = includes_of_all(self.proven) - {str(self.proven.relative_to(ROOT))}
        return tuple(part for part in PARTS if part in there)


def headers_alone() -> list[Parse]:
    """Each header that no source includes first."""
    proven = {first_include(source) for source in files_in("src", "python/bind", "tests", endings=(".cc", ".cu"))}
    parses = []
    for header in files_in("include", "src", endings=(".h", ".cuh")):
        of = next((machine for machine, name in VECTORS.items() if name in header.stem), None)
        if header in proven or of not in (None, platform.machine()):
            continue
        options = AVX512 if of == "x86_64" else ["-isystem", "tests/emulator"] if "cuda" in header.parts else []
        options = os.environ.get("CXX", "c++"), *PARSE, *options, "-Iinclude", "-Isrc"
        parses.append(Parse(options, ("-x", "c++", "-include", str(header), "/dev/null"), header))
    return parses


def is_portable(source: Path) -> bool:
    """Whether it is a source of the library that is the same on every machine."""
    ours = source.is_relative_to(ROOT / "src") and not source.is_relative_to(ROOT / "src" / "kernels" / "cuda")
    native = NATIVE.search(source.name + source.read_text()) or NATIVE_HEADERS & includes_of_all(source)
    return ours and not native


def sources_alone() -> list[Parse]:
    """Each source: by clang, which parses faster, where it is. A header that several include first is proven by one."""
    compiler = shutil.which("clang++")
    choice = [f"-DPython_EXECUTABLE={sys.executable}", *([f"-DCMAKE_CXX_COMPILER={compiler}"] if compiler else [])]
    subprocess.run(["cmake", "--preset", "apart", *choice], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    parses, headers = [], set()
    for entry in json.loads((APART / "compile_commands.json").read_text()):
        words, source = shlex.split(entry["command"]), Path(entry["file"])
        if not source.is_relative_to(ROOT / ".venv"):
            output = words.index("-o")
            options = words[:output]
            if compiler and shutil.which(f"{AARCH64}-g++") and is_portable(source):
                options = [option.replace("RAMET_AVX", "RAMET_NEON") for option in options] + [f"--target={AARCH64}"]
            header = first_include(source)
            proven = header if header and header not in headers else source
            parses.append(Parse(tuple(options), tuple(words[output + 2 :]), proven))
            headers.add(header)
    return parses


def precompile(task: tuple[Start, Path]) -> None:
    (options, parts), header = task
    header.write_text("".join(f"#include <{part.removeprefix('include/')}>\n" for part in parts))
    subprocess.run([*options, "-x", "c++-header", header, "-o", f"{header}.gch"], cwd=ROOT)


def starts_of(parses: list[Parse]) -> list[Start]:
    """What is precompiled for each: the most of its parts that ENOUGH others have, too."""
    starts = [(parse.options, parse.parts()) for parse in parses]
    for count in range(len(PARTS), 0, -1):
        many = Counter(starts)
        cut = {(options, parts): (options, parts[:-1]) for options, parts in many if len(parts) == count}
        starts = [cut[start] if start in cut and many[start] < ENOUGH else start for start in starts]
    return starts


def run(headers: dict[Start, Path], task: tuple[Parse, Start]) -> bool:
    parse, start = task
    header = headers.get(start)
    command = [*parse.options, *(("-include", header) if header else ()), "-fsyntax-only", *parse.file]
    done = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    return done.returncode == 0


def main(arguments: list[str]) -> None:
    of_sources = arguments == ["--sources"]
    parses = sources_alone() if of_sources else headers_alone()
    starts = starts_of(parses)
    with ThreadPoolExecutor(os.cpu_count()) as pool, TemporaryDirectory() as folder:
        headers = {start: Path(folder) / f"{i}.h" for i, start in enumerate(sorted(set(starts))) if start[1]}
        list(pool.map(precompile, headers.items()))
        outcomes = list(pool.map(partial(run, headers), zip(parses, starts)))
    for_arm = sum(f"--target={AARCH64}" in parse.options for parse in parses)
    print(f"includes: {len(outcomes)} files parsed alone{f', {for_arm} of them for aarch64' if of_sources else ''}")
    if not all(outcomes):
        sys.exit(f"includes: {outcomes.count(False)} of them need what others include")


if __name__ == "__main__":
    main(sys.argv[1:])
