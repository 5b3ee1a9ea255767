#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks on the GPU beside the same networks on the processor, by the compiled Python bindings.

    python tests/onnx/on_devices.py --pack FOLDER [--exported DIR] [--models DIR] [NAME ...]   # here: light models
    LD_LIBRARY_PATH=build/release/lib python tests/onnx/on_devices.py FOLDER [--jobs N]        # on a machine with a GPU

--pack writes the networks that exported_networks.py left in a folder, or models of the models folder by name, without their
weights (light_models.py). The other call draws the weights, builds an engine for each device, with TF32 switched off, and
compares the results at one or two sets of shapes: the largest difference over the largest value may be 2e-3, as beside PyTorch.
Where results are chosen by comparing values that may be nearly equal (suppression, top-k, quantization to 8 bits), most of the
values must agree: 99 of 100. The processor's engines are held against PyTorch and ONNX Runtime by exported_networks.py and
every_model.py.
"""
import argparse
import concurrent.futures
import gzip
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
MOST = 2e-3
CHOSEN = ("rcnn", "retinanet", "operators", "int8", "qdq", "quant", "mixtral", "argmax")
CHOSEN_MOST = 0.01  # part of the values that may differ by more
# Outputs that are drawn at random: their sizes are compared.
DRAWN = ("rl_mlagents_gridfoodcollector_cnn continuous_actions", "rl_mlagents_hallway_lstm_multinomial discrete_actions")


def describe_exported(name, values):
    """The ranges of the profile and what is tried, by the inputs' names."""
    import torch
    from exported_nets import RANGES, TRIALS, inputs_like, networks
    import numpy as np
    open_extents = networks()[name][1]
    inputs = [values[f"in{i}"] for i in range(len(open_extents))]
    others = inputs_like([torch.from_numpy(x) for x in inputs], open_extents, TRIALS[1], np.random.default_rng(1))
    result = {}
    for i, (x, other, axes) in enumerate(zip(inputs, others, open_extents)):
        ranges = [[RANGES[axes[a]][w] if a in axes else e for a, e in enumerate(x.shape)] for w in range(3)]
        shapes = [list(x.shape)] + ([list(other.shape)] if any(open_extents) else [])
        result[f"in{i}"] = describe_input(x, shapes, ranges)
    return result


def describe_input(x, shapes, ranges):
    if x.dtype.kind == "f":
        return {"type": x.dtype.name, "kind": "normal", "a": float(x.mean(dtype=float)), "b": float(max(x.std(dtype=float), 1e-3)), "shapes": shapes,
                "ranges": ranges}
    if x.size <= 64:
        return {"type": x.dtype.name, "kind": "given", "values": x.ravel().tolist(), "a": int(x.min()), "b": int(x.max()),
                "shapes": shapes, "ranges": ranges}
    return {"type": x.dtype.name, "kind": "whole", "a": int(x.min()), "b": int(x.max()), "shapes": shapes, "ranges": ranges}


def read_model(path):
    import onnx
    data = path.read_bytes()
    return onnx.load_from_string(gzip.decompress(data) if path.suffix == ".gz" else data)


def real_inputs(path):
    graph = read_model(path).graph
    constant = {x.name for x in graph.initializer}
    return [x.name for x in graph.input if x.name not in constant]


def pack(options):
    import numpy as np
    from light_models import lighten
    jobs = []
    if options.exported:
        for path in sorted(options.exported.glob("*.onnx")):
            if path.with_suffix(".npz").exists():
                jobs.append((path.stem, path, lambda p=path: describe_exported(p.stem, np.load(p.with_suffix(".npz")))))
    if options.models:
        sys.path.insert(0, str(HERE.parent / "models"))
        import every_model
        for path in every_model.model_paths(options.models):
            name = every_model.name_of(path)
            if name in options.names:
                def inputs(path=path):
                    given = every_model.cases_of(options.models, path)[0][0]
                    if isinstance(given, list):
                        given = dict(zip(real_inputs(path), given))
                    return {n: describe_input(np.asarray(v), [list(v.shape)], [list(v.shape)] * 3) for n, v in given.items()}
                jobs.append((name, path, inputs))
    for name, path, inputs in jobs:
        if options.names and name not in options.names:
            continue
        model = read_model(path)
        try:
            described = inputs()
        except KeyError:
            continue  # not a network of the table
        count = lighten(model)
        text = gzip.compress(model.SerializeToString(), 9)
        (options.folder / f"{name}.onnx.gz").write_bytes(text)
        (options.folder / f"{name}.json").write_text(json.dumps({"inputs": described}))
        print(f"{name}: {count} tensors drawn, {len(text)} bytes", flush=True)


def feeds_of(described, which):
    import numpy as np
    random = np.random.default_rng(7)
    feeds = {}
    for name, d in described.items():
        shape = d["shapes"][min(which, len(d["shapes"]) - 1)]
        if d["kind"] == "given" and len(d["values"]) == int(np.prod(shape)):
            values = np.reshape(d["values"], shape)
        elif d["kind"] == "normal":
            values = random.normal(d["a"], d["b"], shape)
        else:
            values = random.integers(d["a"], d["b"] + 1, shape)
        feeds[name] = values.astype(d["type"])
    return feeds


