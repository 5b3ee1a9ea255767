# SPDX-License-Identifier: Apache-2.0
"""Programs in the form in which guides and projects write them, for release 10 and for release 8. With --module nvidia those for
release 10 run on NVIDIA's compiled module over the same libraries, in a Python that has it."""
import ctypes
import os
import subprocess
import sys
import tempfile
import warnings

import support

support.need_numpy()
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position

MODEL = str(support.DIGITS / "digits.onnx")


def picture(number):
    data = np.frombuffer((support.DIGITS / f"samples/{number}.pgm").read_bytes()[-784:], np.uint8)
    return (data.reshape(1, 1, 28, 28) / 255).astype(np.float32)


def test_quick_start_of_release_10():
    import tensorrt as trt  # pylint: disable=import-outside-toplevel
    cuda = ctypes.CDLL(os.environ["TENON_CUDART"])

    class MyLogger(trt.ILogger):
        def __init__(self):
            trt.ILogger.__init__(self)

        def log(self, severity, msg):
            pass

    logger = MyLogger()
    builder = trt.Builder(logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parser = trt.OnnxParser(network, logger)
    success = parser.parse_from_file(MODEL)
    for index in range(parser.num_errors):
        print(parser.get_error(index))
    assert success
    config = builder.create_builder_config()
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 20)
    config.builder_optimization_level = 0
    profile = builder.create_optimization_profile()
    profile.set_shape("input", min=(1, 1, 28, 28), opt=(1, 1, 28, 28), max=(16, 1, 28, 28))
    config.add_optimization_profile(profile)
    serialized = builder.build_serialized_network(network, config)
    runtime = trt.Runtime(logger)
    engine = runtime.deserialize_cuda_engine(serialized)
    context = engine.create_execution_context()
    addresses, shapes = {}, {}
    x = picture(4)
    assert context.set_input_shape("input", x.shape)
    for name in engine:  # by number until there is no more
        shapes[name] = tuple(context.get_tensor_shape(name))
        size = trt.volume(shapes[name]) * trt.float32.itemsize
        pointer = ctypes.c_void_p()
        assert cuda.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size)) == 0
        addresses[name] = pointer.value
        assert context.set_tensor_address(name, pointer.value)
    stream = ctypes.c_void_p()
    assert cuda.cudaStreamCreate(ctypes.byref(stream)) == 0
    assert cuda.cudaMemcpyAsync(ctypes.c_void_p(addresses["input"]), x.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(x.nbytes), 1, stream) == 0
    assert context.execute_async_v3(stream_handle=stream.value)
    (output,) = [n for n in engine if engine.get_tensor_mode(n) == trt.TensorIOMode.OUTPUT]
    answer = np.empty(shapes[output], np.float32)
    assert cuda.cudaMemcpyAsync(answer.ctypes.data_as(ctypes.c_void_p), ctypes.c_void_p(addresses[output]), ctypes.c_size_t(answer.nbytes), 2, stream) == 0
    assert cuda.cudaStreamSynchronize(stream) == 0
    assert answer.argmax() == 4


def test_sample_of_release_8():
    import tensorrt as trt  # pylint: disable=import-outside-toplevel
    warnings.simplefilter("ignore", DeprecationWarning)
    logger = trt.Logger(trt.Logger.ERROR)
    explicit_batch = 1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH)
    with trt.Builder(logger) as builder, builder.create_network(explicit_batch) as network, \
            builder.create_builder_config() as config, trt.OnnxParser(network, logger) as parser:
        config.max_workspace_size = 1 << 28
        config.builder_optimization_level = 0
        builder.max_batch_size = 1
        with open(MODEL, "rb") as model:
            assert parser.parse(model.read())
        network.get_input(0).shape = [1, 1, 28, 28]
        engine = builder.build_engine(network, config)
    inputs, outputs, bindings = [], [], []
    for binding in engine:
        size = trt.volume(engine.get_binding_shape(binding)) * 1
        array = np.empty(size, trt.nptype(engine.get_binding_dtype(binding)))
        bindings.append(int(array.ctypes.data))
        (inputs if engine.binding_is_input(binding) else outputs).append(array)
    with engine.create_execution_context() as context:
        for number in (0, 9):
            np.copyto(inputs[0], picture(number).ravel())
            assert context.execute_v2(bindings=bindings)
            assert outputs[0].argmax() == number


