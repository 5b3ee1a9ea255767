# SPDX-License-Identifier: Apache-2.0
"""Programs as people wrote them for releases 7 and 8, with the helpers that they share: settings of the builder, bindings, buffers of host
and device, profiles by number, fully connected layers; and the names that are gone, each refused in words."""
import ctypes
import os
import sys
import warnings

import support

support.need_numpy()
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import tensorrt as trt  # noqa: E402  pylint: disable=wrong-import-position

warnings.simplefilter("ignore", DeprecationWarning)
LOGGER = trt.Logger(trt.Logger.ERROR)
EXPLICIT_BATCH = 1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH)
CUDA = ctypes.CDLL(os.environ["TENON_CUDART"])
RANDOM = np.random.default_rng(11)


def picture(number):
    data = np.frombuffer((support.DIGITS / f"samples/{number}.pgm").read_bytes()[-784:], np.uint8)
    return (data.reshape(1, 1, 28, 28) / 255).astype(np.float32)


def checked(status):
    assert status == 0, status


class HostDeviceMem:
    """A buffer of the host and one of the device, as the samples' helpers pair them."""

    def __init__(self, shape, dtype):
        self.host = np.empty(shape, dtype).ravel()
        self.device = ctypes.c_void_p()
        checked(CUDA.cudaMalloc(ctypes.byref(self.device), ctypes.c_size_t(self.host.nbytes)))

    def copy(self, to_device, stream):
        ends = (self.device, ctypes.c_void_p(self.host.ctypes.data))
        target, source = ends if to_device else ends[::-1]
        checked(CUDA.cudaMemcpyAsync(target, source, ctypes.c_size_t(self.host.nbytes), 1 if to_device else 2, stream))


def allocate_buffers(engine, context):
    inputs, outputs, bindings = [], [], []
    stream = ctypes.c_void_p()
    checked(CUDA.cudaStreamCreate(ctypes.byref(stream)))
    for binding in range(engine.num_bindings):
        memory = HostDeviceMem(tuple(context.get_binding_shape(binding)), trt.nptype(engine.get_binding_dtype(binding)))
        bindings.append(int(memory.device.value))
        (inputs if engine.binding_is_input(binding) else outputs).append(memory)
    return inputs, outputs, bindings, stream


def do_inference_v2(context, bindings, inputs, outputs, stream):
    for memory in inputs:
        memory.copy(True, stream)
    context.execute_async_v2(bindings=bindings, stream_handle=stream.value)
    for memory in outputs:
        memory.copy(False, stream)
    checked(CUDA.cudaStreamSynchronize(stream))
    return [memory.host for memory in outputs]


def test_release_7():
    """Everything is set on the builder."""
    with trt.Builder(LOGGER) as builder, builder.create_network(EXPLICIT_BATCH) as network, trt.OnnxParser(network, LOGGER) as parser:
        builder.max_workspace_size = 1 << 28
        builder.max_batch_size = 1
        builder.fp16_mode = False
        builder.strict_type_constraints = True
        assert builder.max_workspace_size == 1 << 28 and builder.strict_type_constraints is True and builder.int8_mode is False
        with open(support.DIGITS / "digits.onnx", "rb") as model:
            if not parser.parse(model.read()):
                raise SystemExit([parser.get_error(error) for error in range(parser.num_errors)])
        network.get_input(0).shape = [1, 1, 28, 28]
        last = network.get_layer(network.num_layers - 1)
        assert last.get_output(0).name == network.get_output(0).name
        engine = builder.build_cuda_engine(network)
    with engine.create_execution_context() as context:
        inputs, outputs, bindings, stream = allocate_buffers(engine, context)
        for number in (2, 5):
            np.copyto(inputs[0].host, picture(number).ravel())
            (scores,) = do_inference_v2(context, bindings, inputs, outputs, stream)
            assert scores.argmax() == number


