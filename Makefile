# `make` lists the targets. Each sets up what it needs; a second run finds it done.
VENV   := .venv
PYTHON_IN_VENV := $(VENV)/bin/python
READY  := $(VENV)/.ready
BUILT  := $(VENV)/.built
OLDEST := build/oldest
RAY    := build/ray
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
PIP    := $(PYTHON_IN_VENV) -m pip -qq --disable-pip-version-check
# Options of pip for the package: its build folder is that of the C++ tests, which are made of the same objects.
AS_BUILT := --no-build-isolation --no-deps -Cbuild-dir=build/release -Cbuild.targets=_core_stub \
  $(addprefix -Ccmake.define.,RAMET_TESTS=ON RAMET_CUDA=OFF CMAKE_COMPILE_WARNING_AS_ERROR=ON)
NVCC_DONE := build/.nvcc

# Runs a step, and keeps its seconds for `make test-times`.
STEP   := tools/step.sh
# $(call PYTEST,NAME): three tests at a time, of which one often waits for its processes. A file's tests stay
# together, with their fixtures. One thread of torch each, unless a test asks for more: those that wait for
# work by turning take the cores from other processes. What torch compiles is there for all programs of tests.
PYTEST = env OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive TORCHINDUCTOR_COMPILE_THREADS=1 TORCHINDUCTOR_CACHE_DIR=$(CURDIR)/build/inductor $(PYTHON_IN_VENV) -m pytest --numprocesses 3 --dist loadfile --durations 25 --junitxml build/times/test-$1.xml
PYTEST_OLDEST = $(subst $(PYTHON_IN_VENV),$(OLDEST)/bin/python,$(call PYTEST,oldest))
# $(TEST_WHEEL) FOLDER of wheels
TEST_WHEEL = $(PYTHON_IN_VENV) -m pytest tests/wheel --wheels
# $(CTEST) PRESET
CTEST  := tools/ctest.sh

# cmake, ninja, ruff and clang-format are the pinned ones.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)

# What the installed package is made from. Folders too: a deleted file changes its folder.
PACKAGE := CMakeLists.txt pyproject.toml $(shell find cmake include src python ! -name '*.pyc' ! -name __pycache__)
CPP     := $(shell find include src python/bind tests examples bench/micro -name "*.h" -o -name "*.cc" -o -name "*.cu" -o -name "*.cuh")

# nvcc, where there is one; CMake reads the same variable.
CUDACXX ?= $(firstword $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))
ifneq ($(CUDACXX),)
export CUDACXX
endif

# The interpreters that there are, of those that need a wheel each.
THERE    = $(shell $1 -c "" 2>/dev/null && echo $1)
PYTHONS ?= $(call THERE,python3.10) $(call THERE,python3.11) $(firstword $(foreach minor,12 13 14,$(call THERE,python3.$(minor))))

# Where addresses are randomized widely the thread sanitizer cannot place its shadow memory.
FIXED_ADDRESSES := $(shell setarch -R true 2>/dev/null && echo setarch -R)

.PHONY: help setup build wheel demo test test-all test-cpp test-python test-includes test-tidy test-asan test-tsan test-aarch64 test-cuda test-slow test-oldest test-ray \
  test-wheel test-versions test-times docs fuzz asan cuda \
  coverage gpu-check gpu-pack gpu-prebuilt lint format accuracy bench micro bench-peers bench-compare clean FORCE
.NOTPARALLEL:

help:  ## list the targets
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

setup: $(READY)  ## virtual environment with the pinned packages; missing system packages

build: $(BUILT)  ## the Python package, compiled and installed into the environment

wheel: setup  ## source distribution and wheels, in build/wheel; PYTHONS="python3.10 python3.12"
	@$(PIP) install --requirement tools/wheel/requirements.txt
	@tools/wheel/make.sh $(PYTHONS)

demo: build  ## generate a graph, train on it with two processes, print a table
	@$(PYTHON_IN_VENV) examples/demo.py

test: lint test-cpp test-python  ## lint, C++ and Python: what a change should pass, in minutes

test-all: docs test-includes test-tidy test-asan test-tsan test-aarch64 test-cuda test-slow test-wheel fuzz  ## the rest of what CI checks

test-cpp: setup  ## C++ tests, optimized build
	@cmake --preset release >/dev/null
	@$(STEP) build-tests cmake --build --preset release
	@$(STEP) test-cpp $(CTEST) release

test-asan: asan  ## C++ tests under the address and undefined-behavior sanitizers, with emulated CUDA
	@$(STEP) test-asan $(CTEST) asan

