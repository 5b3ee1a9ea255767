# SPDX-License-Identifier: Apache-2.0
"""Plugins that are kernels of Triton: compiled while the network is built, held by the engine, run on a GPU without Triton.

    PYTHONPATH=build/release/python LD_LIBRARY_PATH=build/release/lib python tests/python/triton_plugin.py

With --module nvidia NVIDIA's compiled module and its package of plugins do the same over the same libraries. Needs numpy and triton;
what needs a GPU is skipped without one.
"""
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any, Tuple, Union

import support

support.need_numpy()
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position

if importlib.util.find_spec("triton") is None:
    print("skipped: triton is missing")
    sys.exit(support.SKIPPED)
OF_NVIDIA = sys.argv[1:3] == ["--module", "nvidia"]
if OF_NVIDIA:
    del sys.argv[1:3]
    sys.modules["tensorrt"] = importlib.import_module("tensorrt_bindings")
else:
    sys.modules["tensorrt_bindings"] = importlib.import_module("tensorrt")
import tensorrt as trt  # noqa: E402  pylint: disable=wrong-import-position
import tensorrt.plugin as trtp  # noqa: E402  pylint: disable=wrong-import-position
import triton  # noqa: E402  pylint: disable=wrong-import-position
import triton.language as tl  # noqa: E402  pylint: disable=wrong-import-position
from triton.backends.compiler import GPUTarget  # noqa: E402  pylint: disable=wrong-import-position


