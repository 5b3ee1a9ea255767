#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tenon's trtexec against ONNX Runtime and OpenVINO on the CPU: the same models, inputs and threads, in one run.

    cpu_peers.py [--threads N] [--seconds S] [--rounds N] [--runs N] [--only TEXT,TEXT] [--all | --programs] [--trtexec FILE] [--json FILE]
                 [--level N] [--merge FILE...] [MODELS_FOLDER]

Needs the Python packages numpy and onnxruntime; openvino is left out when it is not installed. The models are the
foundation set: those whose row in the folder's INDEX.md begins with F (--all, or no such file: the shipped model and all
*.onnx below the folder; default folder: TENON_MODELS, or ../shared/models). For each, an engine is built twice, the
second time with the timing cache of the first; then all take turns, and a figure is the median over all rounds of the
milliseconds of one inference: trtexec's compute time against a call of a session whose inputs and outputs are bound. With
--runs that is done several times, each with an engine built anew and the peers' sessions kept, and a figure is the median of
the runs'; three runs of three rounds (--seconds 0.6 --rounds 3 --runs 3) take some five minutes for all models. A
ratio is the peer's time over Tenon's: above 1, Tenon is faster. The last column is the greatest difference of Tenon's
outputs from ONNX Runtime's, relative to the greatest value. --merge prints the table of docs/performance.md from files
written with --json, one for each number of threads; build_times.py measures builds alone.
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
import time

import numpy as np
import onnxruntime

from foundation import DEFAULT_FOLDER, EXTENTS, NUMBERS, PROGRAMS, ROOT, find_models

try:
    import openvino
except ImportError:
    openvino = None

TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64,
         "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(uint8)": np.uint8, "tensor(int8)": np.int8,
         "tensor(bool)": np.bool_}


class Failed(Exception):
    pass


def call_times(call, seconds):
    found, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(found) < 5:
        begin = time.perf_counter()
        call()
        found.append((time.perf_counter() - begin) * 1e3)
    return found


class OnnxRuntime:
    """A session with bound inputs and outputs."""

    def __init__(self, path, threads):
        onnxruntime.set_default_logger_severity(4)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        try:
            self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise Failed(f"onnxruntime: {str(error).splitlines()[0]}") from error
        self.feeds = self.make_inputs(path.stem)
        self.binding = self.session.io_binding()
        for name, value in self.feeds.items():
            self.binding.bind_cpu_input(name, value)
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name, "cpu")

    def make_inputs(self, model):
        random = np.random.default_rng(7)
        feeds = {}
        for argument in self.session.get_inputs():
            fixed = EXTENTS.get(model, {})
            shape = fixed.get(argument.name, fixed.get("*"))
            if shape is None:
                shape = [d if isinstance(d, int) else 1 for d in argument.shape]
            kind = TYPES.get(argument.type)
            if kind is None:
                raise Failed(f"input {argument.name} has the type {argument.type}")
            if np.issubdtype(kind, np.floating):
                feeds[argument.name] = random.random(shape).astype(kind)
            else:
                feeds[argument.name] = np.full(shape, NUMBERS.get(model, {}).get(argument.name, 0), kind)
        return feeds

    def times(self, seconds):
        return call_times(lambda: self.session.run_with_iobinding(self.binding), seconds)

    def outputs(self):
        return {output.name: value for output, value in
                zip(self.session.get_outputs(), self.session.run(None, self.feeds))}


class OpenVino:
    """A compiled model of fixed shapes with bound inputs."""

    def __init__(self, path, feeds, threads):
        core = openvino.Core()
        try:
            model = core.read_model(str(path))
            model.reshape({i.get_any_name(): list(feeds[i.get_any_name()].shape) for i in model.inputs})
            compiled = core.compile_model(model, "CPU", {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads,
                                                         "INFERENCE_PRECISION_HINT": "f32"})
        except Exception as error:
            raise Failed(f"openvino: {str(error).splitlines()[0]}") from error
        self.request = compiled.create_infer_request()
        self.tensors = [openvino.Tensor(feeds[i.get_any_name()]) for i in compiled.inputs]
        for argument, tensor in zip(compiled.inputs, self.tensors):
            self.request.set_tensor(argument, tensor)

    def times(self, seconds):
        return call_times(self.request.infer, seconds)


