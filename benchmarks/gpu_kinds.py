#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks of many kinds (benchmarks/kinds) beside PyTorch on an NVIDIA GPU, within a bounded time.

    gpu_kinds.py --pack DIR [NETWORK[:BATCH] ...]                        # anywhere: needs torch, torchvision and onnx
    gpu_kinds.py --json FILE [--packed DIR] [--trtexec FILE] [--folder DIR] [--seconds-in-all S] [--jobs N] [--beside-builds]
                 [--variable NAME=VALUE ...] [--compile] [--profile-below RATIO --profiles DIR] [NETWORK[:BATCH[:TYPE]] ...]

Needs torch, torchvision, onnx and a GPU. Each network is exported, or taken from what --pack wrote without weights, and its
results in f32 without TF32 computed by a process of its own; so many processes prepare side by side, but build and measure one
at a time (gpu_turns.py); with --beside-builds builds do not wait for their turn either, and a tactic may be one that was only
luckier. TYPE is `half`, an engine with --fp16 beside PyTorch's module in halves, `bf16` likewise, `tf32`, or `single`: without
TF32 in both. Both are timed in one process (engine_calls.so beside trtexec) by the same events; PyTorch is replayed as a
CUDA graph, of pictures and volumes in the faster of both formats; --compile tries torch.compile as well. Milliseconds are of
the GPU, "error" and "theirs" norms of the difference from the results in f32 over the norm of these, the worst of all outputs.
A row that was measured is in the file at once, and not measured again. With --profile-below a network whose ratio is less
leaves the times of its layers in --profiles.
"""
import argparse
import contextlib
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
FLAGS = {"half": ["--fp16"], "bf16": ["--bf16"], "tf32": [], "single": ["--noTF32"]}
FORMATS = {4: "channels_last", 5: "channels_last_3d"}


class Failed(Exception):
    pass


def end_with_parent():
    """What a process that is ended has started must not keep the GPU."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def as_tuple(given):
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


class Engine:
    """A plan's engine in this process, by engine_calls.so; its tensors are PyTorch's."""
    TYPES = {0: "float32", 1: "float16", 2: "int8", 3: "int32", 4: "bool", 5: "uint8", 7: "bfloat16", 8: "int64"}

    def __init__(self, programs, plan, inputs):
        import torch
        for library in ("libtenon_hostcuda.so.1", "libnvinfer.so.10"):  # of a build that was moved
            ctypes.CDLL(str(programs.parent / "lib" / library), ctypes.RTLD_GLOBAL)
        calls = self.calls = ctypes.CDLL(str(programs / "engine_calls.so"))
        calls.engineOpen.restype, calls.engineTensorName.restype = ctypes.c_void_p, ctypes.c_char_p
        for function in (calls.engineTensorIsInput, calls.engineBind, calls.engineRun):
            function.restype = ctypes.c_bool
        self.opened = ctypes.c_void_p(calls.engineOpen(str(plan).encode()))
        if not self.opened.value:
            raise Failed("the plan was not loaded")
        self.stream, self.tensors, self.outputs = torch.cuda.Stream(), {}, []  # the default one cannot be recorded
        for index in range(calls.engineTensorCount(self.opened)):
            name, extents = calls.engineTensorName(self.opened, index), (ctypes.c_int64 * 8)()
            shape = list(extents[:calls.engineTensorShape(self.opened, name, extents)])
            type_ = getattr(torch, self.TYPES[calls.engineTensorType(self.opened, name)])
            if calls.engineTensorIsInput(self.opened, name):
                self.tensors[name] = inputs[name.decode()].to(type_).contiguous()
            else:
                self.tensors[name] = torch.empty(shape, dtype=type_, device="cuda")
                self.outputs.append(self.tensors[name])
            if not calls.engineBind(self.opened, name, ctypes.c_void_p(self.tensors[name].data_ptr())):
                raise Failed(f"the address of {name.decode()} was refused")

    def __call__(self):
        if not self.calls.engineRun(self.opened, ctypes.c_void_p(self.stream.cuda_stream)):
            raise Failed("the execution failed")


