#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The latency of a model in the process that built its engine and in one that loads it.

    loaded_engines.py [--trtexec PROGRAM] [--seconds S] [--turns N] MODEL.onnx [INPUT:1x3x320x320,...] [trtexec's flags ...]

Both are the least of the medians of N turns, because whatever else the machine does only adds time. Behind them stand the
implementations of oneDNN that ran in each, where the two differ.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent


def measure(program, *flags):
    done = subprocess.run([str(program), "--verbose", *map(str, flags)], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={"TENON_DEVICE": "cpu", **os.environ})
    if done.returncode != 0:
        sys.exit(done.stdout[-3000:])
    latency = re.search(r"GPU Compute Time: min = .*? median = ([\d.]+) ms", done.stdout)
    return float(latency.group(1)), dict(re.findall(r"step '(.*)' of \S+ -> \S+ runs '([^']+)'", done.stdout))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trtexec", type=pathlib.Path, default=ROOT / "build/release/bin/trtexec")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("shapes", nargs="?", default="")
    options, flags = parser.parse_known_args()
    run = [f"--duration={options.seconds}", "--warmUp=50", "--iterations=1", *([f"--shapes={options.shapes}"] if options.shapes else [])]
    with tempfile.TemporaryDirectory() as folder:
        plan = pathlib.Path(folder) / "plan"
        built, names = measure(options.trtexec, f"--onnx={options.model}", f"--saveEngine={plan}", *flags, *run)
        loads = [measure(options.trtexec, f"--loadEngine={plan}", *run) for _ in range(options.turns)]
    loaded = min(latency for latency, _ in loads)
    print(f"{options.model.stem}: built {built:.3f} ms, loaded {loaded:.3f} ms")
    for step, name in loads[0][1].items():
        if names.get(step) != name:
            print(f"  {step}: {names.get(step)} where it was built, {name} where it was loaded")


if __name__ == "__main__":
    main()
