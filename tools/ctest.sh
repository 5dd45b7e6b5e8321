#!/usr/bin/env bash
# ctest.sh PRESET: its tests, and the slowest of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p build/times
report=$PWD/build/times/ctest-$1.xml
status=0
ctest --preset "$1" --progress --output-junit "$report" || status=$?
python3 tools/times.py "$report"
exit "$status"