def test_settings_of_the_builder_reach_the_build():
    builder, network = support.small_network(trt, trt.Logger(trt.Logger.INTERNAL_ERROR))
    builder.int8_mode = True
    assert builder.build_cuda_engine(network) is not None
    builder.max_workspace_size = 0
    builder.int8_mode = False
    assert builder.build_cuda_engine(network) is not None
    other = trt.Builder(LOGGER)
    assert other.max_workspace_size == 0 and other.int8_mode is False, "settings of one builder are not another's"


def engine_of_two_profiles():
    """y = 2x; batches of 1 to 4 in the first profile and of 4 to 8 in the second."""
    builder = trt.Builder(LOGGER)
    network = builder.create_network(EXPLICIT_BATCH)
    x = network.add_input("x", trt.float32, (-1, 3))
    two = network.add_constant((1, 3), np.full((1, 3), 2, np.float32)).get_output(0)
    y = network.add_elementwise(x, two, trt.ElementWiseOperation.PROD).get_output(0)
    y.name = "y"
    network.mark_output(y)
    config = builder.create_builder_config()
    config.builder_optimization_level = 0
    for least, most in ((1, 4), (4, 8)):
        profile = builder.create_optimization_profile()
        profile.set_shape("x", (least, 3), (most, 3), (most, 3))
        config.add_optimization_profile(profile)
    return builder.build_engine(network, config)


