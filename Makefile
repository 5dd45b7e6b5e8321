# `make` lists the targets. Each sets up what it needs; a second run finds it done.
VENV   := .venv
PYTHON_IN_VENV := $(VENV)/bin/python
READY  := $(VENV)/.ready
BUILT  := $(VENV)/.built
NVCC_DONE := build/.nvcc

# Two tests at a time: many start processes of their own. A file's tests stay together, with their fixtures.
PYTEST := $(PYTHON_IN_VENV) -m pytest --numprocesses 2 --dist loadfile

# cmake, ninja, ruff and clang-format are the pinned ones.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)

# What the installed package is made from. Folders too: a deleted file changes its folder.
PACKAGE := CMakeLists.txt pyproject.toml $(shell find cmake include src python ! -name '*.pyc' ! -name __pycache__)
CPP     := $(shell find include src python/bind tests examples bench/micro -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh')

# nvcc, where there is one; CMake reads the same variable.
CUDACXX ?= $(firstword $(shell command -v nvcc) $(wildcard /usr/local/cuda/bin/nvcc))
ifneq ($(CUDACXX),)
export CUDACXX
endif

# Where addresses are randomized widely the thread sanitizer cannot place its shadow memory.
FIXED_ADDRESSES := $(shell setarch -R true 2>/dev/null && echo setarch -R)

.PHONY: help setup build demo test test-all test-cpp test-python test-asan test-tsan test-cuda test-slow fuzz asan cuda gpu-check gpu-pack gpu-prebuilt lint format accuracy \
  bench micro bench-peers bench-compare clean FORCE
.NOTPARALLEL:

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

setup: $(READY)  ## virtual environment with the pinned packages; missing system packages

build: $(BUILT)  ## the Python package, compiled and installed into the environment

demo: build  ## generate a graph, train on it with two processes, print a table
	@$(PYTHON_IN_VENV) examples/demo.py

test: lint test-cpp test-python  ## lint, C++ and Python: what a change should pass, in minutes

test-all: test-asan test-tsan test-cuda test-slow fuzz  ## the rest of what CI checks

test-cpp: build  ## C++ tests, optimized build
	@cmake --workflow --preset release

test-asan: asan  ## C++ tests under the address and undefined-behavior sanitizers
	@ctest --preset asan

test-tsan: setup  ## C++ tests under the thread sanitizer
	@$(FIXED_ADDRESSES) cmake --workflow --preset tsan

test-cuda: asan  ## CUDA tests, emulated on the CPU, C++ and Python; where nvcc is, `make cuda`, too
	@ctest --preset emulated
	@cmake --preset emulated-python -DPython_EXECUTABLE=$(CURDIR)/$(PYTHON_IN_VENV) >/dev/null
	@cmake --build --preset emulated-python
	@cmake --install build/release --component python --prefix build/emulated >/dev/null && cp -r python/ramet build/emulated
	@PYTHONPATH=build/emulated $(PYTHON_IN_VENV) -m pytest tests/python/cuda
	@$(if $(CUDACXX),$(MAKE) --no-print-directory $(NVCC_DONE),echo "cuda: there is no nvcc here: the kernels were tested, but not compiled for a GPU")

# Nvcc takes minutes for all chips: not again where no kernel changed.
$(NVCC_DONE): $(shell find src/kernels cmake/cuda.cmake -type f)
	@$(MAKE) --no-print-directory cuda
	@touch $@

cuda: setup  ## CUDA compiled by nvcc for all chips; its tests, where there is a GPU
	@$(if $(CUDACXX),:,echo "cuda: there is no nvcc in PATH, /usr/local/cuda/bin or CUDACXX" >&2; exit 1)
	@cmake --workflow --preset cuda

# Neither needs the virtual environment: GPUs are often on machines without a network.
gpu-check:  ## all GPU tests and benchmarks, build/gpu-check/report.md; PREBUILT=.gpu/prebuilt DEADLINE=570 COPY_TO=folder
	@python3 tools/gpu_check $(PREBUILT:%=--prebuilt %) $(DEADLINE:%=--deadline %) $(COPY_TO:%=--copy-to %)

gpu-pack:  ## what gpu-check needs without a network, into .gpu/; PYTHON_VERSION=3.12 of that machine
	@tools/gpu_pack.sh $(PYTHON_VERSION)

gpu-prebuilt: gpu-pack  ## what it needs without a compiler, for all chips, into .gpu/prebuilt; PYTHON=python3.12, CHIPS=90
	@$(or $(PYTHON),python3.12) tools/gpu_check --make-prebuilt .gpu/prebuilt $(CHIPS:%=--architecture %)

test-python: build  ## Python tests, but for the slow ones
	@$(PYTEST) -m "not slow"

test-slow: build  ## Python tests that take long: statistics, trainings, benchmarks, examples
	@$(PYTEST) -m slow

fuzz: asan  ## parser, segment and graph under libFuzzer, where clang is: SECONDS=20 each
	@tools/fuzz.sh $(SECONDS)

asan: setup
	@tools/bootstrap.sh clang
	@tools/asan.sh

lint: setup  ## formatting, Python lint, include directions, headers alone
	@clang-format --dry-run -Werror $(CPP)
	@ruff check --quiet
	@ruff format --check --quiet
	@$(PYTHON_IN_VENV) tools/check_layers.py
	@tools/check_headers.sh
	@echo "lint: clean"

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
	@cmake --workflow --preset bench || { rm -f build/micro/bench/micro/ramet_micro; echo "micro: not built, see above; the other benchmarks run without it"; }

bench-peers: setup  ## environments with PyG and DGL to compare with, under build/peers (20 minutes, GB)
	@bench/peers/install.sh

bench-compare: setup  ## what changed between two runs: OLD=a.json NEW=b.json; status 1: something became worse
	@$(PYTHON_IN_VENV) bench/compare.py $(OLD) $(NEW)

clean:  ## remove what was built (not the virtual environment)
	rm -rf build $(BUILT)

# The script decides by content whether there is work; FORCE only asks it every time.
$(READY): FORCE
	@tools/bootstrap.sh

# In the build folder of the C++ tests, which are made of the same objects.
$(BUILT): $(READY) $(PACKAGE)
	@echo "build: compiling and installing the package"
	@touch $@.started
	@$(PYTHON_IN_VENV) -m pip install -qq --disable-pip-version-check \
	  --no-build-isolation --no-deps --force-reinstall -Cbuild-dir=build/release -Cbuild.targets=_core_stub \
	  $(addprefix -Ccmake.define.,RAMET_TESTS=ON RAMET_CUDA=OFF CMAKE_COMPILE_WARNING_AS_ERROR=ON) .
	@mv $@.started $@  # dated from the start: an edit during the build counts as new
