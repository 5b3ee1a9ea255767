#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long builds of the foundation models take on the CPU: the first, the second with its timing cache, and level 0.

    build_times.py [--threads N] [--rounds N] [--only TEXT,TEXT] [--all] [--trtexec FILE] [--json FILE] [--merge FILE...]
                   [MODELS_FOLDER]

Prints the table of docs/performance.md: seconds of a whole process of trtexec, which reads and parses the model, builds
and writes the plan, and in parentheses those of the engine's generation alone, each the least of all rounds; how many
times the generation is faster in the second build; the most memory that the first one had. --merge prints the table of
files written with --json, which need not hold the same models.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from foundation import DEFAULT_FOLDER, ROOT, find_models, shapes_flag

MIB = 1 << 20
BUILDS = ("first", "second", "level0")


def run(words, environment):
    """Seconds of the process and of the engine's generation, and the most memory in bytes."""
    begin = time.perf_counter()
    process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - begin
    generation = re.search(r"Engine generation completed in ([0-9.]+) seconds", output)
    if process.returncode != 0 or generation is None:
        errors = [line for line in output.splitlines() if "[E]" in line] or output.splitlines()[-1:]
        raise RuntimeError(errors[0] if errors else f"status {process.returncode}")
    return {"process": seconds, "generation": float(generation[1]), "peak": usage.ru_maxrss * 1024}


def measure(path, options):
    environment = {**os.environ, "TENON_THREADS": str(options.threads),
                   "TENON_DEVICE": "cpu"}
    row = {"model": path.stem}
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            plan, cache = pathlib.Path(folder) / "plan", pathlib.Path(folder) / "cache"
            words = [str(options.trtexec), f"--onnx={path}", f"--saveEngine={plan}", "--skipInference",
                     *shapes_flag(path.stem)]
            flags = {"first": [f"--timingCacheFile={cache}"], "second": [f"--timingCacheFile={cache}"],
                     "level0": ["--builderOptimizationLevel=0"]}
            for build in BUILDS:
                got = run([*words, *flags[build]], environment)
                row[build] = {name: min(value, row.get(build, got)[name]) for name, value in got.items()}
                row.setdefault("plan", plan.stat().st_size)
    return row


def ratio(row):
    return row["first"]["generation"] / max(row["second"]["generation"], 1e-3)


def table(rows):
    yield "| model | plan, MiB | first | second | level 0 | first / second | peak, MiB |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for row in rows:
        seconds = " | ".join(f"{row[build]['process']:.2f} ({row[build]['generation']:.3f})" for build in BUILDS)
        yield (f"| {row['model']} | {row['plan'] / MIB:.1f} | {seconds} | {ratio(row):.1f} | "
               f"{row['first']['peak'] / MIB:.0f} |")


def summary(rows):
    slow = [f"{row['model']} {ratio(row):.1f}" for row in rows if ratio(row) < 5]
    late = [f"{row['model']} {row['level0']['process']:.2f}" for row in rows if row["level0"]["process"] >= 1]
    return (f"5 times faster or more with the timing cache: {len(rows) - len(slow)} of {len(rows)}; "
            f"less: {', '.join(slow) or 'none'}\nlevel 0 in a second or more: {', '.join(late) or 'none'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="?", type=pathlib.Path, default=DEFAULT_FOLDER)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", default="", help="models whose name contains one of these")
    parser.add_argument("--all", action="store_true", help="every model of the folder, not the foundation set alone")
    parser.add_argument("--trtexec", type=pathlib.Path, default=ROOT / "build/release/bin/trtexec")
    parser.add_argument("--json", type=pathlib.Path, help="write the figures here too")
    parser.add_argument("--merge", type=pathlib.Path, nargs="+", help="only print the table of these files")
    options = parser.parse_args()
    rows = [row for file in options.merge or [] for row in json.loads(file.read_text())]
    if not options.merge:
        if not options.trtexec.exists():
            sys.exit(f"error: {options.trtexec} is missing; build it with scripts/demo.sh or name it with --trtexec")
        for path in find_models(options.models, options.all, options.only):
            try:
                rows.append(measure(path, options))
            except RuntimeError as error:
                print(f"{path.stem}: {error}", file=sys.stderr)
                continue
            print(f"{path.stem}: {ratio(rows[-1]):.1f}", file=sys.stderr, flush=True)
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1))
    print(*table(rows), "", summary(rows), sep="\n")


if __name__ == "__main__":
    main()
