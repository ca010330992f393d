#!/bin/sh
# Builds roclua where needed and runs a script with it: scripts/run.sh FILE.lua [args].
. "$(dirname "$0")/setup.sh"

if [ $# -eq 0 ]; then
  say "usage: $0 FILE.lua [args]"
  exit 2
fi
exec "$ROCLUA" "$@"