class Tenon:
    """trtexec: two processes build the engine, one more per round runs it."""

    def __init__(self, options, path, feeds, folder):
        self.trtexec, self.folder, threads = str(options.trtexec), folder, options.threads
        self.environment = {**os.environ, "TENON_THREADS": str(threads),
                            "TENON_DEVICE": "cpu"}
        self.engine = folder / "engine"
        self.shapes = ",".join(f"{name}:{'x'.join(map(str, value.shape))}" for name, value in feeds.items() if value.ndim)
        files = []
        for k, (name, value) in enumerate(feeds.items()):
            file = folder / f"input{k}"
            value.tofile(file)
            files.append(f"{name}:{file}")
        self.inputs = ",".join(files)
        dynamic = self.dynamic = [f"--shapes={self.shapes}"] if self.has_dynamic_inputs(path) else []
        flags = [f"--onnx={path}", f"--saveEngine={self.engine}", "--skipInference", f"--timingCacheFile={folder / 'cache'}",
                 f"--builderOptimizationLevel={options.level}", *dynamic]
        self.build_seconds = []
        for _ in range(2):
            begin = time.perf_counter()
            self.run(*flags)
            self.build_seconds.append(time.perf_counter() - begin)

    @staticmethod
    def has_dynamic_inputs(path):
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        return any(not isinstance(d, int) for argument in session.get_inputs() for d in argument.shape)

    def run(self, *arguments):
        try:
            done = subprocess.run([self.trtexec, *arguments], env=self.environment, text=True, timeout=600,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired as error:
            raise Failed("trtexec: longer than 600 s") from error
        if done.returncode != 0:
            errors = [line for line in done.stdout.splitlines() if "[E]" in line] or done.stdout.splitlines()[-1:]
            raise Failed(f"trtexec: {errors[0] if errors else 'no message'}")

    def times(self, seconds):
        report, output = self.folder / "times.json", self.folder / "output.json"
        self.run(f"--loadEngine={self.engine}", f"--loadInputs={self.inputs}", *self.dynamic,
                 f"--duration={seconds:.2f}", f"--exportTimes={report}", f"--exportOutput={output}")
        return [entry["computeMs"] for entry in json.loads(report.read_text())]

    def outputs(self):
        tensors = json.loads((self.folder / "output.json").read_text())
        return {tensor["name"]: np.array([float(value) for value in tensor["values"]]) for tensor in tensors}


def difference(ours, theirs):
    worst = 0.0
    for name, value in theirs.items():
        if name not in ours or ours[name].size != value.size:
            return math.inf
        value = value.astype(np.float64).ravel()
        if value.size:
            # Python's own max would let a NaN pass.
            worst = np.maximum(worst, np.abs(ours[name] - value).max() / max(np.abs(value).max(), 1e-6))
    return float(worst)


def run_turns(systems, options):
    """The median of each system's times."""
    times = {name: [] for name in systems}
    slice_seconds = options.seconds / options.rounds
    for _ in range(options.rounds):
        for name, system in systems.items():
            # The threads of the one before may still spin.
            time.sleep(0.05)
            times[name] += system.times(slice_seconds)
    return {name: statistics.median(values) for name, values in times.items()}


def measure(path, options):
    ort = OnnxRuntime(path, options.threads)
    peers = {"onnxruntime": ort}
    if openvino is not None:
        try:
            peers["openvino"] = OpenVino(path, ort.feeds, options.threads)
        except Failed as error:
            print(f"{path.stem:40} {error}", flush=True)
    for peer in peers.values():
        peer.times(0.1)
    runs = []
    for _ in range(options.runs):
        with tempfile.TemporaryDirectory() as folder:
            tenon = Tenon(options, path, ort.feeds, pathlib.Path(folder))
            run = run_turns({"tenon": tenon, **peers}, options)
            run.update(build_seconds=tenon.build_seconds[0], cached_build_seconds=tenon.build_seconds[1],
                       difference=difference(tenon.outputs(), ort.outputs()))
            runs.append(run)
    row = {"model": path.stem, **{key: statistics.median(run[key] for run in runs) for key in runs[0]}}
    row["difference"] = float(np.max([run["difference"] for run in runs]))  # Python's own max would let a NaN pass
    return row


def header(threads):
    versions = f"onnxruntime {onnxruntime.__version__}" + (f", openvino {openvino.__version__}" if openvino else "")
    return (f"threads: {threads}, {versions}\n{'model':40} {'tenon ms':>9} {'ort ms':>9} {'ov ms':>9} {'ort/tenon':>9} {'ov/tenon':>9} "
            f"{'build s':>8} {'cached s':>8} {'difference':>10}")


def line(row):
    def ratio(peer):
        return row[peer] / row["tenon"] if peer in row else math.nan
    return (f"{row['model']:40.40} {row['tenon']:9.3f} {row['onnxruntime']:9.3f} {row.get('openvino', math.nan):9.3f} "
            f"{ratio('onnxruntime'):9.2f} {ratio('openvino'):9.2f} {row['build_seconds']:8.2f} {row['cached_build_seconds']:8.2f} "
            f"{row['difference']:10.1e}")


def summary(rows, failures):
    lines = []
    for peer in ("onnxruntime", "openvino"):
        ratios = [row[peer] / row["tenon"] for row in rows if peer in row]
        if ratios:
            mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))
            lines.append(f"geometric mean of {len(ratios)} ratios {peer}/tenon: {mean:.3f}")
    behind = [row["model"] for row in rows if min(row["onnxruntime"], row.get("openvino", math.inf)) < 0.8 * row["tenon"]]
    lines.append(f"below 0.8 of the better peer: {len(behind)} of {len(rows)} ({', '.join(behind) or 'none'})")
    lines += [f"not compared: {failure['model']}: {failure['reason']}" for failure in failures]
    return "\n".join(lines)


