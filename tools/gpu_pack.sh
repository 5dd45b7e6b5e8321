#!/usr/bin/env bash
# Collects in .gpu/ what `make gpu-check` needs on a machine without network, beside numpy and torch:
# small wheels, and the header of doctest for a build there.
# usage: gpu_pack.sh [PYTHON-VERSION]   of that machine, like 3.12; without it, this machine's
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly PACK=.gpu
readonly PACKAGES=(nanobind pytest pytest-timeout iniconfig pluggy packaging pygments psutil tqdm)

pack_wheels() { # of the pinned versions
  local for_version=()
  if [[ -n ${1:-} ]]; then
    for_version=(--python-version "$1")
  fi
  python3 -m pip download -qq --disable-pip-version-check --no-deps --only-binary=:all: \
    --constraint constraints.txt "${for_version[@]}" --dest "$PACK/wheels" "${PACKAGES[@]}"
}

pack_doctest() {
  local header
  header=$(echo '#include <doctest/doctest.h>' | "${CXX:-c++}" -x c++ -std=c++20 -M - |
    tr ' ' '\n' | grep -m1 'doctest/doctest\.h$')
  mkdir -p "$PACK/include/doctest"
  cp "$header" "$PACK/include/doctest/"
}

rm -rf "$PACK/wheels" "$PACK/include" # and not what gpu-prebuilt made
mkdir -p "$PACK/wheels"
pack_wheels "${1:-}"
pack_doctest
echo "gpu-pack: $(du -shc "$PACK/wheels" "$PACK/include" | tail -n 1 | cut -f1) in $PACK/"
