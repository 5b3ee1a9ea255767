#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The networks of gpu_peers.py in several types beside PyTorch in the same type, in one run of bounded time.

    gpu_types.py [--types fp32,tf32,bf16,fp16] [--seconds-in-all S] [--jobs N] [--trtexec FILE] [--folder DIR]
                 [--profile] [--seconds S] [--flag=FLAG ...] [--json FILE] [MODEL[:BATCH] ...]

Types: fp32 is f32 without TF32 (--noTF32), tf32 what a build without flags may do, bf16 and fp16 allow that half. PyTorch
runs its eager mode as a CUDA graph in the same type: allow_tf32 off or on, or model and inputs in the half. Pictures are
channels-last in halves; in f32 the faster of both orders counts. "error" and "theirs" are norms of the difference from
PyTorch's result in f64, over its norm. Each network has a process of its own, so many side by side as --jobs says; what
is built and timed has the GPU alone. Results are in --json (default: results.json in the folder) as soon as they are there, and
what it holds is not measured again. When the time is over, what runs is ended and the table is printed.
"""
import argparse
import copy
import fcntl
import json
import math
import multiprocessing
import os
import pathlib
import signal
import statistics
import sys
import time
import traceback
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAGS = {"fp32": ["--noTF32"], "tf32": [], "bf16": ["--bf16"], "fp16": ["--fp16"]}


def keep(options, spec, kind, values):
    """Adds values to the file of results."""
    with open(options.json.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        results = json.loads(options.json.read_text()) if options.json.exists() else {}
        results.setdefault(spec, {}).setdefault(kind, {}).update(values)
        whole = options.json.with_suffix(".part")
        whole.write_text(json.dumps(results, indent=1))
        whole.rename(options.json)


def known(options, spec, kind, key):
    return options.json.exists() and key in json.loads(options.json.read_text()).get(spec, {}).get(kind, {})


def eager(network, kind, options, turns):
    """PyTorch's time and error in this type."""
    import torch
    from gpu_peers import as_graph, exact, median_ms
    half = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(kind)
    exact(kind != "fp32")
    best = {}
    pictures = network.inputs[0].dim() == 4
    for last in ([True] if half and pictures else [True, False] if pictures else [False]):
        form = {"memory_format": torch.channels_last} if last else {}
        model = copy.deepcopy(network.model).to(half or torch.float32).to(**form) if last or half else network.model
        inputs = [x.cuda().to(half or x.dtype) if x.is_floating_point() else x.cuda() for x in network.inputs]
        inputs = [x.to(**form) for x in inputs] if last else inputs
        with torch.no_grad(), turns.alone():
            error = network.error_of(model(*inputs).float().cpu().numpy())
            taken = median_ms(as_graph(model, inputs), options.seconds)
        if taken < best.get("eager", math.inf):
            best = {"eager": taken, "their_error": error}
        del model
    exact(True)
    return best


def work(spec, options):
    """All types of one network, in a process of its own."""
    os.setsid()
    warnings.filterwarnings("ignore")
    import torch
    from gpu_peers import Failed, Network, tenon
    from gpu_turns import Turns
    torch.backends.cudnn.benchmark = True
    turns = Turns(options.folder)
    name, _, batch = spec.partition(":")
    try:
        folder = options.folder / f"{name}_b{batch}"
        folder.mkdir(exist_ok=True)
        network = Network(name, int(batch), folder)
        network.export()
        with torch.no_grad():
            exact_model = copy.deepcopy(network.model).double()
            inputs = [x.cuda().double() if x.is_floating_point() else x.cuda() for x in network.inputs]
            network.answer = exact_model(*inputs).cpu().numpy()
            del exact_model, inputs
            torch.cuda.empty_cache()
        for kind in options.types:
            if not known(options, spec, kind, "tenon"):
                try:
                    with turns.alone():
                        taken, built, error = tenon(network, options, FLAGS[kind] + options.flag, options.profile)
                    keep(options, spec, kind, {"tenon": taken, "build": built, "error": error})
                except Failed as failed:
                    keep(options, spec, kind, {"reason": str(failed)})
                if options.profile:
                    file = network.onnx.with_suffix(".profile")
                    if file.exists():
                        file.rename(network.onnx.with_suffix(f".{kind}.profile"))
            if not known(options, spec, kind, "eager"):
                keep(options, spec, kind, eager(network, kind, options, turns))
            print(f"{spec} {kind} after {time.monotonic() - options.begin:.0f} s", flush=True)
        network.onnx.unlink(missing_ok=True)
    except Exception:  # one network must not end the others
        traceback.print_exc()


