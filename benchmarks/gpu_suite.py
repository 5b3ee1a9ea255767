#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The suite of networks beside PyTorch on an NVIDIA GPU within a bounded time, to be continued in further runs.

    gpu_suite.py --results FILE [--seconds-in-all S] [--jobs N] [--compile-jobs N] [--trtexec FILE] [--folder DIR]
                 [--quick-convolutions] [--only tenon|eager] [--exports-first] [MODEL:BATCH ...]

What gpu_peers.py measures, for its networks and those it calls others, each in two parts: Tenon and PyTorch's eager
mode as a CUDA graph, and torch.compile(mode="max-autotune"). Both kinds of parts run side by side; what is timed has the
GPU alone, and torch.compile's own threads give way to Tenon's builds. A part that has ended is in the file of results at
once, and what the file holds is not measured again. When the time is over, running parts are ended and the table is
printed. "known" is the fastest time of either peer in earlier runs (gpu_known_peers.json); the ratio is that of the
fastest of all to Tenon, "run" that of this file's alone. --quick-convolutions: torch.compile takes convolutions from
cuDNN and tunes products only, which is a fraction of the time. --only leaves the eager mode, or Tenon, to another call
with the same file; --exports-first: no build begins before every network is exported, so that builds have the processor's
cores for themselves (with as many jobs as networks). Engines stay in the folder.
"""
import argparse
import contextlib
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
import types
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
KNOWN = pathlib.Path(__file__).resolve().parent / "gpu_known_peers.json"
ENDED = 5  # seconds left for what ended processes leave to do


def ours(network, options, turns, kind):
    import gpu_peers
    row = {}
    network.export()
    if options.exporting is not None:
        options.exporting.close()
        turns.after_exports()
    try:
        with turns.alone():
            row["tenon"], row["build_seconds"], row["error"] = gpu_peers.tenon(network, options, ["--fp16"], options.profile)
    except gpu_peers.Failed as error:
        row["reason"] = str(error)
    if options.only != "tenon":
        row.update(network.eager(kind, options, turns))
    network.onnx.unlink(missing_ok=True)
    return row


def eager(network, options, turns, kind):
    import torch
    network.model.cuda()
    with torch.no_grad():
        network.answer = network.model(*(x.cuda() for x in network.inputs)).float().cpu().numpy()
    return network.eager(kind, options, turns)


def compiled(network, options, turns, kind):
    os.nice(10)
    turns.share_inductor()
    if options.quick_convolutions:
        import torch._inductor.config
        torch._inductor.config.max_autotune_conv_backends = "ATEN"
    return network.compiled(kind, options, turns)


PARTS = {"ours": ours, "eager": eager, "compiled": compiled}


def work(spec, part, options, file):
    """One part in a process of its own; its result, or why there is none, in a file."""
    os.setsid()
    warnings.filterwarnings("ignore")
    try:
        from gpu_turns import Turns
        options.exporting = contextlib.ExitStack() if options.exports_first and part == "ours" else None
        if options.exporting is not None:
            options.exporting.enter_context(Turns(options.folder).exporting())
        import torch
        import gpu_peers
        torch.backends.cudnn.benchmark = True
        name, _, batch = spec.partition(":")
        folder = options.folder / f"{name}_b{batch}_{part}"
        folder.mkdir(exist_ok=True)
        row = PARTS[part](gpu_peers.Network(name, int(batch), folder), options, Turns(options.folder), torch.float16)
    except Exception as error:  # one network must not end the others
        traceback.print_exc()
        row = {f"{part}_failed": f"{type(error).__name__}: {str(error)[:300]}"}
    whole = file.with_suffix(".part")
    whole.write_text(json.dumps(row))
    whole.rename(file)


class Lane:
    """Parts of one kind, so many at a time."""

    def __init__(self, part, specs, jobs, options):
        self.part, self.waiting, self.jobs, self.options = part, list(specs), jobs, options
        self.running = {}

    def step(self, results):
        """Starts and ends what there is; True while there is something."""
        for spec, (process, file, begun) in list(self.running.items()):
            if not file.exists() and process.is_alive():
                continue
            process.join(ENDED)
            row = json.loads(file.read_text()) if file.exists() else {f"{self.part}_failed": f"exit {process.exitcode}"}
            results.setdefault(spec, {}).update(row)
            shown = {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}
            print(f"{spec} {self.part} {time.monotonic() - begun:.0f} s: {shown}", flush=True)
            del self.running[spec]
        while self.waiting and len(self.running) < self.jobs:
            spec = self.waiting.pop(0)
            file = self.options.folder / f"{spec.replace(':', '_b')}.{self.part}.json"
            file.unlink(missing_ok=True)
            process = multiprocessing.get_context("spawn").Process(target=work, args=(spec, self.part, self.options, file))
            process.start()
            self.running[spec] = (process, file, time.monotonic())
        return bool(self.running)

    def end(self):
        for spec, (process, _, begun) in self.running.items():
            print(f"{spec} {self.part}: ended after {time.monotonic() - begun:.0f} s", flush=True)
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:  # it has ended itself, or has no group yet
                process.kill()


def table(specs, results, known):
    print(f"{'model':20} {'batch':>5} {'tenon':>8} {'eager':>8} {'compile':>8} {'known':>8} {'run':>6} {'ratio':>6} "
          f"{'build s':>8} {'error':>9} {'theirs':>9}")
    ratios = {"run": [], "ratio": []}
    for spec in specs:
        row = results.get(spec, {})
        name, _, batch = spec.partition(":")
        own, eager, compiled_ms = (row.get(key, math.nan) for key in ("tenon", "eager", "compile"))
        here = min((x for x in (eager, compiled_ms) if not math.isnan(x)), default=math.nan)
        least = min((x for x in (here, known.get(spec, math.nan)) if not math.isnan(x)), default=math.nan)
        for key, value in (("run", here / own), ("ratio", least / own)):
            if not math.isnan(value):
                ratios[key].append(value)
        print(f"{name:20} {batch:>5} {own:8.3f} {eager:8.3f} {compiled_ms:8.3f} {known.get(spec, math.nan):8.3f} "
              f"{here / own:6.2f} {least / own:6.2f} {row.get('build_seconds', math.nan):8.1f} "
              f"{row.get('error', math.nan):9.1e} {row.get('their_error', math.nan):9.1e}"
              + (f" {row['reason'][:200]}" if "reason" in row else ""))
    for key, values in ratios.items():
        if values:
            print(f"{key}: geometric mean of {len(values)}: {math.exp(statistics.fmean(map(math.log, values))):.3f}, "
                  f"least {min(values):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="MODEL:BATCH; all of the suite without any")
    parser.add_argument("--results", type=pathlib.Path, required=True, help="read first, and written after each part")
    parser.add_argument("--seconds-in-all", type=float, default=540)
    parser.add_argument("--jobs", type=int, default=3, help="networks at a time that are exported, built and timed")
    parser.add_argument("--compile-jobs", type=int, default=6, help="networks at a time for torch.compile; 0: without it")
    parser.add_argument("--quick-convolutions", action="store_true")
    parser.add_argument("--only", choices=["tenon", "eager"])
    parser.add_argument("--exports-first", action="store_true")
    parser.add_argument("--profile", action="store_true", help="keep the time of each layer in the folder")
    parser.add_argument("--build-flag", action="append", default=[], help="one more flag for building")
    parser.add_argument("--trtexec", type=pathlib.Path, default=ROOT / "build/release/bin/trtexec")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/tenon_gpu_suite"))
    parser.add_argument("--seconds", type=float, default=0.5, help="measuring time per system")
    parser.add_argument("--timeout", type=float, default=120, help="seconds that one call of trtexec may take")
    given = parser.parse_args()
    begin = time.monotonic()
    options = types.SimpleNamespace(**vars(given))
    options.folder.mkdir(parents=True, exist_ok=True)
    known = json.loads(KNOWN.read_text())
    # Those whose fastest peer is not known come first: they are what a run that ends early must have.
    order = [entry for entry in known["order"] if not options.models or entry in options.models]
    results = json.loads(options.results.read_text()) if options.results.exists() else {}
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "6")
    own = "eager" if options.only == "eager" else "ours"
    missing = "tenon" if options.only == "tenon" else "eager"
    lanes = [Lane(own, [s for s in order if missing not in results.get(s, {})], options.jobs, options),
             Lane("compiled", [s for s in order if "compile" not in results.get(s, {})], options.compile_jobs, options)]
    while [lane for lane in lanes if lane.step(results)]:
        options.results.write_text(json.dumps(results, indent=1))
        if time.monotonic() - begin > options.seconds_in_all:
            break
        time.sleep(0.2)
    for lane in lanes:
        lane.end()
    options.results.write_text(json.dumps(results, indent=1))
    table(order, results, known["fastest_ms"])
    # Processes that were ended leave helpers of PyTorch behind, which end when they notice.
    sys.stdout.flush()
    wanted = "eager" if options.only == "eager" else "tenon"
    os._exit(0 if all(wanted in results.get(spec, {}) for spec in order) else 1)


if __name__ == "__main__":
    main()
