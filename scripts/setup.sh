# Sourced by the scripts beside it: brings a bare Debian 12 to a built build/release.
#
# Installs what is missing, as root or through sudo, then configures and builds.  When nothing is missing and nothing has
# changed it is quick, silent and needs no network.  All it has to say goes to stderr.
set -eu

ROCLUA_ROOT=$(cd "$(dirname "$0")/.." && pwd)
ROCLUA_BUILD=$ROCLUA_ROOT/build/release
ROCLUA=$ROCLUA_BUILD/bin/roclua
ROCLUA_SPEC=$ROCLUA-spec
ROCLUA_PACKAGES="cmake ninja-build gcc g++ libc6-dev pkg-config lua5.4 liblua5.4-dev libedit-dev
  llvm-22 llvm-22-dev lld-22 liblld-22-dev libclc-22 rocm-device-libs libhsakmt-dev libhsa-runtime-dev libdw-dev
  libminizip-dev libpng-dev"
# What the specs need besides: without one of these some of them are skipped.
[ -z "${ROCLUA_WANTS_SPECS:-}" ] || ROCLUA_PACKAGES="$ROCLUA_PACKAGES
  lua-zlib lua-system lua-busted lua-check clang-format clang-22 rocminfo strace acl bsdutils file
  dpkg-dev tmux mkdocs libopenblas0"

say() { echo "roclua: $*" >&2; }

missing_packages() {
  for package in $ROCLUA_PACKAGES; do
    status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null) || status=
    [ "$status" = "install ok installed" ] || printf '%s ' "$package"
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    say "root or sudo is needed to run: $*"
    return 1
  fi
}

install_missing() {
  packages=$(missing_packages)
  [ -n "$packages" ] || return 0
  say "installing $packages"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get update -qq >&2
  # shellcheck disable=SC2086 # one word a package
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >&2
}

build() {
  cd "$ROCLUA_ROOT"
  if [ ! -e "$ROCLUA_BUILD/build.ninja" ]; then
    say "configuring and building in build/release"
    cmake --preset release ${CI:+-DROCLUA_WERROR=ON} >&2 # warnings are errors there
  fi
  if ! output=$(ninja -C "$ROCLUA_BUILD" --quiet 2>&1); then
    printf '%s\n' "$output" >&2
    exit 1
  fi
  cd "$OLDPWD"
}

install_missing </dev/null
build </dev/null