def compat_support():
    """What the tests of NVIDIA's module share: executions by the functions that both modules have."""
    spec = importlib.util.spec_from_file_location("compat_support", support.ROOT / "tests/compat/support.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


COMPAT = compat_support()
LOGGER = COMPAT.LOGGER
# What the function of a compiled plugin gives: name, code, launch, arguments. NVIDIA's package asks for this annotation.
Kernel = Tuple[str, Union[str, bytes], trtp.KernelLaunchParams, trtp.SymIntExprs]
# NVIDIA's package takes classes alone, and numpy.typing.NDArray is none from numpy 2.5 on. Nor does it make an int of a field there:
# attributes are arrays.
Ints = np.ndarray[Any, np.dtype[np.int32]]
POINTERS = {trt.float32: "*fp32", trt.float16: "*fp16"}


@triton.jit
def shift_kernel(x, count, y, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    tl.store(y + place, tl.load(x + place, mask=inside) * 2 + 1, mask=inside)


# y[n, c, h, w] = x at the indices modulo its extents, as circular padding does.
@triton.jit
def wrap_kernel(x, x_channels, x_rows, x_columns, y_channels, y_rows, y_columns, top, left, count, y, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    column = (place % y_columns - left + x_columns) % x_columns
    row = (place // y_columns % y_rows - top + x_rows) % x_rows
    plane = place // (y_columns * y_rows)
    values = tl.load(x + (plane * x_rows + row) * x_columns + column, mask=inside)
    tl.store(y + place, values, mask=inside)


def compiled(kernel, signature, **constants):
    """Triton's result, for every chip from sm_80 on."""
    signature = {**signature, **{name: "constexpr" for name in constants}}
    source = triton.compiler.ASTSource(fn=kernel, signature=signature, constexprs=constants)
    return triton.compile(source, target=GPUTarget("cuda", 80, 32))


def launched(code, threads, block):
    launch = trtp.KernelLaunchParams(grid_x=trtp.cdiv(threads, block), block_x=code.metadata.num_warps * 32)
    launch.shared_mem = code.metadata.shared
    return launch


@trtp.register("triton_tests::shift")
def describe_shift(x: trtp.TensorDesc, block: Ints) -> trtp.TensorDesc:
    return x.like()


@trtp.autotune("triton_tests::shift")
def tune_shift(x: trtp.TensorDesc, outputs: Tuple[trtp.TensorDesc]):
    return [trtp.AutoTuneCombination("FP32|FP16, FP32|FP16", "LINEAR", [1, 2])]


@trtp.aot_impl("triton_tests::shift")
def shift(x: trtp.TensorDesc, block: Ints, outputs: Tuple[trtp.TensorDesc], tactic: int) -> Kernel:
    kind = POINTERS[x.dtype]
    width = int(block[0]) * tactic
    code = compiled(shift_kernel, {"x": kind, "count": "i32", "y": kind}, BLOCK=width)
    count = x.shape_expr.numel()
    return code.metadata.name, code.asm["ptx"], launched(code, count, width), trtp.SymIntExprs.from_tuple([trtp.SymInt32(count)])


@trtp.register("triton_tests::circular_pad")
def describe_pad(x: trtp.TensorDesc, pads: Ints) -> trtp.TensorDesc:
    result = x.like()
    for axis in (2, 3):
        before, after = (int(pad) for pad in pads[2 * (axis - 2):2 * (axis - 1)])
        result.shape_expr[axis] = x.shape_expr[axis] + before + after
    return result


@trtp.aot_impl("triton_tests::circular_pad")
def pad(x: trtp.TensorDesc, pads: Ints, outputs: Tuple[trtp.TensorDesc], tactic: int) -> Kernel:
    numbers = ("x_channels", "x_rows", "x_columns", "y_channels", "y_rows", "y_columns", "top", "left", "count")
    code = compiled(wrap_kernel, {"x": "*fp32", **{name: "i32" for name in numbers}, "y": "*fp32"}, BLOCK=256)
    y = outputs[0].shape_expr
    values = [*list(x.shape_expr)[1:], *list(y)[1:], int(pads[0]), int(pads[2]), y.numel()]
    extra = trtp.SymIntExprs.from_tuple([trtp.SymInt32(value) for value in values])
    return code.metadata.name, code.asm["ptx"], launched(code, y.numel(), 256), extra


def network_of(add, shape, dtype=trt.float32, logger=LOGGER):
    builder = trt.Builder(logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    x = network.add_input("x", dtype, [-1, *shape[1:]])
    absolute = network.add_unary(x, trt.UnaryOperation.ABS).get_output(0)
    y = network.add_plugin(add(absolute), aot=True).get_output(0)
    y.name = "y"
    network.mark_output(y)
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, *shape[1:]), shape, (3 * shape[0], *shape[1:]))
    return builder, network, profile


def plan_of(*arguments, **more):
    builder, network, profile = network_of(*arguments, **more)
    config = builder.create_builder_config()
    config.add_optimization_profile(profile)
    return builder.build_serialized_network(network, config)


def runner_of(plan):
    """Executes an engine in one context."""
    assert plan is not None, COMPAT.complaint("no engine")
    engine = COMPAT.loaded(bytes(plan))
    context = engine.create_execution_context()
    return lambda x: COMPAT.execute(engine, {"x": x}, context)["y"]


def need_gpu():
    if not trt.Builder(LOGGER).platform_has_fast_fp16:
        raise support.Skip("no GPU answers")


def shifted(tensor):
    return trtp.op.triton_tests.shift(tensor, block=np.array([128], np.int32))


PADS = np.array([1, 2, 3, 0], np.int32)


def padded(tensor):
    return trtp.op.triton_tests.circular_pad(tensor, pads=PADS)


def test_refused_on_a_processor():
    if trt.Builder(LOGGER).platform_has_fast_fp16:
        raise support.Skip("a GPU answers")

    class Listening(trt.ILogger):
        def __init__(self):
            trt.ILogger.__init__(self)
            self.text = ""

        def log(self, severity, msg):
            self.text += msg + "\n"

    for add, shape in ((shifted, (4, 5)), (padded, (2, 3, 5, 4))):
        logger = Listening()
        assert plan_of(add, shape, logger=logger) is None
        assert "is a kernel that was compiled for a GPU" in logger.text and "tensorrt.plugin.impl" in logger.text, logger.text


def test_scale_in_two_types():
    need_gpu()
    for kind, dtype in ((np.float32, trt.float32), (np.float16, trt.float16)):
        runner = runner_of(plan_of(shifted, (40, 7), dtype=dtype))
        for rows in (40, 1, 119, 40):
            x = np.random.default_rng(rows).integers(-64, 64, (rows, 7)).astype(kind)
            for _ in range(3):  # recorded after the first
                np.testing.assert_array_equal(runner(x), np.abs(x) * 2 + 1)


def test_circular_padding():
    need_gpu()
    runner = runner_of(plan_of(padded, (2, 3, 5, 4)))
    for images in (2, 1, 6):
        x = np.random.default_rng(images).normal(size=(images, 3, 5, 4)).astype(np.float32)
        want = np.pad(np.abs(x), ((0, 0), (0, 0), (1, 2), (3, 0)), "wrap")
        np.testing.assert_array_equal(runner(x), want)


def test_loaded_without_triton_and_plugin():
    need_gpu()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "engine"
        path.write_bytes(bytes(plan_of(shifted, (4, 5))))
        code = (f"import sys, numpy as np, {trt.__name__} as trt\nsys.path.insert(0, {str(support.ROOT / 'tests/compat')!r})\n"
                "sys.modules['tensorrt_bindings'] = trt\nimport support\n"
                f"y = support.execute(support.loaded(open({str(path)!r}, 'rb').read()), "
                "{'x': np.full((4, 5), -3, np.float32)})['y']\n"
                "assert (y == 7).all(), y\nassert 'triton' not in sys.modules and 'tensorrt.plugin' not in sys.modules\n")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=os.environ)
        assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    support.SECONDS = 280
    status = support.run_all(support.cases_of(globals()), sys.argv[1:])
    sys.exit(status)
