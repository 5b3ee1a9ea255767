#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables what it takes to load engines, each in a process of its own: from the plan's bytes to the first result.

    loading.py [--bin FOLDER] [--turns N] [--device cpu|cuda] [--build FLAG ...] MODEL.onnx ...

Times are the least of N turns, because whatever else the machine does only adds time, and stand as multiples of the
latency of an execution that is warm. Memory is what the process holds after the first result, as a multiple of what the
engine says that weights and arena take.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MIB = float(1 << 20)


def build(options, model, plan):
    command = [str(options.bin / "trtexec"), f"--onnx={model}", f"--saveEngine={plan}", "--skipInference", *options.build]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=options.environment)
    if done.returncode != 0:
        sys.exit(done.stdout[-3000:])


def load(options, plan):
    """The figures of one process."""
    done = subprocess.run([str(options.bin / "load_engine"), str(plan)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=options.environment)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1:]
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}, None


def row(options, model, folder):
    plan = pathlib.Path(folder) / (model.stem + ".plan")
    build(options, model, plan)
    turns = []
    for _ in range(options.turns):
        figures, error = load(options, plan)
        if figures is None:
            return f"| {model.stem} | {' '.join(error)} |"
        turns.append(figures)
    plan.unlink()
    least = {name: min(turn[name] for turn in turns) for name in turns[0]}
    held = least["weight_bytes"] + least["arena_bytes"]
    warm = least["second_ms"]
    return (f"| {model.stem} | {least['plan_bytes'] / MIB:.1f} | {least['weight_bytes'] / MIB:.1f} | {least['arena_bytes'] / MIB:.1f} |"
            f" {least['resident_bytes'] / held:.2f} | {least['engine_ms'] / warm:.1f} | {least['context_ms'] / warm:.1f} |"
            f" {least['first_ms'] / warm:.1f} | {least['total_ms'] / warm:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--build", action="append", default=[], metavar="FLAG", help="of trtexec, for the build")
    parser.add_argument("models", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    options.environment = {**os.environ, "TENON_DEVICE": options.device}
    print("| model | plan, MiB | weights, MiB | arena, MiB | resident / (weights + arena) | engine | context | first result | sum |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models:
            print(row(options, model, folder), flush=True)


if __name__ == "__main__":
    main()
