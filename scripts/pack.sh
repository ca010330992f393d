#!/bin/sh
# scripts/pack.sh FOLDER [BUILD]: puts into FOLDER what another x86-64 machine needs to run roclua's
# specs and examples: two files, an archive and run.sh, for a Linux with glibc 2.36 or later and
# nothing else installed.  BUILD is build/release.  On the other machine: `sh FOLDER/run.sh cuda`.
set -eu
cd "$(dirname "$0")/.."
[ $# -ge 1 ] || { sed -n '2,4s/^# //p' scripts/pack.sh >&2; exit 2; }
out=$1 build=${2:-build/release}
[ -x "$build/bin/roclua-spec" ] || { echo "pack.sh: there is no $build/bin/roclua-spec" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/roclua
mkdir -p "$out" "$root/bin" "$root/lib/needed" "$root/lua-modules"

# Programs and libraries of the build, without what only a debugger reads.
for name in roclua rocluac roclua-spec cuda_calls_test cuda_failures_test cuda_shared_test \
  math_reference; do
  strip -o "$root/bin/$name" "$build/bin/$name"
done
for name in libroclua.so.0 roclua/0/libroclua-codegen.so libfake_cuda.so libfake_cublas.so libfake_cusolver.so; do
  mkdir -p "$(dirname "$root/lib/$name")"
  strip -o "$root/lib/$name" "$build/lib/$name"
done

# Shared libraries that the other machine may lack; run.sh uses those that it does.
ldd "$root"/bin/roclua* "$root"/bin/cuda_shared_test "$root"/lib/roclua/0/libroclua-codegen.so |
  awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
  grep -Ev '/lib(c|m|dl|pthread|rt|gcc_s|stdc\+\+|roclua)\.so' | while read -r file; do
    cp -L "$file" "$root/lib/needed/"
  done

# busted and what it needs: Lua files and C modules of the system's packages.
for name in busted busted.lua luassert say cliargs cliargs.lua pl mediator.lua dkjson.lua term \
  system; do
  cp -rL "/usr/share/lua/5.4/$name" "$root/lua-modules/"
done
modules=$(dirname "$(find /usr/lib -path '*/lua/5.4/lfs.so' | head -n 1)")
for name in lfs.so term system; do cp -rL "$modules/$name" "$root/lua-modules/"; done

cp -r spec examples kernels lua .busted LICENSE "$root/"
mkdir -p "$root/bench" "$root/src"
cp bench/*.lua "$root/bench/"
cp -r bench/amdgpu bench/peers "$root/bench/"
git rev-parse --short HEAD >"$root/COMMIT" 2>/dev/null || echo unknown >"$root/COMMIT"
cp scripts/run-packed.sh "$out/run.sh"
tar -C "$work" -cf - roclua | gzip -6 >"$out/roclua.tar.gz"
du -h "$out/roclua.tar.gz"
