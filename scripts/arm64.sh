#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Tenon for 64-bit ARM by a cross compiler, without oneDNN, and runs test programs under emulation.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  cat <<'END'
Usage: scripts/arm64.sh [--suites NAME,NAME] [--filter TEXT] [--jobs N]

Needs the packages g++-aarch64-linux-gnu and qemu-user-static, and those of scripts/setup.sh. Libraries for ARM64 are
downloaded from Debian's mirrors into build/arm64-system; nothing is installed.
  --suites NAMES  test programs by the names of their folders (default: core,memory,ops,graph,cpu)
  --filter TEXT   only tests that match, in the form of --gtest_filter
  --jobs N        compile steps at once (default: by cores and memory)
END
}

suites=core,memory,ops,graph,cpu filter='*' jobs=''
folder=$root/build/arm64-system
packages='libfmt-dev libfmt9 libhwy-dev libhwy1 libgtest-dev libgmock-dev libprotobuf-dev libprotobuf32 libflatbuffers-dev
libxxhash-dev libxxhash0 nlohmann-json3-dev libcli11-dev zlib1g zlib1g-dev'

readOptions() {
  while [ $# -gt 0 ]; do
    case $1 in
      --help | -h) usage; exit 0 ;;
      --suites) suites=${2:?--suites needs names}; shift ;;
      --filter) filter=${2:?--filter needs a text}; shift ;;
      --jobs) jobs=${2:?--jobs needs a number}; shift ;;
      *) usage >&2; die "unknown option '$1'" ;;
    esac
    shift
  done
  jobs=${jobs:-$(defaultJobs)}
}

checkTools() {
  local tool
  for tool in aarch64-linux-gnu-g++ qemu-aarch64-static; do
    command -v $tool >/dev/null ||
      die "$tool is missing; apt-get install g++-aarch64-linux-gnu qemu-user-static"
  done
}

# Packages of another architecture, with lists and files of apt's of their own.
makeSystem() {
  local apt=$folder/apt package
  [ ! -e "$folder/complete" ] || return 0
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/packages"
  touch "$apt/status"
  local options=(-q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$apt"
    -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User="$(id -un)")
  apt-get "${options[@]}" update >"$folder/apt.log" 2>&1 || { tail "$folder/apt.log" >&2; die "apt-get update failed"; }
  # shellcheck disable=SC2086  # a list of names
  (cd "$apt/packages" && apt-get "${options[@]}" download $packages) >>"$folder/apt.log" 2>&1 ||
    { tail "$folder/apt.log" >&2; die "a package could not be downloaded"; }
  for package in "$apt"/packages/*.deb; do dpkg -x "$package" "$folder"; done
  touch "$folder/complete"
}

# Each of them to its end; the status is 1 where one failed.
runSuites() {
  local suite status=0
  for suite in ${suites//,/ }; do
    qemu-aarch64-static -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$folder/usr/lib/aarch64-linux-gnu" \
      "$root/build/arm64/bin/test_$suite" --gtest_brief=1 --gtest_filter="$filter" || status=1
  done
  return $status
}

main() {
  local programs=() suite
  readOptions "$@"
  checkTools
  phase "libraries for ARM64" makeSystem
  configure arm64
  for suite in ${suites//,/ }; do programs+=("test_$suite"); done
  phase "build" build arm64 "$jobs" "${programs[@]}"
  phase "tests under emulation" runSuites
  printPhases
}

main "$@"
