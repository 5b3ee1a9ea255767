#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Engines with open extents on the CPU at the min, opt and max shapes of their profile, beside engines of fixed shapes and ONNX Runtime.

    open_extents.py [--threads N] [--seconds S] [--rounds N] [--trtexec FILE] [--folder FOLDER] MODEL 'MIN' 'OPT' 'MAX' [...]

MIN, OPT and MAX are shapes as trtexec takes them (x:1x3x224x224,y:1x8); more models may follow. Needs the Python packages numpy,
onnx and onnxruntime. Least times over rounds in turns; "fixed" is an engine of the model with these shapes in place of its
symbols."""
import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx

from operator_speed import ROOT, Peer

RANDOM = np.random.default_rng(0)
TYPES = {1: np.float32, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16, 2: np.uint8, 3: np.int8}


def parse(text):
    return {part.rsplit(":", 1)[0]: [int(n) for n in part.rsplit(":", 1)[1].split("x")] for part in text.split(",")}


def fixed(model, shapes):
    """A copy of the model whose inputs have these shapes."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for value in copy.graph.input:
        if value.name in shapes:
            del value.type.tensor_type.shape.dim[:]
            for n in shapes[value.name]:
                value.type.tensor_type.shape.dim.add().dim_value = n
    del copy.graph.value_info[:]
    for value in copy.graph.output:
        value.type.tensor_type.ClearField("shape")
    return copy


def values(model, shapes):
    held = {value.name for value in model.graph.initializer}
    result = {}
    for value in model.graph.input:
        if value.name in held:
            continue
        kind = value.type.tensor_type
        dims = shapes.get(value.name) or [d.dim_value for d in kind.shape.dim]
        type_ = TYPES[kind.elem_type]
        result[value.name] = (RANDOM.standard_normal(dims) if type_ in (np.float32, np.float16) else RANDOM.integers(0, 2, dims)).astype(type_)
    return result


def trtexec(args, *options):
    said = subprocess.run([args.trtexec, *options], capture_output=True, text=True, env=dict(os.environ, TENON_THREADS=str(args.threads)))
    found = re.search(r"GPU Compute Time: min = ([0-9.]+)", said.stdout)
    if said.returncode != 0:
        raise RuntimeError(next((line for line in (said.stdout + said.stderr).splitlines() if "[E]" in line), said.stdout[-200:]))
    return float(found[1]) if found else None


def compare(args, path, points):
    model = onnx.load(path)
    name = Path(path).stem
    folder = args.folder
    opened = folder / f"{name}.plan"
    names = ("min", "opt", "max")
    trtexec(args, f"--onnx={path}", f"--saveEngine={opened}", "--skipInference", *(f"--{n}Shapes={points[n]}" for n in names))
    for n in names:
        shapes = parse(points[n])
        plan = folder / f"{name}_{n}.plan"
        single = folder / f"{name}_{n}.onnx"
        onnx.save(fixed(model, shapes), single)
        trtexec(args, f"--onnx={single}", f"--saveEngine={plan}", "--skipInference")
        inputs = values(model, shapes)
        files = []
        for key, value in inputs.items():
            file = folder / f"{name}_{re.sub('[^A-Za-z0-9]', '_', key)}.bin"
            value.tofile(file)
            files.append(f"{key}:{file}")
        run = [f"--duration={args.seconds}", "--warmUp=20", "--noDataTransfers", "--useSpinWait", "--loadInputs=" + ",".join(files)]
        peer = Peer(path, inputs, args.threads)
        best = [float("inf")] * 3
        for _ in range(args.rounds):
            best[0] = min(best[0], trtexec(args, f"--loadEngine={opened}", f"--shapes={points[n]}", *run))
            best[1] = min(best[1], trtexec(args, f"--loadEngine={plan}", *run))
            best[2] = min(best[2], peer.least(args.seconds))
        print(f"{name:36} {n} open {best[0]:9.4f} fixed {best[1]:9.4f} peer {best[2]:9.4f}  fixed/open {best[1] / best[0]:5.2f} peer/open {best[2] / best[0]:5.2f}  {points[n]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trtexec", default=str(ROOT / "build/release/bin/trtexec"))
    parser.add_argument("--folder", type=Path, default=Path("/tmp/open_extents"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("cases", nargs="+")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    for i in range(0, len(args.cases), 4):
        path, least, most_common, most = args.cases[i : i + 4]
        try:
            compare(args, path, {"min": least, "opt": most_common, "max": most})
        except Exception as problem:  # the next model may run
            print(f"{path}: {problem}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
