#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks of many kinds (benchmarks/kinds) beside PyTorch on an NVIDIA GPU, within a bounded time.

    gpu_kinds.py --json FILE [--trtexec FILE] [--folder DIR] [--seconds-in-all S] [--jobs N] [--variable NAME=VALUE ...]
                 [--compile] [--profile-below RATIO --profiles DIR] [NETWORK[:BATCH[:half|single]] ...]

Needs torch, torchvision, onnx and a GPU. Each network is exported and its results in f32 without TF32 computed by a process
of its own; so many processes prepare side by side, but build and measure one at a time (gpu_turns.py). `half` is an engine
with --fp16 beside PyTorch's module in halves, `single` one without TF32 beside PyTorch without it; PyTorch is replayed as a
CUDA graph, of pictures and volumes in the faster of both formats; --compile tries torch.compile as well. Milliseconds are of
the GPU, "error" and "theirs" norms of the difference from the results in f32 over the norm of these, the worst of all outputs.
A row that was measured is in the file at once, and not measured again. With --profile-below a network whose ratio is less
leaves the times of its layers in --profiles.
"""
import argparse
import ctypes
import json
import math
import multiprocessing
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import time
import traceback
import warnings

HERE = pathlib.Path(__file__).resolve().parent
FLAGS = {"half": ["--fp16"], "single": ["--noTF32"]}
CHECKED_ELEMENTS = 6_000_000  # larger outputs take longer to write as text than they are worth
FORMATS = {4: "channels_last", 5: "channels_last_3d"}


class Failed(Exception):
    pass


def end_with_parent():
    """What a process that is ended has started must not keep the GPU."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def as_tuple(given):
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


