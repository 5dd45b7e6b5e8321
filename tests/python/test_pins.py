"""What several files must say agrees: versions, and the names that type checkers read in the installed package."""

import ast
import re
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import pytest

import ramet
from ramet import _core

ROOT = Path(__file__).parents[2]


def test_commit_hooks_run_the_tools_of_ci():
    pins = dict(re.findall(r"^([\w-]+)==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    assert re.findall(r"clang-format\n +rev: v(\S+)", hooks) == [pins["clang-format"]]
    assert re.findall(r"ruff-pre-commit\n +rev: v(\S+)", hooks) == [pins["ruff"]]


def test_everything_needed_is_pinned():
    def normal(name):
        return re.sub(r"[-_.]+", "-", name).lower()

    pinned = {normal(n) for n in re.findall(r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text(), re.MULTILINE)}
    needed = {normal(n) for n in re.findall(r"^([\w.-]+)", (ROOT / "requirements-dev.txt").read_text(), re.MULTILINE)}
    assert needed <= pinned


def test_the_oldest_versions_declared_are_those_tested():
    declared = re.findall(
        r'"([\w-]+)>=([\d.]+)"', (ROOT / "pyproject.toml").read_text().partition("[project.scripts]")[0]
    )
    tested = dict(re.findall(r"^([\w-]+)==(\S+)", (ROOT / "constraints-oldest.txt").read_text(), re.MULTILINE))
    of_pip = {name.replace("_", "-"): oldest for name, oldest in declared}
    assert {"numpy", "torch", "torch-geometric"} <= of_pip.keys()
    assert all(f"{tested[name]}.".startswith(f"{oldest}.") for name, oldest in of_pip.items())


def test_the_package_has_the_version_of_the_header():
    header = (ROOT / "include" / "ramet" / "version.h").read_text()
    assert f'kVersion = "{version("ramet")}"' in header


@pytest.mark.parametrize("name", sorted(path.name for path in (ROOT / ".github/workflows").iterdir()))
def test_workflows_call_targets_of_the_makefile(name):
    yaml = pytest.importorskip("yaml")
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    jobs = yaml.safe_load((ROOT / ".github/workflows" / name).read_text())["jobs"]
    steps = [step["run"].split() for job in jobs.values() for step in job["steps"] if "run" in step]
    assert steps
    for command, *words in steps:
        assert command != "make" or {word for word in words if "=" not in word} <= targets


def test_the_package_says_that_it_has_types():
    assert files(ramet).joinpath("py.typed").is_file()


def test_the_stub_declares_what_the_extension_has():
    stub = ast.parse(files(ramet).joinpath("_core.pyi").read_text())
    declared = {node.name for node in stub.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    values = {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}
    assert declared | values >= {name for name in vars(_core) if not name.startswith("_")}


def names_of(part) -> list[str]:
    """What a line of a class declares: a method, or a value of an enum."""
    if isinstance(part, ast.FunctionDef):
        return [part.name]
    targets = part.targets if isinstance(part, ast.Assign) else [part.target] if isinstance(part, ast.AnnAssign) else []
    return [target.id for target in targets]


def test_the_stub_declares_the_members_of_classes():
    stub = ast.parse(files(ramet).joinpath("_core.pyi").read_text())
    declared = {
        node.name: {name for part in node.body for name in names_of(part)}
        for node in stub.body
        if isinstance(node, ast.ClassDef)
    }
    for name in declared:
        assert declared[name] >= {member for member in vars(getattr(_core, name)) if not member.startswith("_")}, name
