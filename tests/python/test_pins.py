"""The versions that several files must name agree."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest

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
