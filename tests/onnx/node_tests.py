#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX's own node tests through the libraries of a build, and the list of those that do not pass.

    pip install numpy onnx && pip install --no-deps tensorrt-cu13-bindings==10.16.1.11
    LD_LIBRARY_PATH=build/release/lib python tests/onnx/node_tests.py [--only PART] [--every N] [--jobs N] [--seconds N] [--write]

The onnx package generates the tests. Tests whose tensors have types that the interface cannot carry (double, strings,
sequences, 16-bit integers, ...) are left out. Networks are strongly typed, as models of today are built. Where all inputs as
inputs fail, integers are frozen, as models have them; where that fails, all inputs but the first. Results that are drawn at
random (Bernoulli, Dropout that trains) are compared with their distribution over many executions, since ONNX leaves the
generator open. `left.txt` beside this file lists what fails, with the reason; a test that fails without standing there, or
stands there and passes, is an error.
"""
import argparse
import collections
import concurrent.futures
import pathlib
import subprocess
import sys
import time
import warnings

HERE = pathlib.Path(__file__).resolve().parent
LEFT = HERE / "left.txt"
DRAWN = ("test_bernoulli", "test_training_dropout")
EXECUTIONS = 400  # of networks that draw
CARRIED = {"float32", "float16", "int32", "int64", "int8", "uint8", "bool"}


def node_cases():
    warnings.simplefilter("ignore")
    from onnx.backend.test.case.node import collect_testcases
    return [c for c in sorted(collect_testcases(None), key=lambda c: c.name) if is_carried(c)]


def is_carried(case):
    from onnx.helper import tensor_dtype_to_np_dtype
    for value in [*case.model.graph.input, *case.model.graph.output]:
        if not value.type.HasField("tensor_type") or value.type.tensor_type.elem_type in (0, 8):
            return False
        if tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type).name not in CARRIED:
            return False
    return True


def frozen(model, feeds, kept):
    """The model with all inputs but those of `kept` as initializers, or None where that leaves no input or changes nothing."""
    import onnx
    if not kept or len(kept) == len(model.graph.input):
        return None
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    names = {i.name for i in kept}
    copy.graph.initializer.extend(onnx.numpy_helper.from_array(feeds[i.name], i.name) for i in model.graph.input
                                  if i.name not in names)
    del copy.graph.input[:]
    copy.graph.input.extend(kept)
    return copy


def attempt(case, model, feeds, wanted):
    import numpy as np
    import support
    trt = support.trt
    support.LOGGER.messages.clear()
    builder = trt.Builder(support.LOGGER)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parser = trt.OnnxParser(network, support.LOGGER)
    if not parser.parse(model.SerializeToString()):
        raise RuntimeError(parser.get_error(0).desc())
    config = builder.create_builder_config()
    config.builder_optimization_level = 0
    config.clear_flag(trt.BuilderFlag.TF32)  # a GPU computes what the standard defines
    profile = builder.create_optimization_profile()
    for tensor in (network.get_input(i) for i in range(network.num_inputs)):
        value = feeds[tensor.name]
        if tensor.is_shape_tensor:
            profile.set_shape_input(tensor.name, *[[int(v) for v in np.ravel(value)]] * 3)
        elif -1 in tuple(tensor.shape):
            profile.set_shape(tensor.name, value.shape, value.shape, value.shape)
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        raise RuntimeError(" ".join(support.LOGGER.errors()[-1:]) or "no engine")
    engine = support.loaded(plan)
    given = {n: v for n, v in feeds.items() if n in {i.name for i in model.graph.input}}
    if case.name.startswith(DRAWN):
        compare_drawn(case, engine, feeds, given)
    else:
        compare(case, support.execute(engine, given), wanted)


def compare(case, outputs, wanted):
    import numpy as np
    for value, want in zip(case.model.graph.output, wanted):
        got = np.asarray(outputs[value.name])
        want = as_array(want)
        if got.shape != want.shape:
            raise RuntimeError(f"shape {got.shape}, expected {want.shape}")
        if np.issubdtype(want.dtype, np.floating):
            np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=max(case.rtol, 1e-3),
                                       atol=max(case.atol, 1e-5), err_msg="values")
        elif not np.array_equal(got.astype(want.dtype), want):
            raise RuntimeError("values differ")


def distributions(case, feeds):
    """For each output the other value besides 0 that an element may have, and its mean."""
    import numpy as np
    x, *more = (np.asarray(v, np.float64) for v in feeds.values())
    if case.name.startswith("test_bernoulli"):  # the function of ONNX compares the other way round
        return [(np.ones_like(x), 1 - x if case.name.endswith("_expanded") else x)]
    kept = 1 - (float(more[0]) if more else 0.5)
    return [(x / kept, x), (np.ones_like(x), np.full_like(x, kept))]


def compare_drawn(case, engine, feeds, given):
    import numpy as np
    import support
    context = engine.create_execution_context()
    runs = [support.execute(engine, given, context) for _ in range(EXECUTIONS)]
    for value, (other, mean) in zip(case.model.graph.output, distributions(case, feeds)):
        got = np.stack([np.asarray(run[value.name], np.float64) for run in runs])
        if got.shape[1:] != mean.shape:
            raise RuntimeError(f"shape {got.shape[1:]}, expected {mean.shape}")
        if not np.all((got == 0) | np.isclose(got, other, rtol=1e-5)):
            raise RuntimeError("values other than those that can be drawn")
        deviation = np.sqrt(np.abs(mean * (other - mean)) / EXECUTIONS)
        if not np.all(np.abs(got.mean(0) - mean) <= 5 * deviation + 1e-5 * np.abs(mean)):
            raise RuntimeError("means differ from those of the distribution")


def as_array(value):
    import numpy as np
    import onnx
    return np.array(onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value, order="C")


def one(case):
    import numpy as np
    for inputs, wanted in case.data_sets:
        declared = list(case.model.graph.input)
        feeds = {i.name: as_array(v) for i, v in zip(declared, inputs)}
        real = [i for i in declared if np.issubdtype(feeds[i.name].dtype, np.floating)]
        tries = [case.model, frozen(case.model, feeds, real), frozen(case.model, feeds, declared[:1])]
        problem = None
        for model in (m for m in tries if m is not None):
            try:
                attempt(case, model, feeds, wanted)
                problem = None
                break
            except Exception as error:
                problem = problem or error
        if problem is not None:
            raise problem


def worker():
    """Answers a line for each number of a test on the standard input; a crash ends it."""
    sys.path.insert(0, str(HERE.parent / "compat"))
    cases = node_cases()
    for line in sys.stdin:
        try:
            one(cases[int(line)])
            answer = "passed"
        except Exception as problem:
            answer = "failed " + " ".join(str(problem).split())[:160]
        print("answer " + answer, flush=True)


def run_all(cases, numbers, end):
    """By name what came of each test that began in time."""
    def start():
        return subprocess.Popen([sys.executable, __file__, "--worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True)
    process, results = start(), {}
    for number in numbers:
        if time.monotonic() > end:
            break
        process.stdin.write(f"{number}\n")
        process.stdin.flush()
        answers = (line[7:].strip() for line in process.stdout if line.startswith("answer "))
        answer = next(answers, None)
        if answer is None:
            answer = f"crashed with {process.wait()}"
            process = start()
        results[cases[number].name] = answer
    process.stdin.close()
    process.wait()
    return results


def run_side_by_side(cases, numbers, jobs, end):
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        parts = pool.map(lambda k: run_all(cases, numbers[k::jobs], end), range(jobs))
    results = {name: answer for part in parts for name, answer in part.items()}
    names = [cases[number].name for number in numbers]
    return {name: results[name] for name in names if name in results}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a part of the names")
    parser.add_argument("--every", type=int, default=1, help="each Nth test")
    parser.add_argument("--first", type=int, default=0, help="of each N, which one")
    parser.add_argument("--jobs", type=int, default=1, help="tests at a time")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="tests that have not begun by then are left out")
    parser.add_argument("--write", action="store_true", help="write left.txt anew")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker()
    end = time.monotonic() + options.seconds
    cases = node_cases()
    numbers = [i for i, c in enumerate(cases) if options.only in c.name][options.first::options.every]
    results = run_side_by_side(cases, numbers, options.jobs, end)
    failed = {name: answer for name, answer in results.items() if answer != "passed"}
    if options.write:
        LEFT.write_text("".join(f"{name}: {answer}\n" for name, answer in failed.items()))
    known = {line.split(":")[0] for line in LEFT.read_text().splitlines()} if LEFT.exists() else set()
    for reason, count in collections.Counter(a[:90] for a in failed.values()).most_common(20):
        print(f"{count:5} {reason}")
    news = sorted(n for n in failed if n not in known) + sorted(n for n in results if n in known and n not in failed)
    for name in news:
        print(f"changed: {name}: {results[name]}")
    late = len(numbers) - len(results)
    print(f"{len(results) - len(failed)} of {len(results)} node tests pass" + (f", {late} had no time" if late else ""))
    return 1 if news or late == len(numbers) else 0


if __name__ == "__main__":
    sys.exit(main())
