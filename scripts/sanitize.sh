#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs what compiles for too long to be part of CI: the suites that use threads under the thread sanitizer, or those of the Python
# module or of plugins under the address and undefined-behaviour sanitizers.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  cat <<'END'
Usage: scripts/sanitize.sh [--soak SECONDS] [--jobs N]
       scripts/sanitize.sh --python | --python-module | --plugins [--jobs N]
       scripts/sanitize.sh --python-memory

Builds the preset tsan (no oneDNN, which is not compiled for the sanitizer) and runs the suites core, runtime, hostcuda
and threads.
  --python         builds libraries and Python module of the preset asan-ubsan instead, and runs the module's tests
  --python-module  builds the Python module and the part of libnvinfer that it calls with these sanitizers, within the preset
                   release whose other objects it links, and runs the module's tests; minutes in place of hours
  --python-memory  runs the module's tests of the release build, as it is, with the address sanitizer's allocator: memory that
                   is lost, freed twice or by the wrong function; minutes in place of the hours that --python compiles
  --plugins        builds what has to do with plugins with these sanitizers, within the preset release whose other objects it
                   links (a tenth of the compile time of asan-ubsan), and runs the suites plugins, standard_plugins, check_plugins
  --soak SECONDS   then lets sixteen contexts of one engine run for that long under the sanitizer and in release, which
                   both print how many runs there were and how much memory was in use
  --jobs N         compile steps and tests at once (default: by cores and memory)
END
}

seconds='' jobs='' only=''

readOptions() {
  while [ $# -gt 0 ]; do
    case $1 in
      --help | -h) usage; exit 0 ;;
      --python | --plugins | --python-memory | --python-module) only=${1#--}; shift; continue ;;
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

# The module's own tests: others load packages that are not compiled for the sanitizers.
pythonModule() {
  configure asan-ubsan
  cmake -S "$root" -B "$root/build/asan-ubsan" -DTENON_PYTHON=ON >/dev/null
  build asan-ubsan "$jobs" tensorrt_python python_call_costs cudart12 cudart13
  ctest --test-dir "$root/build/asan-ubsan" -R '^python/' -j "$jobs" --output-on-failure
}

# The module and what it calls, within a release build.
pythonInRelease() {
  configure release
  cmake -S "$root" -B "$root/build/release" -DTENON_SANITIZED_PYTHON=ON >/dev/null
  build release "$jobs" sanitized_python_module cudart12 cudart13
  ctest --test-dir "$root/build/release" -R '^sanitized_python/' -j "$jobs" --output-on-failure
}

# What the compiler's runtime is called here.
runtimeLibrary() {
  "${CXX:-c++}" -print-file-name="$1"
}

# The scripts of the suite that load no packages of others, each with its own summary.
pythonMemory() {
  local name status=0 folder="$root/build/release" interpreter
  configure release
  build release "$jobs" tensorrt_python python_call_costs cudart12 cudart13
  interpreter=$(sed -n 's/^tenon_python:[A-Z]*=//p' "$folder/CMakeCache.txt")
  for name in leak_check module misuse threads callbacks streams algorithm_selectors plugins plugin_functions compat programs older_programs; do
    echo "== $name"
    (cd "$root/tests/python" && LD_PRELOAD="$(runtimeLibrary libasan.so):$(runtimeLibrary libstdc++.so)" PYTHONMALLOC=malloc \
      ASAN_OPTIONS=detect_leaks=1:leak_check_at_exit=0:quarantine_size_mb=1:thread_local_quarantine_size_kb=64 \
      LSAN_OPTIONS=suppressions="$PWD/interpreter.supp:print_suppressions=0" PYTHONPATH="$folder/python" PYTHONDONTWRITEBYTECODE=1 \
      PYTHONNOUSERSITE=1 TENON_DEVICE=cpu TENON_CUDART="$folder/lib/libcudart.so.13" TENON_BUILD="$folder" \
      "$interpreter" -B "$name.py") >"$folder/tests/python-memory.txt" 2>&1 || status=1
    grep -v '^passed' "$folder/tests/python-memory.txt" || true
  done
  return $status
}

pluginSuites() {
  configure release
  cmake -S "$root" -B "$root/build/release" -DTENON_SANITIZED_PLUGINS=ON >/dev/null
  build release "$jobs" sanitized_plugins
  LSAN_OPTIONS=suppressions=$root/scripts/leaks.supp:print_suppressions=0 UBSAN_OPTIONS=print_stacktrace=1 \
    ctest --test-dir "$root/build/release" -R '^sanitized_plugins/' -j "$jobs" --output-on-failure
}

main() {
  local status=0
  readOptions "$@"
  case $only in
    python) phase "Python module (asan-ubsan)" pythonModule; return ;;
    plugins) phase "plugins (sanitized within release)" pluginSuites; return ;;
    python-module) phase "Python module (sanitized within release)" pythonInRelease; return ;;
    python-memory) phase "Python module (allocator)" pythonMemory; return ;;
  esac
  "$root/scripts/test.sh" --preset tsan --suites core,runtime,hostcuda,threads --jobs "$jobs" || status=$?
  if [ -n "$seconds" ]; then
    phase "soak (tsan)" soak tsan || status=$?
    phase "soak (release)" soak release || status=$?
  fi
  printPhases
  return $status
}

main "$@"
