# SPDX-License-Identifier: Apache-2.0
# What the scripts share: the root folder, messages, phase times, configuring and building. Sourced, never run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
phases=()

die() {
  echo "error: $*" >&2
  exit 1
}

# phase <name> <command ...>: runs the command and keeps how long it took for printPhases.
phase() {
  local name=$1 begin=$SECONDS status=0
  shift
  echo "== $name"
  "$@" || status=$?
  phases+=("$(printf '%-28s %5d s' "$name" $((SECONDS - begin)))")
  return $status
}

printPhases() {
  echo "== time of each phase"
  printf '%s\n' "${phases[@]}"
}

# One compile step takes up to about 1.5 GiB: no more of them at once than cores or memory allow.
defaultJobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable:/ {print int($2 / 1572864)}' /proc/meminfo)
  echo $((memory < 1 ? 1 : memory < cores ? memory : cores))
}

checkPreset() {
  case $1 in
    release | debug | asan-ubsan | tsan | arm64 | clang | fuzz) ;;
    *) die "unknown preset '$1'; expected release, debug, asan-ubsan, tsan, arm64, clang or fuzz" ;;
  esac
}

# configure <preset>: once; later changes of the list files are noticed by the build itself.
configure() {
  [ -f "$root/build/$1/build.ninja" ] || (cd "$root" && cmake --preset "$@")
}

# build <preset> <jobs> [targets ...]
build() {
  local preset=$1 jobs=$2
  shift 2
  ninja -C "$root/build/$preset" -j "$jobs" "$@"
}
