#!/bin/sh
# libroclua with each release of Lua 5.4: scripts/lua-versions.sh CLONE [TAG...]
# CLONE is a clone of Lua's repository with its tags.  Each release is built as a shared library and
# into a program that exports it; both run a kernel on cpu. Fails where that fails.
set -eu
clone=$(realpath "${1:?usage: $0 CLONE [TAG...]}")
cd "$(dirname "$0")/.."
build=build/release
shift
[ $# -gt 0 ] || set -- v5.4.0 v5.4.1 v5.4.2 v5.4.3 v5.4.4 v5.4.5 v5.4.6 v5.4.7 v5.4.8
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/roclua" >/dev/null
libraries=$(dirname "$(find "$work/roclua" -name libroclua.so.0)")
script="roc = require 'roc' local k = roc.kernel [[function(a) local i = roc.get_global_id(1)
  a[i] = a[i] * a[i] end]] local a = roc.range(1, 5) k:forall(#a)(a) print(_VERSION, a[5])"

# compile FOLDER: host-shared, with Lua in liblua.so.5, and host-static, which contains it
compile() {
  sources=$(find "$1" -maxdepth 1 -name 'l*.c' ! -name lua.c ! -name luac.c ! -name ltests.c)
  # shellcheck disable=SC2086 # one word a file
  cc -O0 -fPIC -shared -DLUA_USE_LINUX -o "$1/liblua.so" -Wl,-soname,liblua.so $sources -lm -ldl
  cc spec/c/host.c -o "$1/host-shared" -I"$1" -I"$work/roclua/include" -L"$1" -L"$libraries" \
    -lroclua -llua -ldl -Wl,-rpath,"$1" -Wl,-rpath,"$libraries"
  # shellcheck disable=SC2086
  cc -O0 -DLUA_USE_LINUX spec/c/host.c $sources -o "$1/host-static" -rdynamic -I"$1" \
    -I"$work/roclua/include" -L"$libraries" -lroclua -lm -ldl -Wl,-rpath,"$libraries"
}

failures=0
for tag; do
  mkdir "$work/$tag"
  git -C "$clone" -c safe.directory='*' archive "$tag" >"$work/$tag.tar"
  tar -x -C "$work/$tag" -f "$work/$tag.tar"
  compile "$work/$tag"
  for kind in shared static; do
    output=$(ROCLUA_DEVICE=cpu "$work/$tag/host-$kind" -e "$script" 2>&1) || true
    case "$tag $output" in
      *"Lua 5.4"*25) verdict=ok ;;
      *) verdict=FAILS failures=$((failures + 1)) ;;
    esac
    printf '%s, %s: %s: %s\n' "$tag" "$kind" "$verdict" "$(echo "$output" | head -n 1)"
  done
done
[ $failures = 0 ]
