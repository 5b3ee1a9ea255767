# SPDX-License-Identifier: Apache-2.0
"""Packages of others beside the module, unchanged: onnx_graphsurgeon, cuda-python's runtime API, PyTorch's tensors, and PyTorch, ONNX
and ONNX Runtime in one process in any order of import."""
import itertools
import os
import subprocess
import sys

import packages
import support

EVERY_ORDER = "TENON_EVERY_ORDER"  # a variable: all 120 orders of import, which take a quarter of an hour
MODEL = str(support.DIGITS / "digits.onnx")

GRAPHSURGEON = """
import io, numpy as np, onnx, onnx_graphsurgeon as gs, onnxruntime, tensorrt as trt
graph = gs.import_onnx(onnx.load(MODEL))
output = graph.outputs[0]
scale = gs.Constant("scale", np.array([2, -3], np.float32).reshape(2, 1, 1))
scaled = gs.Variable("scaled", np.float32)
graph.nodes.append(gs.Node("Mul", "times", inputs=[output, scale], outputs=[scaled]))
graph.nodes.append(gs.Node("Identity", "unused", inputs=[output], outputs=[gs.Variable("nobody reads it", np.float32)]))
graph.outputs = [scaled]
graph.fold_constants().cleanup().toposort()
onnx.save(gs.export_onnx(graph), "changed.onnx")
x = np.random.default_rng(3).random((2, 1, 28, 28), np.float32)
logger = trt.Logger(trt.Logger.ERROR)
builder = trt.Builder(logger)
network = builder.create_network()
parser = trt.OnnxParser(network, logger)
assert parser.parse_from_file("changed.onnx"), parser.get_error(0)
config = builder.create_builder_config()
config.builder_optimization_level = 0
profile = builder.create_optimization_profile()
profile.set_shape("input", x.shape, x.shape, x.shape)
config.add_optimization_profile(profile)
engine = builder.build_serialized_network(network, config)
(want,) = onnxruntime.InferenceSession("changed.onnx").run(None, {"input": x})
if hasattr(trt, "Runner"):
    got = trt.Runner(bytes(engine))(input=x)["scaled"]
    assert got.shape == want.shape == (2, 2, 10), (got.shape, want.shape)
    np.testing.assert_allclose(got, want, 1e-3, 1e-4)
"""

# Without a GPU, cuda-python works on hostcuda where our module sees to it; beside NVIDIA's module its part that does so is loaded alone.
HOSTCUDA = """
import ctypes, importlib.util, os, sys
if not hasattr(__import__("tensorrt"), "Runner"):
    spec = importlib.util.spec_from_file_location("_cuda_python", os.path.join(PACKAGE, "_cuda_python.py"))
    part = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(part)
    part.watch(lambda release: ctypes.CDLL(f"libcudart.so.{release}"))
"""

# An engine as guides build one, with the answer of ONNX Runtime.
ENGINE = """
import numpy as np, onnxruntime, tensorrt as trt
def engine_of(*shape):
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network()
    parser = trt.OnnxParser(network, logger)
    assert parser.parse_from_file(MODEL), parser.get_error(0)
    config = builder.create_builder_config()
    config.builder_optimization_level = 0
    profile = builder.create_optimization_profile()
    profile.set_shape("input", shape, shape, shape)
    config.add_optimization_profile(profile)
    return trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
def right_answer(x):
    return onnxruntime.InferenceSession(MODEL).run(["probabilities"], {"input": x})[0]
"""

# As NVIDIA's samples do it (common_runtime.py), written anew.
CUDA_PYTHON = HOSTCUDA + ENGINE + """
from cuda.bindings import runtime as cudart
def check(answer):
    assert answer[0] == cudart.cudaError_t.cudaSuccess, answer
    return answer[1] if len(answer) == 2 else answer[1:]
check(cudart.cudaGetDeviceCount())
context = engine_of(2, 1, 28, 28).create_execution_context()
stream = check(cudart.cudaStreamCreate())
x = np.random.default_rng(3).random((2, 1, 28, 28), np.float32)
context.set_input_shape("input", x.shape)
sizes = {"input": x.nbytes, "probabilities": 2 * 10 * 4}
device = {name: check(cudart.cudaMalloc(size)) for name, size in sizes.items()}
pinned = check(cudart.cudaMallocHost(sizes["probabilities"]))
kind = cudart.cudaMemcpyKind
for name, address in device.items():
    assert context.set_tensor_address(name, address)
before, after = check(cudart.cudaEventCreate()), check(cudart.cudaEventCreate())
check(cudart.cudaEventRecord(before, stream))
check(cudart.cudaMemcpyAsync(device["input"], x.ctypes.data, x.nbytes, kind.cudaMemcpyHostToDevice, stream))
assert context.execute_async_v3(int(stream))
check(cudart.cudaMemcpyAsync(pinned, device["probabilities"], sizes["probabilities"], kind.cudaMemcpyDeviceToHost, stream))
check(cudart.cudaEventRecord(after, stream))
check(cudart.cudaStreamSynchronize(stream))
assert check(cudart.cudaEventElapsedTime(before, after)) >= 0
got = np.array((ctypes.c_float * 20).from_address(int(pinned))).reshape(2, 10)
np.testing.assert_allclose(got, right_answer(x), 1e-3, 1e-5)
(status,) = cudart.cudaMemcpy(0, x.ctypes.data, 4, kind.cudaMemcpyHostToDevice)
assert status != cudart.cudaError_t.cudaSuccess
for address in device.values():
    check(cudart.cudaFree(address))
check(cudart.cudaFreeHost(pinned))
check(cudart.cudaStreamDestroy(stream))
"""

