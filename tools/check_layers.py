#!/usr/bin/env python3
"""Fails when an include goes against the layers of ARCHITECTURE.md.

A layer sees another only through include/ramet/, and only a layer below it; its private headers are
its own; the bindings see the public headers alone. Long files get a warning, not an error.
usage: check_layers.py [ROOT]
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

# What each layer stands on directly; it may use everything below that too.
BELOW = {
    "base": (),
    "storage": ("base",),
    "graph": ("storage",),
    "kernels": ("base",),
    "sampling": ("graph", "kernels"),
    "tables": ("storage", "kernels"),
    "loader": ("sampling", "tables"),
}
PUBLIC_HEADERS = {
    "base": "error index isa array scale random draw_keys dependent_lanes normal lanes_scalar permutation parallel "
    "thread_note per_process shelf buffer_pool digest dropout version",
    "storage": "pages space store store_writer",
    "graph": "graph csc generate node_rows ownership part",
    "kernels": "kernels cuda cuda_rows cuda_sampling cuda_memory cuda_pool",
    "sampling": "sampler cuda_sampler cooperative fingerprint",
    "tables": "table cuda_table exchange_rows",
    "loader": "loader cooperative_loader",
}
LAYER_OF_PUBLIC = {f"{stem}.h": layer for layer, stems in PUBLIC_HEADERS.items() for stem in stems.split()}

# Foreign headers and the one folder that may see them; None: nobody may.
FOREIGN = (
    (re.compile(r"(torch|ATen|c10)/"), None),
    (re.compile(r"omp\.h$"), None),
    (re.compile(r"(Python\.h$|nanobind/)"), "python/bind"),
    (re.compile(r"(cuda|cub|thrust|cooperative_groups)"), "src/kernels/cuda"),
)
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
CONDITIONAL_CUDA = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b.*CUDA", re.IGNORECASE)
SUFFIXES = {".h", ".cc", ".cu", ".cuh"}
LONG_FILE = 400


def all_below(layer: str) -> set[str]:
    """The layer itself and every layer under it."""
    return {layer}.union(*(all_below(lower) for lower in BELOW[layer]))


def sources(root: Path) -> Iterator[Path]:
    for folder in ("include", "src", "python/bind"):
        yield from sorted(p for p in (root / folder).rglob("*") if p.suffix in SUFFIXES)


def home_of(path: Path, root: Path) -> str | None:
    """The layer a file belongs to, "bindings", or None where it has no place."""
    parts = path.relative_to(root).parts
    if parts[:2] == ("python", "bind"):
        return "bindings"
    if parts[:2] == ("include", "ramet") and len(parts) == 3:
        return LAYER_OF_PUBLIC.get(parts[2])
    if parts[0] == "src" and len(parts) > 2 and parts[1] in BELOW:
        return parts[1]
    return None


def resolve(name: str, includer: Path, root: Path) -> Path | None:
    """The project's file that an include names; None: it is not the project's."""
    for folder in (includer.parent, root / "include", root / "src", root):
        candidate = (folder / name).resolve()
        if candidate.is_file() and candidate.is_relative_to(root):
            return candidate
    return None


def foreign_error(name: str, path: Path, root: Path) -> str | None:
    place = path.relative_to(root).as_posix()
    for pattern, owner in FOREIGN:
        if pattern.match(name) and not (owner and place.startswith(owner + "/")):
            return f"<{name}> is allowed {f'in {owner}/ only' if owner else 'nowhere'}"
    return None


def include_error(name: str, path: Path, home: str, root: Path) -> str | None:
    target = resolve(name, path, root)
    if target is None:
        missing = name.startswith("ramet/")
        return f'"{name}" does not exist' if missing else foreign_error(name, path, root)
    public = target.parent == root / "include" / "ramet"
    owner = home_of(target, root)
    if home == "bindings":
        return None if public or owner == "bindings" else f'bindings may not see the private "{name}"'
    if path.parent == root / "include" / "ramet" and not public:
        return f'a public header may not see the private "{name}"'
    if not public and owner != home:
        return f'{home} may not see the private "{name}" of {owner}; use include/ramet/'
    if owner not in all_below(home):
        return f'{home} may not see "{name}" of {owner}, which is not below it'
    return None


def check_file(path: Path, root: Path) -> Iterator[tuple[int, str]]:
    home = home_of(path, root)
    if home is None:
        yield 1, "belongs to no layer (see PUBLIC_HEADERS and BELOW in tools/check_layers.py)"
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if CONDITIONAL_CUDA.match(line):
            yield number, "no conditional compilation on CUDA: CMake chooses the folder"
        if match := INCLUDE.match(line):
            error = include_error(match[2], path, home, root)
            if error:
                yield number, error


def main(arguments: list[str]) -> int:
    root = Path(arguments[0] if arguments else Path(__file__).parent.parent).resolve()
    errors = count = 0
    for path in sources(root):
        count += 1
        place = path.relative_to(root)
        for number, message in check_file(path, root):
            errors += 1
            print(f"{place}:{number}: {message}", file=sys.stderr)
        length = len(path.read_text(encoding="utf-8").splitlines())
        if length > LONG_FILE:
            print(f"{place}: warning: {length} lines, more than {LONG_FILE}", file=sys.stderr)
    print(f"layers: {count} files, {errors} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
