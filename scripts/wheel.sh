#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel: module, libraries, trtexec, tensorrt_player and shim in one file that pip installs.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  cat <<'END'
Usage: scripts/wheel.sh [--preset NAME] [--out FOLDER] [--jobs N] [--python INTERPRETER ...] [--no-build]

Builds into build/NAME (release by default) and writes the wheel into FOLDER (build/wheel by default).
  --no-build   only packs what is built already
  --python     an interpreter with headers to make a wheel for; once per release of Python. Its own pybind11 is taken where it
               has the package; else the system's for releases that this one knows, and for newer ones that of PyPI, which is
               fetched into build/pybind11. The build folder ends as it was.
Without --python the wheel is for the Python that the module is built for, which the cache variable TENON_PYTHON_EXECUTABLE
names.
END
}

preset=release out="$root/build/wheel" jobs='' no_build='' stage='' pythons=()

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
      --python) pythons+=("$2") ;;
      *) usage >&2; die "unknown option '$1'" ;;
    esac
    shift 2
  done
  checkPreset "$preset"
  jobs=${jobs:-$(defaultJobs)}
  [ -z "$no_build" ] || [ ${#pythons[@]} = 0 ] || die "--no-build packs what is built; it cannot be for --python ${pythons[*]}"
}

pybind11=pybind11==3.0.1  # of PyPI: the first release that knows Python 3.14

# The folder with pybind11's headers for an interpreter: its own, or PyPI's where the system's is too old for it; nothing where the
# system's will do. pybind11 2.10 and older know Python up to 3.11.
headersFor() {
  "$1" -c 'import pybind11; print(pybind11.get_include())' 2>/dev/null && return
  local minor
  minor=$("$1" -c 'import sys; print(sys.version_info[1])')
  [ "$minor" -ge 12 ] || return 0
  [ -d "$root/build/pybind11/pybind11/include" ] ||
    "$1" -m pip install --quiet --disable-pip-version-check --no-deps --target "$root/build/pybind11" "$pybind11" >&2
  echo "$root/build/pybind11/pybind11/include"
}

# The module for another interpreter, or for the one that CMake finds (""), in a configured build folder.
choosePython() {
  local interpreter=$1 headers='' options=(-DTENON_PYTHON_EXECUTABLE="$1" -UTENON_PYBIND11)
  [ -z "$interpreter" ] || headers=$(headersFor "$interpreter")
  [ -z "$headers" ] || options+=(-DTENON_PYBIND11="$headers")
  cmake -S "$root" -B "$root/build/$preset" "${options[@]}" >/dev/null
}

cached() {
  sed -n "s/^$1:[A-Z]*=//p" "$root/build/$preset/CMakeCache.txt"
}

# Packs what is built, for the interpreter that it is built for.
pack() {
  local build_folder="$root/build/$preset" python
  python=$(cached tenon_python)
  [ -n "$python" ] && [ -n "$(cached tenon_python_target)" ] ||
    die "$build_folder has no Python module; cmake said why (look for 'No Python module')"
  stage=$(mktemp -d)
  trap 'rm -rf "$stage"' EXIT  # runs after this function: no local
  cmake --install "$build_folder" --prefix "$stage/install" --strip >/dev/null
  cmake --install "$build_folder" --prefix "$stage/install" --strip --component python >/dev/null
  mkdir -p "$out"
  "$python" -B "$root/scripts/pack_wheel.py" "$stage/install" "$out"
  rm -rf "$stage"
}

main() {
  readOptions "$@"
  if [ -z "$no_build" ]; then
    phase "set up" "$root/scripts/setup.sh"
    phase "configure ($preset)" configure "$preset"
    phase "build ($preset)" build "$preset" "$jobs" tenon $([ ${#pythons[@]} -gt 0 ] || echo tensorrt_python)
  fi
  [ ${#pythons[@]} -gt 0 ] || { pack; return; }
  local before interpreter failed=''
  before=$(cached TENON_PYTHON_EXECUTABLE)
  for interpreter in "${pythons[@]}"; do
    choosePython "$interpreter"
    if [ "$(cached tenon_python)" = "$interpreter" ] && phase "module for $interpreter" build "$preset" "$jobs" tensorrt_python; then
      pack
    else
      failed="$failed $interpreter"
    fi
  done
  choosePython "$before"
  [ -z "$failed" ] || die "no wheel for$failed: an interpreter needs its headers, and pybind11 one that is as new as it"
}

main "$@"
