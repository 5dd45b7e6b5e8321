#!/usr/bin/env bash
# Compiles every header alone, so that none depends on what its users happened to include before it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Headers of vector lanes need their instructions, and exist for x86-64 alone.
if [ "$(uname -m)" = x86_64 ]; then
  isa=(-mavx512f -mavx512bw -mavx512dq -mavx512vl) skip=()
else
  isa=() skip=(! -name '*_avx*.h')
fi
find include src -name '*.h' "${skip[@]}" -print0 | sort -z |
  xargs -0 -P "$(nproc)" -I{} "${CXX:-c++}" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Werror \
    "${isa[@]}" -Iinclude -Isrc -x c++ -include {} /dev/null
