#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the build needs and the system lacks: Debian 12, Ubuntu 24.04 and what is like them.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# One line per need: packages, and after the bar a command that succeeds where it is there without being a package.
needs='
build-essential   | g++ --version
cmake             | cmake --version
ninja-build       | ninja --version
python3           | python3 --version
python3-venv      | python3 -c "import ensurepip"
python3-dev
python3-numpy
pybind11-dev
pkg-config        | pkg-config --version
libprotobuf-dev
protobuf-compiler | protoc --version
libflatbuffers-dev
flatbuffers-compiler | flatc --version
libxxhash-dev
libdnnl-dev
libhwy-dev
nlohmann-json3-dev
libcli11-dev
libfmt-dev
libgtest-dev
clang-format-14   | clang-format --version | grep version.14
'

usage() {
  cat <<'END'
Usage: scripts/setup.sh [--check] [--help]

Installs by apt-get, asking nothing, the packages that the build needs and that are missing.
  --check   only say what is missing; the exit status is 1 if anything is
END
}

isInstalled() {
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missingPackages() {
  local package command
  while IFS=' |' read -r package command; do
    [ -n "$package" ] || continue
    isInstalled "$package" && continue
    [ -n "$command" ] && eval "$command" >/dev/null 2>&1 && continue
    echo "$package"
  done <<<"$needs"
}

# The presets file needs CMake 3.25, which Debian 12 has; an older one would fail with a message about JSON.
checkCmake() {
  local version
  version=$(cmake --version | sed -n '1s/.* //p')
  [ "$(printf '%s\n3.25\n' "$version" | sort -V | head -1)" = 3.25 ] ||
    die "cmake $version is too old; expected 3.25 or newer (Debian 12 and Ubuntu 24.04 have it)"
}

without_apt() {
  echo "This system has no apt-get, so nothing is installed here. The build needs, by their names on Debian:"
  awk 'NF {print "  " $1}' <<<"$needs"
  command -v cmake >/dev/null && command -v ninja >/dev/null || die "cmake and ninja are missing; install the above"
}

install() {
  local line="apt-get install -y --no-install-recommends $*" become=()
  if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
      become=(sudo -n)
    else
      die "packages are missing and this user may not install them. Run as root:
  apt-get update && $line"
    fi
  fi
  echo "Installing: $*"
  "${become[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q update ||
    echo "apt-get update failed; going on with the package lists that are here" >&2
  "${become[@]}" env DEBIAN_FRONTEND=noninteractive $line ||
    die "the packages could not be installed. Where the network or a mirror is missing, run elsewhere or later:
  apt-get update && $line"
}

main() {
  local missing
  case ${1:-} in
    '' | --check) ;;
    --help | -h) usage; return ;;
    *) usage >&2; die "unknown option '$1'" ;;
  esac
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    without_apt
    return
  fi
  missing=$(missingPackages)
  if [ "${1:-}" = --check ]; then
    [ -z "$missing" ] && { echo "Nothing is missing."; return; }
    echo "Missing:" $missing
    return 1
  fi
  [ -z "$missing" ] || install $missing
  checkCmake
}

main "$@"
