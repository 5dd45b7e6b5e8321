#!/usr/bin/env bash
# step.sh NAME COMMAND...: runs a step of the build or the tests, says how long it took, and keeps that in
# build/times/steps. Says so where it took half as long again as tools/budgets.txt allows.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly NAME=$1 TIMES=build/times/steps
shift

keep() { # SECONDS: in the place of what an earlier run took
  mkdir -p "$(dirname "$TIMES")"
  { grep -sv "^$NAME " "$TIMES" || true; echo "$NAME $1"; } >"$TIMES.new"
  mv "$TIMES.new" "$TIMES"
}

status=0
began=$SECONDS
"$@" || status=$?
took=$((SECONDS - began))
budget=$(sed -n "s/^$NAME //p" tools/budgets.txt)
echo "step: $NAME took $took s${budget:+ of $budget}"
if [[ -n $budget ]] && ((2 * took > 3 * budget)); then
  echo "step: $NAME IS SLOW: half as long again as its budget of $budget s (tools/budgets.txt)"
fi
((status)) || keep "$took"
exit "$status"