class Measured:
    """One network, exported, and its results."""

    def __init__(self, spec, options):
        import torch
        from kinds.table import network
        self.name, batch, self.kind = spec.split(":")
        self.options, self.spec = options, spec
        self.folder = options.folder / spec.replace(":", "_")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.model, inputs = network(self.name, int(batch))
        self.model.cuda()
        self.inputs = tuple(x.cuda() for x in inputs)
        names = [f"input{k}" for k in range(len(inputs))]
        self.allow(False)
        self.onnx = self.folder / "model.onnx"
        torch.backends.mha.set_fastpath_enabled(False)  # one operation, which ONNX does not know
        with torch.no_grad():
            torch.onnx.export(self.model, self.inputs, str(self.onnx), dynamo=False, opset_version=17, input_names=names)
            self.answers = [x.float() for x in as_tuple(self.model(*self.inputs))]
        torch.backends.mha.set_fastpath_enabled(True)
        self.files = []
        for name, value in zip(names, inputs):
            value.numpy().tofile(self.folder / name)
            self.files.append(f"{name}:{self.folder / name}")

    @staticmethod
    def allow(tf32):
        import torch
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32

    def difference(self, results):
        worst = 0.0
        for mine, wanted in zip(results, self.answers, strict=True):
            if mine.numel() != wanted.numel():
                return math.inf
            mine, wanted = mine.double().flatten().to(wanted.device), wanted.double().flatten()
            apart = float((mine - wanted).norm() / wanted.norm().clamp_min(1e-30))
            worst = max(worst, apart if math.isfinite(apart) else math.inf)
        return worst

    def trtexec(self, log, *arguments):
        environment = {**os.environ, **dict(self.options.variable)}
        try:
            done = subprocess.run([str(self.options.trtexec), *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=self.options.timeout, env=environment, preexec_fn=end_with_parent)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"trtexec: longer than {self.options.timeout} s") from error
        (self.folder / log).write_text(done.stdout)
        if done.returncode != 0:
            lines = done.stdout.splitlines()
            errors = [line for line in lines if "[E]" in line or "[F]" in line] or lines[-1:]
            raise Failed(f"trtexec, {log}: exit {done.returncode}: {' '.join(errors)[:500]}")
        return done.stdout

    def ours(self):
        import torch
        engine, times, output = (self.folder / name for name in ("engine", "times.json", "output.json"))
        begin = time.monotonic()
        self.trtexec("build.log", f"--onnx={self.onnx}", f"--saveEngine={engine}", "--skipInference", "--profilingVerbosity=detailed", *FLAGS[self.kind])
        row = {"build": time.monotonic() - begin}
        small = sum(x.numel() for x in self.answers) <= CHECKED_ELEMENTS
        self.trtexec("run.log", f"--loadEngine={engine}", f"--loadInputs={','.join(self.files)}", f"--duration={self.options.seconds}",
                     f"--exportTimes={times}", *([f"--exportOutput={output}"] if small else []))
        row["ours"] = statistics.median(entry["computeMs"] for entry in json.loads(times.read_text()))
        if small:
            values = [[math.nan if v is None else float(v) for v in o["values"]] for o in json.loads(output.read_text())]
            row["error"] = self.difference([torch.tensor(v, dtype=torch.float64) for v in values])
            output.unlink()
        return row

    def profile(self):
        self.trtexec("profile.log", f"--loadEngine={self.folder / 'engine'}", f"--loadInputs={','.join(self.files)}", "--duration=0.2",
                     "--dumpProfile", "--separateProfileRun", "--dumpLayerInfo")
        self.options.profiles.mkdir(parents=True, exist_ok=True)
        (self.options.profiles / f"{self.folder.name}.txt").write_text((self.folder / "profile.log").read_text())

    def eager(self):
        """The least time of the formats, and its error."""
        import torch
        half = torch.float16 if self.kind == "half" else torch.float32
        self.allow(False)
        model, row = self.model.to(half), {}
        inputs = [x.to(half) if x.is_floating_point() else x for x in self.inputs]
        for name in ["contiguous_format"] + [FORMATS[x.dim()] for x in inputs[:1] if x.dim() in FORMATS]:
            try:
                if name != "contiguous_format":
                    form = getattr(torch, name)
                    model = model.to(memory_format=form)
                    inputs = [x.to(memory_format=form) if x.dim() == inputs[0].dim() else x for x in inputs]
                row = min(row, self.timed(model, inputs), key=lambda r: r.get("eager", math.inf))
            except Exception as error:  # a type or a format that it has no kernel for
                row.setdefault("their_reason", f"{name}: {type(error).__name__}: {str(error)[:120]}")
        if self.options.compile:
            with torch.no_grad():
                begin = time.monotonic()
                compiled = torch.compile(model, mode="max-autotune-no-cudagraphs", dynamic=False)
                compiled(*inputs)
                row["compile_seconds"] = time.monotonic() - begin
                row["compile"] = self.timed(compiled, inputs)["eager"]
        return row

    def timed(self, model, inputs):
        """As a graph, or else as it is called."""
        import torch
        from gpu_peers import as_graph, median_ms
        with torch.no_grad():
            row = {"theirs": self.difference([x.float() for x in as_tuple(model(*inputs))])}
            try:
                call = as_graph(model, inputs)
            except Exception:  # a copy from the host, for instance
                torch.cuda.synchronize()
                row["called"], call = True, lambda: model(*inputs)
            row["eager"] = median_ms(call, self.options.seconds)
        return row


def keep(options, spec, row):
    with open(options.json, "a") as file:
        file.write(json.dumps({"spec": spec, **row}) + "\n")
    print(spec, f"after {time.monotonic() - options.begin:.0f} s",
          {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in row.items()}, flush=True)


def known(options):
    lines = options.json.read_text().splitlines() if options.json.exists() else []
    return {row.pop("spec"): row for row in map(json.loads, lines)}


def work(spec, options):
    """One network, in a process of its own."""
    os.setsid()
    end_with_parent()
    warnings.filterwarnings("ignore")
    row = {}
    try:
        import torch
        from gpu_turns import Turns
        torch.backends.cudnn.benchmark = True
        measured = Measured(spec, options)
        with Turns(options.folder).alone():
            (options.folder / f"{spec}.begun").touch()
            try:
                row.update(measured.ours())
            except Failed as failed:
                row["reason"] = str(failed)
            try:
                row.update(measured.eager())
            except Exception as error:  # PyTorch has no kernel for halves, for instance
                row["their_reason"] = f"{type(error).__name__}: {str(error)[:200]}"
            if "ours" in row and row.get("eager", 0) / row["ours"] < options.profile_below:
                measured.profile()
            shutil.rmtree(measured.folder)
    except Exception as error:  # one network must not end the others
        traceback.print_exc()
        row["reason"] = row.get("reason", f"{type(error).__name__}: {str(error)[:300]}")
    keep(options, spec, row)