def test_profiles_by_number():
    engine = engine_of_two_profiles()
    assert engine.num_bindings == 4 and engine.get_binding_name(2) == "x" and engine.get_profile_shape(1, 2) == [(4, 3), (8, 3), (8, 3)]
    context = engine.create_execution_context()
    for profile, batch in ((1, 7), (0, 3)):
        context.active_optimization_profile = profile
        assert context.active_optimization_profile == profile
        first = profile * (engine.num_bindings // engine.num_optimization_profiles)
        assert context.set_binding_shape(first, (batch, 3)) and context.all_binding_shapes_specified
        x, y = RANDOM.uniform(-1, 1, (batch, 3)).astype(np.float32), np.zeros((batch, 3), np.float32)
        bindings = [0] * engine.num_bindings
        bindings[first:first + 2] = [x.ctypes.data, y.ctypes.data]
        assert context.execute_v2(bindings) and np.array_equal(y, 2 * x)
    try:
        context.active_optimization_profile = 2
    except ValueError as error:
        assert "expected 0 to 1" in str(error), error
    else:
        raise AssertionError("a third profile")


def test_shape_inputs_by_number():
    builder = trt.Builder(LOGGER)
    network = builder.create_network(EXPLICIT_BATCH)
    x, extents = network.add_input("x", trt.float32, (6, 6)), network.add_input("extents", trt.int32, (2,))
    layer = network.add_slice(x, (1, 2), (1, 1), (1, 1))
    layer.set_input(2, extents)
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    config = builder.create_builder_config()
    config.builder_optimization_level = 0
    profile = builder.create_optimization_profile()
    profile.set_shape_input("extents", (1, 1), (2, 3), (5, 4))
    config.add_optimization_profile(profile)
    engine = builder.build_engine(network, config)
    place = engine.get_binding_index("extents")
    assert engine.is_shape_binding(place) and engine.get_profile_shape_input(0, place) == [[1, 1], [2, 3], [5, 4]]
    context = engine.create_execution_context()
    assert context.set_shape_input(place, [3, 2]) and context.get_shape(place) == [3, 2]
    assert context.get_binding_shape(engine.get_binding_index("y")) == (3, 2)
    data, y = RANDOM.uniform(-1, 1, (6, 6)).astype(np.float32), np.zeros((3, 2), np.float32)
    arrays = {"x": data, "extents": np.array([3, 2], np.int32), "y": y}
    assert context.execute_v2([arrays[name].ctypes.data for name in map(engine.get_binding_name, range(3))])
    assert np.array_equal(y, data[1:4, 2:4])
    for binding in ("x", "nothing"):
        try:
            context.set_shape_input(binding, [1])
        except ValueError as error:
            assert "no shape input" in str(error)
        else:
            raise AssertionError(f"{binding} took values")


def test_fully_connected():
    builder = trt.Builder(LOGGER)
    network = builder.create_network(EXPLICIT_BATCH)
    x = network.add_input("x", trt.float32, (2, 3, 4, 5))
    matrix, bias = RANDOM.uniform(-1, 1, (7, 60)).astype(np.float32), RANDOM.uniform(-1, 1, 7).astype(np.float32)
    layer = network.add_fully_connected(input=x, num_outputs=7, kernel=matrix, bias=bias)
    assert layer.num_output_channels == 7 and np.array_equal(layer.kernel.ravel(), matrix.ravel())
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    engine = builder.build_engine(network, builder.create_builder_config())
    data = RANDOM.uniform(-1, 1, (2, 3, 4, 5)).astype(np.float32)
    want = data.reshape(2, 60).astype(np.float64) @ matrix.T.astype(np.float64) + bias
    np.testing.assert_allclose(trt.Runner(engine)(data)["y"], want.reshape(2, 7, 1, 1), 1e-5, 1e-5)
    for act, kind, words in ((lambda: network.add_fully_connected(network.add_input("v", trt.float32, (3,)), 7, matrix), ValueError, "four axes"),
                             (lambda: network.add_rnn_v2(x, 1, 8, 4, None), NotImplementedError, "add_loop")):
        try:
            act()
        except kind as error:
            assert words in str(error), error
        else:
            raise AssertionError(words)


def test_allocator_with_free():
    """Its function was called `free` until release 9."""
    class Allocator(trt.IGpuAllocator):
        def __init__(self):
            trt.IGpuAllocator.__init__(self)
            self.lent, self.freed = {}, 0

        def allocate(self, size, alignment, flags):  # pylint: disable=unused-argument
            memory = np.empty(size + alignment, np.uint8)
            address = -(-memory.ctypes.data // alignment) * alignment
            self.lent[address] = memory
            return address

        def free(self, memory):
            self.freed += 1
            del self.lent[memory]

    allocator = Allocator()
    builder = trt.Builder(LOGGER)
    network = builder.create_network(EXPLICIT_BATCH)
    middle = network.add_softmax(network.add_input("x", trt.float32, (2, 3)))
    middle.axes = 2
    one = network.add_constant((3, 3), np.eye(3, dtype=np.float32)).get_output(0)
    network.mark_output(network.add_matrix_multiply(middle.get_output(0), trt.MatrixOperation.NONE, one, trt.MatrixOperation.NONE).get_output(0))
    runtime = trt.Runtime(LOGGER)
    runtime.gpu_allocator = allocator
    context = runtime.deserialize_cuda_engine(support.plan_of(trt, builder, network)).create_execution_context()
    x, y = RANDOM.uniform(-2, 2, (2, 3)).astype(np.float32), np.zeros((2, 3), np.float32)
    assert context.execute_v2([x.ctypes.data, y.ctypes.data]) and allocator.lent
    powers = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(y, powers / powers.sum(1, keepdims=True), 1e-5)
    del context
    assert allocator.freed and not allocator.lent, (allocator.freed, len(allocator.lent))


def test_names_that_are_gone():
    """hasattr() says no, and the message what to use."""
    from tensorrt import _older  # pylint: disable=import-outside-toplevel
    for name, instead in _older.GONE.items():
        assert not hasattr(trt, name)
        try:
            getattr(trt, name)
        except AttributeError as error:
            assert name in str(error) and instead in str(error) and "release 10" in str(error), error
    for name in ("CaffeParser", "UffParser"):
        assert "ONNX" in _older.GONE[name]
    assert trt.shutdown_protobuf_library() is None
    try:
        trt.nothing_of_that_name
    except AttributeError as error:
        assert "nothing_of_that_name" in str(error) and "gone" not in str(error)


if __name__ == "__main__":
    sys.exit(support.run_all(support.cases_of(globals()), sys.argv[1:]))
