#!/usr/bin/env bash
# ctest.sh PRESET: its tests, and the slowest of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
report=$PWD/build/times/ctest-$1.xml
mkdir -p build/times
rm -f "$report"
status=0
ctest --preset "$1" --output-junit "$report" || status=$?
if [[ -f $report ]]; then python3 tools/times.py "$report"; fi
exit "$status"
