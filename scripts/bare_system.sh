#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that a fresh clone works on a bare Debian 12: makes one in a folder and runs demo.sh and test.sh inside.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  cat <<'END'
Usage: scripts/bare_system.sh [--folder DIR] [--fresh] [--skip-tests]

Needs root, debootstrap and a Debian mirror, which it takes from this system's own apt sources.
  --folder DIR   where the system is made (default: build/bare-debian12); a base system already there is used again,
                 cleaned of what earlier runs installed only with --fresh
  --fresh        remove the folder and begin with nothing
  --skip-tests   run demo.sh only
The clone holds what is committed; changes that are not are left out.
END
}

folder=$root/build/bare-debian12 fresh='' skip_tests=''

readOptions() {
  while [ $# -gt 0 ]; do
    case $1 in
      --folder) folder=${2:?--folder needs a path}; shift ;;
      --folder=*) folder=${1#*=} ;;
      --fresh) fresh=yes ;;
      --skip-tests) skip_tests=yes ;;
      --help | -h) usage; exit 0 ;;
      *) usage >&2; die "unknown option '$1'" ;;
    esac
    shift
  done
  folder=$(realpath -m "$folder")
}

# The first mirror of Debian itself in the apt sources of this system, in either of the two forms they have.
mirror() {
  find /etc/apt -name 'sources.list' -o -name '*.list' -o -name '*.sources' | sort | xargs cat |
    sed -nE 's/^(URIs:|deb( +\[[^]]*\])?) +([^ ]+).*/\3/p' | grep -m1 '/debian/*$' ||
    die "no Debian mirror in /etc/apt; expected a source that ends in /debian"
}

makeBase() {
  local from
  [ -z "$fresh" ] || rm -rf --one-file-system "$folder"
  [ ! -e "$folder/etc/debian_version" ] || return 0
  from=$(mirror) || exit 1
  mkdir -p "$folder"
  debootstrap --variant=minbase --include=ca-certificates bookworm "$folder" "$from" >"$folder.log" 2>&1 ||
    { tail -20 "$folder.log" >&2; die "debootstrap failed"; }
  # apt inside goes the same ways as apt here.
  cp -a /etc/apt/sources.list.d/debian.sources "$folder/etc/apt/sources.list.d/" 2>/dev/null &&
    : >"$folder/etc/apt/sources.list"
  cp -a /etc/apt/apt.conf.d/. "$folder/etc/apt/apt.conf.d/"
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
