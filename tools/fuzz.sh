#!/usr/bin/env bash
# fuzz.sh [SECONDS]: compiles everything by clang, tests included, and gives each libFuzzer target of
# tests/fuzz so many seconds (20). What it finds lies in build/fuzz/found. CLANGXX names the compiler.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly SECONDS_EACH=${1:-20}
readonly BUILD=build/fuzz

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

clang=$(find_clang)
if [[ -z $clang ]]; then
  echo "fuzz: skipped: no clang++ with libFuzzer's runtime (Debian: clang, libclang-rt-14-dev)"
  exit 0
fi
cmake --preset fuzz -DCMAKE_CXX_COMPILER="$clang" >/dev/null
cmake --build --preset fuzz
mkdir -p "$BUILD/found"
for target in parser segment graph; do
  mkdir -p "$BUILD/corpus/$target"
  echo "fuzz: $target, $SECONDS_EACH s"
  "$BUILD/tests/fuzz/fuzz_$target" -max_total_time="$SECONDS_EACH" -timeout=10 -max_len=4096 \
    -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 -artifact_prefix="$BUILD/found/$target-" \
    "$BUILD/corpus/$target" "tests/fuzz/corpus/$target"
done
