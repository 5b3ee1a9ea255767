#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tenon's trtexec against ONNX Runtime on the CPU: the same models, inputs and threads, in one run.

    cpu_peers.py [--threads N] [--seconds S] [--rounds N] [--only TEXT] [--trtexec FILE] [--json FILE] [MODELS_FOLDER]

Needs the Python packages numpy and onnxruntime. The models are the shipped one and all *.onnx below the folder
(default: TENON_MODELS, or ../shared/models). For each, an engine is built once; then the two take turns, and a figure
is the median over all rounds of the milliseconds of one inference: trtexec's compute time against a call of a session
whose inputs and outputs are bound. The ratio is ONNX Runtime's time over Tenon's: above 1, Tenon is faster. The last
column is the greatest difference of the outputs, relative to the greatest value.
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

ROOT = pathlib.Path(__file__).resolve().parent.parent
TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(double)": np.float64,
         "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(uint8)": np.uint8, "tensor(int8)": np.int8,
         "tensor(bool)": np.bool_}
# What a dynamic extent becomes, by model and input; elsewhere 1.
EXTENTS = {
    "cls_ppocr_textline_orientation": {"*": (1, 3, 48, 192)},
    "det_yunet_n_dynamic_face": {"*": (1, 3, 320, 320)},
    "det_retinaface_mbnet025_dynamic": {"*": (1, 3, 320, 320)},
    "ocr_ppocr_v3_text_det": {"*": (1, 3, 320, 320)},
}


class Failed(Exception):
    pass


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
            shape = fixed.get(argument.name, fixed.get("*")) or [d if isinstance(d, int) else 1 for d in argument.shape]
            kind = TYPES.get(argument.type)
            if kind is None:
                raise Failed(f"input {argument.name} has the type {argument.type}")
            if np.issubdtype(kind, np.floating):
                feeds[argument.name] = random.random(shape).astype(kind)
            else:
                feeds[argument.name] = np.zeros(shape, kind)
        return feeds

    def times(self, seconds):
        found, end = [], time.perf_counter() + seconds
        while time.perf_counter() < end or len(found) < 5:
            begin = time.perf_counter()
            self.session.run_with_iobinding(self.binding)
            found.append((time.perf_counter() - begin) * 1e3)
        return found

    def outputs(self):
        return {output.name: value for output, value in
                zip(self.session.get_outputs(), self.session.run(None, self.feeds))}


class Tenon:
    """trtexec: one process builds the engine, one more per round runs it."""

    def __init__(self, trtexec, path, feeds, threads, folder):
        self.trtexec, self.folder = trtexec, folder
        self.environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "TENON_THREADS": str(threads),
                            "TENON_DEVICE": "cpu"}
        self.engine = folder / "engine"
        self.shapes = ",".join(f"{name}:{'x'.join(map(str, value.shape))}" for name, value in feeds.items() if value.ndim)
        files = []
        for k, (name, value) in enumerate(feeds.items()):
            file = folder / f"input{k}"
            value.tofile(file)
            files.append(f"{name}:{file}")
        self.inputs = ",".join(files)
        dynamic = [f"--shapes={self.shapes}"] if self.has_dynamic_inputs(path) else []
        self.dynamic = dynamic
        begin = time.perf_counter()
        self.run(f"--onnx={path}", f"--saveEngine={self.engine}", "--skipInference", *dynamic)
        self.build_seconds = time.perf_counter() - begin

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
                 f"--duration={seconds}", f"--exportTimes={report}", f"--exportOutput={output}")
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


def measure(path, options):
    with tempfile.TemporaryDirectory() as folder:
        peer = OnnxRuntime(path, options.threads)
        tenon = Tenon(str(options.trtexec), path, peer.feeds, options.threads, pathlib.Path(folder))
        peer.times(0.1)
        times = {"tenon": [], "onnxruntime": []}
        for _ in range(options.rounds):
            times["onnxruntime"] += peer.times(options.seconds / options.rounds)
            times["tenon"] += tenon.times(max(1, round(options.seconds / options.rounds)))
        medians = {name: statistics.median(values) for name, values in times.items()}
        return {"model": path.stem, **medians, "ratio": medians["onnxruntime"] / medians["tenon"],
                "build_seconds": tenon.build_seconds, "difference": difference(tenon.outputs(), peer.outputs())}


def find_models(folder, only):
    found = [ROOT / "models/digits/digits.onnx"]
    if folder.is_dir():
        found += sorted(folder.rglob("*.onnx"))
    else:
        print(f"{folder} is not there; only the shipped model is measured")
    return [path for path in found if only in path.stem]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="?", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("TENON_MODELS", ROOT.parent / "shared/models")))
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=4.0, help="measuring time per model and peer")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", default="", help="models whose name contains this")
    parser.add_argument("--trtexec", type=pathlib.Path, default=ROOT / "build/release/bin/trtexec")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures here too")
    options = parser.parse_args()
    if not options.trtexec.exists():
        sys.exit(f"error: {options.trtexec} is missing; build it with scripts/demo.sh or name it with --trtexec")

    print(f"threads: {options.threads}, onnxruntime {onnxruntime.__version__}")
    print(f"{'model':44} {'tenon ms':>9} {'ort ms':>9} {'ort/tenon':>9} {'build s':>8} {'difference':>10}")
    rows, failures = [], []
    for path in find_models(options.models, options.only):
        try:
            row = measure(path, options)
        except Failed as error:
            failures.append({"model": path.stem, "reason": str(error)})
            print(f"{path.stem:44} {error}", flush=True)
            continue
        rows.append(row)
        print(f"{row['model']:44} {row['tenon']:9.3f} {row['onnxruntime']:9.3f} {row['ratio']:9.2f} "
              f"{row['build_seconds']:8.1f} {row['difference']:10.1e}", flush=True)
    if rows:
        mean = math.exp(statistics.fmean(math.log(row["ratio"]) for row in rows))
        print(f"geometric mean of {len(rows)} ratios: {mean:.2f}; {len(failures)} models could not be compared")
    if options.json:
        options.json.write_text(json.dumps({"threads": options.threads, "rows": rows, "failures": failures}, indent=1))


if __name__ == "__main__":
    main()
