#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random graphs through the optimizer, many more than a test run takes; each compared with its reference evaluation.

    fuzz_passes.py [--program build/release/bin/test_passes] [--graphs 100000] [--chunk 500] [--minutes 10] [--state FILE]

Seeds go up from 1 and are what a graph is made of. The state file holds the next seed, so that a run that was stopped,
or that ran out of its minutes, goes on where it was; `--graphs` counts all of them together. The run ends at the first
graph that differs, with its seed, and a later run begins with that seed again.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bin/test_passes")
    parser.add_argument("--graphs", type=int, default=100000)
    parser.add_argument("--chunk", type=int, default=500)
    parser.add_argument("--minutes", type=float, default=1e9)
    parser.add_argument("--state", type=pathlib.Path, default=ROOT / "build/fuzz_passes.json")
    options = parser.parse_args()
    state = json.loads(options.state.read_text()) if options.state.exists() else {"next": 1, "seconds": 0.0}
    end = time.monotonic() + options.minutes * 60
    while state["next"] <= options.graphs and time.monotonic() < end:
        count = min(options.chunk, options.graphs - state["next"] + 1)
        begin = time.monotonic()
        done = subprocess.run([options.program, "--gtest_filter=RandomGraphs.PassesKeepValues"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True,
                              env={**os.environ, "TENON_RANDOM_FIRST": str(state["next"]), "TENON_RANDOM_GRAPHS": str(count)})
        if done.returncode != 0:
            print(done.stdout[-8000:])
            sys.exit(f"seeds {state['next']} to {state['next'] + count - 1}: a graph differs, or the program ended with {done.returncode}")
        state["next"] += count
        state["seconds"] += time.monotonic() - begin
        options.state.parent.mkdir(parents=True, exist_ok=True)
        fresh = options.state.with_suffix(".new")
        fresh.write_text(json.dumps(state))
        fresh.replace(options.state)
    print(f"{state['next'] - 1} graphs agree, {state['seconds']:.0f} s")


if __name__ == "__main__":
    main()
