#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs trtexec as its users do, on the digits model.

    end_to_end.py --list                               the names of the cases
    end_to_end.py --program FILE --work FOLDER CASE    runs one; the case `build` makes the engine that the others load
Only the standard library is used.
"""
import argparse
import array
import json
import math
import os
import pathlib
import pty
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DIGITS = ROOT / "models" / "digits"
MODEL = DIGITS / "digits.onnx"
BATCHES = ["--minShapes=input:1x1x28x28", "--optShapes=input:4x1x28x28", "--maxShapes=input:10x1x28x28"]
SHORT = ["--warmUp=0", "--duration=0", "--iterations=5"]
CASES = {}

program = None
engine = None


def case(function):
    CASES[function.__name__] = function
    return function


def check(truth, message):
    if not truth:
        sys.exit(f"failed: {message}")


class Run:
    """One run of the program; it may fail, but never by a signal."""

    def __init__(self, *arguments, folder=None):
        self.words = [str(program), *(str(argument) for argument in arguments)]
        done = subprocess.run(self.words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, timeout=240)
        self.status, self.out, self.err = done.returncode, done.stdout.decode(), done.stderr.decode()
        check(self.status in (0, 1), f"{' '.join(self.words)}: status {self.status}\n{self.out}\n{self.err}")

    def good(self):
        check(self.status == 0, f"{' '.join(self.words)}: status {self.status}\n{self.out}\n{self.err}")
        check("&&&& PASSED TensorRT.trtexec [TensorRT v" in self.out, f"no PASSED line in\n{self.out}")
        return self

    def bad(self, *patterns):
        check(self.status == 1, f"{' '.join(self.words)}: succeeded, and should not\n{self.out}")
        check("&&&& PASSED" not in self.out, "a failed run says PASSED")
        for pattern in patterns:
            check(re.search(pattern, self.err), f"no error line fits '{pattern}' in\n{self.err}")
        return self

    def says(self, *patterns):
        for pattern in patterns:
            check(re.search(pattern, self.out), f"no line fits '{pattern}' in\n{self.out}")
        return self


def read_picture(path):
    data = path.read_bytes()
    header = re.match(rb"P5\s+28\s+28\s+255\s", data)
    check(header, f"{path}: not the picture that was expected")
    return array.array("f", (value / 255 for value in data[header.end():]))


def write_samples(folder):
    """The ten sample pictures as one raw file."""
    path = folder / "samples.raw"
    with open(path, "wb") as file:
        for digit in range(10):
            read_picture(DIGITS / "samples" / f"{digit}.pgm").tofile(file)
    return path


def check_golden(path):
    """The exported outputs are those that another program computed from the same pictures."""
    golden = json.loads((DIGITS / "golden.json").read_text())
    (output,) = json.loads(path.read_text())
    check(output["dimensions"] == "10x10", f"the output is {output['dimensions']}")
    expected = [value for row in golden["probabilities"] for value in row]
    check(len(output["values"]) == len(expected), f"{len(output['values'])} values")
    worst = max(abs(got - want) for got, want in zip(output["values"], expected))
    check(worst <= golden["tolerance"], f"the worst difference to the golden values is {worst}")


def run_samples(folder, *arguments):
    exported = folder / "outputs.json"
    run = Run(f"--loadEngine={engine}", "--shapes=input:10x1x28x28", f"--loadInputs=input:{write_samples(folder)}",
              f"--exportOutput={exported}", *SHORT, *arguments).good()
    check_golden(exported)
    return run


@case
def build(folder):
    run = Run(f"--onnx={MODEL}", f"--saveEngine={engine}", "--skipInference", *BATCHES).good()
    run.says(r"Engine built in [0-9.e-]+ sec\.", r"Created engine with size: [0-9.]+ MiB", r"\[I\] ", "Selected Device: ",
             "Skipped inference phase")
    check("Starting inference" not in run.out, "inference ran in spite of --skipInference")
    check(engine.stat().st_size > 1000, "the engine file is too small")


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
    Run(f"--loadEngine={engine}", f"--loadInputs=input:{nowhere}").bad(f"'{nowhere}'")
    Run(f"--loadEngine={engine}", f"--staticPlugins={nowhere}.so").bad("--staticPlugins")


@case
def damaged_models_are_refused(folder):
    whole = MODEL.read_bytes()
    model = folder / "damaged.onnx"
    for data in (b"", b"\0", whole[:len(whole) // 2], b"\xff" * 1000):
        model.write_bytes(data)
        Run(f"--onnx={model}", "--skipInference").bad(f"'{model}' could not be parsed")


@case
def damaged_engines_are_refused(folder):
    whole = engine.read_bytes()
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
    run_samples(folder).says("Using values loaded from ", "Input binding for input with dimensions 10x1x28x28 is created")


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
    times = rf"min = {number} ms, max = {number} ms, mean = {number} ms, median = {number} ms, percentile\(50%\) = {number} ms"
    run = Run(f"--loadEngine={engine}", "--shapes=input:1x1x28x28", "--warmUp=10", "--duration=0.1", "--iterations=100",
              "--avgRuns=50", "--percentile=50").good()
    run.says(r"\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] \[I\] === Performance summary ===", rf"Throughput: {number} qps",
             rf"\] Latency: {times}", rf"Enqueue Time: {times}", rf"H2D Latency: {times}", rf"GPU Compute Time: {times}",
             rf"D2H Latency: {times}", rf"Total Host Walltime: {number} s", rf"Total GPU Compute Time: {number} s",
             rf"Average on 50 runs - GPU latency: {number} ms - Host latency: {number} ms \(enqueue {number} ms\)",
             r"Explanations of the performance metrics are printed in the verbose logs\.", "=== Trace details ===")


@case
def times_are_exported(folder):
    path = folder / "times.json"
    Run(f"--loadEngine={engine}", "--shapes=input:2x1x28x28", "--warmUp=0", "--duration=0", "--iterations=37",
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
        run = Run(f"--loadEngine={engine}", "--shapes=input:2x1x28x28", *SHORT, "--dumpProfile",
                  f"--exportProfile={path}", *extra).good()
        run.says(r"=== Profile \(\d+ iterations \) ===", r"Time\(ms\)\s+Avg\.\(ms\)\s+Median\(ms\)\s+Time\(%\)\s+Layer",
                 r"100\.0   Total")
        head, *rows = json.loads(path.read_text())
        check(head["count"] >= 5 and rows, f"{head}, {len(rows)} layers")
        check(abs(sum(row["percentage"] for row in rows) - 100) < 0.1, "the percentages are not 100 together")


@case
def layers_are_shown(folder):
    path = folder / "layers.json"
    run = Run(f"--loadEngine={engine}", "--shapes=input:2x1x28x28", *SHORT, "--dumpLayerInfo",
              f"--exportLayerInfo={path}").good().says("Layer Information:")
    layers = json.loads(path.read_text())["Layers"]
    check(len(layers) > 0, "no layers")
    check(run.out.count("\n") > len(layers), "fewer lines than layers")
    Run(f"--loadEngine={engine}", "--skipInference", "--dumpLayerInfo", "--dumpOptimizationProfile").good().says(
        "Layer Information:", r"input: Minimum shape: 1x1x28x28, Optimum shape: 4x1x28x28, Maximum shape: 10x1x28x28")


@case
def outputs_are_dumped(folder):
    run = Run(f"--loadEngine={engine}", "--shapes=input:3x1x28x28", *SHORT, "--dumpOutput", "--dumpRawBindingsToFile",
              folder=folder).good().says(r"Output Tensors:", r"probabilities: \(3x10\)")
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
        Run(f"--loadEngine={engine}", "--shapes=input:2x1x28x28", *SHORT, f"--exportOutput={path}").good().says(
            "Using random values for input input")
        texts.append(path.read_text())
    check(texts[0] == texts[1], "two runs on random inputs differ")


@case
def shapes_are_checked(folder):
    Run(f"--loadEngine={engine}", "--shapes=input:11x1x28x28", *SHORT).bad("11x1x28x28")
    Run(f"--loadEngine={engine}", "--shapes=inputs:1x1x28x28", *SHORT).bad("'inputs'.*'input'")
    Run(f"--loadEngine={engine}", "--useProfile=1", *SHORT).bad("--useProfile=1")
    Run(f"--onnx={MODEL}", "--optShapes=wrong:1x1x28x28", "--skipInference").bad("'wrong'.*'input'")
    Run(f"--onnx={MODEL}", "--optShapes=input:1x1x28x27", "--skipInference").bad("does not fit")
    short = folder / "short.raw"
    short.write_bytes(b"1234")
    Run(f"--loadEngine={engine}", "--shapes=input:1x1x28x28", f"--loadInputs=input:{short}", *SHORT).bad(
        "has 4 bytes.*takes 3136 bytes")


@case
def open_dimensions_become_one(folder):
    Run(f"--onnx={MODEL}", *SHORT).good().says(r"\[W\] input 'input' .*1x1x28x28",
                                              "Input binding for input with dimensions 1x1x28x28")
    Run(f"--loadEngine={engine}", *SHORT).good().says("Input binding for input with dimensions 4x1x28x28")


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
    Run(f"--onnx={MODEL}", *BATCHES, "--skipInference", f"--timingCacheFile={cache}").bad(f"'{cache}'")
    check(cache.read_bytes() == b"this is no timing cache", "a file that is no timing cache was overwritten")


@case
def versions_are_read_from_the_file(folder):
    Run(f"--loadEngine={engine}", "--getPlanVersionOnly").good().says(r"created with TensorRT version \d+\.\d+\.\d+")
    for data in (b"", b"TENONPL", b"something else that is longer than a header"):
        path = folder / "no.engine"
        path.write_bytes(data)
        Run(f"--loadEngine={path}", "--getPlanVersionOnly").bad("is no engine")


@case
def deserialization_is_timed(folder):
    run = Run(f"--loadEngine={engine}", "--timeDeserialize").good().says(r"First deserialization time = [0-9.e-]+ milliseconds",
                                                                    r"average of \d+ more")
    check("Starting inference" not in run.out, "inference ran in spite of --timeDeserialize")


@case
def a_full_disk_leaves_no_engine(folder):
    full = pathlib.Path("/dev/full")
    if not full.exists():
        print("skipped: this system has no /dev/full")
        sys.exit(77)
    Run(f"--onnx={MODEL}", *BATCHES, "--skipInference", f"--saveEngine={full}").bad("cannot write")


def run_with_small_files(limit, ignored, *arguments):
    """Runs the program where no file may grow beyond `limit` bytes: the write in the middle ends it, or fails."""

    def restrict():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN if ignored else signal.SIG_DFL)

    return subprocess.run([str(program), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=restrict, restore_signals=False, timeout=240)


@case
def what_ends_a_write_leaves_the_old_file(folder):
    saved, cache = folder / "saved", folder / "cache"
    build_it = [f"--onnx={MODEL}", *BATCHES, "--skipInference", f"--saveEngine={saved}", f"--timingCacheFile={cache}"]
    Run(*build_it).good()
    whole = {path: path.read_bytes() for path in (saved, cache)}
    for path in (saved, cache):
        others = [word for word in build_it if str(path) in word or not word.startswith(("--save", "--timing"))]
        for ignored in (False, True):
            run = run_with_small_files(len(whole[path]) // 2, ignored, *others)
            expected = 1 if ignored else -signal.SIGXFSZ
            check(run.returncode == expected, f"{path.name}: status {run.returncode}, expected {expected}\n{run.stderr.decode()}")
            check(path.read_bytes() == whole[path], f"{path.name} is neither the old file nor a new one")
            left = [file for file in folder.iterdir() if file not in whole]
            check(bool(left) != ignored, f"a failed write left {left}" if ignored else "nothing was written in part: no test")
            for file in left:
                file.unlink()
    Run(*build_it).good()


@case
def a_killed_process_leaves_the_old_file_or_the_new_one(folder):
    saved, cache = folder / "saved", folder / "cache"
    build = [str(program), f"--onnx={MODEL}", "--skipInference", f"--saveEngine={saved}", f"--timingCacheFile={cache}"]
    shapes = [BATCHES, ["--minShapes=input:1x1x28x28", "--optShapes=input:2x1x28x28", "--maxShapes=input:3x1x28x28"]]
    for words in shapes * 2:  # afterwards the cache has both, and nothing is measured any more
        Run(*build[1:], *words).good()
    engines, caches, seconds = set(), {cache.read_bytes()}, 0.0
    for words in shapes:
        begin = time.perf_counter()
        Run(*build[1:], *words).good()
        seconds = max(seconds, time.perf_counter() - begin)
        engines.add(saved.read_bytes())
        caches.add(cache.read_bytes())
    check(len(engines) == 2, f"{len(engines)} engines of two ranges of shapes")
    generator, killed, torn = random.Random(7), 0, 0
    for i in range(int(os.environ.get("TENON_KILLS", 20))):
        with subprocess.Popen([*build, *shapes[i % 2]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(generator.uniform(0, seconds))
            process.kill()
        killed += process.wait() == -signal.SIGKILL
        check(saved.read_bytes() in engines, f"kill {i}: the engine is neither of the two")
        check(cache.read_bytes() in caches, f"kill {i}: the timing cache is not what it was")
        for part in folder.glob("*.part*"):
            torn += 1
            part.unlink()
    check(killed > 0, "every process ended before it was killed: no test")
    print(f"{killed} processes killed, {torn} of them in the middle of a write")


@case
def endless_runs_end_by_interrupt(folder):
    with subprocess.Popen([str(program), f"--loadEngine={engine}", "--shapes=input:1x1x28x28", "--duration=-1"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:
            if "Starting inference" in line:
                break
        try:
            process.wait(timeout=1)
            sys.exit("failed: the endless run ended by itself")
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        check(process.wait(timeout=30) != 0, "an interrupted run says that it succeeded")


@case
def builds_end_by_interrupt(folder):
    models = pathlib.Path(os.environ.get("TENON_MODELS", ROOT.parent / "shared" / "models"))
    model = models / "onnx" / "det_yolox_nano_coco.onnx"
    if not model.exists():
        print(f"skipped: {model} is not there; a build that lasts long enough needs a larger model")
        sys.exit(77)
    path = folder / "engine"
    with subprocess.Popen([str(program), f"--onnx={model}", "--skipInference", "--builderOptimizationLevel=5",
                           f"--saveEngine={path}"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:
            if "Finished parsing" in line:
                break
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        check(process.wait(timeout=60) == 1, f"status {process.returncode} after an interrupt\n{rest}")
    check("the build was cancelled" in rest and "&&&& FAILED" in rest, f"no word of the cancellation in\n{rest}")
    check(not path.exists(), "a cancelled build wrote an engine")


@case
def progress_is_drawn_on_a_terminal(folder):
    words = [str(program), f"--onnx={MODEL}", *BATCHES, "--skipInference"]
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm"
        os.execv(words[0], words)
    seen = b""
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other side is closed
            break
        if not data:
            break
        seen += data
    check(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, seen.decode())
    check(b"\r\033[K" in seen and re.search(rb"\[=* *\] \d+/\d+", seen), f"no progress in\n{seen.decode()}")
    lines = [line for line in seen.decode().splitlines() if "Engine built in" in line]
    check(len(lines) == 1 and "[I] Engine built in" in lines[0], f"the progress spoils the log: {lines}")
    check("\033" not in Run(f"--onnx={MODEL}", *BATCHES, "--skipInference").out, "progress in a file")


def main():
    global program, engine
    if sys.argv[1:] == ["--list"]:
        print(";".join(CASES), end="")
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("case", choices=CASES)
    options = parser.parse_args()
    program = options.program.resolve()
    options.work.mkdir(parents=True, exist_ok=True)
    engine = options.work.resolve() / "digits.engine"
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        CASES[options.case](pathlib.Path(folder).resolve())


if __name__ == "__main__":
    main()
