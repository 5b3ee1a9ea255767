#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh clone to a recognised digit: sets up, builds, makes an engine of the shipped model and runs it.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  cat <<'END'
Usage: scripts/demo.sh [--jobs N] [PICTURE.pgm]

Installs what is missing (scripts/setup.sh), builds into build/release, then lets trtexec turn
models/digits/digits.onnx into an engine file and lets a second trtexec load the file and read the picture
(default: models/digits/samples/7.pgm). Prints the digit, its probability and trtexec's performance report.
  --jobs N   compile steps at once (default: by cores and memory)
END
}

main() {
  local jobs='' picture="$root/models/digits/samples/7.pgm"
  while [ $# -gt 0 ]; do
    case $1 in
      --jobs) jobs=${2:?--jobs needs a number}; shift ;;
      --jobs=*) jobs=${1#*=} ;;
      --help | -h) usage; return ;;
      -*) usage >&2; die "unknown option '$1'" ;;
      *) picture=$(realpath "$1") ;;
    esac
    shift
  done
  phase "set up" "$root/scripts/setup.sh"
  phase "configure" configure release
  phase "build" build release "${jobs:-$(defaultJobs)}" trtexec
  phase "build the engine" buildEngine
  phase "read the picture" readPicture "$picture"
  phase "read all ten samples" readSamples
  printPhases
  cat <<END

Made here: $bin/trtexec, $root/build/release/lib/libnvinfer.so.10, $work/digits.engine
END
}

bin=$root/build/release/bin
work=$root/build/demo

buildEngine() {
  mkdir -p "$work" &&
    "$bin/trtexec" --onnx="$root/models/digits/digits.onnx" --saveEngine="$work/digits.engine" --skipInference \
      --minShapes=input:1x1x28x28 --optShapes=input:1x1x28x28 --maxShapes=input:16x1x28x28
}

# Chained by &&, because a function that runs as a phase is not stopped by `set -e`.
readPicture() {
  python3 "$root/scripts/digits.py" pack "$1" "$work/picture.raw" &&
    "$bin/trtexec" --loadEngine="$work/digits.engine" --shapes=input:1x1x28x28 \
      --loadInputs=input:"$work/picture.raw" --exportOutput="$work/picture.json" --duration=1 &&
    python3 "$root/scripts/digits.py" show "$work/picture.json" "$1"
}

readSamples() {
  local samples=("$root"/models/digits/samples/?.pgm)
  python3 "$root/scripts/digits.py" pack "${samples[@]}" "$work/samples.raw" || return 1
  "$bin/trtexec" --loadEngine="$work/digits.engine" --shapes=input:10x1x28x28 \
    --loadInputs=input:"$work/samples.raw" --exportOutput="$work/samples.json" --duration=0 --iterations=10 \
    --warmUp=0 >"$work/samples.log" || { cat "$work/samples.log"; return 1; }
  python3 "$root/scripts/digits.py" show "$work/samples.json" "${samples[@]}"
}

main "$@"
