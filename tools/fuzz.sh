#!/usr/bin/env bash
# fuzz.sh [SECONDS]: gives each libFuzzer target of tests/fuzz so many seconds (20). What it finds
# lies in build/asan/found.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly SECONDS_EACH=${1:-20}
readonly BUILD=build/asan

if [[ ! -x $BUILD/tests/fuzz/fuzz_parser ]]; then
  echo "fuzz: skipped: no clang++ with libFuzzer's runtime (Debian: clang, libclang-rt-14-dev)"
  exit 0
fi
mkdir -p "$BUILD/found"
for target in parser segment graph; do
  mkdir -p "$BUILD/corpus/$target"
  echo "fuzz: $target, $SECONDS_EACH s"
  "$BUILD/tests/fuzz/fuzz_$target" -max_total_time="$SECONDS_EACH" -timeout=10 -max_len=4096 \
    -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 -artifact_prefix="$BUILD/found/$target-" \
    "$BUILD/corpus/$target" "tests/fuzz/corpus/$target"
done
