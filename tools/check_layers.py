#!/usr/bin/env python3
"""Fails when an include or an import goes against the layers of ARCHITECTURE.md, whose table lists their headers.

A layer sees only layers below it: their public headers in include/ramet/, and of src/<layer>/ the
shared internal ones. Public headers and the bindings see public headers alone.
A package of python/ramet imports packages on lower floors alone: FLOORS. An import in a function is for what
`import ramet` does not load: DEFERRED.
A source of more than LONGEST lines is an error, too: C++, CUDA, Python or shell, tests included.
usage: check_layers.py [ROOT]
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

# What each layer stands on directly; it may use everything below that too.
BELOW = {
    "base": (),
    "storage": ("base",),
    "graph": ("storage",),
    "kernels": ("base",),
    "device": ("kernels",),
    "exchange": ("graph", "kernels"),
    "tables": ("exchange", "device"),
    "sampling": ("exchange", "device"),
    "nn": ("tables",),
    "loader": ("sampling", "nn"),
}
# {layer: (public headers, internal ones that layers above may include, too)}, as ARCHITECTURE.md's table has them.
ROW = re.compile(r"^\| (\w+) \| [^|]+ \| `([^`|]*)` \| (?:`([^`|]*)`)? ?\|$", re.MULTILINE)
ROWS = ROW.findall((Path(__file__).parent.parent / "ARCHITECTURE.md").read_text(encoding="utf-8"))
HEADERS = {layer: (public.split(), shared.split()) for layer, public, shared in ROWS}
LAYER_OF_PUBLIC = {f"{stem}.h": layer for layer in BELOW for stem in HEADERS[layer][0]}
EXPORTED = {f"src/{layer}/{stem}.h" for layer in BELOW for stem in HEADERS[layer][1]}

# Packages and modules of python/ramet, from the ground up. Those of a line do not see each other, but for the first.
FLOORS = (
    "_core _support arrays dtypes",
    "storage",
    "ranks",
    "tables",
    "graph inputs",
    "building",
    "stores",
    "loading",
    "nn",
    "distributed",
    "subgraphs",
    "costs cuda evaluate optim pyg walks",
    "__init__",
    "train",
    "commands",
    "__main__",
)
FLOOR_OF = {name: number for number, names in enumerate(FLOORS) for name in names.split()}
# What a plain `import ramet` does not load: most of it is optional.
OPTIONAL = "kaminpar matplotlib pyarrow pymetis pytorch_lightning scipy torch torch_geometric tqdm yaml"
DEFERRED = set(OPTIONAL.split())

# Foreign headers and the one folder or file that may see them; None: nobody may.
FOREIGN = (
    (re.compile(r"(torch|ATen|c10)/"), None),
    (re.compile(r"omp\.h$"), None),
    (re.compile(r"nanobind/stl/"), "python/bind/arrays.h"),
    (re.compile(r"(Python\.h$|nanobind/)"), "python/bind/"),
    (re.compile(r"(cuda|cub|thrust|cooperative_groups)"), "src/kernels/cuda/"),
    (re.compile(r"liburing"), "src/storage/row_reader/"),
)
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
CONDITIONAL_CUDA = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b.*CUDA", re.IGNORECASE)
CPP = {".h", ".cc", ".cu", ".cuh"}
LAYERED = ("include", "src", "python/bind")
ALL_FOLDERS = ("include", "src", "python", "tests", "bench", "tools", "examples")
LONGEST = 400


def all_below(layer: str) -> set[str]:
    """The layer itself and every layer under it."""
    return {layer}.union(*(all_below(lower) for lower in BELOW[layer]))


def sources(root: Path, folders: Iterable[str], suffixes: set[str]) -> Iterator[Path]:
    for folder in folders:
        yield from sorted(p for p in (root / folder).rglob("*") if p.suffix in suffixes)


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
        if pattern.match(name):
            is_there = owner and (place == owner or (owner[-1] == "/" and place.startswith(owner)))
            return None if is_there else f"<{name}> is allowed {f'in {owner} only' if owner else 'nowhere'}"
    return None


def include_error(name: str, path: Path, home: str, root: Path) -> str | None:
    target = resolve(name, path, root)
    if target is None:
        missing = name.startswith("ramet/")
        return f'"{name}" does not exist' if missing else foreign_error(name, path, root)
    public = target.parent == root / "include" / "ramet"
    exported = target.relative_to(root).as_posix() in EXPORTED
    owner = home_of(target, root)
    if home == "bindings":
        return None if public or owner == "bindings" else f'bindings may not see the private "{name}"'
    if path.parent == root / "include" / "ramet" and not public:
        return f'a public header may not see the private "{name}"'
    if not public and not exported and owner != home:
        return f'{home} may not see the private "{name}" of {owner}; see the table in ARCHITECTURE.md'
    if owner not in all_below(home):
        return f'{home} may not see "{name}" of {owner}, which is not below it'
    return None


def check_file(path: Path, root: Path) -> Iterator[tuple[int, str]]:
    home = home_of(path, root)
    if home is None:
        yield 1, "belongs to no layer (see the table in ARCHITECTURE.md, and BELOW in tools/check_layers.py)"
        return
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if CONDITIONAL_CUDA.match(line):
            yield number, "no conditional compilation on CUDA: CMake chooses the folder"
        if match := INCLUDE.match(line):
            error = include_error(match[2], path, home, root)
            if error:
                yield number, error


def module_of(name: str, package: Path) -> Path | None:
    """The file of a module such as ramet.nn.edges, or of the module that has such a name; None: it is foreign."""
    first, *parts = name.split(".")
    if first != "ramet":
        return None
    while parts:
        for path in (package.joinpath(*parts).with_suffix(".py"), package.joinpath(*parts, "__init__.py")):
            if path.is_file():
                return path
        if parts == ["_core"]:
            return package / "_core.py"
        parts.pop()
    return package / "__init__.py"


def imports_of(node: ast.AST, in_function: bool = False) -> Iterator[tuple[int, str, bool]]:
    """(line, dotted name, whether in a function) of everything that is imported."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from ((child.lineno, alias.name, in_function) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from ((child.lineno, f"{child.module}.{alias.name}", in_function) for alias in child.names)
        else:
            yield from imports_of(child, in_function or isinstance(child, ast.FunctionDef))


