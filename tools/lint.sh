#!/usr/bin/env bash
# lint.sh C++-FILE...: formats, Python lint and types, directions of includes and imports, lengths of files, and
# headers that compile alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
printf '%s\0' "$@" |
  xargs -0 -n 100 -P "$(nproc)" clang-format --dry-run -Werror
ruff check --quiet
ruff format --check --quiet
python3 tools/check_layers.py
mypy --no-error-summary
python3 tools/check_includes.py
echo "lint: clean"
