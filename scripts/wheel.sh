#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the wheel: module, libraries, trtexec, tensorrt_player and shim in one file that pip installs.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  cat <<'END'
Usage: scripts/wheel.sh [--preset NAME] [--out FOLDER] [--jobs N] [--python INTERPRETER ...] [--own] [--no-build]

Builds into build/NAME (release by default) and writes one wheel into FOLDER (build/wheel by default): the libraries once, and a
module for each release of Python from 3.9 to 3.14 of which this machine has an interpreter with headers.
  --python     an interpreter to build a module for, in place of those that are found; may be given several times
  --own        only the module of the interpreter that CMake chose (the cache variable TENON_PYTHON_EXECUTABLE names it)
  --no-build   only packs what is built already
An interpreter's own pybind11 is taken where it has the package; else the system's for releases that this one knows, and for newer
ones that of PyPI, which is fetched into build/pybind11.
END
}

preset=release out="$root/build/wheel" jobs='' no_build='' own='' stage='' pythons=()

readOptions() {
  while [ $# -gt 0 ]; do
    case $1 in
      --help | -h) usage; exit 0 ;;
      --no-build) no_build=yes; shift; continue ;;
      --own) own=yes; shift; continue ;;
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
  [ -z "$no_build$own" ] || [ ${#pythons[@]} = 0 ] ||
    die "--no-build packs what is built, and --own builds one module; neither goes with --python ${pythons[*]}"
}

pybind11=pybind11==3.0.1  # of PyPI: the first release that knows Python 3.14

cached() {
  sed -n "s/^$1:[A-Z]*=//p" "$root/build/$preset/CMakeCache.txt"
}

releaseOf() {
  "$1" -E -c 'import sys; print("%d.%d" % sys.version_info[:2])' || die "$1 does not run"
}

# The folder with pybind11's headers for an interpreter: its own, or PyPI's where the system's is too old for it; nothing where the
# system's will do. pybind11 2.10 and older know Python up to 3.11. PyPI's is fetched by the module's own Python: it is a folder of
# headers, which fit every release.
headersFor() {
  "$1" -c 'import pybind11; print(pybind11.get_include())' 2>/dev/null && return
  local release
  release=$(releaseOf "$1")
  [ "${release#3.}" -ge 12 ] || return 0
  [ -d "$root/build/pybind11/pybind11/include" ] ||
    "$(cached tenon_python)" -m pip install --quiet --disable-pip-version-check --no-deps --target "$root/build/pybind11" "$pybind11" >&2 ||
    return 1
  echo "$root/build/pybind11/pybind11/include"
}

# Builds the modules of other interpreters beside the module's own: one target for each, so that it is named which fails.
buildModules() {
  local before entries=() targets=() interpreter headers release seen failed='' all
  seen=$(releaseOf "$(cached tenon_python)")
  before=$(cached TENON_PYTHON_MORE)
  for interpreter in "${pythons[@]}"; do
    release=$(releaseOf "$interpreter") || exit 1
    [[ " $seen " != *" $release "* ]] || continue
    headers=$(headersFor "$interpreter") || die "pybind11 for $interpreter could not be fetched"
    seen="$seen $release"
    entries+=("$interpreter=$headers")
    targets+=("tensorrt_python_$release")
  done
  all=$(IFS=';'; echo "${entries[*]}")
  cmake -S "$root" -B "$root/build/$preset" "-DTENON_PYTHON_MORE=$all" >/dev/null
  for release in "${targets[@]}"; do
    phase "$release" build "$preset" "$jobs" "$release" || failed="$failed $release"
  done
  [ -n "$failed" ] || pack
  cmake -S "$root" -B "$root/build/$preset" "-DTENON_PYTHON_MORE=$before" >/dev/null  # as it was
  [ -z "$failed" ] || die "no wheel, as these modules were not built:$failed"
}

# Packs what is built.
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
  if [ -n "$no_build" ]; then
    pack
    return
  fi
  phase "set up" "$root/scripts/setup.sh"
  phase "configure ($preset)" configure "$preset"
  phase "build ($preset)" build "$preset" "$jobs" tenon tensorrt_python
  if [ -z "$own" ] && [ ${#pythons[@]} = 0 ]; then
    mapfile -t pythons < <("$(cached tenon_python)" -B "$root/scripts/pythons.py")
  fi
  if [ ${#pythons[@]} = 0 ]; then
    pack
  else
    buildModules
  fi
  printPhases
}

main "$@"
