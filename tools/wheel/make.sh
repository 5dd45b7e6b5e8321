#!/usr/bin/env bash
# make.sh PYTHON...: the source distribution, and a wheel of it for each interpreter, into build/wheel. A wheel
# is tagged by what its binary needs of a system; that of Python 3.12 or newer is for all newer ones, too.
# CUDA is in them where CUDACXX names nvcc.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
readonly OUT=$PWD/build/wheel CUDA=$([[ -n ${CUDACXX:-} ]] && echo ON || echo OFF)
readonly PIP=(.venv/bin/python -m pip --disable-pip-version-check)

rm -rf "$OUT"
mkdir -p "$OUT/source"
.venv/bin/python -m build --sdist --no-isolation --outdir "$OUT" . >/dev/null
tar -xf "$OUT"/ramet-*.tar.gz -C "$OUT/source" --strip-components 1
for python in "$@"; do # the library is compiled once
  "$python" -m venv --clear --without-pip "$OUT/python"
  "${PIP[@]}" --python "$OUT/python" install -qq --constraint constraints.txt nanobind scikit-build-core
  "${PIP[@]}" --python "$OUT/python" wheel -qq --no-deps --no-build-isolation -Cbuild-dir="$OUT/objects" \
    -Ccmake.define.RAMET_CUDA="$CUDA" --wheel-dir "$OUT/untagged" "$OUT/source"
done
.venv/bin/auditwheel repair --plat auto --wheel-dir "$OUT" "$OUT"/untagged/*.whl
echo "wheel: with CUDA: $CUDA"
ls -sh "$OUT" | grep ramet-
