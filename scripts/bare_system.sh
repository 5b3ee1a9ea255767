#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that a fresh clone works on a bare system: makes one in a folder and runs demo.sh and test.sh inside.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  cat <<'END'
Usage: scripts/bare_system.sh [--system NAME] [--mirror URL] [--folder DIR] [--fresh] [--skip-tests]

Needs root, debootstrap, git, and a mirror of the system's packages.
  --system NAME  debian12 (default) or ubuntu24.04
  --mirror URL   default: taken from this system's own apt sources, where it is of the same kind
  --folder DIR   where the system is made (default: build/bare-NAME); a base system already there is used again, and
                 what earlier runs installed stays in it without --fresh
  --fresh        remove the folder and begin with nothing
  --skip-tests   run demo.sh only
The clone holds what is committed; changes that are not are left out.
END
}

system=debian12 mirror='' folder='' fresh='' skip_tests=''

readOptions() {
  while [ $# -gt 0 ]; do
    case $1 in
      --system) system=${2:?--system needs a name}; shift ;;
      --system=*) system=${1#*=} ;;
      --mirror) mirror=${2:?--mirror needs an address}; shift ;;
      --mirror=*) mirror=${1#*=} ;;
      --folder) folder=${2:?--folder needs a path}; shift ;;
      --folder=*) folder=${1#*=} ;;
      --fresh) fresh=yes ;;
      --skip-tests) skip_tests=yes ;;
      --help | -h) usage; exit 0 ;;
      *) usage >&2; die "unknown option '$1'" ;;
    esac
    shift
  done
  case $system in
    debian12) kind=debian suite=bookworm ;;
    ubuntu24.04) kind=ubuntu suite=noble ;;
    *) die "unknown system '$system'; expected debian12 or ubuntu24.04" ;;
  esac
  folder=$(realpath -m "${folder:-$root/build/bare-$system}")
}

# The first mirror of this kind of system in the apt sources, in either of the two forms they have.
mirrorHere() {
  find /etc/apt -name 'sources.list' -o -name '*.list' -o -name '*.sources' | sort | xargs cat |
    sed -nE 's/^(URIs:|deb( +\[[^]]*\])?) +([^ ]+).*/\3/p' | grep -m1 "/$kind/*$" ||
    die "no $kind mirror in /etc/apt; name one with --mirror"
}

makeBase() {
  local options=(--variant=minbase --include=ca-certificates) script=()
  [ -z "$fresh" ] || rm -rf --one-file-system "$folder"
  [ ! -e "$folder/etc/debian_version" ] || return 0
  [ -n "$mirror" ] || mirror=$(mirrorHere) || exit 1
  mkdir -p "$folder"
  if [ $kind = ubuntu ]; then
    options+=(--components=main,universe)
    # Debian's debootstrap may know neither the newest names of Ubuntu nor its keys.
    [ -e /usr/share/debootstrap/scripts/$suite ] || script=(gutsy)
    [ -e /usr/share/keyrings/ubuntu-archive-keyring.gpg ] || options+=(--no-check-gpg)
  fi
  debootstrap "${options[@]}" $suite "$folder" "$mirror" "${script[@]}" >"$folder.log" 2>&1 ||
    { tail -20 "$folder.log" >&2; die "debootstrap failed"; }
  # apt inside goes the same ways as apt here.
  cp -a /etc/apt/apt.conf.d/. "$folder/etc/apt/apt.conf.d/"
  if [ $kind = debian ] && cp -a /etc/apt/sources.list.d/debian.sources "$folder/etc/apt/sources.list.d/" 2>/dev/null
  then
    : >"$folder/etc/apt/sources.list"
  fi
}

cloneProject() {
  rm -rf "$folder/tenon"
  git clone --quiet --no-hardlinks "file://$root" "$folder/tenon" || die "the repository could not be cloned"
  cp -L /etc/resolv.conf "$folder/etc/resolv.conf"
  cp -L /etc/hosts "$folder/etc/hosts"
}

mounts() {
  mount -t proc proc "$folder/proc"
  mount --rbind /dev "$folder/dev"
  mount --make-rslave "$folder/dev"
}

unmount() {
  umount "$folder/proc" 2>/dev/null || true
  umount -R "$folder/dev" 2>/dev/null || true
}

inside() {
  chroot "$folder" /usr/bin/env -i HOME=/root LANG=C.UTF-8 TERM=dumb PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    bash -c "cd /tenon && $*"
}

packages() {
  chroot "$folder" dpkg-query -W -f='.' | wc -c
}

main() {
  local before status=0
  readOptions "$@"
  [ "$(id -u)" = 0 ] || die "debootstrap and chroot need root"
  command -v debootstrap >/dev/null || die "debootstrap is missing; install it with apt-get install debootstrap"
  phase "base system" makeBase
  phase "clone" cloneProject
  trap unmount EXIT
  mounts
  before=$(packages)
  phase "demo.sh" inside ./scripts/demo.sh || status=$?
  if [ -z "$skip_tests" ]; then
    phase "test.sh" inside ./scripts/test.sh || status=$?
    phase "test.sh again" inside "./scripts/test.sh --build-only" || status=$?
  fi
  echo "== figures"
  echo "packages: $before before, $(packages) after; the clone with its build: $(du -sh "$folder/tenon" | cut -f1)"
  printPhases
  return $status
}

main "$@"
