#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel: module, libraries, trtexec, tensorrt_player and shim in one file that pip installs.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  cat <<'END'
Usage: scripts/wheel.sh [--preset NAME] [--out FOLDER] [--jobs N] [--no-build]

Builds into build/NAME (release by default) and writes the wheel into FOLDER (build/wheel by default).
  --no-build   only packs what is built already
The wheel is for the Python that the module is built for, which the cache variable TENON_PYTHON_EXECUTABLE names.
END
}

preset=release out="$root/build/wheel" jobs='' no_build='' stage=''

readOptions() {
  while [ $# -gt 0 ]; do
    case $1 in
      --help | -h) usage; exit 0 ;;
      --no-build) no_build=yes; shift; continue ;;
      --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}"; continue ;;
    esac
    [ $# -ge 2 ] || { usage >&2; die "unknown option '$1', or its value is missing"; }
    case $1 in
      --preset) preset=$2 ;;
      --out) out=$2 ;;
      --jobs) jobs=$2 ;;
      *) usage >&2; die "unknown option '$1'" ;;
    esac
    shift 2
  done
  checkPreset "$preset"
  jobs=${jobs:-$(defaultJobs)}
}

main() {
  readOptions "$@"
  local build_folder="$root/build/$preset" python
  if [ -z "$no_build" ]; then
    phase "set up" "$root/scripts/setup.sh"
    phase "configure ($preset)" configure "$preset"
    phase "build ($preset)" build "$preset" "$jobs" tenon tensorrt_python
  fi
  python=$(sed -n 's/^tenon_python:INTERNAL=//p' "$build_folder/CMakeCache.txt")
  [ -n "$python" ] || die "$build_folder has no Python module; cmake said why (look for 'No Python module')"
  stage=$(mktemp -d)
  trap 'rm -rf "$stage"' EXIT  # runs after this function: no local
  cmake --install "$build_folder" --prefix "$stage/install" --strip >/dev/null
  cmake --install "$build_folder" --prefix "$stage/install" --strip --component python >/dev/null
  mkdir -p "$out"
  "$python" -B "$root/scripts/pack_wheel.py" "$stage/install" "$out"
}

main "$@"
