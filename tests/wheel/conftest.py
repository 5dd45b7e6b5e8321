"""Fresh environments without a compiler, into which pip puts the wheel that fits: one for `make test-wheel`, one for
each line of versions.txt for `make test-versions`."""

import os
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TORCH_INDEX = "https://download.pytorch.org/whl/cpu"


def pytest_addoption(parser):
    parser.addoption("--wheels", type=Path, required=True, help="folder of wheels, of which pip takes one")
    parser.addoption("--versions", action="store_true", help="as versions.txt has them, not those of this environment")


def pytest_generate_tests(metafunc):
    if "bare" in metafunc.fixturenames:
        lines = [f"{sys.executable} numpy=={version('numpy')}"]
        if metafunc.config.getoption("--versions"):
            lines = [line for line in (HERE / "versions.txt").read_text().splitlines() if not line.startswith("#")]
        names = [Path(line.split()[0]).name for line in lines]
        metafunc.parametrize("bare", lines, indirect=True, scope="session", ids=names)


class Environment:
    """A virtual environment, and a folder in which its programs run."""

    def __init__(self, interpreter: str, folder: Path):
        self.folder, self.place = folder, folder / "environment"
        subprocess.run([interpreter, "-m", "venv", "--without-pip", self.place], check=True)

    def run(self, program: str, *arguments, **variables) -> str:
        """What a program of this environment prints. It finds no other programs."""
        plain = {"HOME": os.environ["HOME"], "PATH": str(self.place / "bin"), "OMP_NUM_THREADS": "1"}
        return output_of(self.place / "bin" / program, *arguments, cwd=self.folder, env=plain | variables)

    def pip_install(self, *arguments) -> None:
        output_of(sys.executable, "-m", "pip", "--python", self.place, "install", *arguments)

    @property
    def packages(self) -> Path:
        return Path(self.run("python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())


def output_of(*command, **options) -> str:
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def bare(request, tmp_path_factory) -> Environment:
    """The wheel and what it depends on. Request: a line of versions.txt."""
    interpreter, numpy, *_ = request.param.split()
    if shutil.which(interpreter) is None or subprocess.run([interpreter, "-c", ""], capture_output=True).returncode:
        pytest.skip(f"there is no {interpreter}")
    environment = Environment(interpreter, tmp_path_factory.mktemp("fresh"))
    environment.pip_install("--no-deps", "--no-index", "--find-links", request.config.getoption("--wheels"), "ramet")
    environment.pip_install("--only-binary", ":all:", "ramet", numpy)
    environment.line = request.param
    return environment


@pytest.fixture(scope="session")
def full(bare) -> Environment:
    """With torch and what training needs: those of the line, else those of the environment that runs the tests."""
    _, *packages = bare.line.split()
    if len(packages) > 1:
        bare.pip_install("--only-binary", ":all:", "--extra-index-url", TORCH_INDEX, *packages)
    else:
        (bare.packages / "beside.pth").write_text(sysconfig.get_path("purelib"))
    return bare
