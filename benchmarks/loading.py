#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables what it takes to load engines, each in a process of its own: from the plan's bytes to the first result.

    loading.py [--bin FOLDER] [--turns N] [--device cpu|cuda] [--build FLAG ...] [--calls LIBRARY] MODEL.onnx|PLAN ...

Times are the least of N turns, because whatever else the machine does only adds time. On the CPU they stand as multiples
of the latency of an execution that is warm, on a GPU in milliseconds. Memory is what the process holds after the first
result, on a GPU what the device has less then, as a multiple of what the engine says that weights and arena take; and what
the allocator was asked for as such a multiple. With --calls, the library of loading/driver_calls.cpp, one more turn of each
plan counts what is asked of NVIDIA's libraries; a file beside MODEL.onnx or PLAN, with the suffix .calls in its place, holds
all of it, and the longest are printed.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MIB = float(1 << 20)
STAGES = ("engine_ms", "context_ms", "first_ms", "total_ms")


def build(options, model, plan):
    command = [str(options.bin / "trtexec"), f"--onnx={model}", f"--saveEngine={plan}", "--skipInference", *options.build]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=options.environment)
    if done.returncode != 0:
        sys.exit(done.stdout[-3000:])


def load(options, plan, **more):
    """The figures of one process."""
    done = subprocess.run([str(options.bin / "load_engine"), str(plan)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env={**options.environment, **more})
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1:]
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}, None


def longest_calls(options, plan, file):
    """Of each stage of loading, what took a tenth of a millisecond and more: `stage: name calls x milliseconds`."""
    figures, error = load(options, plan, LD_PRELOAD=str(options.calls), DRIVER_CALLS=str(file))
    if figures is None:
        return " ".join(error)
    stages = {}
    for line in file.read_text().splitlines():
        stage, spent, calls, name = line.split()
        if float(spent) >= 0.1 and stage in ("engine", "context", "first"):
            stages.setdefault(stage, []).append(f"{name} {calls} x {float(spent):.1f}")
    return "; ".join(f"{stage}: {', '.join(calls[:8])}" for stage, calls in stages.items())


def row(options, model, folder):
    plan = model
    if model.suffix == ".onnx":
        plan = pathlib.Path(folder) / (model.stem + ".plan")
        build(options, model, plan)
    turns = []
    for _ in range(options.turns):
        figures, error = load(options, plan)
        if figures is None:
            return f"| {model.stem} | {' '.join(error)} |"
        turns.append(figures)
    calls = longest_calls(options, plan, model.with_suffix(".calls")) if options.calls else None
    if model.suffix == ".onnx":
        plan.unlink()
    least = {name: min(turn[name] for turn in turns) for name in turns[0]}
    held = least["weight_bytes"] + least["arena_bytes"]
    sizes = " | ".join(f"{least[name] / MIB:.1f}" for name in ("plan_bytes", "weight_bytes", "arena_bytes"))
    if options.device == "cpu":
        times = [f"{least[name] / least['second_ms']:.1f}" for name in STAGES]
        return f"| {model.stem} | {sizes} | {least['resident_bytes'] / held:.2f} | {' | '.join(times)} |"
    times = [f"{least[name]:.1f}" for name in (*STAGES, "warm_ms")]
    text = (f"| {model.stem} | {sizes} | {least['device_bytes'] / held:.3f} | {least['allocated_bytes'] / held:.3f} |"
            f" {' | '.join(times)} |")
    return text + (f"\n  {calls}" if calls else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--build", action="append", default=[], metavar="FLAG", help="of trtexec, for the build")
    parser.add_argument("--calls", type=pathlib.Path, help="the library that counts calls, loaded ahead")
    parser.add_argument("models", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    options.environment = {**os.environ, "TENON_DEVICE": options.device}
    on_gpu = "device / (weights + arena) | allocated / (weights + arena) | engine | context | first result | sum | warm |"
    columns = "resident / (weights + arena) | engine | context | first result | sum |" if options.device == "cpu" else on_gpu
    print(f"| model | plan, MiB | weights, MiB | arena, MiB | {columns}")
    print("| --- " * (4 + columns.count("|")) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            print(row(options, model, folder), flush=True)


if __name__ == "__main__":
    main()
