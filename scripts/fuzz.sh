#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the fuzz targets for a while, each time with other inputs, and adds what they did to docs/fuzzing.md.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  cat <<'END'
Usage: scripts/fuzz.sh [--preset NAME] [--seconds N] [--jobs N] [--no-figures] [target ...]

  target          plan, timing_cache, graph_text, build or onnx; these when none is named. Also capture, with the preset fuzz and
                  after a release build, whose programs make its seeds
  --preset NAME   asan-ubsan (default), release, debug: driven by tests/fuzz/driver.cpp, which changes seeds at random;
                  fuzz: driven by libFuzzer, which is led by coverage and needs Clang
  --seconds N     how long each target runs (default 60)
  --jobs N        compile steps at once (default: by cores and memory)
  --no-figures    leave docs/fuzzing.md as it is
Runs go on where the last one ended: libFuzzer from the corpus in build/fuzz/corpus/<target>, the driver with the number of
executions so far as its random seed. An input that makes a target fail is kept in build/<preset>/failures/<target>, and
`build/<preset>/bin/fuzz_<target> FILE` repeats it.
END
}

preset=asan-ubsan seconds=60 jobs='' figures=yes targets=()

readOptions() {
  while [ $# -gt 0 ]; do
    case $1 in
      --help | -h) usage; exit 0 ;;
      --no-figures) figures='' ;;
      --preset | --seconds | --jobs) [ $# -ge 2 ] || die "$1 needs a value"; printf -v "${1#--}" %s "$2"; shift ;;
      plan | timing_cache | graph_text | build | onnx | capture) targets+=("$1") ;;
      *) usage >&2; die "unknown option or target '$1'" ;;
    esac
    shift
  done
  checkPreset "$preset"
  maker=$preset
  [ "$preset" = fuzz ] || [[ " ${targets[*]} " != *" capture "* ]] || die "capture needs --preset fuzz"
  [ ${#targets[@]} -gt 0 ] || targets=(plan timing_cache graph_text build onnx)
  jobs=${jobs:-$(defaultJobs)}
}

# arguments <target>: what its program is called with, by who drives it.
arguments() {
  local work="$root/build/$preset"
  if [ "$preset" = fuzz ]; then
    echo "$work/corpus/$1 $work/seeds/$1 -max_total_time=$seconds -timeout=20 -rss_limit_mb=4096 -malloc_limit_mb=2048" \
      "-detect_leaks=1 -entropic=0" \
      "-print_final_stats=1 -artifact_prefix=$work/failures/$1/"
  else
    echo "--seconds $seconds --seed $(python3 "$root/scripts/fuzz_figures.py" "$1" "$root/docs/fuzzing.md") $work/seeds/$1"
  fi
}

# fuzz <target>: its exit status.
fuzz() {
  local target=$1 work="$root/build/$preset" status=0
  mkdir -p "$work/corpus/$target" "$work/failures/$target"
  (cd "$work/failures/$target" && ASAN_OPTIONS=allocator_may_return_null=1:abort_on_error=1 \
    LSAN_OPTIONS="suppressions=$root/scripts/leaks.supp" TENON_DEVICE=cpu \
    "$work/bin/fuzz_$target" $(arguments "$target") >"$work/fuzz_$target.log" 2>&1) || status=$?
  grep -E '^(SUMMARY|fuzz:|failure-|stat::number_of_executed_units)|executions in' "$work/fuzz_$target.log" || true
  [ -z "$figures" ] || python3 "$root/scripts/fuzz_figures.py" "$target" "$root/docs/fuzzing.md" "$work/fuzz_$target.log"
  return $status
}

makeSeeds() {
  local seeds="$root/build/$preset/seeds"
  "$root/build/$maker/bin/fuzz_seeds" "$seeds" "$root/tests/fuzz/seeds/graph_text"
  [[ " ${targets[*]} " != *" capture "* ]] ||
    python3 -B "$root/tests/capture/fuzz/make_seeds.py" --build "$root/build/release" "$seeds/capture"
}

main() {
  local target status=0
  readOptions "$@"
  [ "$preset" != fuzz ] || command -v clang++ >/dev/null || die "clang++ is missing (on Debian: apt-get install clang)"
  # Seeds of a release build serve as well, and make it unnecessary to compile the builder with sanitizers.
  [ "$preset" != fuzz ] || [ ! -x "$root/build/release/bin/fuzz_seeds" ] || maker=release
  local library="$root/build/release/lib/libnvinfer.so.10" with=()
  # So does its library behind the parser, which takes Clang an hour or more with sanitizers.
  [ "$preset" != fuzz ] || [ ! -e "$library" ] || with=("-DTENON_FUZZ_LIBRARY=$library")
  phase configure configure "$preset" "${with[@]}"
  phase build build "$preset" "$jobs" $([ "$maker" != "$preset" ] || echo fuzz_seeds) "${targets[@]/#/fuzz_}"
  phase seeds makeSeeds
  for target in "${targets[@]}"; do
    phase "fuzz $target" fuzz "$target" || status=$?
  done
  printPhases
  return $status
}

main "$@"
