#!/bin/sh
# Lua's own test suite in roclua, beside the system's lua5.4: scripts/lua-suite.sh FOLDER [roclua]
# FOLDER is the suite's, with all.lua in it: lua-5.4.4-tests of lua.org, or testes/ of Lua's repository at v5.4.4. It is
# run as a whole in its portable mode, then file by file without limits. Fails where roclua does and lua5.4 does not.
set -eu
[ -f "${1:-}/all.lua" ] || { echo "usage: $0 FOLDER [roclua]; FOLDER holds all.lua" >&2; exit 2; }
roclua=$(realpath "${2:-$(dirname "$0")/../build/release/bin/roclua}")
copies=$(mktemp -d) # the suite writes into its folder
trap 'rm -rf "$copies"' EXIT
for name in lua roclua; do
  cp -r "$1" "$copies/$name"
  make -s -C "$copies/$name/libs" LUA_DIR=/usr/include/lua5.4 || echo "libs/ cannot be built: attrib.lua does without"
done
# Three checks are of the program lua, not of Lua: readline repeats a line that does not come from a terminal, which
# roclua's prompt does not; -v names the program; and the words on an unknown option stand in another order.
sed -i -e '/^1 --$/ { N; N; s/.*/123/ }' -e 's/"PUC%-Rio\\nhello"/"%)\\nhello"/' \
  -e "s/\"\(unrecognized option\) \('.*'\)\"/\"\\2 \\1\"/" "$copies/roclua/main.lua"

# run NAME INTERPRETER ARGUMENT...: stdin is a pipe, in which nothing can be sought
run() {
  name=$1 program=$2
  shift 2
  (cd "$copies/$name" && : | timeout 600 "$program" "$@" > "$copies/$name.log" 2>&1)
}

failures=0
# compare TITLE ARGUMENT...
compare() {
  title=$1
  shift
  lua=ok own=ok
  run lua lua5.4 "$@" || lua=fails
  run roclua "$roclua" "$@" || own=FAILS
  printf '%-18s lua5.4 %-6s roclua %s\n' "$title" "$lua" "$own"
  if [ $lua = ok ] && [ $own != ok ]; then
    failures=$((failures + 1))
    tail -n 15 "$copies/roclua.log"
  fi
}

compare "all, portable" -e "_U = true" all.lua
for path in "$copies"/lua/*.lua; do
  file=${path##*/}
  case $file in
    all.lua | heavy.lua) ;; # run above; fills the memory
    *) compare "$file" "$file" ;;
  esac
done
echo "$failures failed in roclua alone"
[ $failures = 0 ]
