#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Networks that PyTorch exports, through our Python module, beside PyTorch itself and ONNX Runtime.

    pip install torch torchvision timm transformers onnx onnxscript onnxruntime
    PYTHONPATH=build/release/python python tests/onnx/exported_networks.py [--folder DIR] [--level N] [NAME ...]

Weights are random. Each network is exported with open extents (batch, height, width, length, as it allows), by the exporter
of TorchScript or, where that refuses, the newer one. One engine is built for all of them and compared at the extents of the
export with PyTorch, and at three others with ONNX Runtime. The largest difference over the largest value may be 2e-3. Some
are quantized by ONNX Runtime's tool and compared with ONNX Runtime alone; they may differ by 5e-2.
"""
import argparse
import pathlib
import subprocess
import sys
import warnings

MOST = 2e-3
MOST_QUANTIZED = 5e-2  # a value in the middle of two steps may go either way


def export(name, make, open_extents, path):
    """Exports; inputs and PyTorch's results stand beside the model."""
    import numpy as np
    import torch
    torch.manual_seed(0)
    module, inputs = make()
    with torch.no_grad():
        results = module(*inputs)
        names = [f"in{i}" for i in range(len(inputs))]
        try:
            torch.onnx.export(module, inputs, str(path), dynamo=False, opset_version=17, input_names=names,
                              dynamic_axes=dict(zip(names, open_extents)))
        except Exception:  # every exporter raises kinds of its own
            extents = tuple({axis: torch.export.Dim.DYNAMIC for axis in axes} for axes in open_extents)
            from exported_nets import Picked
            shapes = (extents,) if isinstance(module, Picked) else extents
            torch.onnx.export(module, inputs, str(path), dynamo=True, dynamic_shapes=shapes, external_data=False, input_names=names)
    results = results if isinstance(results, (tuple, list)) else [results]
    np.savez(path.with_suffix(".npz"), **{f"in{i}": x.numpy() for i, x in enumerate(inputs)},
             **{f"out{i}": x.numpy() for i, x in enumerate(results)})


class Engine:
    """A model's engine and one context."""

    def __init__(self, path, inputs, open_extents, level):
        import tensorrt as trt
        from exported_nets import RANGES
        self.trt = trt
        logger = trt.Logger(trt.Logger.ERROR)
        builder = trt.Builder(logger)
        network = builder.create_network(0)
        parser = trt.OnnxParser(network, logger)
        if not parser.parse_from_file(str(path)):
            raise RuntimeError("parser: " + "; ".join(parser.get_error(i).desc() for i in range(min(2, parser.num_errors))))
        config = builder.create_builder_config()
        config.builder_optimization_level = level
        profile = builder.create_optimization_profile()
        for i in range(network.num_inputs):
            tensor = network.get_input(i)
            index = int(tensor.name[2:])
            ranges = [list(inputs[index].shape) for _ in range(3)]
            for axis, symbol in open_extents[index].items():
                for which in range(3):
                    ranges[which][axis] = RANGES[symbol][which]
            if -1 in tuple(tensor.shape):
                profile.set_shape(tensor.name, *ranges)
        config.add_optimization_profile(profile)
        plan = builder.build_serialized_network(network, config)
        if plan is None:
            raise RuntimeError("the build failed")
        self.engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
        self.context = self.engine.create_execution_context()
        names = [self.engine.get_tensor_name(i) for i in range(self.engine.num_io_tensors)]
        self.inputs = [n for n in names if self.engine.get_tensor_mode(n) == trt.TensorIOMode.INPUT]
        self.outputs = [network.get_output(i).name for i in range(network.num_outputs)]

    def run(self, feeds):
        import numpy as np
        trt, given = self.trt, []

        class Buffer(trt.IOutputAllocator):
            def reallocate_output_async(self, name, memory, size, alignment, stream):
                self.bytes = np.empty(max(1, size), np.uint8)
                return self.bytes.ctypes.data

            def notify_shape(self, name, shape):
                self.shape = tuple(shape)

        for name in self.inputs:
            value = np.ascontiguousarray(feeds[int(name[2:])].astype(trt.nptype(self.engine.get_tensor_dtype(name))))
            given.append(value)
            if not self.context.set_input_shape(name, value.shape):
                raise RuntimeError(f"shape {value.shape} of {name} was refused")
            self.context.set_tensor_address(name, value.ctypes.data)
        buffers = [Buffer() for _ in self.outputs]
        for name, buffer in zip(self.outputs, buffers):
            self.context.set_output_allocator(name, buffer)
        if not self.context.execute_async_v3(0):
            raise RuntimeError(f"execution failed at {[x.shape for x in feeds]}")
        results = []
        for name, buffer in zip(self.outputs, buffers):
            dtype = np.dtype(trt.nptype(self.engine.get_tensor_dtype(name)))
            count = int(np.prod(buffer.shape))
            results.append(buffer.bytes[:count * dtype.itemsize].view(dtype).reshape(buffer.shape))
        return results


