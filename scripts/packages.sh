#!/bin/sh
# Builds the Debian packages, of this version and of a next one, and tries them: scripts/packages.sh
# [--debian], as root.  They are installed in an empty root, or with --debian in a bare Debian 12
# that mmdebstrap makes, which needs the network; the tasks of spec/c/tasks_spec.lua are done there;
# the next version takes their place, under programs that the first one has compiled; and they are
# removed, after which nothing of them is left.  The packages are in build/packages.
set -eu
cd "$(dirname "$0")/.."
say() { echo "roclua: $*" >&2; }
fail() {
  say "$*"
  exit 1
}
expect() { [ "$1" = "$2" ] || fail "expected '$1', got '$2'"; }

work=$PWD/build/packages
version=$(sed -n 's/^project(roclua VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
next=0.$(($(echo "$version" | cut -d . -f 2) + 1)).0

# ---- building ----------------------------------------------------------------

# Both versions come of one copy of the sources, whose files keep their times: building again, and
# building the other version, compile what differs.
copy_sources() {
  mkdir -p "$work/source"
  find "$work/source" -mindepth 1 -delete
  git ls-files -z --cached --others --exclude-standard |
    xargs -0 cp --parents -P --preserve=timestamps -t "$work/source"
}

set_version() {
  sed -i "s/^project(roclua VERSION [0-9.]*/project(roclua VERSION $1/" \
    "$work/source/CMakeLists.txt"
  sed -i "s/ROCLUA_VERSION \"[0-9.]*\"/ROCLUA_VERSION \"$1\"/" "$work/source/src/include/roclua.h"
}

build() { # a version, and the folder of its packages
  say "building the packages of $1"
  set_version "$1"
  cmake -G Ninja -S "$work/source" -B "$work/build" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    -DCMAKE_INSTALL_PREFIX=/usr >/dev/null
  ninja -C "$work/build" --quiet roclua rocluac libroclua roclua_archive roclua_core \
    roclua_codegen roclua_emulator roclua_dtif
  rm -rf "$2" "$work/build"/*.deb
  mkdir "$2"
  (cd "$work/build" && cpack >cpack.log 2>&1) || fail "$(cat "$work/build/cpack.log")"
  mv "$work/build"/*.deb "$2"
  expect 5 "$(find "$2" -name "*_${1}_*.deb" | wc -l)"
}

copy_sources
build "$next" "$work/next"
build "$version" "$work/this"

# ---- the root ----------------------------------------------------------------

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
here=$PWD

if [ "${1:-}" = --debian ]; then
  say "making a bare Debian 12"
  mmdebstrap --quiet --variant=minbase bookworm "$root" --include=lua5.4,liblua5.4-dev,lua-busted \
    --include=gcc,g++,libc6-dev,pkg-config,cmake,ninja-build,libedit2,libdw1
  cp -r "$work/source" "$root/sources"
  sources=/sources usr=/usr system=$root
  in_root() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
  change() { in_root dpkg "$@"; }
else
  # The system's libraries are those of this machine, so dependencies count as met.
  mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/etc"
  : >"$root/var/lib/dpkg/status"
  sources=$here usr=$root/usr system=
  in_root() { env "$@"; }
  change() { dpkg --root="$root" --force-depends --force-script-chrootless --log=/dev/null "$@"; }
fi
mkdir -p "$root/try"
try=${usr%/usr}/try

# dpkg, whose messages are shown when it fails.
packages() {
  change "$@" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
}

install_from() { # a folder of packages
  rm -rf "$root/try/packages"
  cp -r "$1" "$root/try/packages"
  packages -i $(cd "$root/try/packages" && ls | sed "s|^|$try/packages/|")
}

list_files() {
  find "$root" \( -path "$root/var" -o -path "$root/try" -o -path "$root/proc" \) -prune -o -print |
    sort
}

# ---- this version ------------------------------------------------------------

before=$(list_files)
say "installing $version"
install_from "$work/this"
installed=$(list_files)
libraries=${root%/}/$(cd "$root" && dirname "$(find usr/lib -name libroclua.so.0)")
libraries=${usr%/usr}${libraries#"$root"}
[ -z "$(find "$root/var/lib/dpkg/info" -name '*roclua*.conffiles')" ] || fail "conffiles"

script="roc = require 'roc' local k = roc.kernel 'function(a) a[1] = a[1] * 5 end'
local a = roc.ones(1, 'int32') k:forall(1)(a) print(roc.current_device().kind .. a[1])"
use_from_lua() {
  expect cpu5 "$(in_root "$usr/bin/roclua" --device cpu -e "$script")"
  if ls "$system"/usr/lib/*/libhsa-runtime64.so.1 >/dev/null 2>&1; then
    expect hsa5 "$(in_root "$usr/bin/roclua" --emulate gfx90a -e "$script")"
  fi
  share=$usr/share/lua/5.4
  if [ "$usr" = /usr ]; then # where lua5.4 looks
    expect cpu5 "$(in_root ROCLUA_DEVICE=cpu lua5.4 -e "$script")"
  else
    expect cpu5 "$(in_root ROCLUA_DEVICE=cpu LUA_PATH="$share/?.lua;$share/?/init.lua" \
      LUA_CPATH="$libraries/lua/5.4/?.so" lua5.4 -e "$script")"
  fi
}
use_from_lua

say "the tasks, from the packages"
in_root sh -c 'cd "$1" && ROCLUA_SPEC_PREFIX=$2 ROCLUA_SPEC_INTERPRETER=lua5.4 \
  lua5.4 "$(command -v busted)" -o TAP spec/c/tasks_spec.lua' sh "$sources" "$usr" >&2 ||
  fail "a task is not done"
expect "$installed" "$(list_files)"

# ---- the next version, under programs of this one ----------------------------

cat >"$root/try/old.c" <<'EOF'
#include <roclua.h>
#include <stdio.h>
int main(void) {
  printf("%s runs on %s\n", ROCLUA_VERSION, roclua_version());
  return 0;
}
EOF
cat >"$root/try/scale.lua" <<'EOF'
local roc = require "roc"
scale = roc.kernel(function(a, factor)
  local i = roc.get_global_id(1)
  a[i] = a[i] * factor
end, { name = "scale", signature = "(float32[:], float64)" })
EOF
tasks=$sources/spec/c/tasks
in_root sh -c 'cd "$1" && export PKG_CONFIG_PATH=$2/pkgconfig
  flags="$(pkg-config --cflags --libs roclua lua5.4) -Wl,-rpath,$2"
  for source in old.c "$3/open.c" "$3/ahead.c"; do
    cc "$source" -o "$(basename "$source" .c)" $flags || exit 1
  done
  "$4/bin/rocluac" --emit=kernels -t cpu:x86-64 -o scale.kernels scale.lua' \
  sh "$try" "$libraries" "$tasks" "$usr" || fail "programs of $version cannot be compiled"
use_programs() { # the version of the library that they run on
  expect "$version runs on $1" "$(in_root "$try/old")"
  expect 25 "$(in_root ROCLUA_DEVICE=cpu "$try/open")"
  expect 297 "$(in_root "$try/ahead" "$try/scale.kernels" cpu)"
}
use_programs "$version"
for round in once again; do
  say "installing $next over it, $round"
  install_from "$work/next"
  expect "$(echo "$installed" | sed "s/\(libroclua.so.[0-9]*\.\)$version/\1$next/")" "$(list_files)"
  use_programs "$next"
  use_from_lua
done

# ---- the end -----------------------------------------------------------------

say "removing what is not the library"
packages --purge roclua lua-roclua libroclua-dev roclua-emulator
use_programs "$next"
packages --remove libroclua0
! in_root "$try/old" 2>/dev/null || fail "a program runs without its library"
packages --purge libroclua0
expect "$before" "$(list_files)"
[ -z "$(find "$root/var/lib/dpkg/info" -name '*roclua*')" ] || fail "dpkg knows of roclua still"
say "removed, nothing is left"
