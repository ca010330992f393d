#!/bin/sh
# Builds the Debian packages and tries them in an empty root: scripts/packages.sh, as root.  They are
# installed, used from the shell, from C and from a stock lua5.4, installed again, and removed,
# after which nothing of them is left.  The packages are in build/package.
set -eu
cd "$(dirname "$0")/.."
say() { echo "roclua: $*" >&2; }

cmake --preset package >/dev/null
ninja -C build/package --quiet roclua rocluac libroclua roclua_archive roclua_core roclua_codegen \
  roclua_emulator roclua_dtif
rm -f build/package/*.deb
(cd build/package && cpack >cpack.log 2>&1) || { cat build/package/cpack.log >&2; exit 1; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/etc"
: >"$root/var/lib/dpkg/status"
before=$(find "$root" -path "$root/var" -prune -o -print | sort)

# The system's libraries are those of this machine, so dependencies count as met.
in_root() { dpkg --root="$root" --force-depends --force-script-chrootless --log=/dev/null "$@" >/dev/null; }
for round in install upgrade; do
  say "$round: $(ls build/package/*.deb | wc -l) packages"
  in_root -i build/package/*.deb 2>"$root/log" || { cat "$root/log" >&2; exit 1; }
done

script="roc = require 'roc' local k = roc.kernel 'function(a) a[1] = a[1] * 5 end'
local a = roc.ones(1, 'int32') k:forall(1)(a) print(roc.current_device().kind, a[1])"
libraries=$(dirname "$(find "$root/usr/lib" -name libroclua.so.0)")
expect() {
  got=$(printf '%s' "$2" | tr '\t' ' ')
  [ "$1" = "$got" ] || { say "expected '$1', got '$got'"; exit 1; }
}
expect "cpu 5" "$("$root/usr/bin/roclua" --device cpu -e "$script")"
expect "hsa 5" "$("$root/usr/bin/roclua" --emulate gfx90a -e "$script")"
expect "cpu 5" "$(ROCLUA_DEVICE=cpu LUA_PATH="$root/usr/share/lua/5.4/?.lua;$root/usr/share/lua/5.4/?/init.lua" \
  LUA_CPATH="$libraries/lua/5.4/?.so" lua5.4 -e "$script")"
cc examples/embed/hello/hello.c -o "$root/hello" -I"$root/usr/include" -L"$libraries" -lroclua \
  $(pkg-config --cflags --libs lua5.4)
expect "on cpu 4 25" "$(ROCLUA_DEVICE=cpu LD_LIBRARY_PATH=$libraries "$root/hello")"
rm "$root/hello" "$root/log"

in_root --purge roclua lua-roclua libroclua-dev roclua-emulator libroclua0 2>/dev/null
expect "$before" "$(find "$root" -path "$root/var" -prune -o -print | sort)"
say "removed, nothing is left"
