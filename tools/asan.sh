#!/usr/bin/env bash
# asan.sh: builds everything under the address and undefined-behavior sanitizers, in build/asan. By
# clang where it has libFuzzer's runtime, with the targets of tests/fuzz; CLANGXX names the compiler.
# Else by the default compiler, without them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly BUILD=build/asan

can_fuzz() { # with libFuzzer's runtime
  echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }' |
    "$1" -x c++ -fsanitize=fuzzer,address,undefined - -o /dev/null 2>/dev/null
}

find_clang() {
  local candidate
  for candidate in ${CLANGXX:-clang++ clang++-19 clang++-18 clang++-17 clang++-16 clang++-15 clang++-14}; do
    if can_fuzz "$candidate"; then
      echo "$candidate"
      return
    fi
  done
}

if [[ ! -f $BUILD/CMakeCache.txt ]]; then
  clang=$(find_clang)
  cmake --preset asan ${clang:+-DCMAKE_CXX_COMPILER="$clang" -DCMAKE_COMPILE_WARNING_AS_ERROR=ON}
fi
cmake --build --preset asan