@cache
def parsed(path: Path) -> list[tuple[int, str, bool]]:
    return list(imports_of(ast.parse(path.read_text(encoding="utf-8")))) if path.is_file() else []


def is_deferred(name: str, package: Path) -> bool:
    """Whether the import loads a package of DEFERRED."""
    seen, waiting = set(), [name]
    while waiting:
        path = module_of(name := waiting.pop(), package)
        if path is None and name.split(".")[0] in DEFERRED:
            return True
        for file in () if path is None else {path, path.parent / "__init__.py"} - {package / "__init__.py"} - seen:
            seen.add(file)
            waiting += [inner for _, inner, in_function in parsed(file) if not in_function]
    return False


def floor_name(path: Path, package: Path) -> str:
    return path.relative_to(package).with_suffix("").parts[0]


def import_error(name: str, in_function: bool, path: Path, package: Path) -> str | None:
    if in_function and not is_deferred(name, package):
        return f"{name} belongs to the top of the file: no package of DEFERRED is loaded by it"
    target = module_of(name, package)
    if target is None:
        return None
    here, there = floor_name(path, package), floor_name(target, package)
    is_below = FLOOR_OF[there] < FLOOR_OF[here] or FLOOR_OF[there] == FLOOR_OF[here] == 0
    return None if here == there or is_below else f"{here} may not see {name}, which is not below it"


def python_errors(root: Path) -> Iterator[str]:
    package = root / "python/ramet"
    for path in sources(root, ["python/ramet"], {".py"}):
        if floor_name(path, package) not in FLOOR_OF:
            yield f"{path.relative_to(root)}:1: belongs to no floor (see FLOORS in tools/check_layers.py)"
            continue
        for number, name, in_function in parsed(path):
            error = import_error(name, in_function, path, package)
            if error:
                yield f"{path.relative_to(root)}:{number}: {error}"


def guide_errors(root: Path) -> Iterator[str]:
    """Where include/ramet/README.md lists other headers than there are."""
    guide = root / "include/ramet/README.md"
    if not guide.is_file():
        return
    listed = set(re.findall(r"^\| \[`(\w+\.h)`\]\(\1\) \|", guide.read_text(encoding="utf-8"), re.MULTILINE))
    for name in sorted(listed ^ {path.name for path in guide.parent.glob("*.h")}):
        yield f"lists {name}, which does not exist" if name in listed else f"does not list {name}"


def length_errors(root: Path) -> Iterator[str]:
    for path in sources(root, ALL_FOLDERS, CPP | {".py", ".sh"}):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > LONGEST:
            yield f"{path.relative_to(root)}: {lines} lines, more than {LONGEST}: split it by what it holds"


def errors_of(root: Path) -> Iterator[str]:
    for path in sources(root, LAYERED, CPP):
        yield from (f"{path.relative_to(root)}:{number}: {message}" for number, message in check_file(path, root))
    yield from python_errors(root)
    yield from (f"include/ramet/README.md: {message}" for message in guide_errors(root))
    yield from length_errors(root)


def main(arguments: list[str]) -> int:
    root = Path(arguments[0] if arguments else Path(__file__).parent.parent).resolve()
    errors = list(errors_of(root))
    for error in errors:
        print(error, file=sys.stderr)
    print(f"layers: {len(list(sources(root, LAYERED, CPP)))} files, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
