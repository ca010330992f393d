#!/bin/sh
# sh run.sh KIND [WHAT...]: unpacks what scripts/pack.sh packed, beside this file, and runs the specs
# and examples there on the devices of a kind (cuda, cpu).  WHAT is some of: devices examples cts
# device shared runtime arrays, all of which run by default; soak (SOAK_SECONDS, 480), fuzz
# (FUZZ_COUNT kernels, 50000, from FUZZ_FIRST, 1) and memcheck, racecheck, synccheck, initcheck (the
# files SANITIZED under that tool of NVIDIA's compute-sanitizer), which take long; and files of
# specs.  Logs go to $OUT, or ./logs.  The last lines say what passed and failed; the exit status is
# 0 when nothing failed.  JOBS processes run side by side (4), each for at most LIMIT seconds (240).
set -u
here=$(cd "$(dirname "$0")" && pwd)
kind=${1:-cuda}
[ $# -gt 0 ] && shift
what=${*:-devices examples cts device shared runtime arrays}
root=${ROOT:-/tmp/roclua-packed}
logs=${OUT:-$PWD/logs}
mkdir -p "$root" "$logs"
[ "$here/roclua.tar.gz" -ot "$root/unpacked" ] ||
  { tar -C "$root" -xzf "$here/roclua.tar.gz" && touch "$root/unpacked"; } || exit 2
cd "$root/roclua" || exit 2

# Libraries that this machine lacks, and those that these need.
mkdir -p lib/used
export LD_LIBRARY_PATH="$PWD/lib:$PWD/lib/used${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
while missing=$(ldd bin/roclua bin/roclua-spec bin/cuda_shared_test lib/roclua/0/libroclua-codegen.so 2>/dev/null |
  awk '/not found/ { print $1 }' | sort -u) && [ -n "$missing" ]; do
  for name in $missing; do
    cp "lib/needed/$name" lib/used/ || { echo "run.sh: there is no $name here or in the pack"; exit 2; }
  done
done
export LUA_PATH="$PWD/lua-modules/?.lua;$PWD/lua-modules/?/init.lua;;"
export LUA_CPATH="$PWD/lua-modules/?.so;;"
export ROCLUA_DEVICE="$kind" ROCLUA_SPEC_DEVICES="$kind" XDG_CACHE_HOME="$root/cache"
mkdir -p "$XDG_CACHE_HOME" && chmod 700 "$XDG_CACHE_HOME"
spec=$PWD/bin/roclua-spec
jobs=${JOBS:-4} limit=${LIMIT:-240}

echo "roclua $(cat COMMIT) on $(uname -sr), $kind"

# Each file in a process of its own, which the command `under` starts, with the options `options`:
# one that loses the device leaves the others theirs.
under='' options=''
run_files() { # NAME FILE...
  name=$1
  shift
  mkdir -p "$logs/$name"
  printf '%s\n' "$@" | xargs -P "$jobs" -I{} sh -c '
    log=$1/$(basename "$2" .lua).log
    timeout "$3" $5 "$4" spec/run.lua $6 "$2" >"$log" 2>&1
    status=$?
    grep -q "^[0-9]* passed, " "$log" || echo "0 passed, 1 failed, 0 skipped: status $status" >>"$log"
    ' sh "$logs/$name" {} "$limit" "$spec" "$under" "$options"
  for log in "$logs/$name"/*.log; do
    result=$(grep '^[0-9]* passed, ' "$log" | tail -n 1)
    echo "$result" | grep -q " 0 failed, " || echo "  $name: $(basename "$log" .log): $result"
  done
  cat "$logs/$name"/*.log | awk -v name="$name" '
    /^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped/ { passed += $1; failed += $3; skipped += $5; files++ }
    END { printf "%s: %d passed, %d failed, %d skipped (%d files)\n", name, passed, failed, skipped, files }
    ' | tee -a "$logs/summary"
}

# Kernels that share memory and meet; and by their names those of the library, of the benches, of
# the examples, and of array operations.
sanitized=${SANITIZED:-$(for name in atomic combined control divergent element_wise group indirect \
  meeting memory sums version; do echo "spec/cts/${name}_spec.lua"; done)
  spec/kernels/library_spec.lua spec/lua/reduce_spec.lua spec/lua/scan_spec.lua
  spec/support/run_named.lua spec/support/run_examples.lua spec/arrays/sorting_spec.lua}

# A warning of racecheck is about lanes of one wavefront whose order it cannot see: ptxas leaves out
# bar.warp.sync where it knows that the lanes are together (sorts of lines that are one tile).
#
# The specs' own results; how many launches of how many kernels they made, of which so many have
# names; and what the tool reports of each process. Errors of calls are left to roclua, whose specs
# make some on purpose.
run_sanitizer() { # TOOL
  tool=$1
  if ! program=$(PATH=$PATH:/usr/local/cuda/bin command -v compute-sanitizer); then
    echo "$tool: 0 passed, 1 failed, 0 skipped (no compute-sanitizer here)" | tee -a "$logs/summary"
    return
  fi
  mkdir -p "$logs/$tool"
  under="env ROCLUA_PROFILE=1 $program --tool $tool --log-file $logs/$tool/%p.report"
  [ "$tool" != memcheck ] || under="$under --report-api-errors no --padding 64"
  # A work-item that fails a check ends, and what it would have written is read by the next phase.
  [ "$tool" != initcheck ] || options=--exclude-tags=gpu,slow,unwritten
  run_files "$tool" $sanitized
  under='' options=''
  cat "$logs/$tool"/*.log "$logs/$tool"/*.report | awk -v tool="$tool" '
    / kernel +.* [0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ *$/ {
      launches += $(NF - 4)
      sub(/^.* kernel +/, "")
      for (i = 0; i < 5; i++) sub(/ +[0-9.]+ *$/, "")
      if (!seen[$0]++) { kernels++; named += !/^\[string/ }
    }
    / SUMMARY: / {
      gsub(/[(),]/, " ")
      if (/ 0 errors/) clean++; else found++
      for (i = 1; i < NF; i++) {
        if ($(i + 1) ~ /^error/) errors += $i
        if ($(i + 1) ~ /^warning/) warnings += $i
      }
    }
    END {
      printf "%s reports: %d passed, %d failed, 0 skipped ", tool, clean, found + !(clean + found)
      printf "(%d errors, %d warnings; %d launches of %d kernels, %d with names)\n", errors,
        warnings, launches, kernels, named
    }' | tee -a "$logs/summary"
}

# As many processes as jobs, each with its share of the seeds.
run_fuzz() {
  count=${FUZZ_COUNT:-50000} first=${FUZZ_FIRST:-1}
  share=$(((count + jobs - 1) / jobs))
  mkdir -p "$logs/fuzz"
  seq 0 $((jobs - 1)) | xargs -P "$jobs" -I{} sh -c '
    first=$(($3 + $1 * $2))
    ROCLUA_WAVEFRONT=32 ROCLUA_CACHE=off "$5" spec/fuzz/run.lua "$2" $first "$6" >"$4/fuzz/$first.log" 2>&1
    ' sh {} "$share" "$first" "$logs" "$spec" "$kind"
  cat "$logs"/fuzz/*.log | awk -v wanted=$((share * jobs)) '
    / kernels, [0-9]+ fail, [0-9]+ refused, / { ran += $1; failed += $3; refused += $5 }
    END { printf "fuzz: %d passed, %d failed, %d skipped (%d kernels of %d)\n",
      ran - failed - refused, failed + (ran < wanted), refused, ran, wanted }' |
    tee -a "$logs/summary"
}

: >"$logs/summary"
for part in $what; do
  begin=$(date +%s)
  case $part in
    devices)
      bin/roclua --list-devices --verbose 2>&1 | tee "$logs/devices.log" | head -n 24
      bin/roclua -e 'local roc = require "roc"
        assert(roc.current_device().kind == os.getenv("ROCLUA_DEVICE"):match("^%a+"))
        local x = roc.to_device(roc.range(1, 1000))
        roc.kernel(function(x) local i = roc.get_global_id(1) x[i] = 2 * x[i] end):forall(1000)(x)
        assert(roc.array_equal(x:copy_to_host(), roc.range(2, 2000, 2)))' >>"$logs/devices.log" 2>&1
      status=$?
      [ $status = 0 ] && line="devices: 1 passed, 0 failed, 0 skipped" ||
        line="devices: 0 passed, 1 failed, 0 skipped"
      echo "$line" | tee -a "$logs/summary"
      [ $status = 0 ] || { cat "$logs/devices.log"; exit 1; } ;;
    examples) run_files examples spec/support/run_examples.lua ;;
    cts) run_files cts spec/cts/*_spec.lua ;;
    device) run_files device spec/device/"$kind"*_spec.lua ;;
    runtime) run_files runtime spec/runtime/*_spec.lua ;;
    shared) run_files shared spec/c/cuda_shared_spec.lua ;;
    soak) SOAK_DEVICES=$kind,cpu SOAK_SECONDS=${SOAK_SECONDS:-480} \
      limit=$((${SOAK_SECONDS:-480} + 60)) run_files soak spec/support/run_soak.lua ;;
    fuzz) run_fuzz ;;
    arrays) run_files arrays spec/arrays/*_spec.lua ;;
    memcheck | racecheck | synccheck | initcheck) run_sanitizer "$part" ;;
    *) run_files "$(basename "$part" .lua)" "$part" ;;
  esac
  echo "  $part took $(($(date +%s) - begin)) s"
done
echo "----"
cat "$logs/summary"
! grep -q ' [1-9][0-9]* failed' "$logs/summary"
