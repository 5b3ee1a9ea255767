#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Shows that a fresh clone, or a wheel, works on a bare system: makes one in a folder and runs demo.sh and test.sh inside, or
# installs the wheel there and runs a model.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  cat <<'END'
Usage: scripts/bare_system.sh [--system NAME] [--mirror URL] [--folder DIR] [--fresh] [--skip-tests] [--wheel FILE]

Needs root, debootstrap, git, and a mirror of the system's packages.
  --system NAME  debian12 (default) or ubuntu24.04
  --mirror URL   default: taken from this system's own apt sources, where it is of the same kind
  --folder DIR   where the system is made (default: build/bare-NAME); a base system already there is used again, and
                 what earlier runs installed stays in it without --fresh
  --fresh        remove the folder and begin with nothing
  --skip-tests   run demo.sh only
  --wheel FILE   in place of the clone: installs this wheel by pip into a system that has Python and no compiler, and converts and
                 runs the model of digits in less than ten lines; fails where that takes more than a minute
The clone holds what is committed; changes that are not are left out.
END
}

system=debian12 mirror='' folder='' fresh='' skip_tests='' wheel=''

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
      --wheel) wheel=${2:?--wheel needs a file}; shift ;;
      --wheel=*) wheel=${1#*=} ;;
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
    bash -c "cd $place && $*"
}

place=/tenon  # within the system, where commands run

# What a user writes who has nothing but the wheel.
lines='import numpy, tensorrt
picture = numpy.fromfile("7.pgm", numpy.uint8)[-784:].reshape(1, 1, 28, 28).astype("float32") / 255
runner = tensorrt.Runner("digits.onnx", shapes={"input": picture.shape})
runner.save("digits.engine")
answer = tensorrt.Runner("digits.engine")(input=picture)["probabilities"]
assert answer.argmax() == 7, answer
'

installWheel() {
  inside "python3 -m venv venv && venv/bin/pip install --quiet --disable-pip-version-check *.whl && venv/bin/python run.py &&
          venv/bin/trtexec --loadEngine=digits.engine --iterations=1 --duration=0 --warmUp=0 >/dev/null && venv/bin/python -m tensorrt --check"
}

testWheel() {
  local begin status=0
  place=/wheel
  rm -rf "$folder$place"
  mkdir -p "$folder$place"
  cp "$wheel" "$root/models/digits/digits.onnx" "$root/models/digits/samples/7.pgm" "$folder$place/"
  printf '%s' "$lines" >"$folder$place/run.py"
  cp -L /etc/resolv.conf /etc/hosts "$folder/etc/"
  # What pip is told here of the ways to PyPI holds there as well.
  [ ! -e /etc/pip.conf ] || cp -L /etc/pip.conf "$folder/etc/"
  [ ! -e /etc/ssl/certs/ca-certificates.crt ] || install -D /etc/ssl/certs/ca-certificates.crt "$folder/etc/ssl/certs/ca-certificates.crt"
  trap unmount EXIT
  mounts
  phase "Python" inside "command -v python3 >/dev/null && python3 -c 'import ensurepip' 2>/dev/null ||
    { apt-get update && apt-get install -y --no-install-recommends python3-venv; }" || die "Python could not be installed in $folder"
  ! inside "command -v cc || command -v gcc || command -v g++ || command -v nvcc" || die "$folder has a compiler: --fresh begins anew"
  begin=$SECONDS
  phase "wheel" installWheel || status=$?
  [ $((SECONDS - begin)) -le 60 ] || { echo "error: that took $((SECONDS - begin)) s; expected at most 60" >&2; status=1; }
  return $status
}

packages() {
  chroot "$folder" dpkg-query -W -f='.' | wc -c
}

main() {
  local before status=0
  readOptions "$@"
  [ "$(id -u)" = 0 ] || die "debootstrap and chroot need root"
  [ -e "$folder/etc/debian_version" ] || command -v debootstrap >/dev/null ||
    die "debootstrap is missing; install it with apt-get install debootstrap"
  phase "base system" makeBase
  if [ -n "$wheel" ]; then
    testWheel || status=$?
    printPhases
    return $status
  fi
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
