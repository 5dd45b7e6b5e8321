#!/usr/bin/env bash
# aarch64.sh: compiles what computes for aarch64 and runs its tests under qemu; check_includes.py parses the rest.
# Says so and leaves them out where the cross compiler or qemu is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for program in aarch64-linux-gnu-g++ qemu-aarch64; do
  if ! command -v "$program" >/dev/null; then
    echo "aarch64: skipped: no cross compiler ($program is missing; Debian: g++-aarch64-linux-gnu, qemu-user)"
    exit 0
  fi
done
[[ -f build/aarch64/CMakeCache.txt ]] || cmake --preset aarch64 >/dev/null
cmake --build --preset aarch64
tools/ctest.sh aarch64
