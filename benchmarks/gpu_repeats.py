#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether engines of many networks give the same bits whenever and however they are executed.

    gpu_repeats.py --json FILE [--bin DIR] [--light DIR] [--folder DIR] [--seconds-in-all S] [--seconds S] [--jobs N] [--small] [--flag=FLAG ...]
                   NETWORK[:BATCH[:TYPE,...]] ...

A network is one of benchmarks/kinds (needs torch and torchvision; --small: as their test has it), or a light model of --light.
Each is exported at its batch and built with each TYPE (fp16, bf16, tf32, fp32; all four without any); repeat_engine, which says what it
does, then executes the engine for --seconds. So many networks stand side by side, which is meant: builds of others keep the GPU busy.
A row has what repeat_engine counts: executions, and results that differ from the first of the same inputs. Ends with 1 where some do.
"""
import argparse
import concurrent.futures
import gzip
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests/onnx")]
TYPES = {"fp16": ["--fp16"], "bf16": ["--bf16"], "tf32": [], "fp32": ["--noTF32"]}


def export_light(file, batch, target):
    import onnx
    from light_models import filled
    content = file.read_bytes()
    model = filled(onnx.load_from_string(gzip.decompress(content) if file.suffix == ".gz" else content))
    for value in model.graph.input:
        value.type.tensor_type.shape.dim[0].dim_value = batch
    onnx.save(model, target)


def export_kind(name, batch, small, target):
    import torch
    from kinds.table import network
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, inputs = network(name, batch, small)
    torch.backends.mha.set_fastpath_enabled(False)  # one operation, which ONNX does not know
    with torch.no_grad():
        torch.onnx.export(model.eval(), inputs, str(target), dynamo=False, opset_version=17, input_names=[f"input{k}" for k in range(len(inputs))])


def run(options, log, *command):
    """The program's output; an exception says why there is none."""
    left = options.end - time.time()
    if left < 1:
        raise RuntimeError("no time")
    try:
        done = subprocess.run([str(options.bin / command[0]), *command[1:]], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=min(options.timeout, left))
    except subprocess.TimeoutExpired as error:
        raise RuntimeError(f"{command[0]}: longer than {min(options.timeout, left):.0f} s") from error
    log.write_text(done.stdout)
    if done.returncode != 0 and "\nall " not in done.stdout:
        raise RuntimeError(f"{command[0]}: exit {done.returncode}: {done.stdout[-300:]}")
    return done.stdout


def repeated(options, spec):
    """Rows by type."""
    name, batch, types = (spec.split(":") + ["1", ",".join(TYPES)])[:3] if spec.count(":") != 1 else spec.split(":") + [",".join(TYPES)]
    stem = options.folder / f"{name}_b{batch}"
    model, rows = stem.with_suffix(".onnx"), {}
    try:
        light = [file for ending in ("onnx", "onnx.gz") if options.light and (file := options.light / f"{name}.{ending}").exists()]
        if light:
            export_light(light[0], int(batch), model)
        else:
            export_kind(name, int(batch), options.small, model)
    except Exception as error:
        print(f"{name}:{batch} was not exported: {error}"[:300], flush=True)
        return {f"{name}:{batch}": {"failed": f"not exported: {error}"[:300]}}
    for kind in types.split(","):
        row = rows[f"{name}:{batch}:{kind}"] = {}
        plan = pathlib.Path(f"{stem}.{kind}")
        try:
            begin = time.time()
            run(options, pathlib.Path(f"{plan}.build"), "trtexec", f"--onnx={model}", f"--saveEngine={plan}", "--skipInference", *TYPES[kind],
                *options.flag)
            row["build"] = round(time.time() - begin, 1)
            text = run(options, pathlib.Path(f"{plan}.repeats"), "repeat_engine", str(plan), str(options.seconds))
            for line in text.splitlines():
                word, *numbers = line.split()
                if numbers and all(number.isdigit() for number in numbers):
                    row[word] = [int(number) for number in numbers]
                elif line.startswith("different"):
                    row.setdefault("lines", []).append(line)
        except RuntimeError as error:
            row["failed"] = str(error)
        print(f"{name}:{batch}:{kind}", json.dumps(row), flush=True)
        plan.unlink(missing_ok=True)
    model.unlink(missing_ok=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="+", help="NETWORK[:BATCH[:TYPE,...]]")
    parser.add_argument("--json", type=pathlib.Path, required=True)
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parent / "build/release/bin", help="where trtexec and repeat_engine are")
    parser.add_argument("--light", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/tenon_gpu_repeats"))
    parser.add_argument("--seconds-in-all", type=float, default=600)
    parser.add_argument("--seconds", type=float, default=5, help="of repeat_engine for each engine")
    parser.add_argument("--timeout", type=float, default=90, help="seconds that one program may take")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--flag", action="append", default=[], help="one more flag for building")
    options = parser.parse_args()
    options.end = time.time() + options.seconds_in_all
    options.folder.mkdir(parents=True, exist_ok=True)
    rows = {}
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with concurrent.futures.ProcessPoolExecutor(options.jobs, multiprocessing.get_context("fork")) as pool:
        for future in concurrent.futures.as_completed([pool.submit(repeated, options, spec) for spec in options.networks]):
            for name, row in future.result().items():
                rows[name] = row
            options.json.write_text(json.dumps(rows, indent=1))
    done = [row["all"] for row in rows.values() if "all" in row]
    executions, different = (sum(row[k] for row in done) for k in (0, 1))
    print(f"{len(done)} engines, {executions} executions, {different} results differ from the first; not executed: "
          f"{', '.join(name for name, row in rows.items() if 'all' not in row) or 'none'}")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
