#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds and runs the tests; the last line says how many passed and how many failed.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  cat <<'END'
Usage: scripts/test.sh [--preset NAME] [--suites LIST] [--only REGEX] [--jobs N] [--build-only] [--werror]

  --preset NAME    release (default), debug, asan-ubsan, tsan, or clang (compiled by Clang, warnings are errors);
                   builds into build/NAME
  --suites LIST    only the programs of these folders of tests/, separated by commas: nothing else is compiled
  --only REGEX     only tests whose name matches; names are <folder>/<suite>.<case>, as `ctest -N` lists them
  --jobs N         compile steps and tests at once (default: by cores and memory)
  --build-only     compile, run nothing
  --werror         compiler warnings are errors, as in CI; for a build folder that is not configured yet
Models outside the repository are looked for in the folder that TENON_MODELS names, or in ../shared/models; tests
that need them are skipped, with the reason, where there are none.
END
}

preset=release suites='' only='' jobs='' build_only='' settings=()

readOptions() {
  while [ $# -gt 0 ]; do
    case $1 in
      --help | -h) usage; exit 0 ;;
      --build-only) build_only=yes; shift; continue ;;
      --werror) settings+=(-DTENON_WERROR=ON); shift; continue ;;
      --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}"; continue ;;
    esac
    [ $# -ge 2 ] || { usage >&2; die "unknown option '$1', or its value is missing"; }
    case $1 in
      --preset) preset=$2 ;;
      --suites) suites=$2 ;;
      --only) only=$2 ;;
      --jobs) jobs=$2 ;;
      *) usage >&2; die "unknown option '$1'" ;;
    esac
    shift 2
  done
  checkPreset "$preset"
  jobs=${jobs:-$(defaultJobs)}
}

# Leaks inside the libraries of others are not ours to fail on; everything else is.
sanitizerOptions() {
  export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1:allocator_may_return_null=1}
  export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$root/scripts/leaks.supp:print_suppressions=0}
  export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
  export TSAN_OPTIONS=${TSAN_OPTIONS:-second_deadlock_stack=1}
}

runTests() {
  local filter=() status=0 report="$root/build/$preset/tests.xml" again="$root/build/$preset/tests_again.xml"
  local names="^(${suites//,/|})(_[a-z_0-9]+)?/"
  [ -z "$suites" ] || filter+=(--tests-regex "$names")
  # ctest takes one regular expression of names, so --only inside --suites becomes one.
  [ -z "$only" ] || filter=(--tests-regex "${suites:+$names.*}$only")
  sanitizerOptions
  ctest --test-dir "$root/build/$preset" --parallel "$jobs" --output-on-failure --output-junit "$report" \
    --no-tests=error --progress "${filter[@]}" || status=$?
  # A few failures are run once more, alone: what passes then is named in the summary, and counts as passed.
  rm -f "$again"
  if [ $status -ne 0 ] && [ -f "$report" ] && [ "$(grep -c '<failure' "$report")" -le 5 ]; then
    status=0
    ctest --test-dir "$root/build/$preset" --rerun-failed --output-on-failure --output-junit "$again" --no-tests=error \
      --progress || status=$?
  fi
  python3 "$root/scripts/test_summary.py" "$report" "$again" >"$root/build/$preset/tests.txt" || status=$?
  return $status
}

# What the folders of --suites make: their programs and the libraries that their tests load; a folder that holds only scripts
# makes nothing.
suiteTargets() {
  local suite
  for suite in ${suites//,/ }; do
    [ -f "$root/tests/$suite/CMakeLists.txt" ] ||
      die "tests/$suite is not a suite; expected one of: $(cd "$root/tests" && echo */)"
    ninja -C "$root/build/$preset" -t targets all | sed -nE "s/^(tests\/$suite\/all): phony$/\1/p"
  done
}

main() {
  local targets=() status=0
  readOptions "$@"
  phase "set up" "$root/scripts/setup.sh"
  phase "configure ($preset)" configure "$preset" "${settings[@]}"
  # Of folders with scripts alone nothing is compiled; without --suites, everything is.
  if [ -n "$suites" ]; then
    targets=($(suiteTargets)) || exit 1
  fi
  if [ -z "$suites" ] || [ ${#targets[@]} -gt 0 ]; then
    phase "build ($preset)" build "$preset" "$jobs" "${targets[@]}"
  fi
  [ -z "$build_only" ] || { printPhases; return; }
  rm -f "$root/build/$preset/tests.txt"
  phase "tests ($preset)" runTests || status=$?
  printPhases
  [ -f "$root/build/$preset/tests.txt" ] || die "ctest left no report; its messages are above"
  cat "$root/build/$preset/tests.txt"
  return $status
}

main "$@"
