#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the Python module costs beside others: its import, and an execution beside the same one in C++.

    python_module.py [--build FOLDER] [--turns N] [--nvidia FOLDER] [INTERPRETER ...]

FOLDER is a build folder; interpreters are those that modules were built for, by default the one that runs this. Each turn takes every
row once, so that all meet the same machine; the table has the least and the median of the turns. --nvidia names a folder that holds
NVIDIA's package tensorrt_bindings, which then runs on the same libraries, where the interpreter is of its release.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
IMPORT = """
import sys, time
wall, processor = time.perf_counter(), time.process_time()
{line}
print(time.perf_counter() - wall, time.process_time() - processor)
"""
# As tests/python/costs.py measures it; memory is the host's here.
EXECUTION = """
import ctypes, time
import {module} as trt
library = ctypes.CDLL({library!r})
library.secondsOfEnqueue.restype = ctypes.c_double
plan = open({plan!r}, "rb").read()
engine = trt.Runtime(trt.Logger(trt.Logger.ERROR)).deserialize_cuda_engine(plan)
context = engine.create_execution_context()
memory = [(ctypes.c_float * 4)() for _ in range(2)]
for place, name in enumerate(engine):
    context.set_tensor_address(name, ctypes.addressof(memory[place]))
cuda = ctypes.CDLL({cuda!r})
stream = ctypes.c_void_p()
assert cuda.cudaStreamCreate(ctypes.byref(stream)) == 0
handle, calls, best = stream.value, 200, 1.0
native = library.secondsOfEnqueue(plan, ctypes.c_size_t(len(plan)), 4, 20, calls)
for _ in range(20):
    start = time.perf_counter()
    for _ in range(calls):
        context.execute_async_v3(handle)
    best = min(best, (time.perf_counter() - start) / calls)
    assert cuda.cudaStreamSynchronize(stream) == 0
print(best, native)
"""
PLAN = """
import tensorrt as trt
builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
network = builder.create_network()
y = network.add_unary(network.add_input("x", trt.float32, (4,)), trt.UnaryOperation.NEG).get_output(0)
y.name = "y"
network.mark_output(y)
config = builder.create_builder_config()
config.builder_optimization_level = 0
open({plan!r}, "wb").write(builder.build_serialized_network(network, config))
"""


def run(interpreter, code, variables):
    """The numbers that a program prints, or None where it ends with an error."""
    done = subprocess.run([interpreter, "-B", "-c", code], capture_output=True, text=True, check=False, env=variables)
    return [float(word) for word in done.stdout.split()] if done.returncode == 0 else None


def rows(options, plan):
    """(title, interpreter, program, variables) of all that is measured."""
    library = {"library": str(options.build / "lib/libpython_call_costs.so"), "cuda": str(options.build / "lib/libcudart.so.13"), "plan": plan}
    for interpreter in options.interpreters:
        variables = dict(os.environ, PYTHONPATH=str(options.build / "python"), TENON_DEVICE="cpu")
        done = subprocess.run([interpreter, "-c", PLAN.format(plan=plan)], env=variables, check=False)
        if done.returncode != 0:
            sys.exit(f"{interpreter} does not find the module in {options.build}/python; scripts/wheel.sh builds modules for others")
        yield f"{interpreter} import tensorrt", interpreter, IMPORT.format(line="import tensorrt"), variables
        yield f"{interpreter} import numpy", interpreter, IMPORT.format(line="import numpy"), variables
        yield f"{interpreter} execute_async_v3", interpreter, EXECUTION.format(module="tensorrt", **library), variables
        if options.nvidia:
            theirs = dict(variables, PYTHONPATH=str(options.nvidia), LD_LIBRARY_PATH=str(options.build / "lib"))
            yield f"{interpreter} import tensorrt_bindings", interpreter, IMPORT.format(line="import tensorrt_bindings"), theirs
            yield f"{interpreter} execute_async_v3 (NVIDIA's)", interpreter, EXECUTION.format(module="tensorrt_bindings", **library), theirs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--nvidia", type=pathlib.Path)
    parser.add_argument("interpreters", nargs="*")
    options = parser.parse_args()
    options.build, options.interpreters = options.build.resolve(), options.interpreters or [sys.executable]
    with tempfile.TemporaryDirectory() as folder:
        todo = list(rows(options, f"{folder}/plan"))
        found = {title: [] for title, *_ in todo}
        for _ in range(options.turns):
            for title, interpreter, code, variables in todo:
                numbers = run(interpreter, code, variables)
                if numbers:
                    found[title].append(numbers)
    for title, numbers in found.items():
        if not numbers:
            print(f"{title}: does not run here")
        elif "import" in title:
            wall, processor = zip(*numbers)
            print(f"{title}: {1e3 * min(wall):.0f} ms, median {1e3 * statistics.median(wall):.0f} ms; "
                  f"of processor time {1e3 * min(processor):.0f} ms, median {1e3 * statistics.median(processor):.0f} ms")
        else:
            extra = [best - native for best, native in numbers]
            print(f"{title}: {1e6 * min(best for best, _ in numbers):.2f} us, in C++ {1e6 * min(native for _, native in numbers):.2f} us; "
                  f"more: {1e6 * min(extra):.2f} us, median {1e6 * statistics.median(extra):.2f} us")
    return 0


if __name__ == "__main__":
    sys.exit(main())