def one(options):
    """Builds and runs on the device that TENON_DEVICE names; the results go to a file."""
    import numpy as np
    sys.path[:0] = [str(HERE), str(HERE.parent / "compat")]
    import support
    from light_models import filled
    trt = support.trt
    name = options.one
    model = filled(read_model(options.folder / f"{name}.onnx.gz"))
    described = json.loads((options.folder / f"{name}.json").read_text())["inputs"]
    trt.init_libnvinfer_plugins(support.LOGGER, "")
    builder = trt.Builder(support.LOGGER)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, support.LOGGER)
    if not parser.parse(model.SerializeToString()):
        raise RuntimeError("parser: " + parser.get_error(0).desc())
    config = builder.create_builder_config()
    config.builder_optimization_level = options.level
    config.clear_flag(trt.BuilderFlag.TF32)
    profile = builder.create_optimization_profile()
    names = [network.get_input(i).name for i in range(network.num_inputs)]
    for i, name_of_input in enumerate(names):
        tensor, d = network.get_input(i), described[name_of_input]
        if tensor.is_shape_tensor:
            values = [int(v) for v in d["values"]]
            profile.set_shape_input(tensor.name, values, values, values)
        elif -1 in tuple(tensor.shape):
            profile.set_shape(tensor.name, *d["ranges"])
    config.add_optimization_profile(profile)
    begin = time.monotonic()
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        raise RuntimeError("build: " + " | ".join(support.LOGGER.errors()[-2:]))
    engine = support.loaded(plan)
    results = {}
    for which in range(max(len(d["shapes"]) for d in described.values())):
        feeds = {n: v for n, v in feeds_of(described, which).items() if n in names}
        for output, value in support.execute(engine, feeds).items():
            results[f"{which} {output}"] = value
    np.savez(options.results, **results)
    print(f"{time.monotonic() - begin:.0f}s", file=sys.stderr)


def difference(name, a, b):
    """(whether it is good, a word about it)"""
    import numpy as np
    worst, chosen = 0.0, any(part in name for part in CHOSEN)
    if sorted(a.files) != sorted(b.files):
        return False, "other outputs"
    for key in a.files:
        x, y = a[key], b[key]
        if x.shape != y.shape:
            return False, f"shape {x.shape} of {key}, on the processor {y.shape}"
        if not x.size or f"{name} {key.partition(' ')[2]}" in DRAWN:
            continue
        x, y = x.astype(np.float64), y.astype(np.float64)
        same = (x == y) | (np.isnan(x) & np.isnan(y))
        apart = np.where(same, 0, np.abs(np.where(same, 0, x) - np.where(same, 0, y)))
        finite = np.abs(y[np.isfinite(y)]).max(initial=1e-6)
        apart = np.where(np.isnan(apart), np.inf, apart) / finite
        if chosen and (apart > MOST).mean() <= CHOSEN_MOST:
            apart = np.minimum(apart, MOST)
        worst = max(worst, float(apart.max()))
    return worst <= MOST, f"{worst:.1e}"


def compare(name, options):
    import numpy as np
    files = {}
    for device in ("cpu", "cuda"):
        files[device] = options.results / f"{name}.{device}.npz"
        command = [sys.executable, __file__, str(options.folder), "--one", name, "--results", str(files[device]), "--level", str(options.level)]
        environment = dict(os.environ, TENON_DEVICE=device)
        if device == "cpu":
            environment.pop("TENON_CUDART", None)  # its streams are those of the GPU
        try:
            done = subprocess.run(command, env=environment, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  timeout=options.each)
        except subprocess.TimeoutExpired:
            return name, False, f"{device}: more than {options.each} s"
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines()
            return name, False, f"{device}: {lines[-1][:300] if lines else done.returncode}"
    good, word = difference(name, np.load(files["cuda"]), np.load(files["cpu"]))
    return name, good, word


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--pack", action="store_true", help="write light models into the folder")
    parser.add_argument("--exported", type=pathlib.Path, help="the folder of exported_networks.py")
    parser.add_argument("--models", type=pathlib.Path, help="the models folder")
    parser.add_argument("--jobs", type=int, default=1, help="networks at a time")
    parser.add_argument("--level", type=int, default=0, help="builder optimization level")
    parser.add_argument("--seconds", type=int, default=600, help="networks that have not begun by then are left out")
    parser.add_argument("--each", type=int, default=120, help="seconds for one network on one device")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("/tmp/tenon_on_devices"))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_intermixed_args()
    if options.pack:
        options.folder.mkdir(parents=True, exist_ok=True)
        return pack(options)
    if options.one:
        return one(options)
    options.results.mkdir(parents=True, exist_ok=True)
    names = options.names or sorted((p.name.removesuffix(".onnx.gz") for p in options.folder.glob("*.onnx.gz")),
                                    key=lambda n: (options.folder / f"{n}.onnx.gz").stat().st_size)
    end, failed, late = time.monotonic() + options.seconds, [], 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, good, word in pool.map(lambda n: compare(n, options) if time.monotonic() < end else (n, None, "no time"), names):
            print(f"{name}: {word}{'' if good else ' (left out)' if good is None else ' DIFFERS'}", flush=True)
            late += good is None
            if good is False:
                failed.append(name)
    print(f"{len(names) - late - len(failed)} of {len(names)} networks agree, {late} had no time")
    return 1 if failed or late == len(names) else 0


if __name__ == "__main__":
    sys.exit(main())
