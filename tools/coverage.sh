#!/usr/bin/env bash
# coverage.sh: which lines of src, include and python/ramet the C++ tests and the Python tests (but for the
# slow ones) run, together: build/coverage/cpp.txt, build/coverage/python.txt, and the totals. Portable
# kernels and those of this machine's vectors count; CUDA does not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly BUILD=build/coverage PACKAGE=$PWD/build/coverage/package
python=$PWD/.venv/bin/python

"$python" -m pip install -qq --disable-pip-version-check --constraint constraints.txt gcovr coverage
cmake --preset coverage -DPython_EXECUTABLE="$python" >/dev/null
cmake --build --preset coverage
cmake --install "$BUILD" --component python --prefix "$PACKAGE" >/dev/null
cp -r python/ramet "$PACKAGE"
find "$BUILD" -name '*.gcda' -delete
rm -f "$BUILD"/.coverage*

ctest --preset coverage --quiet || true # a test that fails counts, too
PYTHONPATH=$PACKAGE OMP_NUM_THREADS=1 COVERAGE_FILE=$PWD/$BUILD/.coverage \
  "$python" -m coverage run --rcfile=tools/coverage.ini -m pytest -q --numprocesses 2 --dist loadfile -m "not slow" || true

export COVERAGE_FILE=$PWD/$BUILD/.coverage
"$python" -m coverage combine -q --rcfile=tools/coverage.ini "$BUILD"
"$python" -m coverage report --rcfile=tools/coverage.ini >"$BUILD/python.txt"
"$python" -m gcovr --root . --object-directory "$BUILD" --filter src/ --filter include/ \
  --gcov-ignore-errors all --merge-mode-functions separate -j "$(nproc)" --txt "$BUILD/cpp.txt"
echo "coverage: C++ $(awk '/^TOTAL/ {print $4}' "$BUILD/cpp.txt"), Python $(awk '/^TOTAL/ {print $NF}' "$BUILD/python.txt") of all lines"
