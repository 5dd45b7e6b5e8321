#!/usr/bin/env bash
# tidy.sh: the faults that clang-tidy sees in src/, by the checks of .clang-tidy. Nothing is built: it parses the
# sources of a folder together, as unity builds have them, which takes a fifth of the time. Those for one
# instruction set and those for a GPU are left out.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
rm -rf build/tidy # with the lists of sources that are no more
cmake --preset tidy >/dev/null
printf '%s\0' build/tidy/src/CMakeFiles/ramet.dir/Unity/*.cxx src/kernels/cuda/*.cc |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy -p build/tidy --quiet