test-tsan: setup  ## C++ tests of threads under the thread sanitizer
	@cmake --preset tsan >/dev/null
	@$(STEP) build-tsan cmake --build --preset tsan
	@$(STEP) test-tsan $(FIXED_ADDRESSES) $(CTEST) tsan

test-aarch64: setup  ## what computes, for aarch64 by a cross compiler; its tests under qemu, where Debian has both
	@tools/bootstrap.sh aarch64
	@$(STEP) test-aarch64 tools/aarch64.sh

test-cuda: build  ## CUDA tests, emulated on the CPU, C++ and Python; where nvcc is, `make cuda`, too
	@cmake --preset emulated -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON_IN_VENV) >/dev/null
	@$(STEP) build-emulated cmake --build --preset emulated
	@$(STEP) test-emulated $(CTEST) emulated
	@cmake --install build/release --component python --prefix build/emulated >/dev/null && cp -r python/ramet build/emulated
	@PYTHONPATH=build/emulated $(STEP) test-cuda-python $(call PYTEST,cuda-python) tests/python/cuda
	@$(if $(CUDACXX),$(MAKE) --no-print-directory $(NVCC_DONE),echo "cuda: there is no nvcc here: the kernels were tested, but not compiled for a GPU")

# No source depends on the chip: what compiles for the oldest compiles for all, which `make cuda` takes.
$(NVCC_DONE): $(shell find src/kernels cmake/cuda.cmake -type f)
	@$(STEP) nvcc $(MAKE) --no-print-directory cuda CHIPS=80-real
	@touch $@

cuda: setup  ## CUDA compiled by nvcc for all chips, or CHIPS="80-real;120"; its tests, where there is a GPU
	@$(if $(CUDACXX),:,echo "cuda: there is no nvcc in PATH, /usr/local/cuda/bin or CUDACXX" >&2; exit 1)
	@cmake --preset cuda -DCMAKE_CUDA_ARCHITECTURES="$(CHIPS)" >/dev/null
	@cmake --build --preset cuda
	@ctest --preset cuda

test-includes: setup  ## every source and header compiles alone, without what others include; the library for aarch64
	@tools/bootstrap.sh aarch64
	@$(STEP) test-includes $(PYTHON_IN_VENV) tools/check_includes.py --sources

test-tidy: setup  ## clang-tidy over the library, by the checks of .clang-tidy
	@$(STEP) test-tidy tools/tidy.sh

coverage: setup  ## which lines of C++ and Python the tests run, in build/coverage
	@tools/coverage.sh

docs: build $(VENV)/.docs  ## the site, in build/docs: pages, docstrings and public headers; a warning is an error
	@$(STEP) docs $(PYTHON_IN_VENV) -m sphinx --quiet --fail-on-warning --fresh-env --jobs auto -c docs -d build/doctrees . build/docs
	@echo "docs: build/docs/index.html"

test-times:  ## what took how long in the last run: steps beside their budgets, and the slowest tests
	@$(or $(wildcard $(PYTHON_IN_VENV)),python3) tools/times.py

# Neither needs the virtual environment: GPUs are often on machines without a network.
gpu-check:  ## all GPU tests and benchmarks, build/gpu-check/report.md; PREBUILT=.gpu/prebuilt DEADLINE=570 COPY_TO=folder
	@python3 bench/run.py --gpu $(PREBUILT:%=--prebuilt %) $(DEADLINE:%=--deadline %) $(COPY_TO:%=--copy-to %)

gpu-pack:  ## what gpu-check needs without a network, into .gpu/; PYTHON_VERSION=3.12 of that machine
	@tools/gpu_pack.sh $(PYTHON_VERSION)

gpu-prebuilt: gpu-pack  ## what it needs without a compiler, for all chips, into .gpu/prebuilt; PYTHON=python3.12, CHIPS=90
	@$(or $(PYTHON),python3.12) bench/gpu_build.py .gpu/prebuilt $(CHIPS:%=--architecture %)

test-python: build  ## Python tests, but for the slow ones
	@$(STEP) test-python $(call PYTEST,python) -m "not slow"

test-slow: build  ## Python tests that take long: statistics, trainings, benchmarks, examples
	@$(STEP) test-slow $(call PYTEST,slow) -m slow $$(grep -rl --include="test_*.py" mark.slow tests/python) # imports no others