TORCH_BUFFERS = ENGINE + """
import ctypes, torch
engine = engine_of(2, 1, 28, 28)
context = engine.create_execution_context()
x, y = torch.rand(2, 1, 28, 28), torch.full((2, 10), -1.0)
context.set_input_shape("input", tuple(x.shape))
context.set_tensor_address("input", x.data_ptr())
context.set_tensor_address("probabilities", y.data_ptr())
assert context.execute_async_v3(0)
ctypes.CDLL("libcudart.so.13").cudaDeviceSynchronize()
np.testing.assert_allclose(y.numpy(), right_answer(x.numpy()), 1e-3, 1e-5)
if hasattr(trt, "Runner"):
    runner = trt.Runner(engine)
    assert torch.equal(y, torch.from_numpy(runner(input=x)["probabilities"]))  # by DLPack
    turned = x.transpose(2, 3).contiguous().transpose(2, 3)  # the same numbers, not contiguous
    assert torch.equal(y, torch.from_numpy(runner(input=turned)["probabilities"]))
"""

ORDER = """
import importlib
for name in ORDER: importlib.import_module(name)
import numpy as np, onnx, onnxruntime, tensorrt as trt, torch
x = torch.rand(1, 1, 28, 28)
onnx.checker.check_model(onnx.load(MODEL))
y = trt.Runner(MODEL, shapes={"input": (1, 1, 28, 28)})(input=x)["probabilities"]
(z,) = onnxruntime.InferenceSession(MODEL).run(None, {"input": x.numpy()})
np.testing.assert_allclose(y, z, 1e-3, 1e-5)
assert torch.nn.functional.conv2d(torch.ones(1, 1, 4, 4), torch.ones(1, 1, 3, 3)).sum() == 36
"""


def script(python, text, module="ours", *folders, **names):
    import tempfile  # pylint: disable=import-outside-toplevel
    with tempfile.TemporaryDirectory() as folder:
        variables = packages.module_variables(module, folder, *folders)
        code = "".join(f"{name} = {value!r}\n" for name, value in {"MODEL": MODEL, "PACKAGE": str(packages.BUILD / "python/tensorrt"), **names}.items()) + text
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False, env=variables, cwd=folder, timeout=200)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def needed(found):
    place, reason = found
    if place is None:
        raise support.Skip(reason)
    return place


def test_graphsurgeon():
    script(needed(packages.python_with("numpy", "onnx", "onnxruntime", "onnx_graphsurgeon")), GRAPHSURGEON)


def test_graphsurgeon_on_nvidias_module():
    modules = ("numpy", "onnx", "onnxruntime", "onnx_graphsurgeon", "tensorrt_bindings")
    script(needed(packages.python_with(*modules)), GRAPHSURGEON, "nvidia")


def test_cuda_python():
    script(needed(packages.python_with("numpy", "onnxruntime", "cuda.bindings")), CUDA_PYTHON)


def test_cuda_python_on_nvidias_module():
    script(needed(packages.python_with("numpy", "onnxruntime", "cuda.bindings", "tensorrt_bindings")), CUDA_PYTHON, "nvidia")


def test_torch_buffers():
    script(needed(packages.python_with_torch()), TORCH_BUFFERS)


def test_torch_buffers_on_nvidias_module():
    python = needed(packages.python_with_torch())
    script(python, TORCH_BUFFERS, "nvidia", needed(packages.folder_with("tensorrt_bindings", packages.NVIDIA)))


def test_any_order_of_import():
    python = needed(packages.python_with_torch())
    orders = list(itertools.permutations(("tensorrt", "torch", "onnx", "onnxruntime", "numpy")))
    for order in orders if EVERY_ORDER in os.environ else orders[::29]:  # each of them first
        script(python, ORDER, ORDER=order)


if __name__ == "__main__":
    support.SECONDS = 3600 if EVERY_ORDER in os.environ else 280
    sys.exit(support.run_all(support.cases_of(globals()), sys.argv[1:]))
