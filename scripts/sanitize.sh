#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the suites that use threads under the thread sanitizer, which compiles for too long to be part of CI.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  cat <<'END'
Usage: scripts/sanitize.sh [--soak SECONDS] [--jobs N]

Builds the preset tsan (no oneDNN, which is not compiled for the sanitizer) and runs the suites core, runtime, hostcuda
and threads.
  --soak SECONDS   then lets sixteen contexts of one engine run for that long under the sanitizer and in release, which
                   both print how many runs there were and how much memory was in use
  --jobs N         compile steps and tests at once (default: by cores and memory)
END
}

seconds='' jobs=''

readOptions() {
  while [ $# -gt 0 ]; do
    case $1 in
      --help | -h) usage; exit 0 ;;
      --soak | --jobs) [ $# -ge 2 ] || die "$1 needs a number" ;;
      *) usage >&2; die "unknown option '$1'" ;;
    esac
    [ "$1" = --soak ] && seconds=$2 || jobs=$2
    shift 2
  done
  jobs=${jobs:-$(defaultJobs)}
}

# soak <preset>
soak() {
  configure "$1"
  build "$1" "$jobs" test_threads
  TENON_SOAK_SECONDS=$seconds "$root/build/$1/bin/test_threads" --gtest_brief=1 --gtest_filter='*Sixteen*'
}

main() {
  local status=0
  readOptions "$@"
  "$root/scripts/test.sh" --preset tsan --suites core,runtime,hostcuda,threads --jobs "$jobs" || status=$?
  if [ -n "$seconds" ]; then
    phase "soak (tsan)" soak tsan || status=$?
    phase "soak (release)" soak release || status=$?
  fi
  printPhases
  return $status
}

main "$@"