class Measured:
    """One network, exported, and its results."""

    def __init__(self, spec, options):
        import torch
        from kinds.packed import export, unpack
        from kinds.table import network
        self.name, batch, self.kind = spec.split(":")
        self.options, self.spec = options, spec
        self.folder = options.folder / spec.replace(":", "_")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.model, inputs = network(self.name, int(batch))
        self.model.cuda()
        self.inputs = tuple(x.cuda() for x in inputs)
        self.allow(False)
        self.onnx = self.folder / "model.onnx"
        packed = options.packed and options.packed / f"{self.name}_{batch}.xz"
        if packed and packed.exists():
            unpack(packed, self.model, self.onnx)
        else:
            export(self.model, self.inputs, self.onnx)
        self.names = [f"input{k}" for k in range(len(inputs))]
        with torch.no_grad():
            self.answers = [x.float() for x in as_tuple(self.model(*self.inputs))]

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
        path = os.pathsep.join(filter(None, [str(self.options.trtexec.resolve().parent.parent / "lib"), os.environ.get("LD_LIBRARY_PATH")]))
        environment = {**os.environ, "LD_LIBRARY_PATH": path, **dict(self.options.variable)}
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

    def build(self):
        begin = time.monotonic()
        self.trtexec("build.log", f"--onnx={self.onnx}", f"--saveEngine={self.folder / 'engine'}", "--skipInference", "--profilingVerbosity=detailed",
                     *FLAGS[self.kind])
        return time.monotonic() - begin

    def ours(self):
        import torch
        from gpu_peers import median_ms
        engine = Engine(self.options.trtexec.resolve().parent, self.folder / "engine", dict(zip(self.names, self.inputs)))
        torch.cuda.synchronize()
        for _ in range(3):
            engine()
        torch.cuda.synchronize()
        error = self.difference([x.float() for x in engine.outputs])

        def timed():
            with torch.cuda.stream(engine.stream):
                return {"error": error, "ours": median_ms(engine, self.options.seconds)}
        return timed

    def profile(self):
        files = []
        for name, value in zip(self.names, self.inputs):
            value.cpu().numpy().tofile(self.folder / name)
            files.append(f"{name}:{self.folder / name}")
        self.trtexec("profile.log", f"--loadEngine={self.folder / 'engine'}", f"--loadInputs={','.join(files)}", "--duration=0.2",
                     "--dumpProfile", "--separateProfileRun", "--dumpLayerInfo")
        self.options.profiles.mkdir(parents=True, exist_ok=True)
        (self.options.profiles / f"{self.folder.name}.txt").write_text((self.folder / "profile.log").read_text())

    def eager(self):
        """The least time of the formats, and its error."""
        import torch
        half = {"half": torch.float16, "bf16": torch.bfloat16}.get(self.kind, torch.float32)
        self.allow(self.kind == "tf32")
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


def begun(spec, options, begins=True):
    """From here on its time counts, or not."""
    file = options.folder / f"{spec}.begun"
    file.touch() if begins else file.unlink(missing_ok=True)


def begun_at(spec, options):
    try:
        return (options.folder / f"{spec}.begun").stat().st_mtime
    except FileNotFoundError:
        return math.inf


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
        measured, turns = Measured(spec, options), Turns(options.folder)
        timed = None
        with contextlib.nullcontext() if options.beside_builds else turns.alone():
            try:
                begun(spec, options)
                row["build"] = measured.build()
                timed = measured.ours()
            except Failed as failed:
                row["reason"] = str(failed)
            finally:
                begun(spec, options, False)
        with turns.alone():
            begun(spec, options)
            if timed:
                row.update(timed())
            try:
                row.update(measured.eager())
            except Exception as error:  # PyTorch has no kernel for halves, for instance
                row["their_reason"] = f"{type(error).__name__}: {str(error)[:200]}"
        if "ours" in row and row.get("eager", 0) / row["ours"] < options.profile_below:
            with turns.together():
                measured.profile()
        shutil.rmtree(measured.folder)
    except Exception as error:  # one network must not end the others
        traceback.print_exc()
        row["reason"] = row.get("reason", f"{type(error).__name__}: {str(error)[:300]}")
    keep(options, spec, row)


def run(options):
    found, running = known(options), {}
    context = multiprocessing.get_context("forkserver")  # which has read the modules and has no GPU
    context.set_forkserver_preload(["torch", "torchvision", "onnx", "gpu_peers", "kinds.table"])
    waiting = [spec for spec in options.networks if spec not in found]
    while (waiting or running) and time.monotonic() < options.begin + options.seconds_in_all:
        for spec, process in list(running.items()):
            if not process.is_alive():
                del running[spec]
            elif time.time() > begun_at(spec, options) + options.timeout:
                end(process)
                keep(options, spec, {"reason": f"longer than {options.timeout} s"})
                del running[spec]
        while waiting and len(running) < options.jobs:
            spec = waiting.pop(0)
            running[spec] = context.Process(target=work, args=(spec, options))
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


def pack(options):
    from kinds.packed import pack as write
    from kinds.table import network
    options.pack.mkdir(parents=True, exist_ok=True)
    for spec in options.networks:
        name, batch = (spec.split(":") + ["1"])[:2]
        file = options.pack / f"{name}_{batch}.xz"
        try:
            write(*network(name, int(batch)), file)
            print(f"{name}:{batch}: {file.stat().st_size} bytes", flush=True)
        except Exception as error:  # every exporter raises kinds of its own
            print(f"{name}:{batch}: {type(error).__name__}: {str(error)[:300]}", flush=True)


def main():
    begin = time.monotonic()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", help="NETWORK[:BATCH[:TYPE]]; all in halves without any")
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("/tmp/tenon_gpu_kinds.json"))
    parser.add_argument("--pack", type=pathlib.Path, metavar="DIR", help="export without weights into this folder, and nothing else")
    parser.add_argument("--packed", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--beside-builds", action="store_true", help="builds take no turns")
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
    if not options.networks:
        from kinds.table import NETWORKS
        options.networks = list(NETWORKS)
    if options.pack:
        return pack(options)
    options.folder.mkdir(parents=True, exist_ok=True)
    options.networks = [":".join((spec.split(":") + ["1", "half"][spec.count(":"):])) for spec in options.networks]
    run(options)
    code = table(options)
    sys.stdout.flush()
    os._exit(code)  # processes that were ended leave helpers of PyTorch behind


if __name__ == "__main__":
    main()