test-oldest: build $(OLDEST)/.ready  ## Python tests with constraints-oldest.txt: the oldest torch, PyG and numpy, and DGL
	@rm -f $(OLDEST)/*.whl && $(PIP) wheel --wheel-dir $(OLDEST) $(AS_BUILT) .
	@$(OLDEST)/bin/pip install -qq --disable-pip-version-check --no-deps --force-reinstall $(OLDEST)/*.whl
	@$(STEP) test-oldest $(PYTEST_OLDEST) -m "not slow"
	@$(PYTEST_OLDEST) -k dgl tests/python/test_readme.py

test-ray: build $(RAY)/.ready  ## examples/ray_train.py, with Ray, which no other target installs
	@env OMP_NUM_THREADS=1 $(RAY)/bin/python -m pytest tests/python/distributed/test_ray.py

test-wheel: build  ## the wheel of what `make build` compiled, in an environment without a compiler
	@$(PIP) install --requirement tools/wheel/requirements.txt
	@rm -rf build/test-wheel && $(PIP) wheel --wheel-dir build/test-wheel/untagged $(AS_BUILT) .
	@auditwheel repair --wheel-dir build/test-wheel build/test-wheel/untagged/*.whl
	@$(STEP) test-wheel $(TEST_WHEEL) build/test-wheel

test-versions: wheel  ## the wheels with each line of tests/wheel/versions.txt: Pythons, torches, numpys; downloads gigabytes
	@$(TEST_WHEEL) build/wheel --versions --timeout 7200

fuzz: asan  ## parser, segment and graph under libFuzzer, where clang is: SECONDS=20
	@$(STEP) fuzz tools/fuzz.sh $(SECONDS)

asan: setup
	@tools/bootstrap.sh clang
	@$(STEP) build-asan tools/asan.sh

lint: setup  ## formatting, Python lint, include directions, headers alone
	@$(STEP) lint tools/lint.sh $(CPP)

format: setup  ## rewrite the sources in the project's format
	@clang-format -i $(CPP)
	@ruff check --fix --quiet
	@ruff format --quiet

accuracy: build  ## test accuracy on real graphs, five seeds each
	@$(PYTHON_IN_VENV) bench/accuracy.py

bench: build micro  ## the figures of docs/benchmarks.md; PEERS="pyg=PYTHON dgl=PYTHON" (or none), SMALL=1, ALL=1
	@$(PYTHON_IN_VENV) bench/run.py $(PEERS:%=--peers %) $(if $(SMALL),--small) $(if $(ALL),--all)

micro: setup  ## the micro benchmarks of C++, compiled
	@tools/bootstrap.sh bench
	@{ cmake --preset bench >/dev/null && cmake --build --preset bench; } || { rm -f build/micro/bench/micro/ramet_micro; echo "micro: not built, see above; the other benchmarks run without it"; }

bench-peers: setup  ## environments with PyG and DGL to compare with, under build/peers (20 minutes, GB)
	@bench/peers/install.sh

bench-compare: setup  ## what changed between two runs: OLD=a.json NEW=b.json; status 1: something became worse
	@$(PYTHON_IN_VENV) bench/compare.py $(OLD) $(NEW)

clean:  ## remove what was built (not the virtual environment)
	rm -rf build $(BUILT)

$(VENV)/.docs: docs/requirements.txt constraints.txt | $(READY)
	@$(PYTHON_IN_VENV) -m pip install -qq --disable-pip-version-check --requirement $< --constraint constraints.txt
	@touch $@

# The interpreter is that of .venv, for which the package is built.
$(OLDEST)/.ready: constraints-oldest.txt | $(READY)
	@rm -rf $(OLDEST) && $(PYTHON_IN_VENV) -m venv $(OLDEST)
	@$(OLDEST)/bin/pip install -qq --disable-pip-version-check --requirement $< --extra-index-url $(TORCH_INDEX)
	@touch $@

# Ray over the packages of .venv.
$(RAY)/.ready: Makefile | $(READY)
	@rm -rf $(RAY) && $(PYTHON_IN_VENV) -m venv $(RAY)
	@$(PYTHON_IN_VENV) -c "import sysconfig; print(sysconfig.get_path('purelib'))" > "$$($(RAY)/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/packages.pth"
	@$(RAY)/bin/pip install -qq --disable-pip-version-check "ray[train]==2.60.0"
	@touch $@

# The script decides by content whether there is work; FORCE only asks it every time.
$(READY): FORCE
	@$(if $(wildcard $(READY)),,$(STEP) setup) tools/bootstrap.sh

$(BUILT): $(READY) $(PACKAGE)
	@touch $@.started
	@$(STEP) build $(PIP) install --force-reinstall $(AS_BUILT) .
	@mv $@.started $@  # dated from the start: an edit during the build counts as new
