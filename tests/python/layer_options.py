# SPDX-License-Identifier: Apache-2.0
"""Layers with random options, types, ranks and shapes beside formulas in numpy.

    PYTHONPATH=build/release/python python tests/python/layer_options.py [--first N] [--count N] [--level N] [LAYER ...]

Each layer is a case in a process of its own and draws `count` networks of that layer alone. A third of them are strongly typed,
four in ten have dynamic extents. What differs is printed with its seed: --first SEED --count 1 draws it again.
"""
import argparse
import sys
import zlib

import support

support.need_numpy()
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import tensorrt as trt  # noqa: E402  pylint: disable=wrong-import-position

from layers import movement, numbers, windows  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
from layers.drawing import CASES, Draw  # noqa: E402  pylint: disable=wrong-import-position


class Result(trt.IOutputAllocator):
    """Memory of an output, whose size the engine may tell while it runs."""

    def __init__(self):
        trt.IOutputAllocator.__init__(self)
        self.bytes, self.shape = None, None

    def reallocate_output_async(self, name, memory, size, alignment, stream):
        self.bytes = np.empty(max(1, size), np.uint8)
        return self.bytes.ctypes.data

    def notify_shape(self, name, shape):
        self.shape = tuple(shape)

    def array(self, dtype):
        count = int(np.prod(self.shape))
        return self.bytes[:count * dtype.itemsize].view(dtype).reshape(self.shape)


class Messages(trt.ILogger):
    def __init__(self):
        trt.ILogger.__init__(self)
        self.errors = []

    def log(self, severity, msg):
        if severity in (trt.ILogger.ERROR, trt.ILogger.INTERNAL_ERROR):
            self.errors.append(msg)


TYPES = {np.dtype(n): t for n, t in (("float32", trt.float32), ("float16", trt.float16), ("int32", trt.int32), ("int64", trt.int64),
                                     ("int8", trt.int8), ("uint8", trt.uint8), ("bool", trt.bool))}


def plan_of(case, draw, logger, level):
    """(plan, names of the outputs), with the inputs' extents dynamic where that is drawn."""
    builder = trt.Builder(logger)
    typed = draw.chance(0.3)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED) if typed else 0)
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    config.builder_optimization_level = level
    tensors, dynamic = {}, draw.chance(0.4)
    for name, x in case.inputs.items():
        movable = dynamic and name not in case.shapes | case.fixed
        shape = [-1 if movable and draw.chance(0.6) else extent for extent in x.shape]
        tensors[name] = network.add_input(name, TYPES[x.dtype], shape)
        if name in case.shapes:
            profile.set_shape_input(name, *[[int(v) for v in x]] * 3)
        elif -1 in shape:
            profile.set_shape(name, *[x.shape] * 3)
    draw.note(typed=typed, dynamic=dynamic)
    config.add_optimization_profile(profile)
    for i, tensor in enumerate(case.build(network, tensors)):
        tensor.name = f"y{i}"
        network.mark_output(tensor)
    return builder.build_serialized_network(network, config)


def results_of(plan, case, logger):
    engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    kept, results = [], {}
    for i in range(engine.num_io_tensors):
        name = engine.get_tensor_name(i)
        if engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT:
            kept.append(np.array(case.inputs[name], order="C"))
            assert context.set_input_shape(name, kept[-1].shape), f"shape {kept[-1].shape} of {name} is refused"
            context.set_tensor_address(name, kept[-1].ctypes.data)
        else:
            results[name] = Result()
            context.set_output_allocator(name, results[name])
    assert context.execute_async_v3(0), "the execution failed"
    return [results[f"y{i}"].array(y.dtype) for i, y in enumerate(case.expected)]


def complaint(name, seed, level):
    """What is wrong with one drawn network, or nothing."""
    draw = Draw([seed, zlib.crc32(name.encode())])
    with np.errstate(all="ignore"):
        case = CASES[name](draw)
    if case is None:
        return ""
    case.expected = [np.asarray(y) for y in case.expected]
    logger = Messages()
    try:
        plan = plan_of(case, draw, logger, level)
        assert plan is not None, "no engine"
        for got, wanted in zip(results_of(plan, case, logger), case.expected):
            assert got.shape == wanted.shape, f"shape {got.shape}, expected {wanted.shape}"
            np.testing.assert_allclose(got.astype(float), wanted.astype(float), case.tolerance, case.tolerance)
    except Exception as problem:  # pylint: disable=broad-except
        return f"{name}, seed {seed}: {draw.text}: {' '.join(str(problem).split())[:300]} {' '.join(logger.errors[-2:])}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("layers", nargs="*")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=25, help="networks of each layer")
    parser.add_argument("--level", type=int, default=0, help="builder optimization level")
    options = parser.parse_args()

    def case(name):
        def run():
            wrong = [c for c in (complaint(name, s, options.level) for s in range(options.first, options.first + options.count)) if c]
            print("\n".join(wrong[:5]))
            assert not wrong, f"{len(wrong)} of {options.count} networks"
        return run

    return support.run_all({name: case(name) for name in CASES}, options.layers)


if __name__ == "__main__":
    sys.exit(main())
