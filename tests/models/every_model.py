#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every ONNX model of the models folder, from the file to its stored right answer, by the compiled Python bindings.

    pip install numpy && pip install --no-deps tensorrt-cu13-bindings==10.16.1.11
    LD_LIBRARY_PATH=build/release/lib python tests/models/every_model.py [--only PART] [--level N] [--jobs N] [--models FOLDER]

The models are those that the folder's INDEX.md lists: with the stored inputs and outputs of ONNX Runtime, the light networks
with their published output, and the networks of VNN-COMP with their published pairs. An engine is built for exactly the
stored shapes. Each model has a process of its own; a line says the largest difference over the largest value. More than the
tolerance is an error, and so is a model without an answer.
"""
import argparse
import concurrent.futures
import gzip
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MODELS = pathlib.Path(os.environ.get("TENON_MODELS") or HERE.parent.parent.parent / "shared/models")
TOLERANCE = 1e-3
# 8-bit models: a value in the middle between two steps may go either way. The stored answer of mobilenetv2 is that of ONNX
# Runtime's optimizations; without them it is 0.0588 away itself.
STEPS = {"cls_shufflenetv2_imagenet_int8_qoperator": 0.05, "cls_mobilenetv2_imagenet_qdq_int8": 0.06,
         "qdq_ort_multi_consumer_dq": 0.05, "cls_squeezenet11_imagenet_fp16": 5e-3}
# Networks in one that an integer chooses between, one of which does not fit the shapes of the other's input: the integer is a
# constant of the model then, as a program that knows its sampling rate would build it.
FROZEN = {"vad_silero_v5_if_lstm"}
# Outputs that are drawn at random: their sizes are compared.
DRAWN = {"rl_mlagents_hallway_lstm_multinomial": {"discrete_actions"},
         "rl_mlagents_gridfoodcollector_cnn": {"continuous_actions"}}


def model_paths(folder):
    """The files of the index's rows, and the packed networks of its table of VNN-COMP."""
    rows = [line.split("|")[2].strip().split(" ")[0] for line in (folder / "INDEX.md").read_text().splitlines()
            if line.startswith(("| F | onnx/", "|  | onnx/"))]
    paths = []
    for row in rows:
        found = sorted(folder.glob(row))
        paths += found or [folder / row]
    return paths + sorted((folder / "onnx/vnncomp").glob("*.onnx.gz"))


def name_of(path):
    return path.name.removesuffix(".gz").removesuffix(".onnx")


def cases_of(folder, path):
    """[(inputs by name or in order, {output name or None: (stride, values)})]"""
    import numpy as np
    stored = folder / "inputs/golden_ort1.20.1" / (name_of(path) + ".npz")
    if path.suffix == ".gz":
        pairs = np.load(folder / "inputs/vnncomp_counterexamples_XY.npz")
        stems = [f.removesuffix("__X") for f in pairs.files if f.endswith("__X") and f.rsplit("__", 2)[0] == name_of(path)]
        return [([pairs[s + "__X"]], {None: (1, pairs[s + "__Y"])}) for s in stems]
    if stored.exists():
        arrays = np.load(stored)
        names = json.loads(str(arrays["names"]))
        inputs = {name: arrays[key] for key, name in names.items() if key.startswith("in")}
        outputs = {}
        for key in arrays.files:
            if key.startswith("out") and not key.endswith("_shape"):
                stem, _, stride = key.partition("_stride")
                outputs[names[stem]] = (int(stride or 1), arrays[key])
        return [(inputs, outputs)]
    answer = path.with_name(path.stem + "_output_0.pb")
    if not answer.exists():
        raise RuntimeError("no right answer is stored")
    import golden
    image = (np.arange(3 * 224 * 224, dtype=np.float64) / (3 * 224 * 224)).astype(np.float32)
    right = np.array(golden.read_tensor_proto(answer.read_bytes()).values(), np.float32)
    return [([image.reshape(1, 3, 224, 224)], {None: (1, right)})]


def engine_of(model, cases, level):
    """The engine and the names of its inputs, for the shapes and shape values of all cases."""
    import numpy as np
    import support
    trt = support.trt
    trt.init_libnvinfer_plugins(support.LOGGER, "")  # scatters that add up are plugins, as in TensorRT's parser
    builder = trt.Builder(support.LOGGER)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, support.LOGGER)
    if not parser.parse(model):
        raise RuntimeError("; ".join(parser.get_error(i).desc() for i in range(min(parser.num_errors, 3))))
    config = builder.create_builder_config()
    config.builder_optimization_level = level
    config.clear_flag(trt.BuilderFlag.TF32)  # answers are those of single precision
    profile = builder.create_optimization_profile()
    names = [network.get_input(i).name for i in range(network.num_inputs)]
    for index, name in enumerate(names):
        tensor = network.get_input(index)
        values = [inputs[name] if isinstance(inputs, dict) else inputs[index] for inputs, _ in cases]
        if tensor.is_shape_tensor:
            profile.set_shape_input(name, *[[int(v) for v in np.ravel(values[0])]] * 3)
        elif -1 in tuple(tensor.shape):
            profile.set_shape(name, *[values[0].shape] * 3)
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        raise RuntimeError(" | ".join(support.LOGGER.errors()[-2:]) or "no engine")
    return support.loaded(plan), names


