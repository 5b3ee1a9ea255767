#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random graphs through the optimizer, many more than a test run takes; each compared with its reference evaluation.

    fuzz_passes.py [--what all] [--graphs 100000] [--jobs N] [--chunk 100] [--minutes 10] [--state FOLDER]

--what passes: the pipeline of passes; builds0, builds1: a whole build at that optimization level, loaded again and run on
the CPU; any: as builds0, each node by one of its candidates at random; regions: passes and builds of loops and conditionals whose
bodies are random graphs; all: these in turn, the minutes shared among them.
gpu0, gpu1, gpuany, gpuregions: whole builds for a GPU, the same three and regions at level 0, executed several times in two contexts;
gpuf16, gpubf16, gputf32: of any candidates in these types; gpularge, gpulargef16: of graphs eight times as wide; gpu: these in turn.
Seeds go up from 1 and are what a graph is made of. A file in the folder of states keeps which seeds are done and which failed,
so that a run that was stopped, or that ran out of its minutes, goes on where it was; `--graphs` counts all of them
together. A seed that failed, or that ended the program, is named with the command that repeats it, and tried again by the
next run. TENON_DISABLE=pass,... leaves passes out.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTS = {"passes": "RandomGraphs.PassesKeepValues", "builds0": "RandomGraphs.BuildsAtLevelZeroMatch", "builds1": "RandomGraphs.BuildsAtLevelOneMatch",
         "any": "RandomGraphs.BuildsOfAnyCandidatesMatch", "regions": "RandomGraphs.RegionsMatch"}
GPU = {"gpu0": "Unmeasured", "gpu1": "Measured", "gpuany": "OfAnyCandidates", "gpuregions": "OfRegions", "gpuf16": "InF16", "gpubf16": "InBf16",
       "gputf32": "InTf32", "gpularge": "Larger", "gpulargef16": "LargerInF16"}
OFFSET = {"builds1": 30}  # its seeds begin so far behind the first one


class Run:
    def __init__(self, what, minutes, options):
        self.what = what
        self.options = options
        self.end = time.monotonic() + minutes * 60
        self.lock = threading.Lock()
        self.file = options.state / f"fuzz_{what}.json"
        self.state = {"done": [], "failed": [], "seconds": 0.0, "operators": {}}
        if self.file.exists():
            self.state.update(json.loads(self.file.read_text()))

    def command(self, first, count):
        environment = {"TENON_RANDOM_FIRST": str(first - OFFSET.get(self.what, 0)), "TENON_RANDOM_GRAPHS": str(count)}
        if self.what in GPU:
            return environment, [str(self.options.program.parent / "test_cuda"), f"--gtest_filter=OnGpu.RandomGraphs{GPU[self.what]}"]
        return environment, [str(self.options.program), f"--gtest_filter={TESTS[self.what]}"]

    def run(self, first, count):
        """Seeds that failed, and the program's output; one that stopped before its last graph is run again behind the one that stopped it."""
        failed, output = [], ""
        device = {} if self.what in GPU else {"TENON_DEVICE": "cpu"}
        while count > 0:
            environment, command = self.command(first, count)
            threads = {"TENON_THREADS": "1"} if self.options.jobs > 1 else {}
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                  env={**os.environ, **threads, **environment, "TENON_RANDOM_TRACE": "1", **device})
            output += done.stdout
            failed += [int(seed) for seed in re.findall(r"^failed (\d+)$", done.stdout, re.MULTILINE)]
            begun = [int(seed) for seed in re.findall(r"^begin (\d+)$", done.stdout, re.MULTILINE)]
            if not begun:
                sys.exit(f"{' '.join(command)} ended with {done.returncode} before its first graph:\n{done.stdout[-2000:]}")
            if begun[-1] == first + count - 1 and "[==========] 1 test" in done.stdout and " ran." in done.stdout:
                break
            failed.append(begun[-1])
            count -= begun[-1] + 1 - first
            first = begun[-1] + 1
        return failed, output

    def chunk(self, first):
        if time.monotonic() > self.end:
            return
        begin = time.monotonic()
        count = min(self.options.chunk, self.options.graphs + 1 - first)
        failed, output = self.run(first, count)
        if failed and self.options.logs:
            self.options.logs.mkdir(parents=True, exist_ok=True)
            (self.options.logs / f"{self.what}_{first}.log").write_text(output)
        with self.lock:
            self.state["done"] = joined(self.state["done"] + [[first, first + count - 1]])
            self.state["failed"] = sorted(set(self.state["failed"]) | set(failed))
            self.state["seconds"] += time.monotonic() - begin
            for name, times in re.findall(r"^operator (\S+) (\d+)$", output, re.MULTILINE):
                self.state["operators"][name] = self.state["operators"].get(name, 0) + int(times)
            self.save()

    def save(self):
        self.file.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.file.with_suffix(".new")
        fresh.write_text(json.dumps(self.state))
        fresh.replace(self.file)

    def retry(self):
        """Seeds that failed before, once more."""
        self.state["failed"] = [seed for seed in self.state["failed"] if self.run(seed, 1)[0]]

    def chunks(self):
        done = {seed for first, last in self.state["done"] for seed in range(first, last + 1, 1)}
        return [first for first in range(1, self.options.graphs + 1, self.options.chunk) if first not in done]

    def report(self):
        graphs = sum(last - first + 1 for first, last in self.state["done"])
        operators = self.state["operators"]
        layers = {name: times for name, times in operators.items() if "." not in name}
        if layers:
            print("operators: " + ", ".join(f"{name} {times:,}" for name, times in sorted(layers.items(), key=lambda row: -row[1])))
            print(f"scalar operators: {len(operators) - len(layers)} kinds")
        for seed in self.state["failed"]:
            environment, command = self.command(seed, 1)
            print("failed: " + " ".join([f"{name}={value}" for name, value in environment.items()] + command))
        print(f"{self.what}: {graphs:,} graphs done, {len(self.state['failed'])} failed, {self.state['seconds']:.0f} s of processes")
        return 1 if self.state["failed"] else 0


def joined(ranges):
    result = []
    for first, last in sorted(ranges):
        if result and first <= result[-1][1] + 1:
            result[-1][1] = max(result[-1][1], last)
        else:
            result.append([first, last])
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/bin/test_passes", help="test_cuda is beside it")
    parser.add_argument("--what", choices=[*TESTS, "all", *GPU, "gpu"], default="all")
    parser.add_argument("--graphs", type=int, default=100000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--chunk", type=int, default=100)
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--state", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--logs", type=pathlib.Path, help="folder for the outputs of chunks with failures")
    options = parser.parse_args()
    options.program = options.program.resolve()
    names = {"all": list(TESTS), "gpu": list(GPU)}.get(options.what, [options.what])
    runs = []
    for name in names:
        run = Run(name, options.minutes / len(names), options)
        runs.append(run)
        run.retry()
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for future in [pool.submit(run.chunk, first) for first in run.chunks()]:
                future.result()
        run.save()
    sys.exit(max([run.report() for run in runs]))


if __name__ == "__main__":
    main()
