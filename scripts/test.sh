#!/bin/sh
# Builds roclua where needed and runs all specs (or those given) with roclua-spec: scripts/test.sh [busted's options] [files].
# The last line reads "N passed, N failed"; the exit status is 0 only when nothing failed and something passed.
. "$(dirname "$0")/setup.sh"

cd "$ROCLUA_ROOT"
log=$(mktemp)
XDG_CACHE_HOME=$(mktemp -d) # what earlier runs compiled must not stand in for compiling
export XDG_CACHE_HOME
trap 'rm -rf "$log" "$XDG_CACHE_HOME"' EXIT

status=0
passed=0
failed=0

# One process of roclua-spec; its counts are added up.  0 passed, or no counts at all, is a failure.
run_specs() {
  rm -f "$log.status"
  { "$ROCLUA-spec" spec/run.lua "$@" </dev/null 2>&1 || echo "exit status $?" >"$log.status"; } | tee "$log"
  [ ! -e "$log.status" ] || status=1
  counts=$(tail -n 1 "$log")
  case $counts in
    *" passed, "*" failed")
      passed=$((passed + ${counts%% *}))
      counts=${counts#*, }
      failed=$((failed + ${counts%% *}))
      ;;
    *)
      status=1
      failed=$((failed + 1)) # the run broke off
      ;;
  esac
}

if [ $# -gt 0 ]; then
  run_specs "$@"
else
  # The emulator's specs keep some 100,000 cases in memory, which would slow down every collection
  # of the others.
  run_specs spec/emulator
  # shellcheck disable=SC2046 # one word a file
  run_specs $(find spec -name '*_spec.lua' ! -path 'spec/emulator/*' | sort)
fi

rm -f "$log.status"
[ "$passed" -gt 0 ] && [ "$failed" = 0 ] || status=1
echo "$passed passed, $failed failed"
exit $status