def merge(files):
    """The table of docs/performance.md: two columns per file, one per peer, and the builds of the first file."""
    parts = [json.loads(file.read_text()) for file in files]
    by_model = [{row["model"]: row for row in part["rows"]} for part in parts]
    plural = [f"{part['threads']} thread{'s' if part['threads'] > 1 else ''}" for part in parts]
    print("| model | " + " | ".join(f"{peer}, {threads}" for threads in plural for peer in ("ORT", "OpenVINO")) +
          " | build s | cached s |")
    print("| --- |" + " --- |" * (2 * len(parts) + 2))
    columns = [[] for _ in range(2 * len(parts))]
    for model, first in by_model[0].items():
        cells = []
        for part, rows in enumerate(by_model):
            for k, peer in enumerate(("onnxruntime", "openvino")):
                row = rows.get(model, {})
                known = "tenon" in row and peer in row
                if known:
                    columns[2 * part + k].append(row[peer] / row["tenon"])
                cells.append(f"{row[peer] / row['tenon']:.2f}" if known else "")
        builds = [f"{first[name]:.2f}" for name in ("build_seconds", "cached_build_seconds")]
        print("| " + " | ".join([model, *cells, *builds]) + " |")
    means = [f"**{math.exp(statistics.fmean(map(math.log, column))):.2f}**" if column else "" for column in columns]
    print("| **geometric mean** | " + " | ".join(means) + " | | |")
    for part, threads in zip(parts, plural):
        print(f"\n{threads}:\n{summary(part['rows'], part['failures'])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="?", type=pathlib.Path,
                        default=DEFAULT_FOLDER)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=4.0, help="measuring time per model and system")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--runs", type=int, default=1, help="each with a new engine; figures are medians of them")
    parser.add_argument("--only", default="", help="models whose name contains one of these")
    parser.add_argument("--all", action="store_true", help="every model of the folder, not the foundation set alone")
    parser.add_argument("--programs", action="store_true", help="the models with loops, conditionals and sizes of the data")
    parser.add_argument("--level", type=int, default=3, help="builder optimization level")
    parser.add_argument("--trtexec", type=pathlib.Path, default=ROOT / "build/release/bin/trtexec")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures here too")
    parser.add_argument("--merge", type=pathlib.Path, nargs="+", help="only print the table of these files")
    options = parser.parse_args()
    if options.merge:
        return merge(options.merge)
    if not options.trtexec.exists():
        sys.exit(f"error: {options.trtexec} is missing; build it with scripts/demo.sh or name it with --trtexec")

    print(header(options.threads), flush=True)
    rows, failures = [], []
    if options.programs:
        options.all, options.only = True, ",".join(PROGRAMS)
    for path in find_models(options.models, options.all, options.only):
        try:
            rows.append(measure(path, options))
            print(line(rows[-1]), flush=True)
        except Failed as error:
            failures.append({"model": path.stem, "reason": str(error)})
            print(f"{path.stem:40} {error}", flush=True)
        if options.json:
            options.json.write_text(json.dumps({"threads": options.threads, "rows": rows, "failures": failures}, indent=1))
    print(summary(rows, failures))


if __name__ == "__main__":
    main()
