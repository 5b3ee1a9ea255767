#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operators alone on an NVIDIA GPU (gpu_operator_cases.py) beside what PyTorch calls for them, and beside the bytes they move.

    gpu_operators.py [--trtexec FILE ...] [--folder DIR] [--jobs N] [--seconds S] [--seconds-in-all S] [--only TEXT,TEXT] [--others TEXT,TEXT]
                     [--tbs T] [--json FILE] [--list] [--write]

Needs torch, numpy, onnx and a GPU; time_engines lies beside the first trtexec, libraries of each in ../lib. Engines (--stronglyTyped) are built --jobs
at a time; then they are timed, some in one process and PyTorch's calls after them, which have the GPU alone (gpu_turns.py). On both
sides twenty executions behind one another are one CUDA graph, so that a row is what the operator costs within a network; what
cannot be captured is queued. Inputs stay the same, so that up to some 50 MB they come from the cache. Columns: "us" of each
trtexec that is given, "bound" all bytes of inputs and outputs (or those that have to move) at --tbs, "torch", the ratio of PyTorch's
time over that of the first trtexec, "apart", the norm of the difference of the first outputs over that of PyTorch's. Sorted by the
ratio. --list names the cases; --write writes the models alone."""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
KINDS = {"f32": ("FLOAT", np.float32), "f16": ("FLOAT16", np.float16), "bf16": ("BFLOAT16", np.uint16), "i64": ("INT64", np.int64), "i32": ("INT32", np.int32),
         "i8": ("INT8", np.int8), "b8": ("BOOL", np.bool_)}
CASES_OF_A_TURN = 20
BUILDING = 0.6  # of the time in all, after which no build begins
RANDOM = {"LSTM", "GRU"}  # PyTorch's layers have weights of their own


def values(kind, shape, low, high, random):
    if kind == "b8":
        return random.random(shape) < 0.5
    if kind[0] == "i":
        return random.integers(low, high, shape).astype(KINDS[kind][1])
    drawn = random.uniform(low, high, shape).astype(np.float32)
    return (drawn.view(np.uint32) >> 16).astype(np.uint16) if kind == "bf16" else drawn.astype(KINDS[kind][1])


def write(case, folder):
    """The model and its inputs; returns what names the inputs' files."""
    import onnx
    from onnx import TensorProto, helper
    stem = folder / re.sub(r"[^A-Za-z0-9]+", "_", case.name)
    random, infos, files = np.random.default_rng(0), [], []
    for name, (kind, shape, low, high) in zip("abcdefgh", case.inputs):
        infos.append(helper.make_tensor_value_info(name, getattr(TensorProto, KINDS[kind][0]), shape))
        file = stem.with_suffix(f".{name}")
        values(kind, shape, low, high, random).tofile(file)
        files.append(f"{name}={file}")
    graph = helper.make_graph([helper.make_node(op, inputs, outputs, **attributes) for op, inputs, outputs, attributes in case.nodes], "operator", infos,
                              [onnx.ValueInfoProto(name=name) for name in case.outputs],
                              [onnx.numpy_helper.from_array(value, name) for name, value in case.constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", case.opset)], ir_version=10)
    try:
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except Exception:  # the build says what is wrong
        pass
    onnx.save(model, stem.with_suffix(".onnx"))
    return stem, files


def run(program, *arguments, libraries=None, **keywords):
    """With the libraries of a build."""
    path = os.pathsep.join(filter(None, [str((libraries or program).resolve().parent.parent / "lib"), os.environ.get("LD_LIBRARY_PATH")]))
    return subprocess.run([str(program), *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "LD_LIBRARY_PATH": path}, **keywords)


def build(options, index, case, stem):
    """The plan, or why there is none."""
    if index > 0 and not any(text in case.name for text in options.others.split(",")):
        return None, ""
    if time.monotonic() > options.begin + BUILDING * options.seconds_in_all:
        return None, "not reached "
    plan = stem.with_suffix(f".plan{index}")
    done = run(options.trtexec[index], f"--onnx={stem}.onnx", f"--saveEngine={plan}", "--skipInference", "--stronglyTyped")
    lines = done.stdout.splitlines()
    return (plan, "") if done.returncode == 0 else (None, " ".join([line for line in lines if "[E]" in line] or lines[-1:])[:200])


def time_ours(options, index, plans):
    """Microseconds by plan, of those in `plans`: the files of their inputs. What ends the process fails alone."""
    found, waiting = {}, dict(plans)
    program = options.trtexec[0].parent / "time_engines"
    while waiting and time.monotonic() < options.end:
        text = "".join(f"{plan} {' '.join(files)}\n" for plan, files in waiting.items())
        done = run(program, str(options.seconds), ".out", libraries=options.trtexec[index], input=text)
        for line in done.stdout.splitlines():
            words = line.split()
            if len(words) == 2 and words[0] in waiting:
                found[words[0]] = math.inf if words[1] == "failed" else float(words[1])
                del waiting[words[0]]
            else:
                print(line)
        if waiting:  # the first of them ended it
            print(f"{next(iter(waiting))}: time_engines ended with {done.returncode}")
            del waiting[next(iter(waiting))]
    return found


def time_theirs(case, files, seconds):
    """The least microseconds of a call, its first result, and the bytes of all of them."""
    import torch
    inputs = []
    for (kind, shape, *_), file in zip(case.inputs, files):
        data = torch.from_numpy(np.fromfile(file.split("=")[1], KINDS[kind][1]).reshape(shape)).cuda()
        inputs.append(data.view(torch.bfloat16) if kind == "bf16" else data)
    def call():
        return case.theirs(torch, *inputs)
    results = call()
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    replay, times = (lambda: [call() for _ in range(20)]), []
    if case.graph:
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(20):
                call()
        replay = graph.replay
    end = time.monotonic() + seconds
    while len(times) < 5 or time.monotonic() < end:
        begin, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        replay()
        stop.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(stop) * 50)
    moved = sum(x.numel() * x.element_size() for x in inputs + [r for r in results if isinstance(r, torch.Tensor)])
    return min(times[1:]), results[0], moved


def difference(file, theirs):
    """Of the first outputs; NaN where that says nothing."""
    import torch
    if not file.exists() or not isinstance(theirs, torch.Tensor):
        return math.nan
    sizes = {8: np.int64, 4: np.float32 if theirs.is_floating_point() else np.int32, 2: np.float16, 1: np.int8}
    bytes_each, rest = divmod(file.stat().st_size, max(1, theirs.numel()))
    if rest or bytes_each not in sizes:
        return math.inf
    mine = np.fromfile(file, np.uint16 if theirs.dtype == torch.bfloat16 and bytes_each == 2 else sizes[bytes_each])
    mine = torch.from_numpy(mine)
    mine = (mine.view(torch.bfloat16) if theirs.dtype == torch.bfloat16 and bytes_each == 2 else mine).cuda().double()
    wanted = theirs.contiguous().double().flatten()
    return float((mine - wanted).norm() / wanted.norm().clamp_min(1e-30))


def add_theirs(options, case, row, stem, files):
    import torch
    try:
        row["torch"], result, moved = time_theirs(case, files, options.seconds)
        row["bound"] = (case.bytes or moved) / options.tbs / 1e6
        if not RANDOM & {node[0] for node in case.nodes}:
            row["apart"] = difference(pathlib.Path(f"{stem}.plan0.out"), result)
        torch.cuda.synchronize()
    except Exception as error:  # one case must not end the others
        row["why"] += f"torch: {type(error).__name__}: {str(error)[:120]}"


def measure(options, cases):
    from gpu_turns import Turns
    import torch
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    rows = [{"name": case.name} for case in cases]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        written = list(pool.map(lambda case: write(case, options.folder), cases))
        jobs = {(index, k): pool.submit(build, options, index, cases[k], stem) for k, (stem, _) in enumerate(written) for index in range(len(options.trtexec))}
    plans = {key: job.result() for key, job in jobs.items()}
    print(f"built after {time.monotonic() - options.begin:.0f} s", flush=True)
    turns = Turns(options.folder)
    for first in range(0, len(cases), CASES_OF_A_TURN):
        part = range(first, min(first + CASES_OF_A_TURN, len(cases)))
        with turns.alone(), torch.no_grad():
            for index in range(len(options.trtexec)):
                found = time_ours(options, index, {str(plans[index, k][0]): written[k][1] for k in part if plans[index, k][0]})
                for k in part:
                    rows[k].setdefault("us", []).append(found.get(str(plans[index, k][0]), math.nan))
                    rows[k]["why"] = rows[k].get("why", "") + plans[index, k][1]
            for k in part:
                if cases[k].theirs is not None and time.monotonic() < options.end and plans[0, k][0]:
                    add_theirs(options, cases[k], rows[k], *written[k])
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trtexec", action="append", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/tenon_gpu_operators"))
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0.02, help="measuring time of a case and system")
    parser.add_argument("--seconds-in-all", type=float, default=600)
    parser.add_argument("--only", default="", help="cases whose names hold one of these texts")
    parser.add_argument("--tbs", type=float, default=4.2, help="10^12 bytes a second of the bound")
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--others", default="", help="the second trtexec and those behind it only for cases whose names hold one of these texts")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    from gpu_operator_cases import cases
    options.begin = time.monotonic()
    options.end = options.begin + options.seconds_in_all
    options.trtexec = options.trtexec or [HERE.parent / "build/release/bin/trtexec"]
    options.folder.mkdir(parents=True, exist_ok=True)
    wanted = [text for text in options.only.split(",") if text]
    chosen = [case for case in cases() if not wanted or any(text in case.name for text in wanted)]
    if options.list or options.write:
        for case in chosen:
            print(case.name if options.list else write(case, options.folder)[0], flush=True)
        return 0
    rows = measure(options, chosen)
    print(f"{'operator':60} {'us':>9} {'bound':>7} {'torch':>9} {'ratio':>6} {'apart':>8} {'others, us':>10}")
    ratios = []
    for row in sorted(rows, key=lambda row: row.get("torch", math.nan) / row["us"][0]):
        ratio = row.get("torch", math.nan) / row["us"][0]
        ratios += [ratio] if math.isfinite(ratio) and ratio > 0 else []
        print(f"{row['name']:60} {row['us'][0]:9.2f} {row.get('bound', math.nan):7.2f} {row.get('torch', math.nan):9.2f} {ratio:6.2f} {row.get('apart', math.nan):8.1e} "
              f"{' '.join(f'{x:10.2f}' for x in row['us'][1:])} {row['why']}")
    if ratios:
        print(f"{len(ratios)} compared, geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}, below 1: {sum(r < 1 for r in ratios)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