def run(options):
    found, running = known(options), {}
    waiting = [spec for spec in options.networks if spec not in found]
    while (waiting or running) and time.monotonic() < options.begin + options.seconds_in_all:
        for spec, process in list(running.items()):
            begun = options.folder / f"{spec}.begun"
            if not process.is_alive():
                del running[spec]
            elif begun.exists() and time.time() > begun.stat().st_mtime + options.timeout:
                end(process)
                keep(options, spec, {"reason": f"longer than {options.timeout} s"})
                del running[spec]
        while waiting and len(running) < options.jobs:
            spec = waiting.pop(0)
            running[spec] = multiprocessing.get_context("spawn").Process(target=work, args=(spec, options))
            running[spec].start()
        time.sleep(0.1)
    for process in running.values():
        end(process)


def end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:  # it has not come to its own group
        process.kill()
    process.join()


def table(options):
    rows, ratios = known(options), {}
    print(f"{'network':24} {'batch':>5} {'type':6} {'ours':>8} {'eager':>8} {'compile':>8} {'ratio':>6} {'build s':>8} {'error':>8} {'theirs':>8}")
    for spec in sorted(rows, key=lambda s: rows[s].get("eager", math.nan) / rows[s].get("ours", math.nan)):
        row, (name, batch, kind) = rows[spec], spec.split(":")
        ours, eager, compiled = (row.get(key, math.nan) for key in ("ours", "eager", "compile"))
        ratio = min((x for x in (eager, compiled) if not math.isnan(x)), default=math.nan) / ours
        if not math.isnan(ratio):
            ratios.setdefault(kind, []).append(ratio)
        print(f"{name:24} {batch:>5} {kind:6} {ours:8.3f} {eager:8.3f} {compiled:8.3f} {ratio:6.2f} {row.get('build', math.nan):8.1f} "
              f"{row.get('error', math.nan):8.1e} {row.get('theirs', math.nan):8.1e} {row.get('reason', '')} {row.get('their_reason', '')}")
    for kind, values in ratios.items():
        print(f"{kind}: geometric mean of {len(values)}: {math.exp(statistics.fmean(map(math.log, values))):.2f}, least {min(values):.2f}")
    missing = [spec for spec in options.networks if spec not in rows]
    print(f"not reached: {' '.join(missing) or 'none'}")
    return 1 if missing else 0


def main():
    begin = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", help="NETWORK[:BATCH[:half|single]]; all in halves without any")
    parser.add_argument("--json", type=pathlib.Path, required=True)
    parser.add_argument("--trtexec", type=pathlib.Path, default=HERE.parent / "build/release/bin/trtexec")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/tenon_gpu_kinds"))
    parser.add_argument("--seconds-in-all", type=float, default=600)
    parser.add_argument("--seconds", type=float, default=0.3, help="measuring time per system")
    parser.add_argument("--timeout", type=float, default=60, help="seconds that one network may have the GPU")
    parser.add_argument("--jobs", type=int, default=5, help="networks that are prepared at a time")
    parser.add_argument("--variable", action="append", default=[], type=lambda text: tuple(text.split("=", 1)), metavar="NAME=VALUE")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--profile-below", type=float, default=0)
    parser.add_argument("--profiles", type=pathlib.Path, default=pathlib.Path("/tmp/tenon_gpu_kinds/profiles"))
    options = parser.parse_args()
    options.begin = begin
    options.folder.mkdir(parents=True, exist_ok=True)
    if not options.networks:
        from kinds.table import NETWORKS
        options.networks = list(NETWORKS)
    options.networks = [":".join((spec.split(":") + ["1", "half"][spec.count(":"):])) for spec in options.networks]
    run(options)
    code = table(options)
    sys.stdout.flush()
    os._exit(code)  # processes that were ended leave helpers of PyTorch behind


if __name__ == "__main__":
    main()
