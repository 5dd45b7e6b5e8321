#!/usr/bin/env bash
# Puts into a manylinux container what the wheels are compiled with, before cibuildwheel does: nvcc from PyPI
# into /opt/nvcc, and liburing, of which the system's package is too old.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
/opt/python/cp312-cp312/bin/python -m pip install -qq --no-deps --target /opt/nvcc --requirement nvcc.txt
ln -s lib /opt/nvcc/nvidia/cu13/lib64 # where nvcc looks
git clone -q --depth 1 --branch liburing-2.9 https://github.com/axboe/liburing /tmp/liburing
cd /tmp/liburing
./configure
make -C src CFLAGS="-O2 -fPIC" install # for a module that Python loads
