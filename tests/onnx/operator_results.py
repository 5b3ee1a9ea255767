#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Results of models of one operator each beside ONNX Runtime, at fixed and at open extents.

    LD_LIBRARY_PATH=build/release/lib PYTHONPATH=build/release/python python tests/onnx/operator_results.py
        [--lists seldom,apart,...] [--open] [--only TEXT,TEXT] [--every N] [--most ELEMENTS] [--show]

The models are those of benchmarks/operator_speed.py. With --open every extent of every input is known at run time only; the
profile goes from half to twice of each, or has these shapes alone where others do not fit. What ONNX Runtime does not run is compared with the evaluator of the onnx package;
what neither runs is counted. Integers must be equal; of floats the largest difference, over the largest magnitude, may be 1e-4, of halves 4e-3. A model that is
refused, a crash or another result is a finding; the status is 1 where there is one. bf16, which numpy lacks, is left out."""
import argparse
import copy
import importlib
import os
import pathlib
import sys
import warnings

import numpy as np
import onnx

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent / "benchmarks"), str(HERE.parent / "compat")]
try:
    import tensorrt_bindings
except ImportError:
    import tensorrt as tensorrt_bindings
    sys.modules["tensorrt_bindings"] = tensorrt_bindings
import support

trt = support.trt
TOLERANCE = {np.dtype(np.float32): 1e-4, np.dtype(np.float16): 4e-3}
DRAWN = ("Bernoulli", "Random", "Multinomial", "Dropout training")


def opened(model):
    """The model with extents of inputs that are known at run time only, but for the length of an index, a point or a box."""
    made = copy.deepcopy(model)
    lengths = {("GatherND", 1), ("ScatterND", 1), ("GridSample", 1), ("NonMaxSuppression", 0), ("RoiAlign", 1), ("DFT", 0), ("STFT", 0), ("AffineGrid", 0)}
    node = made.graph.node[0]
    for value in made.graph.input:
        last = len(value.type.tensor_type.shape.dim) - 1
        for axis, extent in enumerate(value.type.tensor_type.shape.dim):
            if axis != last or (node.op_type, list(node.input).index(value.name)) not in lengths:
                extent.dim_param = f"{value.name}_{axis}"
    del made.graph.value_info[:]
    for value in made.graph.output:
        value.type.tensor_type.ClearField("shape")
    return made


def wanted_of(case):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(case.model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, case.inputs)
    except Exception:  # pylint: disable=broad-except  # the peer's own exceptions have no common base
        from onnx.reference import ReferenceEvaluator
        return ReferenceEvaluator(case.model).run(None, case.inputs)


def engine_of(model, inputs, wide=True):
    support.LOGGER.messages.clear()
    builder = trt.Builder(support.LOGGER)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parser = trt.OnnxParser(network, support.LOGGER)
    if not parser.parse(model.SerializeToString()):
        raise RuntimeError("parser: " + parser.get_error(0).desc())
    config = builder.create_builder_config()
    config.builder_optimization_level = 0
    config.clear_flag(trt.BuilderFlag.TF32)
    profile = builder.create_optimization_profile()
    for tensor in (network.get_input(i) for i in range(network.num_inputs)):
        value = inputs[tensor.name]
        if tensor.is_shape_tensor:
            profile.set_shape_input(tensor.name, *[[int(v) for v in np.ravel(value)]] * 3)
        elif -1 in tuple(tensor.shape):
            profile.set_shape(tensor.name, *[[change(n) if wide and extent < 0 else n for n, extent in zip(value.shape, tensor.shape)]
                                             for change in (lambda n: (n + 1) // 2, lambda n: n, lambda n: 2 * n)])
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        raise RuntimeError("builder: " + (" ".join(support.LOGGER.errors()[-1:]) or "no engine"))
    return support.loaded(plan)


def difference(got, want, name):
    """What differs, in words; empty where nothing does."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if name.startswith(DRAWN) or got.size == 0:
        return ""
    tolerance = TOLERANCE.get(want.dtype, 0)
    a, b = got.astype(np.float64), want.astype(np.float64)
    if tolerance == 0:
        wrong = got.astype(want.dtype) != want
    else:
        finite = np.isfinite(b)
        scale = max(np.abs(b[finite]).max(initial=0), 1e-6)
        wrong = np.where(finite, ~(np.abs(a - np.where(finite, b, 0)) <= tolerance * scale), ~((a == b) | (np.isnan(a) & np.isnan(b))))
    if not wrong.any():
        return ""
    at = np.unravel_index(np.argmax(wrong), wrong.shape) if wrong.ndim else ()
    return f"{int(wrong.sum())} of {wrong.size} differ, the first at {tuple(map(int, at))}: {got[at]}, expected {want[at]}"


def finding(args, name, case):
    """("equal" or what else came of it, the words)."""
    try:
        wanted = wanted_of(case)
    except Exception as problem:  # pylint: disable=broad-except
        return "no peer", str(problem)[:120]
    try:
        model = opened(case.model) if args.open else case.model
        try:
            engine = engine_of(model, case.inputs)
        except RuntimeError as problem:
            if "shapes of optimization profile" not in str(problem):  # constants that fit one shape alone
                raise
            engine = engine_of(model, case.inputs, wide=False)
        outputs = support.execute(engine, case.inputs)
    except Exception as problem:  # pylint: disable=broad-except
        return "refused", str(problem)[:400]
    for value, want in zip(case.model.graph.output, wanted):
        said = difference(outputs[value.name], want, name)
        if said:
            return "differs", f"{value.name}: {said}"
    return "equal", ""


def in_child(args, name, case):
    """The finding of a process of its own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            what, words = finding(args, name, case)
            os.write(writing, f"{what}|{words}".encode()[:4000])
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, errors="replace") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text.split("|", 1) if "|" in text else ["crashed", ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lists", default="seldom")
    parser.add_argument("--open", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--most", type=int, default=1 << 18, help="elements of an input; larger cases are left out")
    parser.add_argument("--show", action="store_true", help="also what is equal")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    trt.init_libnvinfer_plugins(support.LOGGER, "")
    counts, wanted = {}, [text for text in args.only.split(",") if text]
    for part in args.lists.split(","):
        module = importlib.import_module("operator_cases" + ("" if part == "first" else "_" + part))
        for i, (name, make) in enumerate(module.cases((3, 7, 33)).items()):
            if i % args.every or wanted and not any(text in name for text in wanted):
                continue
            case = make()
            if "bf16" in case.types or any(value.size > args.most for value in case.inputs.values()):
                continue
            what, words = in_child(args, name, case)
            counts[what] = counts.get(what, 0) + 1
            if what not in ("equal", "no peer") or args.show:
                print(f"{what:8} {name}: {words}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return 1 if {"differs", "refused", "crashed"} & set(counts) else 0


if __name__ == "__main__":
    sys.exit(main())
