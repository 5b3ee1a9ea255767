#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What capturing costs: builds of a network with 100 MB of weights with the shim and without, in turns.

    capture_overhead.py --build build/release [--runs 5]

Prints the shortest time of both, by the clock and of the processors, their ratio, and the peak of resident memory.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time


def measured(command, variables):
    environment = dict(os.environ, TENON_DEVICE="cpu", **variables)
    begin = time.monotonic()
    process = subprocess.Popen(command, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{command} ended with {status}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    libraries = os.path.abspath(os.path.join(options.build, "lib"))
    with tempfile.TemporaryDirectory() as folder:
        command = [os.path.join(options.build, "bin", "capture_program"), "large", os.path.join(folder, "engine")]
        shim = {"LD_PRELOAD": os.path.join(libraries, "libtensorrt_shim.so"),
                "TRT_SHIM_NVINFER_LIB_NAME": os.path.join(libraries, "libnvinfer.so.10"),
                "TRT_SHIM_OUTPUT_JSON_FILE": os.path.join(folder, "large.json")}
        runs = [(measured(command, {}), measured(command, shim)) for _ in range(options.runs)]
    for what, number in (("wall", 0), ("processor", 1)):
        plain, captured = (min(r[i][number] for r in runs) for i in range(2))
        print(f"{what}: without capture {plain:.3f} s, with {captured:.3f} s: {captured / plain:.3f}x")
    print("peak: " + " and ".join(f"{max(r[i][2] for r in runs):.0f} MiB" for i in range(2)))


if __name__ == "__main__":
    main()