def run(options):
    waiting, running = list(options.models), []
    while (waiting or running) and time.monotonic() < options.begin + options.seconds_in_all:
        running = [process for process in running if process.is_alive()]
        while waiting and len(running) < options.jobs:
            process = multiprocessing.get_context("spawn").Process(target=work, args=(waiting.pop(0), options))
            process.start()
            running.append(process)
        time.sleep(0.2)
    for process in running:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:  # it has not come to its own group
            process.kill()
        process.join()


def table(options):
    results = json.loads(options.json.read_text()) if options.json.exists() else {}
    missing = []
    for kind in options.types:
        print(f"\n{kind:20} {'batch':>5} {'tenon':>9} {'eager':>9} {'ratio':>6} {'build s':>8} {'error':>9} {'theirs':>9}")
        ratios = []
        for spec in options.models:
            row = results.get(spec, {}).get(kind, {})
            name, _, batch = spec.partition(":")
            ratio = row.get("eager", math.nan) / row.get("tenon", math.nan)
            if math.isnan(ratio):
                missing.append(f"{spec} {kind}")
            else:
                ratios.append(ratio)
            print(f"{name:20} {batch:>5} {row.get('tenon', math.nan):9.3f} {row.get('eager', math.nan):9.3f} {ratio:6.2f} "
                  f"{row.get('build', math.nan):8.1f} {row.get('error', math.nan):9.1e} {row.get('their_error', math.nan):9.1e}"
                  + (f" {row['reason']}" if "reason" in row else ""))
        if ratios:
            print(f"geometric mean of {len(ratios)}: {math.exp(statistics.fmean(map(math.log, ratios))):.2f}, least {min(ratios):.2f}")
    if missing:
        print(f"not measured: {', '.join(missing)}")
    return 1 if missing else 0


def main():
    begin = time.monotonic()  # what is imported counts
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="MODEL[:BATCH]; without any, gpu_peers.py's own")
    parser.add_argument("--types", type=lambda text: text.split(","), default=list(FLAGS))
    parser.add_argument("--seconds-in-all", type=float, default=1200)
    parser.add_argument("--jobs", type=int, default=4, help="networks side by side")
    parser.add_argument("--trtexec", type=pathlib.Path, default=ROOT / "build/release/bin/trtexec")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/tenon_gpu_types"))
    parser.add_argument("--seconds", type=float, default=0.5, help="measuring time per system")
    parser.add_argument("--timeout", type=float, default=240, help="seconds that one call of trtexec may take")
    parser.add_argument("--flag", action="append", default=[], help="one more flag for building")
    parser.add_argument("--profile", action="store_true", help="leave MODEL_bBATCH/MODEL_bBATCH.TYPE.profile in the folder")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if unknown := [kind for kind in options.types if kind not in FLAGS]:
        parser.error(f"no type: {', '.join(unknown)}; there are {', '.join(FLAGS)}")
    import gpu_peers
    names = [spec.partition(":")[0] for spec in options.models]
    if unknown := [name for name in names if name not in gpu_peers.MODELS]:
        parser.error(f"no network: {', '.join(unknown)}; there are {', '.join(gpu_peers.MODELS)}")
    options.models = [spec if ":" in spec else f"{spec}:1" for spec in options.models] or gpu_peers.DEFAULT
    options.folder.mkdir(parents=True, exist_ok=True)
    options.json = options.json or options.folder / "results.json"
    options.build_flag = []  # of gpu_peers.py
    options.begin = begin
    import torch
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}", flush=True)
    run(options)
    return table(options)


if __name__ == "__main__":
    sys.exit(main())