def difference(got, wanted):
    import numpy as np
    worst = 0.0
    for mine, theirs in zip(got, wanted):
        if mine.shape != theirs.shape:
            raise RuntimeError(f"a result has shape {mine.shape}, expected {theirs.shape}")
        if theirs.size:
            a, b = mine.astype(np.float64), theirs.astype(np.float64)
            error = float(np.max(np.abs(a - b)) / max(1e-6, np.max(np.abs(b))))
            worst = max(worst, error if error == error else float("inf"))
    return worst


def exported(name, folder):
    """The model's file, its inputs and PyTorch's results, and the open extents of its inputs."""
    import numpy as np
    from exported_nets import networks
    make, open_extents = networks()[name]
    path = folder / f"{name}.onnx"
    if not path.with_suffix(".npz").exists():
        export(name, make, open_extents, path)
    kept = np.load(path.with_suffix(".npz"))
    return path, [kept[f"in{i}"] for i in range(len(open_extents))], [kept[x] for x in kept.files if x.startswith("out")], open_extents


def check(name, folder, level):
    """One network in this process; prints a line."""
    warnings.simplefilter("ignore")
    import numpy as np
    import torch
    from exported_more import QUANTIZED, quantize
    from exported_nets import TRIALS, inputs_like
    source, fixed = QUANTIZED.get(name, (name, False))
    path, inputs, wanted, open_extents = exported(source, folder)
    most = MOST
    if name in QUANTIZED:
        path, wanted, most = folder / f"{name}.onnx", None, MOST_QUANTIZED
        quantize(folder / f"{source}.onnx", path, inputs, fixed)
    engine = Engine(path, inputs, open_extents, level)
    worst = difference(engine.run(inputs), wanted) if wanted else 0.0
    if any(open_extents) or not wanted:
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        random = np.random.default_rng(1)
        trials = [inputs_like([torch.from_numpy(x) for x in inputs], open_extents, trial, random) for trial in TRIALS]
        for feeds in trials + ([] if wanted else [inputs]):
            right = session.run(None, {i.name: feeds[int(i.name[2:])] for i in session.get_inputs()})
            worst = max(worst, difference(engine.run(feeds), right))
    print(f"{name}: {worst:.1e}{'' if worst <= most else ' DIFFERS'}")
    return worst <= most


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("/tmp/tenon_exported"), help="keeps models and results")
    parser.add_argument("--level", type=int, default=1, help="builder optimization level")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.one:
        try:
            return 0 if check(options.one, options.folder, options.level) else 1
        except Exception as error:  # whatever went wrong is this network's result
            print(f"{options.one}: FAILED: {str(error)[:300]}")
            return 1
    from exported_more import QUANTIZED
    from exported_nets import networks
    failed = []
    for name in options.names or [*networks(), *QUANTIZED]:
        command = [sys.executable, __file__, "--one", name, "--folder", str(options.folder), "--level", str(options.level)]
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        print(done.stdout.strip().splitlines()[-1] if done.stdout.strip() else f"{name}: ended with {done.returncode}", flush=True)
        if done.returncode != 0:
            failed.append(name)
    print(f"{len(failed)} failed{': ' if failed else ''}{' '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
