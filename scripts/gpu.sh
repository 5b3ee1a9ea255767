#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests and times Tenon on a machine with an NVIDIA GPU, in one call of less than ten minutes.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  cat <<'END'
Usage: scripts/gpu.sh [--bin DIR] [--out DIR] [--tests-only | --peers-only] [-- ARGUMENTS]

Needs a GPU; for the comparison Python with torch and torchvision (benchmarks/gpu_peers.py says more).
  --bin DIR      where test_cuda, test_cases and trtexec are (default: build/release/bin; what is missing there is built)
  --out DIR      where the whole logs go (default: build/gpu)
  --tests-only   no comparison
  --peers-only   no tests
  ARGUMENTS      of gpu_peers.py
TENON_CUDA_LIBS, when not set, becomes the folder of the Python packages nvidia-*, if there is one.
END
}

bin=$root/build/release/bin out=$root/build/gpu tests=yes peers=yes
while [ $# -gt 0 ]; do
  case $1 in
    --bin) bin=$(realpath "${2:?--bin needs a folder}"); shift ;;
    --out) out=${2:?--out needs a folder}; shift ;;
    --tests-only) peers='' ;;
    --peers-only) tests='' ;;
    --help | -h) usage; exit 0 ;;
    --) shift; break ;;
    *) usage >&2; die "unknown option '$1'" ;;
  esac
  shift
done
mkdir -p "$out"

if [ ! -x "$bin/test_cuda" ] || [ ! -x "$bin/test_cases" ] || [ ! -x "$bin/trtexec" ]; then
  [ "$bin" = "$root/build/release/bin" ] || die "$bin lacks test_cuda, test_cases or trtexec"
  (cd "$root" && cmake --preset release >"$out/build.log" && cmake --build build/release --target test_cuda test_cases trtexec >>"$out/build.log")
fi
if [ -z "${TENON_CUDA_LIBS:-}" ]; then
  packages=$(python3 -c 'import importlib.util as u; s = u.find_spec("nvidia"); print(list(s.submodule_search_locations)[0] if s else "")' 2>/dev/null || true)
  [ -z "$packages" ] || export TENON_CUDA_LIBS=$packages
fi
command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
echo "libraries: ${TENON_CUDA_LIBS:-the loader's path and the toolkit}"

status=0
if [ -n "$tests" ]; then
  (cd "$root" && timeout 120 "$bin/test_cuda" --gtest_brief=1) >"$out/test_cuda.log" 2>&1 || status=1
  (cd "$root" && timeout 120 "$bin/test_cases" --gtest_brief=1 --gtest_filter='*_cuda') >"$out/test_cases.log" 2>&1 || status=1
  grep -hE "^[a-zA-Z_0-9]+: .*candidates|refused|GB/s|us per iteration|WRONG|FAILED|Failure|PASSED|error:" "$out/test_cuda.log" "$out/test_cases.log" |
    cut -c1-220 | tail -150 || true
fi
if [ -n "$peers" ]; then
  timeout 330 python3 "$root/benchmarks/gpu_peers.py" --trtexec "$bin/trtexec" --json "$out/peers.json" "$@" 2>&1 |
    tee "$out/peers.log" || status=1
fi
exit $status
