#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of one operator each: Tenon's trtexec beside ONNX Runtime on the CPU, with the same inputs and threads, in turns.

    operator_speed.py [--threads N] [--shape A B C] [--types T,T] [--only TEXT,TEXT] [--seconds S] [--rounds N]
                      [--trtexec FILE] [--folder FOLDER] [--want RATIO] [--json FILE] [--list] [--apart] [--wide] [--odd] [--products] [--layers] [--rare]

Needs the Python packages numpy, onnx and onnxruntime. --shape is that of elementwise operators, reductions and movement;
what has a shape of its own (convolutions, pooling, products) keeps it. --types leaves only cases with an input of one of
these types. --apart takes other operators, types and shapes than the table's, --wide sizes from 1 to 10^7 elements, ranks
from 1 to 6 and newer operators, with shapes of their own, --odd short rows, few columns and rare types, --products more products, convolutions, recurrences and attention,
--layers those of layers of networks, chains of several operators among them, --rare halves, bytes and truth values of one, two and five axes. A ratio is ONNX Runtime's least time over Tenon's (above 1,
Tenon is faster): the least, because other work on the machine only adds. The status is 1 where a ratio is below --want
or Tenon refuses a model that the peer runs."""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx

import operator_cases
import operator_cases_apart
import operator_cases_layers
import operator_cases_odd
import operator_cases_products
import operator_cases_rare
import operator_cases_wide

ROOT = Path(__file__).resolve().parent.parent


def write(name, case, folder):
    """The model and its inputs; returns the model's path and the files of the inputs by name."""
    path = folder / (re.sub(r"[^A-Za-z0-9.]+", "_", name) + ".onnx")
    onnx.save(case.model, path)
    files = {}
    for key, value in case.inputs.items():
        files[key] = path.with_suffix(f".{key}.bin")
        value.tofile(files[key])
    return path, files


def tenon(args, path, files):
    """The least time in ms, or the end of what trtexec said."""
    environment = dict(os.environ, TENON_THREADS=str(args.threads))
    command = [args.trtexec, f"--onnx={path}", f"--duration={args.seconds}", "--warmUp=20", "--noDataTransfers", "--useSpinWait"]
    command.append("--loadInputs=" + ",".join(f"{name}:{file}" for name, file in files.items()))
    said = subprocess.run(command, capture_output=True, text=True, env=environment)
    found = re.search(r"GPU Compute Time: min = ([0-9.]+)", said.stdout)
    if found and float(found[1]) > 0:
        return float(found[1]), ""
    errors = [line for line in (said.stdout + said.stderr).splitlines() if "[E]" in line]
    return None, (errors or [said.stdout[-160:]])[0][:200]


class Peer:
    """A session whose inputs and outputs are bound."""

    def __init__(self, path, inputs, threads):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        for name, value in inputs.items():
            self.binding.bind_cpu_input(name, value)
        for value in self.session.get_outputs():
            self.binding.bind_output(value.name)

    def least(self, seconds):
        best, end = math.inf, time.perf_counter() + seconds
        for i in range(1_000_000):
            begin = time.perf_counter()
            self.session.run_with_iobinding(self.binding)
            now = time.perf_counter()
            best = min(best, now - begin)
            if now > end and (i >= 5 or seconds == 0):
                break
        return best * 1e3


def compare(args, name, case):
    path, files = write(name, case, args.folder)
    mine, theirs, why = math.inf, math.inf, ""
    try:
        peer = Peer(path, case.inputs, args.threads)
        peer.least(0)  # some types are refused only here
    except Exception as problem:  # the peer's own exceptions have no common base
        peer, why = None, "peer: " + str(problem).splitlines()[0][-120:]
    for _ in range(args.rounds if peer else 0):
        found, refusal = tenon(args, path, files)
        why = why or refusal
        if found is None:
            break
        mine = min(mine, found)
        theirs = min(theirs, peer.least(args.seconds))
    for file in [path, *files.values()]:
        file.unlink()
    return {"name": name, "ms": mine, "peer_ms": theirs, "ratio": theirs / mine if math.isfinite(mine) else None,
            "refused": peer is not None and not math.isfinite(mine), "why": why}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trtexec", default=str(ROOT / "build/release/bin/trtexec"))
    parser.add_argument("--folder", type=Path, default=Path("/tmp/operators"), help="for models and inputs; emptied of them again")
    parser.add_argument("--shape", type=int, nargs=3, default=[8, 128, 1024])
    parser.add_argument("--types", default="", help="f32, f16, bf16, i64, i32, i8, u8, bool; empty: all")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.2, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", default="", help="cases whose names hold one of these texts, or are one of them (=NAME)")
    parser.add_argument("--want", type=float, default=0.9, help="least ratio, each")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--list", action="store_true", help="print the names of the cases and end")
    parser.add_argument("--apart", action="store_true", help="the cases of operator_cases_apart.py")
    parser.add_argument("--wide", action="store_true", help="the cases of operator_cases_wide.py")
    parser.add_argument("--odd", action="store_true", help="the cases of operator_cases_odd.py")
    parser.add_argument("--products", action="store_true", help="the cases of operator_cases_products.py")
    parser.add_argument("--layers", action="store_true", help="the cases of operator_cases_layers.py")
    parser.add_argument("--rare", action="store_true", help="the cases of operator_cases_rare.py")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    wanted = [text for text in args.only.split(",") if text]
    types = {text for text in args.types.split(",") if text}
    rows = []
    lists = {"odd": operator_cases_odd, "products": operator_cases_products, "layers": operator_cases_layers, "rare": operator_cases_rare, "wide": operator_cases_wide, "apart": operator_cases_apart}
    cases = next((module for name, module in lists.items() if getattr(args, name)), operator_cases)
    for name, make in cases.cases(tuple(args.shape)).items():
        if wanted and not any(text == "=" + name or text in name for text in wanted):
            continue
        case = make()
        if types and not types & case.types:
            continue
        if args.list:
            print(name)
            continue
        rows.append(compare(args, name, case))
        row = rows[-1]
        text = f"{row['ratio']:6.2f}" if row["ratio"] else "     -"
        print(f"{text} {name:48} tenon {row['ms']:9.4f} peer {row['peer_ms']:9.4f} {row['why']}", flush=True)
    ratios = [row["ratio"] for row in rows if row["ratio"]]
    below = [row for row in rows if row["ratio"] and row["ratio"] < args.want]
    refused = [row for row in rows if row["refused"]]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"\nbelow {args.want}:")
        for row in sorted(below, key=lambda row: row["ratio"]):
            print(f"{row['ratio']:6.2f} {row['name']}")
        print(f"{len(ratios)} compared, geometric mean {mean:.2f}, {len(below)} below {args.want}; {len(refused)} refused")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1))
    return 1 if below or refused else 0


if __name__ == "__main__":
    sys.exit(main())
