#!/bin/sh
# Builds roclua where needed and runs its specs: scripts/test.sh [busted's options] [files].
# Without arguments all of them, each file in a process of its own, as many at once as there are
# processors (or ROCLUA_TEST_JOBS).  The ends of the logs of what failed are printed again at the
# end.  The last line reads "N passed, N failed, N skipped"; the exit status is 0 only when nothing
# failed and something passed.
ROCLUA_WANTS_SPECS=1
. "$(dirname "$0")/setup.sh"

cd "$ROCLUA_ROOT"
work=$(mktemp -d)
XDG_CACHE_HOME=$work/cache # what earlier runs compiled must not stand in for compiling
export XDG_CACHE_HOME
trap 'rm -rf "$work"' EXIT

# $1: the log's name; the rest are busted's arguments.  A log ends with the counts of its run, then
# the exit status.
cat >"$work/run" <<'END'
log=$1.log
shift
"$ROCLUA_SPEC" spec/run.lua "$@" </dev/null >"$log" 2>&1
echo "exit status $?" >>"$log"
END

# The largest files first, so that the last ones to end are short.
list_specs() {
  find spec src -name '*_spec.lua' -size +0 -printf '%s %p\n' 2>/dev/null |
    sort -rn | cut -d ' ' -f 2
}

export ROCLUA_SPEC
if [ $# -gt 0 ]; then
  sh "$work/run" "$work/1" "$@"
  cat "$work/1.log"
else
  export work
  list_specs | xargs -P "${ROCLUA_TEST_JOBS:-$(nproc)}" -I '{}' sh -c '
    log=$work/$(printf "%s" "$1" | tr / -)
    sh "$work/run" "$log" "$1"
    flock "$work/run" cat "$log.log"' sh '{}'
fi

# A log without counts is that of a run that broke off, which is one failure.
awk '
  FNR == 1 && NR > 1 { finish() }
  FNR == 1 {
    counted = status = 0
    log_file = name = FILENAME
    gsub(/.*\/|\.log$/, "", name)
  }
  /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { p = $1; f = $3; s = $5; counted = 1 }
  /^exit status / { status = $3 }
  function finish() {
    if (counted) { passed += p; failed += f; skipped += s }
    if (!counted || (status != 0 && f == 0)) failed++
    if (!counted || status != 0) {
      print "failed: " name
      system("tail -c 4000 \"" log_file "\"")
    }
  }
  END {
    finish()
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit !(passed > 0 && failed == 0)
  }' "$work"/*.log
