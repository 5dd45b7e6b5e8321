#!/usr/bin/env bash
# Compiles every header alone, so that none depends on what its users happened to include before it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
find include src -name '*.h' -print0 | sort -z |
  xargs -0 -P "$(nproc)" -I{} "${CXX:-c++}" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Werror \
    -Iinclude -Isrc -x c++ -include {} /dev/null
