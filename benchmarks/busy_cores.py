#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long inferences take while other programs keep cores busy: Tenon's trtexec, and ONNX Runtime and OpenVINO where they are
installed.

    busy_cores.py [--threads N] [--loops N,N,...] [--seconds S] [--rounds N] [--only TEXT,TEXT] [--trtexec FILE,FILE]
                  [--json FILE] [MODELS_FOLDER]

For each model and number of busy loops (0, 1 and 2 by default; processes that do nothing but count, of the same priority)
all systems take turns, and a figure is the mean over all rounds of the milliseconds of one inference (the median of times
that are either undisturbed or longer by a turn of the other program says little); behind it stand the median and the 99th
percentile. Several programs behind --trtexec are compared with each other: each builds its own engine. The
ratios are those of the times to the first system's in the same row: above 1, the first one is faster.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from foundation import DEFAULT_FOLDER, ROOT, find_models, shapes_flag

try:
    from cpu_peers import Failed, OnnxRuntime, OpenVino, openvino
except ImportError:
    OnnxRuntime = openvino = None


class BusyLoops:
    """So many processes that only count, while the block lasts."""

    def __init__(self, count):
        self.count, self.processes = count, []

    def __enter__(self):
        for _ in range(self.count):
            self.processes.append(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


class Trtexec:
    """A process builds the engine, one more per round runs it."""

    def __init__(self, program, path, options, folder):
        self.program, self.shapes = program, shapes_flag(path.stem)
        self.engine, self.report = folder / "engine", folder / "times.json"
        self.environment = {**os.environ, "TENON_THREADS": str(options.threads), "TENON_DEVICE": "cpu"}
        self.run(f"--onnx={path}", f"--saveEngine={self.engine}", "--skipInference")

    def run(self, *arguments):
        done = subprocess.run([self.program, *arguments, *self.shapes], env=self.environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900)
        if done.returncode != 0:
            sys.exit(f"{self.program} {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout[-2000:]}")

    def times(self, seconds):
        self.run(f"--loadEngine={self.engine}", f"--duration={seconds:.2f}", f"--exportTimes={self.report}")
        return [entry["computeMs"] for entry in json.loads(self.report.read_text())]


def systems_for(path, options, folder):
    systems = {}
    for program in options.trtexec.split(","):
        place = pathlib.Path(folder) / str(len(systems))
        place.mkdir()
        systems["tenon" if not systems else f"tenon {len(systems) + 1}"] = Trtexec(program, path, options, place)
    if OnnxRuntime is not None and not options.no_peers:
        try:
            systems["onnxruntime"] = OnnxRuntime(path, options.threads)
            if openvino is not None:
                systems["openvino"] = OpenVino(path, systems["onnxruntime"].feeds, options.threads)
        except Failed as error:
            print(f"{path.stem}: {error}", file=sys.stderr)
    return systems


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def measure(path, options):
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        systems = systems_for(path, options, folder)
        for loops in map(int, options.loops.split(",")):
            times = {name: [] for name in systems}
            with BusyLoops(loops):
                for _ in range(options.rounds):
                    for name, system in systems.items():
                        times[name] += system.times(options.seconds / options.rounds)
            rows.append({"model": path.stem, "loops": loops,
                         **{name: {"mean": statistics.fmean(found), "median": statistics.median(found), "p99": percentile(found, 0.99), "least": min(found)}
                            for name, found in times.items()}})
            print(line(rows[-1]), flush=True)
    return rows


def names(row):
    return [name for name in row if name not in ("model", "loops")]


def line(row):
    first = names(row)[0]
    cells = [f"{row['model']:40.40} {row['loops']:5}"]
    for name in names(row):
        ratio = "" if name == first else f" x{row[name]['mean'] / row[first]['mean']:.2f}"
        cells.append(f"{name} {row[name]['mean']:.3f} ({row[name]['median']:.3f}, {row[name]['p99']:.2f}){ratio}")
    return "  ".join(cells)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--loops", default="0,1,2")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--trtexec", default=str(ROOT / "build/release/bin/trtexec"))
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("models", nargs="?", type=pathlib.Path, default=DEFAULT_FOLDER)
    options = parser.parse_args()
    rows = [row for path in find_models(options.models, only=options.only) for row in measure(path, options)]
    if not rows:
        sys.exit(f"no model in {options.models}")
    for loops in sorted({row["loops"] for row in rows}):
        here = [row for row in rows if row["loops"] == loops]
        for name in names(here[0])[1:]:
            ratios = [row[name]["mean"] / row[names(row)[0]]["mean"] for row in here if name in row]
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            print(f"{loops} busy loops: {name} over {names(here[0])[0]}: geometric mean {mean:.2f}, least {min(ratios):.2f}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
