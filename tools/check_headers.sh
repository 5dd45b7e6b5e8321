#!/usr/bin/env bash
# Compiles every header alone, so that none depends on what its users happened to include before it.
# A header of vector code is named for its instructions, and compiled for them where they exist; one
# of CUDA is compiled for the emulator.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# compile_alone FLAGS... < list of headers
compile_alone() {
  xargs -r -0 -P "$(nproc)" -I{} "${CXX:-c++}" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Werror \
    "$@" -Iinclude -Isrc -x c++ -include {} /dev/null
}

find include src -name '*.h' ! -name '*_avx*.h' ! -path 'src/kernels/cuda/*' -print0 | sort -z | compile_alone
find src/kernels/cuda \( -name '*.h' -o -name '*.cuh' \) -print0 | sort -z | compile_alone -isystem tests/emulator
if [[ $(uname -m) == x86_64 ]]; then
  find src -name '*_avx*.h' -print0 | sort -z | compile_alone -mavx512f -mavx512bw -mavx512dq -mavx512vl
fi
