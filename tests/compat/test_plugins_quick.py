# SPDX-License-Identifier: Apache-2.0
"""Plugins that are functions. NVIDIA's package of them runs on these libraries, and ours has the same names."""
import importlib
import sys
from typing import Any, List, Tuple, Union

import numpy as np
import tensorrt_bindings as trt

import support
from support import LOGGER, close, compiled, cuda, define, execute, loaded, profile_for, random

sys.modules.setdefault("tensorrt", trt)  # as NVIDIA's package of functions names it
trtp = importlib.import_module("tensorrt.plugin")
IMAGE = random(2, 3, 5, 4)
PADS = np.array([1, 2, 0, 3], np.int32)
# NVIDIA's package takes classes alone, and numpy.typing.NDArray is none from numpy 2.5 on.
Ints, Floats = np.ndarray[Any, np.dtype[np.int32]], np.ndarray[Any, np.dtype[np.float32]]


def array(tensor):
    result = np.empty(tuple(tensor.shape), support.TO_NUMPY[tensor.dtype])
    cuda().copy(result.ctypes.data, tensor.data_ptr, result.nbytes)
    return result


def put(tensor, values):
    values = np.ascontiguousarray(values, support.TO_NUMPY[tensor.dtype])
    assert values.shape == tuple(tensor.shape), (values.shape, tensor.shape)
    cuda().copy(tensor.data_ptr, values.ctypes.data, values.nbytes)


@trtp.register("tests::circ_pad")
def describe_padding(inp0: trtp.TensorDesc, pads: Ints) -> trtp.TensorDesc:
    extents = list(inp0.shape_expr)
    for pair in range(len(pads) // 2):
        extents[-1 - pair] = extents[-1 - pair] + int(pads[2 * pair] + pads[2 * pair + 1])
    result = inp0.like()
    for axis, extent in enumerate(extents):
        result.shape_expr[axis] = extent
    return result


@trtp.impl("tests::circ_pad")
def pad(inp0: trtp.Tensor, pads: Ints, outputs: Tuple[trtp.Tensor], stream: int) -> None:
    cuda().wait(stream)
    width = [(0, 0)] * inp0.ndim
    for pair in range(len(pads) // 2):
        width[-1 - pair] = (int(pads[2 * pair]), int(pads[2 * pair + 1]))
    put(outputs[0], np.pad(array(inp0), width, "wrap"))


def expected(x):
    return np.pad(x, ((0, 0), (0, 0), (0, 3), (1, 2)), "wrap")


def test_circular_padding():
    def build(network, tensor):
        return network.add_plugin(trtp.op.tests.circ_pad(tensor, pads=PADS), aot=False).get_output(0)

    close([execute(loaded(compiled(build, {"x": IMAGE})), {"x": IMAGE})["output0"]], [expected(IMAGE)])
    engine = loaded(compiled(build, {"x": IMAGE}, dynamic=["x"]))
    for shape in ((2, 3, 5, 4), (1, 6, 3, 8)):
        x = random(*shape)
        close([execute(engine, {"x": x})["output0"]], [expected(x)])


@trtp.register("tests::split_scale")
def describe_split(x: trtp.TensorDesc, factor: Floats, label: str) -> Tuple[trtp.TensorDesc, trtp.TensorDesc]:
    half = trtp.from_shape_expr((trtp.cdiv(x.shape_expr[0], 2),), dtype=x.dtype)
    rest = trtp.from_shape_expr((x.shape_expr[0] // 2,), dtype=x.dtype)
    return half, rest


@trtp.autotune("tests::split_scale")
def tune_split(x: trtp.TensorDesc, outputs: Tuple[trtp.TensorDesc]) -> List[trtp.AutoTuneCombination]:
    combination = trtp.AutoTuneCombination("FP32|FP16, FP32|FP16, FP32|FP16", "LINEAR", [1, 2])
    return [combination]


SEEN = []


@trtp.impl("tests::split_scale")
def split(x: trtp.Tensor, factor: Floats, label: str, outputs: Tuple[trtp.Tensor], stream: int, tactic: int):
    SEEN.append((factor[0], label, tactic))
    cuda().wait(stream)
    values = array(x)
    put(outputs[0], values[:outputs[0].numel()] * factor[0])
    put(outputs[1], values[outputs[0].numel():] * factor[0])


def test_tactics_attributes_and_two_outputs():
    def build(network, tensor):
        layer = network.add_plugin(trtp.op.tests.split_scale(tensor, factor=np.array([2.5], np.float32), label="name"), aot=False)
        assert layer.num_outputs == 2
        return [layer.get_output(0), layer.get_output(1)]

    x = random(7)
    found = execute(loaded(compiled(build, {"x": x})), {"x": x})
    close([found["output0"], found["output1"]], [x[:4] * 2.5, x[4:] * 2.5])
    factor, label, tactic = SEEN[-1]
    assert factor == 2.5 and label == "name" and tactic in (1, 2), SEEN[-1]


@trtp.register("tests::compiled")
def describe_compiled(x: trtp.TensorDesc, factor: Ints) -> trtp.TensorDesc:
    return x.like()


@trtp.autotune("tests::compiled")
def tune_compiled(x: trtp.TensorDesc, outputs: Tuple[trtp.TensorDesc]) -> List[trtp.AutoTuneCombination]:
    return [trtp.AutoTuneCombination("FP32, FP32", "LINEAR", [4])]


@trtp.aot_impl("tests::compiled")
def compiled_kernel(x: trtp.TensorDesc, factor: Ints, outputs: Tuple[trtp.TensorDesc], tactic: int) -> Tuple[
        Union[str, bytes], Union[str, bytes], trtp.KernelLaunchParams, trtp.SymExprs]:
    launch = trtp.KernelLaunchParams()
    launch.grid_x = trtp.cdiv(x.shape_expr.numel(), 256 * tactic)
    launch.block_x = 256
    extra = trtp.SymIntExprs(2)
    extra[0], extra[1] = trtp.SymInt32(x.shape_expr.numel()), trtp.SymInt32(int(factor[0]))
    return "kernel", "no code", launch, extra


def test_compiled_kernels_are_for_gpus():
    """What becomes of the code is seen on a GPU, also an emulated one, whose driver refuses this text."""
    def build(network, tensor):
        return network.add_plugin(trtp.op.tests.compiled(tensor, factor=np.array([3], np.int32)), aot=True).get_output(0)

    builder, network = define(build, {"x": random(6, 5)}, dynamic=["x"])
    config = builder.create_builder_config()
    profile_for(builder, config, {"x": random(6, 5)}, ["x"])
    assert builder.build_serialized_network(network, config) is None
    wanted = "the driver refuses the code of 7 bytes" if builder.platform_has_fast_fp16 else "is a kernel that was compiled for a GPU"
    assert wanted in LOGGER.errors()[-1], LOGGER.errors()[-1]
