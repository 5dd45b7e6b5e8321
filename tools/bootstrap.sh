#!/usr/bin/env bash
# Makes the development environment: the few system packages that are missing, and a virtual
# environment in .venv with the pinned Python packages. Does nothing when both are up to date.
# Liburing is installed where that works, once; builds do without it.
# `bootstrap.sh bench` also gets Google Benchmark, `bootstrap.sh clang` clang, `bootstrap.sh aarch64`
# a cross compiler and qemu, where they can: only micro benchmarks, fuzzing, or `make test-aarch64`
# needs them.
# PYTHON=/path/to/python3 chooses the interpreter of a new environment, CXX the compiler.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly VENV=.venv
readonly READY=$VENV/.ready # the hash of what the environment was made from

fail() {
  printf 'bootstrap: %s\n' "$@" >&2
  exit 1
}

python_fits() { # at least 3.10
  "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python3.10}; do
    if python_fits "$candidate"; then
      command -v "$candidate"
      return
    fi
  done
}

can_make_venvs() {
  "$1" -c 'import ensurepip, venv' 2>/dev/null
}

has_python_header() {
  "$1" -c 'import os, sysconfig as s; os.stat(os.path.join(s.get_path("include"), "Python.h"))' 2>/dev/null
}

compiler_can_include() { # in C++20
  printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" |
    "${CXX:-c++}" -std=c++20 -x c++ -E - >/dev/null 2>&1
}

# The Debian packages that would supply what is missing, one a line.
missing_packages() {
  local python
  compiler_can_include concepts || echo g++
  # Without a compiler nothing is known about doctest; installing it twice does no harm.
  compiler_can_include doctest/doctest.h || echo doctest-dev
  python=$(find_python)
  if [[ -z $python ]]; then
    printf '%s\n' python3 python3-venv python3-dev
    return
  fi
  can_make_venvs "$python" || echo python3-venv
  has_python_header "$python" || echo python3-dev
}

install_packages() {
  local as_root=()
  if [[ $(id -u) != 0 ]]; then
    as_root=(sudo -n)
    sudo -n true 2>/dev/null || return 1
  fi
  command -v apt-get >/dev/null || return 1
  echo "bootstrap: installing from the system's packages: $*"
  "${as_root[@]}" apt-get update -qq </dev/null &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -qq -y --no-install-recommends "$@" </dev/null >/dev/null
}

ensure_system_packages() {
  local missing
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]} == 0)) && return
  install_packages "${missing[@]}" || true
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]} == 0)) && return
  fail "these system packages are needed and could not be installed from here:" \
    "    ${missing[*]}" \
    "On Debian or Ubuntu: sudo apt-get install ${missing[*]}" \
    "Elsewhere: a C++20 compiler (g++ 12 or newer), the header doctest/doctest.h," \
    "and Python 3.10 or newer with venv and its C headers. Then run this again."
}

ensure_benchmark() { # no error: the other benchmarks run without it
  compiler_can_include benchmark/benchmark.h || install_packages libbenchmark-dev || true
  compiler_can_include benchmark/benchmark.h ||
    echo "bootstrap: no Google Benchmark (Debian, Ubuntu: libbenchmark-dev); micro benchmarks are left out" >&2
}

ensure_liburing() { # no error: without it, threads read rows of files
  compiler_can_include liburing.h || install_packages liburing-dev || true
  compiler_can_include liburing.h ||
    echo "bootstrap: no liburing (Debian, Ubuntu: liburing-dev); rows of files are read without io_uring" >&2
}

ensure_clang() { # no error, and nothing where CLANGXX names one: tools/asan.sh does without
  [[ -n ${CLANGXX:-} ]] || command -v clang++ >/dev/null ||
    install_packages clang libclang-rt-dev || install_packages clang libclang-rt-14-dev || true
}

ensure_aarch64() { # no error: tools/aarch64.sh says what is missing
  command -v aarch64-linux-gnu-g++ >/dev/null && command -v qemu-aarch64 >/dev/null ||
    install_packages g++-aarch64-linux-gnu qemu-user || true
}

# Changes when the pins, this script or the checkout's place do (scripts in .venv hold its full path).
wanted_state() {
  { pwd && cat constraints.txt requirements-dev.txt tools/bootstrap.sh; } | sha256sum | cut -d' ' -f1
}

venv_works() { # here: the scripts of a copied environment still name the old place
  "$VENV/bin/python" -c 'import pip' 2>/dev/null && grep -qF "$PWD/$VENV/" "$VENV/bin/pip"
}

ensure_venv() {
  local wanted
  wanted=$(wanted_state)
  [[ -x $VENV/bin/python && -f $READY && $(<"$READY") == "$wanted" ]] && return
  venv_works || "$(find_python)" -m venv --clear "$VENV"
  echo "bootstrap: installing the pinned Python packages into $VENV (minutes, the first time)"
  "$VENV/bin/python" -m pip install -qq --disable-pip-version-check --no-compile \
    --requirement requirements-dev.txt --constraint constraints.txt </dev/null
  # Bytecode by all cores, where pip takes one; not of what no import needs. Some files are templates.
  "$VENV/bin/python" -m compileall -qq -j 0 -x 'site-packages/.*/tests?/' "$VENV/lib" </dev/null || true
  ensure_liburing # here, since it is tried once
  echo "$wanted" >"$READY"
  echo "bootstrap: $VENV is ready ($("$VENV/bin/python" -V))"
}

ensure_system_packages
ensure_venv
if [[ ${1:-} == bench ]]; then
  ensure_benchmark
elif [[ ${1:-} == clang ]]; then
  ensure_clang
elif [[ ${1:-} == aarch64 ]]; then
  ensure_aarch64
fi
