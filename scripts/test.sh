#!/bin/sh
# Builds roclua where needed and runs all specs (or those given) with it: scripts/test.sh [busted's options] [files].
# The last line reads "N passed, N failed"; the exit status is 0 only when nothing failed and something passed.
. "$(dirname "$0")/setup.sh"

cd "$ROCLUA_ROOT"
log=$(mktemp)
XDG_CACHE_HOME=$(mktemp -d) # what earlier runs compiled must not stand in for compiling
export XDG_CACHE_HOME
trap 'rm -rf "$log" "$XDG_CACHE_HOME"' EXIT

status=0
{ "$ROCLUA" spec/run.lua "$@" </dev/null 2>&1 || echo "exit status $?" >"$log.status"; } | tee "$log"
if [ -e "$log.status" ]; then
  rm -f "$log.status"
  status=1
fi

counts=$(tail -n 1 "$log")
case $counts in
  "0 passed, "*) status=1 ;;
  *" passed, 0 failed") ;;
  *" passed, "*" failed") status=1 ;;
  *)
    status=1
    echo "0 passed, 1 failed" # the run broke off
    ;;
esac
exit $status
