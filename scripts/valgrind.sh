#!/bin/sh
# Runs a program of the build under valgrind's memcheck, which also sees what compiled kernels do:
#
#   scripts/valgrind.sh build/release/bin/states_test eight
#   scripts/valgrind.sh build/release/bin/roclua-spec spec/run.lua spec/runtime
#
# Exit status 9: a wild access, a value that was never set, or a leak.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
program=$(readlink -f "$1")
libraries=${program%/bin/*}/lib/roclua/0
shift

# valgrind 3.19 gives up on the debug information that LLVM's own archives bring into the compiler's
# object, so it gets one without.
readable=${libraries%/lib/*}/valgrind
compiler=$readable/libroclua-codegen.so
if [ -z "$(find "$compiler" -newer "$libraries/libroclua-codegen.so" 2>/dev/null)" ]; then
  mkdir -p "$readable"
  for library in "$libraries"/*; do
    ln -sf "$library" "$readable"
  done
  rm "$compiler"
  objcopy --strip-debug "$libraries/libroclua-codegen.so" "$compiler"
fi

export ROCLUA_LIBDIR="$readable" ROCLUA_SPEC_INTERPRETER="$program"
exec valgrind -q --suppressions="$here/spec/support/valgrind.supp" --leak-check=full \
  --show-leak-kinds=definite --errors-for-leak-kinds=definite --error-exitcode=9 "$program" "$@"
