#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where the time of a model goes on the CPU, layer by layer, against what the machine gives at most.

    layer_bounds.py [--threads N] [--runs N] [--seconds S] [--rows N] [--machine FILE] [--bin FOLDER]
                    MODEL.onnx [INPUT:1x3x320x320,...]

`machine_bounds` measures the machine: multiply-adds in registers, and the bandwidth of each size of working set.
trtexec builds the model with details of its layers and times each of them in several short runs; a layer's time is
the least of their medians, because whatever else the machine does only adds to it. A layer's bound is the longer of
its operations at full speed (a fourth of them, or four ninths, where Winograd's transform saves the rest) and its
operands: activations at the bandwidth of their own size, weights at that of all weights of the model, which pass through the
caches once per inference. The table has the layers that lose most, then all of them together by tactic.
"""
import argparse
import collections
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BITS = {"f32": 32, "i32": 32, "f16": 16, "bf16": 16, "i64": 64, "i8": 8, "u8": 8, "bool": 8}


def run(environment, *command):
    done = subprocess.run(list(map(str, command)), env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"error: {command[0]} ended with {done.returncode}\n" + "\n".join(done.stdout.splitlines()[-5:]))
    return done.stdout


def bind(layers, shapes):
    """Puts numbers in the place of the extents that depend on the shapes of the inputs."""
    given = dict(item.rsplit(":", 1) for item in shapes.split(",") if item)
    tensors = [tensor for layer in layers for tensor in layer["Inputs"] + layer["Outputs"]]
    known = {}
    for tensor in tensors:
        if tensor["Name"] in given:
            known.update(zip(map(str, tensor["Dimensions"]), given[tensor["Name"]].split("x")))
    functions = {"floordiv": lambda a, b: a // b, "ceildiv": lambda a, b: -(-a // b), "mod": lambda a, b: a % b,
                 "min": min, "max": max, "__builtins__": {}}
    for tensor in tensors:
        extents = []
        for extent in tensor["Dimensions"]:
            if isinstance(extent, str):
                numbers = re.sub(r"[A-Za-z_][\w.]*", lambda word: known.get(word[0], word[0]), extent)
                extent = eval(numbers, functions)  # arithmetic that trtexec wrote
            extents.append(extent)
        tensor["Dimensions"] = extents


def size(tensor):
    return math.prod(tensor["Dimensions"]) * BITS.get(tensor["Datatype"], 32) / 8


def weights_of(layer):
    """The extents of a contraction's second operand: a constant, or computed."""
    return (layer.get("Constants") or layer["Inputs"][1:])[0]["Dimensions"]


def operations(layer):
    """Arithmetic of a layer: two for each multiply-add, else one for each element of its results."""
    inputs, out = [t["Dimensions"] for t in layer["Inputs"]], layer["Outputs"][0]["Dimensions"]
    fields = layer["Operator"]
    kind = re.match(r"\w*", fields)[0]
    if kind == "convolution":
        return 2 * math.prod(out) * math.prod(weights_of(layer)[1:])
    if kind == "deconvolution":
        return 2 * math.prod(inputs[0]) * math.prod(weights_of(layer)[1:])
    if kind == "matmul":
        return 2 * math.prod(out) * inputs[0][-2 if "transposeA=true" in fields else -1]
    if kind == "attention":
        rows = inputs[0][-2] if len(layer["Inputs"]) < 2 or "packed" in fields else inputs[1][-2]
        return 4 * math.prod(out) * rows
    if kind == "pooling":
        window = re.search(r"window=\[([\d,]+)\]", fields)
        return math.prod(out) * (math.prod(map(int, window[1].split(","))) if window else 1)
    return math.prod(out)


class Machine:
    def __init__(self, options):
        facts = json.loads(options.machine.read_text() if options.machine else
                           run(None, options.bin / "machine_bounds", options.threads))
        self.gflops, self.bandwidths = facts["gflops"], facts["gbs"]

    def bandwidth(self, size_bytes):
        """GB/s at the smallest working set that was measured and holds so much."""
        return next((gbs for most, gbs in self.bandwidths if size_bytes <= most), self.bandwidths[-1][1])

    def bound(self, layer, all_weights):
        """Milliseconds, and what sets them."""
        constants = sum(size(t) for t in layer.get("Constants", []))
        moved = sum(size(t) for t in layer["Inputs"] + layer["Outputs"])
        saved = {"cpu.winograd": 4, "cpu.winograd/2x2": 2.25}.get(layer["TacticName"], 1)
        arithmetic = operations(layer) / saved / self.gflops * 1e-6
        memory = moved / self.bandwidth(moved) * 1e-6 + constants / self.bandwidth(all_weights) * 1e-6
        return (arithmetic, "operations") if arithmetic >= memory else (memory, "memory")


def measure(options):
    """The layers of the model with their times, and the time of an inference without the profiler."""
    environment = {**os.environ, "TENON_THREADS": str(options.threads),
                   "TENON_DEVICE": "cpu"}
    trtexec = options.bin / "trtexec"
    shapes = [f"--shapes={options.shapes}"] if options.shapes else []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run(environment, trtexec, f"--onnx={options.model}", f"--saveEngine={folder / 'engine'}", "--skipInference",
            "--profilingVerbosity=detailed", f"--exportLayerInfo={folder / 'layers'}", *shapes)
        least = {}
        whole = math.inf
        for _ in range(options.runs):
            run(environment, trtexec, f"--loadEngine={folder / 'engine'}", "--dumpProfile", "--separateProfileRun",
                f"--exportProfile={folder / 'profile'}", f"--exportTimes={folder / 'times'}", *shapes,
                f"--exportLayerInfo={folder / 'layers'}", "--profilingVerbosity=detailed",
                f"--duration={options.seconds}", "--iterations=3", "--warmUp=20")
            whole = min(whole, *(entry["computeMs"] for entry in json.loads((folder / "times").read_text())))
            for entry in json.loads((folder / "profile").read_text())[1:]:
                least[entry["name"]] = min(least.get(entry["name"], math.inf), entry["medianMs"])
        layers = [layer for layer in json.loads((folder / "layers").read_text())["Layers"] if isinstance(layer, dict)]
    bind(layers, options.shapes)
    timed = [layer for layer in layers if layer["Name"] in least and layer.get("Operator")]
    return [(layer, least[layer["Name"]]) for layer in timed], whole


def shape_text(layer):
    def text(tensor):
        return "x".join(map(str, tensor["Dimensions"]))
    weights = [t for t in layer.get("Constants", []) if len(t["Dimensions"]) > 1]
    return text(layer["Inputs"][0]) + (f" by {text(weights[0])}" if weights else "")


def print_tables(options, machine, layers, whole):
    all_weights = sum(size(t) for layer, _ in layers for t in layer.get("Constants", []))
    rows = [(layer, time, *machine.bound(layer, all_weights)) for layer, time in layers]
    total, bound = sum(row[1] for row in rows), sum(row[2] for row in rows)
    print(f"{options.model.stem}, threads: {options.threads}, {whole:.3f} ms, layers {total:.3f} ms, "
          f"bound {bound:.3f} ms ({bound / total:.0%} reached)\n"
          f"machine: {machine.gflops:.0f} GFLOP/s, {machine.bandwidths[-1][1]:.0f} GB/s from memory")
    print("\n| layer | operands | tactic | us | bound | by | reached | lost of the whole |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for layer, time, least, by in sorted(rows, key=lambda row: row[2] - row[1])[:options.rows]:
        name = layer["Name"] if len(layer["Name"]) <= 40 else layer["Name"][:37] + "..."
        print(f"| {name} | {shape_text(layer)} | {layer['TacticName']} | {time * 1e3:.0f} | {least * 1e3:.0f} | {by} | "
              f"{least / time:.0%} | {(time - least) / total:.1%} |")
    groups = collections.defaultdict(lambda: [0, 0.0, 0.0])
    for layer, time, least, _ in rows:
        group = groups[layer["TacticName"].split("/")[0]]
        group[0], group[1], group[2] = group[0] + 1, group[1] + time, group[2] + least
    print("\n| tactic | layers | us | share | bound | reached |\n| --- | --- | --- | --- | --- | --- |")
    for tactic, (count, time, least) in sorted(groups.items(), key=lambda item: -item[1][1]):
        reached = least / max(time, 1e-9)
        print(f"| {tactic} | {count} | {time * 1e3:.0f} | {time / total:.0%} | {least * 1e3:.0f} | {reached:.0%} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("shapes", nargs="?", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.05, help="of each run")
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--rows", type=int, default=8, help="layers in the table")
    parser.add_argument("--machine", type=pathlib.Path, help="what machine_bounds printed, in place of running it")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    options = parser.parse_args()
    layers, whole = measure(options)
    print_tables(options, Machine(options), layers, whole)


if __name__ == "__main__":
    main()
