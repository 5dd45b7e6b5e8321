#!/usr/bin/env bash
# fuzz.sh [SECONDS]: gives each libFuzzer target of tests/fuzz so many seconds, all at the same time, and
# a fresh seed. Without SECONDS it is 20 with the same seed each time: a change fails by what it changes,
# not by luck. What it finds lies in build/asan/found.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly SECONDS_EACH=${1:-20} SEED=$(($# == 0)) # 0 is a fresh one
readonly BUILD=build/asan

if [[ ! -x $BUILD/tests/fuzz/fuzz_parser ]]; then
  echo "fuzz: skipped: no clang++ with libFuzzer's runtime (Debian: clang, libclang-rt-14-dev)"
  exit 0
fi
mkdir -p "$BUILD/found"

fuzz() {
  mkdir -p "$BUILD/corpus/$1"
  "$BUILD/tests/fuzz/fuzz_$1" -max_total_time="$SECONDS_EACH" -seed="$SEED" -timeout=100 -max_len=4096 \
    -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 -artifact_prefix="$BUILD/found/$1-" \
    "$BUILD/corpus/$1" "tests/fuzz/corpus/$1" >"$BUILD/found/$1.log" 2>&1
}

declare -A running
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
for target in parser segment graph; do
  fuzz "$target" &
  running[$target]=$!
done
status=0
for target in "${!running[@]}"; do
  wait "${running[$target]}" || status=1
  echo "fuzz: $target, $SECONDS_EACH s"
  cat "$BUILD/found/$target.log"
done
exit "$status"
