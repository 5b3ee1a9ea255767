#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs trtexec as its users do, on the digits model.

    end_to_end.py --list                               the names of the cases
    end_to_end.py --program FILE --work FOLDER CASE    runs one; the case `build` makes the engine that the others load
The cases are here and in the other files named *_cases.py. Only the standard library is used.
"""
import argparse
import array
import json
import math
import os
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True  # the harness beside this file, in the source folder

import debug_cases  # noqa: E402,F401: its cases enter the table
import file_cases  # noqa: E402,F401
import memory_cases  # noqa: E402,F401
import process_cases  # noqa: E402,F401
from harness import BATCHES, CASES, MODEL, SHORT, Run, case, check, given, run_samples  # noqa: E402


@case
def build(folder):
    run = Run(f"--onnx={MODEL}", f"--saveEngine={given.engine}", "--skipInference", *BATCHES).good()
    run.says(r"Engine built in [0-9.e-]+ sec\.", r"Created engine with size: [0-9.]+ MiB", r"\[I\] ",
             "Selected Device: ", "Skipped inference phase")
    check("Starting inference" not in run.out, "inference ran in spite of --skipInference")
    check(given.engine.stat().st_size > 1000, "the engine file is too small")


@case
def help_is_success(folder):
    for arguments in ([], ["--help"], ["-h"]):
        run = Run(*arguments)
        check(run.status == 0, "help fails")
        run.says("=== Build Options ===", "--saveEngine=<file>", "=== Reporting Options ===")


@case
def wrong_flags_are_named(folder):
    Run(f"--onnx={MODEL}", "--saveEngin=x", "--useDLACore=0", "--avgRuns=zero").bad(
        r"unknown flag --saveEngin; did you mean --saveEngine\?", "--useDLACore: not supported by Tenon yet: DLA",
        "--avgRuns: 'zero'").says("&&&& FAILED TensorRT.trtexec")
    Run(f"--onnx={MODEL}", "--workspace=64").bad("--memPoolSize=workspace:")
    Run("--fp16").bad("--onnx=<file>")
    Run("--onnx", MODEL).bad("--onnx: a value is missing", "belongs to no flag")


@case
def missing_files_are_named(folder):
    nowhere = folder / "nowhere"
    Run(f"--onnx={nowhere}").bad(f"'{nowhere}'")
    Run(f"--loadEngine={nowhere}").bad(f"'{nowhere}'.*No such file")
    Run(f"--loadEngine={folder}").bad("folder")
    Run(f"--loadEngine={nowhere}", "--asyncFileReader").bad(f"'{nowhere}'")
    Run(f"--onnx={MODEL}", f"--saveEngine={nowhere}/engine", "--skipInference").bad(f"'{nowhere}/engine'")
    for flag in ("--saveEngine", "--timingCacheFile", "--exportTimes", "--exportLayerInfo"):
        for place, reason in ((f"{nowhere}/x", "No such file or directory"), (folder, "it is a folder")):
            run = Run(f"--onnx={MODEL}", f"{flag}={place}").bad(f"{flag}: cannot write the file '{place}'.*{reason}")
            check("Start parsing" not in run.out, f"{flag} is looked at after the build")
    Run(f"--loadEngine={given.engine}", f"--loadInputs=input:{nowhere}").bad(f"'{nowhere}'")
    Run(f"--loadEngine={given.engine}", f"--staticPlugins={nowhere}.so").bad("--staticPlugins")


@case
def damaged_models_are_refused(folder):
    whole = MODEL.read_bytes()
    model = folder / "damaged.onnx"
    for data in (b"", b"\0", whole[:len(whole) // 2], b"\xff" * 1000):
        model.write_bytes(data)
        Run(f"--onnx={model}", "--skipInference").bad(f"'{model}' could not be parsed")


@case
def damaged_engines_are_refused(folder):
    whole = given.engine.read_bytes()
    path = folder / "damaged.engine"
    cuts = [0, 1, 7, 8, 63, 128, len(whole) // 3, len(whole) // 2, len(whole) - 1]
    damaged = [whole[:cut] for cut in cuts] + [whole + b"\0"]
    for at in (0, 9, 30, 200, len(whole) // 2, len(whole) - 3):
        flipped = bytearray(whole)
        flipped[at] ^= 0x10
        damaged.append(bytes(flipped))
    for data in damaged:
        path.write_bytes(data)
        Run(f"--loadEngine={path}", *SHORT).bad("is not an engine")
    path.write_bytes(whole[:len(whole) // 2])
    Run(f"--loadEngine={path}", "--asyncFileReader", *SHORT).bad("is not an engine")


@case
def answers_are_the_golden_ones(folder):
    run_samples(folder).says("Using values loaded from ",
                             "Input binding for input with dimensions 10x1x28x28 is created")


@case
def answers_do_not_depend_on_the_way(folder):
    for way in (["--useCudaGraph"], ["--exposeDMA"], ["--noDataTransfers"], ["--noDataTransfers", "--useCudaGraph"],
                ["--useManagedMemory"], ["--useSpinWait"], ["--infStreams=2"], ["--infStreams=3", "--threads"],
                ["--asyncFileReader"], ["--allocationStrategy=profile"], ["--allocationStrategy=runtime"],
                ["--dumpProfile"], ["--verbose"], ["--sleepTime=5", "--idleTime=1"]):
        run_samples(folder, *way)


@case
def cuda_graphs_are_captured(folder):
    run = run_samples(folder, "--useCudaGraph", "--verbose")
    run.says("Captured a CUDA graph")
    check("cannot be captured" not in run.out, "the engine was not captured")


@case
def performance_is_reported(folder):
    number = r"[0-9.e+-]+"
    times = ", ".join(rf"{name} = {number} ms" for name in ("min", "max", "mean", "median", r"percentile\(50%\)"))
    run = Run(f"--loadEngine={given.engine}", "--shapes=input:1x1x28x28", "--warmUp=10", "--duration=0.1",
              "--iterations=100", "--avgRuns=50", "--percentile=50").good()
    run.says(r"\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[I\] === Performance summary ===", rf"Throughput: {number} qps",
             rf"\] Latency: {times}", rf"Enqueue Time: {times}", rf"H2D Latency: {times}",
             rf"GPU Compute Time: {times}", rf"D2H Latency: {times}", rf"Total Host Walltime: {number} s", rf"Total GPU Compute Time: {number} s",
             rf"Average on 50 runs - GPU latency: {number} ms - Host latency: {number} ms \(enqueue {number} ms\)",
             r"Explanations of the performance metrics are printed in the verbose logs\.", "=== Trace details ===")


@case
def the_host_is_said_once(folder):
    """Without a GPU: one line about it, and advice that fits. (ctest runs on the host; elsewhere TENON_DEVICE says so.)"""
    os.environ["TENON_DEVICE"] = "cpu"
    run = Run(f"--onnx={MODEL}", "--fp16", "--warmUp=0", "--duration=0.2").good().says(
        r"No GPU, as TENON_DEVICE says: computed on the host", r"\[W\] \[TRT\] BuilderFlag::kFP16: FP16 is allowed; the CPU computes in FP32")
    check(run.out.count("computed on the host") == 1, "it is said more than once")
    for advice in ("--useCudaGraph", "--useSpinWait", "--noDataTransfers", "locked clock"):
        check(advice not in run.out, f"advice for GPUs: {advice}\n{run.out}")
    check("computes in FP32" not in Run(f"--onnx={MODEL}", "--skipInference").good().out, "said without the flag")


@case
def times_are_exported(folder):
    path = folder / "times.json"
    Run(f"--loadEngine={given.engine}", "--shapes=input:2x1x28x28", "--warmUp=0", "--duration=0", "--iterations=37",
        f"--exportTimes={path}").good()
    rows = json.loads(path.read_text())
    check(len(rows) == 37, f"{len(rows)} rows")
    for row in rows:
        check(row["startComputeMs"] <= row["endComputeMs"] <= row["endD2hMs"], f"times run backwards: {row}")
        total = row["h2dMs"] + row["computeMs"] + row["d2hMs"]
        check(math.isclose(total, row["latencyMs"], rel_tol=1e-3, abs_tol=1e-3), f"the latency is not the sum: {row}")


@case
def layers_are_profiled(folder):
    for extra in ([], ["--separateProfileRun"], ["--useCudaGraph"]):
        path = folder / "profile.json"
        run = Run(f"--loadEngine={given.engine}", "--shapes=input:2x1x28x28", *SHORT, "--dumpProfile",
                  f"--exportProfile={path}", *extra).good()
        run.says(r"=== Profile \(\d+ iterations \) ===", r"Time\(ms\)\s+Avg\.\(ms\)\s+Median\(ms\)\s+Time\(%\)\s+Layer",
                 r"100\.0   Total")
        head, *rows = json.loads(path.read_text())
        check(head["count"] >= 5 and rows, f"{head}, {len(rows)} layers")
        check(abs(sum(row["percentage"] for row in rows) - 100) < 0.1, "the percentages are not 100 together")


@case
def layers_are_shown(folder):
    path = folder / "layers.json"
    run = Run(f"--loadEngine={given.engine}", "--shapes=input:2x1x28x28", *SHORT, "--dumpLayerInfo",
              f"--exportLayerInfo={path}").good().says("Layer Information:")
    layers = json.loads(path.read_text())["Layers"]
    check(len(layers) > 0, "no layers")
    check(run.out.count("\n") > len(layers), "fewer lines than layers")
    check(all(isinstance(layer, str) for layer in layers), "an engine of names shows more than names")
    Run(f"--loadEngine={given.engine}", "--skipInference", "--dumpLayerInfo", "--dumpOptimizationProfile").good().says(
        "Layer Information:", r"input: Minimum shape: 1x1x28x28, Optimum shape: 4x1x28x28, Maximum shape: 10x1x28x28")


@case
def detailed_layers_are_shown_in_tensorrts_form(folder):
    path = folder / "layers.json"
    run = Run(f"--onnx={MODEL}", "--shapes=input:2x1x28x28", *SHORT, "--profilingVerbosity=detailed", "--dumpLayerInfo",
              f"--exportLayerInfo={path}").good()
    run.says(r"Layers:\n.* Name: .*, LayerType: .*, Inputs: \[ \{ Name: input, Location: Device, Dimensions: \[2,1,28,28\], "
             r"Format/Datatype: .* FP32.* \}\], Outputs: \[", r"Bindings:\n.*\] input\n.*\] probabilities\n")
    shown = json.loads(path.read_text())
    check(shown["Bindings"] == ["input", "probabilities"], f"bindings {shown['Bindings']}")
    fields = ("Name", "LayerType", "Inputs", "Outputs", "TacticName", "TacticValue", "StreamId", "Metadata")
    known = {"input"}
    for layer in shown["Layers"]:
        check(all(field in layer for field in fields), f"a field is missing in {layer}")
        check(layer["Inputs"] and layer["Outputs"], f"no tensors in {layer}")
        check(known.issuperset(tensor["Name"] for tensor in layer["Inputs"]), f"{layer['Name']} reads what no layer writes")
        known.update(tensor["Name"] for tensor in layer["Outputs"])
        for tensor in layer["Inputs"] + layer["Outputs"]:
            check(all(extent >= 0 for extent in tensor["Dimensions"]), f"extents of the context are missing in {tensor}")
    convolutions = [layer for layer in shown["Layers"] if layer.get("ParameterType") == "Convolution"]
    check(convolutions and convolutions[0]["Kernel"] and convolutions[0]["Weights"]["Type"] == "Float", f"{convolutions}")
    check("[ONNX Layer: " in convolutions[0]["Metadata"], f"{convolutions[0]['Metadata']}")


@case
def outputs_are_dumped(folder):
    run = Run(f"--loadEngine={given.engine}", "--shapes=input:3x1x28x28", *SHORT, "--dumpOutput",
              "--dumpRawBindingsToFile", folder=folder).good().says(r"Output Tensors:", r"probabilities: \(3x10\)")
    values = array.array("f")
    values.frombytes((folder / "probabilities.output.3.10.fp32.raw").read_bytes())
    check(len(values) == 30, f"{len(values)} values")
    for row in range(3):
        check(abs(sum(values[row * 10:row * 10 + 10]) - 1) < 1e-4, "a row of probabilities is not 1 together")
    check((folder / "input.input.3.1.28.28.fp32.raw").stat().st_size == 3 * 784 * 4, "the raw input has another size")
    printed = [float(word) for line in run.out.split("probabilities: (3x10)\n")[1].splitlines()[:3]
               for word in line.split("[I] ")[1].split()]
    check(all(abs(a - b) < 1e-6 for a, b in zip(printed, values)), "printed and raw outputs differ")


@case
def random_inputs_are_the_same_each_time(folder):
    texts = []
    for name in ("a", "b"):
        path = folder / name
        Run(f"--loadEngine={given.engine}", "--shapes=input:2x1x28x28", *SHORT, f"--exportOutput={path}").good().says(
            "Using random values for input input")
        texts.append(path.read_text())
    check(texts[0] == texts[1], "two runs on random inputs differ")


@case
def shapes_are_checked(folder):
    Run(f"--loadEngine={given.engine}", "--shapes=input:11x1x28x28", *SHORT).bad("11x1x28x28")
    Run(f"--loadEngine={given.engine}", "--shapes=inputs:1x1x28x28", *SHORT).bad("'inputs'.*'input'")
    Run(f"--loadEngine={given.engine}", "--useProfile=1", *SHORT).bad("--useProfile=1")
    Run(f"--onnx={MODEL}", "--optShapes=wrong:1x1x28x28", "--skipInference").bad("'wrong'.*'input'")
    Run(f"--onnx={MODEL}", "--optShapes=input:1x1x28x27", "--skipInference").bad("does not fit")
    short = folder / "short.raw"
    short.write_bytes(b"1234")
    Run(f"--loadEngine={given.engine}", "--shapes=input:1x1x28x28", f"--loadInputs=input:{short}", *SHORT).bad(
        "has 4 bytes.*takes 3136 bytes")


@case
def open_dimensions_become_one(folder):
    Run(f"--onnx={MODEL}", *SHORT).good().says(r"\[W\] input 'input' .*1x1x28x28; --shapes=input:1x1x28x28 with other extents",
                                              "Input binding for input with dimensions 1x1x28x28").warns(1, "'input'")
    Run(f"--loadEngine={given.engine}", *SHORT).good().says("Input binding for input with dimensions 4x1x28x28")


@case
def shapes_take_wildcards(folder):
    Run(f"--onnx={MODEL}", "--shapes=in*:7x1x28x28", *SHORT).good().says("probabilities with dimensions 7x10")


@case
def profiles_are_chosen(folder):
    path = folder / "two.engine"
    Run(f"--onnx={MODEL}", "--profile=0", "--optShapes=input:1x1x28x28", "--profile=1", "--minShapes=input:2x1x28x28",
        "--optShapes=input:5x1x28x28", "--maxShapes=input:8x1x28x28", "--skipInference", f"--saveEngine={path}").good()
    Run(f"--loadEngine={path}", "--useProfile=1", *SHORT).good().says("dimensions 5x1x28x28")
    Run(f"--loadEngine={path}", "--useProfile=0", "--shapes=input:5x1x28x28", *SHORT).bad("5x1x28x28")


@case
def timing_caches_are_kept(folder):
    cache, first, second = folder / "cache", folder / "first", folder / "second"
    Run(f"--onnx={MODEL}", *BATCHES, "--skipInference", f"--timingCacheFile={cache}", f"--saveEngine={first}").good()
    check(cache.stat().st_size > 0, "the timing cache is empty")
    Run(f"--onnx={MODEL}", *BATCHES, "--skipInference", f"--timingCacheFile={cache}", f"--saveEngine={second}").good()
    check(first.read_bytes() == second.read_bytes(), "two builds from one timing cache give different engines")
    cache.write_bytes(b"this is no timing cache")
    foreign = Run(f"--onnx={MODEL}", *BATCHES, "--skipInference", f"--timingCacheFile={cache}").bad(
        f"'{cache}' holds no timing cache of this library.*the first line must begin with").warns(0, "timing cache")
    check("starts empty" not in foreign.out + foreign.err, foreign.err)
    check(cache.read_bytes() == b"this is no timing cache", "a file that is no timing cache was overwritten")


@case
def versions_are_read_from_the_file(folder):
    Run(f"--loadEngine={given.engine}", "--getPlanVersionOnly").good().says(
        r"created with TensorRT version \d+\.\d+\.\d+")
    for data in (b"", b"TENONPL", b"something else that is longer than a header"):
        path = folder / "no.engine"
        path.write_bytes(data)
        Run(f"--loadEngine={path}", "--getPlanVersionOnly").bad("is not an engine")


@case
def deserialization_is_timed(folder):
    run = Run(f"--loadEngine={given.engine}", "--timeDeserialize").good().says(
        r"First deserialization time = [0-9.e-]+ milliseconds", r"average of \d+ more")
    check("Starting inference" not in run.out, "inference ran in spite of --timeDeserialize")


def main():
    if sys.argv[1:] == ["--list"]:
        print(";".join(CASES), end="")
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("case", choices=CASES)
    options = parser.parse_args()
    given.program = options.program.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    given.engine = options.work.resolve() / "digits.engine"
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        CASES[options.case](pathlib.Path(folder).resolve())


if __name__ == "__main__":
    main()