def difference(got, stride, wanted):
    """Over the largest value; differences of 1e-6 are none, since the stored values are rounded themselves."""
    import numpy as np
    got, wanted = (np.ravel(x).astype(np.float64) for x in (got, wanted))
    got = got[::stride]
    if got.size != wanted.size:
        raise RuntimeError(f"{got.size} values, expected {wanted.size}")
    same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
    apart = np.where(same, 0.0, np.abs(np.where(same, 0.0, got) - np.where(same, 0.0, wanted)))
    if np.isnan(apart).any() or not apart.size:
        return float("inf") if apart.size else 0.0
    finite = np.abs(wanted[np.isfinite(wanted)])
    return float(np.where(apart > 1e-6, apart, 0).max() / max(finite.max(initial=0.0), 1e-30))


def frozen(model, inputs):
    """The model with its scalar integer inputs as initializers (needs the package onnx)."""
    import numpy as np
    import onnx
    proto = onnx.load_from_string(model)
    kept = [i for i in proto.graph.input if i.name not in inputs or inputs[i.name].size > 1 or inputs[i.name].dtype.kind != "i"]
    names = {i.name for i in kept}
    proto.graph.initializer.extend(onnx.numpy_helper.from_array(np.reshape(inputs[i.name], [d.dim_value for d in i.type.tensor_type.shape.dim]), i.name)
                                   for i in proto.graph.input if i.name not in names)
    del proto.graph.input[:]
    proto.graph.input.extend(kept)
    return proto.SerializeToString()


def check(path, folder, level):
    import numpy as np
    import support
    cases = cases_of(folder, path)
    model = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    if name_of(path) in FROZEN:
        model = frozen(model, cases[0][0])
    engine, names = engine_of(model, cases, level)
    worst = 0.0
    for inputs, outputs in cases:
        if isinstance(inputs, list):
            inputs = dict(zip(names, inputs))
        shaped = {n: np.reshape(v, [e if e > 0 else -1 for e in engine.get_tensor_shape(n)]) if v.ndim == 1 else v
                  for n, v in inputs.items() if n in names}
        found = support.execute(engine, shaped)
        for name, (stride, wanted) in outputs.items():
            got = found[name] if name else next(iter(found.values()))
            if name in DRAWN.get(name_of(path), ()):
                wanted = got if got.size == wanted.size and np.isfinite(got).all() else wanted
            worst = max(worst, difference(got, stride, wanted))
    return worst


def one(path, folder, level):
    sys.path[:0] = [str(HERE), str(HERE.parent / "compat")]
    try:
        error = check(path, folder, level)
    except Exception as problem:  # whatever went wrong is this model's result
        print(f"{name_of(path)}: FAILED: {' '.join(str(problem).split())[:600]}")
        return 1
    wrong = not error <= STEPS.get(name_of(path), TOLERANCE)
    print(f"{name_of(path)}: {error:.1e}{' WRONG' if wrong else ''}")
    return 1 if wrong else 0


def in_process(path, options):
    """(exit status, last line) of one model in a process of its own."""
    command = [sys.executable, __file__, "--one", str(path), "--level", str(options.level), "--models", str(options.models)]
    try:
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=options.seconds)
    except subprocess.TimeoutExpired:
        return 1, f"{name_of(path)}: more than {options.seconds} s"
    lines = done.stdout.strip().splitlines()
    return done.returncode, lines[-1] if lines else f"{name_of(path)}: ended with {done.returncode}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="a part of the names")
    parser.add_argument("--level", type=int, default=0, help="builder optimization level")
    parser.add_argument("--jobs", type=int, default=1, help="models at a time")
    parser.add_argument("--seconds", type=int, default=300, help="for one model")
    parser.add_argument("--models", type=pathlib.Path, default=MODELS)
    parser.add_argument("--one", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return one(options.one, options.models, options.level)
    if not (options.models / "INDEX.md").exists():
        print("skipped: the models folder is not here (TENON_MODELS or ../shared/models)")
        return 77
    failed = []
    paths = [path for path in model_paths(options.models) if options.only in path.name]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for path, (status, line) in zip(paths, pool.map(lambda path: in_process(path, options), paths)):
            print(line, flush=True)
            if status != 0:
                failed.append(name_of(path))
    print(f"{len(paths) - len(failed)} of {len(paths)} models give their answer")
    return 1 if failed or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