def test_layers_by_hand():
    """A network without a parser, its weights in a dictionary, as samples define LeNet."""
    import tensorrt as trt  # pylint: disable=import-outside-toplevel
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network()
    random = np.random.default_rng(5)
    weights = {"kernel": random.uniform(-1, 1, (4, 1, 3, 3)).astype(np.float32), "bias": random.uniform(-1, 1, 4).astype(np.float32),
               "matrix": random.uniform(-1, 1, (4 * 13 * 13, 10)).astype(np.float32)}
    x = network.add_input(name="data", dtype=trt.float32, shape=(1, 1, 28, 28))
    convolution = network.add_convolution_nd(input=x, num_output_maps=4, kernel_shape=(3, 3), kernel=weights["kernel"], bias=weights["bias"])
    convolution.stride_nd = (1, 1)
    relu = network.add_activation(convolution.get_output(0), trt.ActivationType.RELU)
    pool = network.add_pooling_nd(relu.get_output(0), trt.PoolingType.MAX, (2, 2))
    pool.stride_nd = trt.Dims2(2, 2)
    flat = network.add_shuffle(pool.get_output(0))
    flat.reshape_dims = (1, -1)
    matrix = network.add_constant((4 * 13 * 13, 10), trt.Weights(weights["matrix"]))
    product = network.add_matrix_multiply(flat.get_output(0), trt.MatrixOperation.NONE, matrix.get_output(0), trt.MatrixOperation.NONE)
    product.get_output(0).name = "scores"
    network.mark_output(tensor=product.get_output(0))
    config = builder.create_builder_config()
    config.builder_optimization_level = 0
    engine = builder.build_engine_with_config(network, config)
    image = random.uniform(0, 1, (1, 1, 28, 28)).astype(np.float32)
    scores = np.full((1, 10), -1, np.float32)
    context = engine.create_execution_context()
    for name, array in (("data", image), ("scores", scores)):  # without a GPU, memory of the host
        assert context.set_tensor_address(name, array.ctypes.data)
    assert context.execute_async_v3(0)
    assert ctypes.CDLL(os.environ["TENON_CUDART"]).cudaDeviceSynchronize() == 0
    wide = np.zeros((4, 26, 26))
    for maps, row, column in np.ndindex(4, 3, 3):
        wide[maps] += float(weights["kernel"][maps, 0, row, column]) * image[0, 0, row:row + 26, column:column + 26].astype(np.float64)
    wide = np.maximum(wide + weights["bias"].astype(np.float64)[:, None, None], 0)
    pooled = wide.reshape(4, 13, 2, 13, 2).max((2, 4))
    np.testing.assert_allclose(scores, pooled.reshape(1, -1) @ weights["matrix"].astype(np.float64), 1e-4, 1e-4)


def on_nvidias_module():
    """This script again, in which `import tensorrt` gives NVIDIA's module."""
    import packages  # pylint: disable=import-outside-toplevel
    python, reason = packages.python_with("numpy", "tensorrt_bindings")
    if python is None:
        print(f"skipped: {reason}")
        return support.SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([python, "-B", __file__, "release_10", "layers_by_hand"], env=packages.module_variables("nvidia", folder),
                              check=False).returncode


if __name__ == "__main__":
    if sys.argv[1:] == ["--module", "nvidia"]:
        sys.exit(on_nvidias_module())
    sys.exit(support.run_all(support.cases_of(globals()), sys.argv[1:]))
