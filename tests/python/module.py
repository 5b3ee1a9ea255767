# SPDX-License-Identifier: Apache-2.0
"""The module's own behaviour: values, weights, who keeps whom, older names, threads and forks."""
import gc
import io
import itertools
import os
import resource
import shutil
import subprocess
import sys
import warnings
import weakref

import support

support.need_numpy()
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import tensorrt as trt  # noqa: E402  pylint: disable=wrong-import-position

LOGGER = trt.Logger(trt.Logger.ERROR)
X = np.array([1, -2, 3], np.float32)


def small_plan():
    return bytes(support.plan_of(trt, *support.small_network(trt, LOGGER)))


def test_dims():
    dims = trt.Dims([1, 2, 3])
    assert dims == (1, 2, 3) and dims == [1, 2, 3] and not dims == (1, 2) and not dims == "x"
    assert len(dims) == 3 and list(dims) == [1, 2, 3] and tuple(dims) == (1, 2, 3) and dims[-1] == 3
    assert dims[1:] == (2, 3) and str(dims) == "(1, 2, 3)" and repr(dims) == "(1, 2, 3)"
    dims[0] = 2**40
    dims[1:] = (5, 6)
    assert dims == (2**40, 5, 6)
    support.raises(IndexError, lambda: dims[3])
    support.raises(IndexError, lambda: dims[-4])
    support.raises(ValueError, trt.Dims, range(9))
    support.raises(TypeError, trt.Dims, "123")
    support.raises(TypeError, trt.Dims, [1.5])
    support.raises(ValueError, trt.Dims2, (1, 2, 3))
    assert trt.Dims() == () and trt.Dims(np.array([4, 5])) == (4, 5) and trt.Dims.MAX_DIMS == 8
    pair = trt.DimsHW(3, 4)
    pair.h = 7
    assert (pair.h, pair.w) == (7, 4) and isinstance(pair, trt.Dims2) and trt.Dims4((1, 2, 3, 4)) == (1, 2, 3, 4)
    order = trt.Permutation([1, 0])
    assert order[0] == 1 and order[7] == 7 and len(order) == 8


def test_enums_have_an_order():
    """By which loggers choose what they show. No numbers: those are made with int()."""
    severity = trt.Logger.Severity
    assert severity.ERROR < trt.Logger.WARNING <= trt.Logger.WARNING < severity.INFO and max(severity.INFO, severity.ERROR) == trt.Logger.INFO
    assert trt.DataType.FLOAT < trt.DataType.HALF and not trt.BuilderFlag.FP16 >= trt.BuilderFlag.INT8
    support.raises(TypeError, lambda: trt.Logger.WARNING < 3)
    support.raises(TypeError, lambda: trt.Logger.WARNING < trt.float32)


def test_weights():
    for name in ("float32", "float16", "int8", "int32", "int64", "bool", "uint8"):
        array = np.arange(6).astype(name).reshape(2, 3)
        weights = trt.Weights(array)
        assert trt.nptype(weights.dtype) == array.dtype.type and (weights.size, weights.nbytes) == (6, array.nbytes)
        assert len(weights) == 6 and np.array_equal(weights.numpy(), array.reshape(-1))
    transposed = np.arange(6, dtype=np.float32).reshape(2, 3).T
    assert np.array_equal(trt.Weights(transposed).numpy(), transposed.reshape(-1)), "a view is read in its own order"
    assert trt.Weights(np.empty((0, 3), np.float32)).size == 0 and trt.Weights().size == 0
    assert trt.Weights(trt.float16).dtype == trt.float16
    array = np.arange(4, dtype=np.int32)
    assert np.array_equal(trt.Weights(trt.int32, array.ctypes.data, 4).numpy(), array)
    for bad in (np.zeros(3), np.zeros(2, np.complex64)):  # ValueError as in NVIDIA's module
        assert "expected" in support.raises(ValueError, trt.Weights, bad)
    support.raises(ValueError, trt.Weights, trt.float32, 0, 5)
    big = trt.Weights(trt.int4, array.ctypes.data, 5)
    assert big.nbytes == 3 and isinstance(big.numpy(), trt.Weights)


def test_arrays_live_until_the_build():
    builder, network = support.small_network(trt, LOGGER, 3.0)
    convolution_input = network.add_input("image", trt.float32, (1, 1, 4, 4))
    layer = network.add_convolution_nd(convolution_input, 1, (1, 1), np.zeros((1, 1, 1, 1), np.float32))
    layer.kernel = np.full((1, 1, 1, 1), 5, np.float32)  # no other name for it
    out = layer.get_output(0)
    out.name = "image_out"
    network.mark_output(out)
    del layer, out, convolution_input
    gc.collect()
    junk = [np.random.rand(3).astype(np.float32) for _ in range(1000)]
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(support.plan_of(trt, builder, network))
    image = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    answers = trt.Runner(engine)(x=X, image=image)
    assert np.array_equal(answers["y"], 3 * X) and np.array_equal(answers["image_out"], 5 * image) and len(junk) == 1000
    kernel = network.get_layer(2).kernel
    del network, builder
    gc.collect()
    assert kernel.tolist() == [5], "an array over weights keeps the network"


def test_arrays_are_freed_with_the_network():
    class Array(np.ndarray):
        pass

    array = np.ones(3, np.float32).view(Array)
    seen = weakref.ref(array)
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    network.add_constant((3,), array).weights = array
    del array
    gc.collect()
    assert seen() is not None
    del network
    gc.collect()
    assert seen() is None, "the array outlives the network"


def test_objects_keep_what_they_need():
    """Names of a whole chain are dropped in every order; the last one still works."""
    plan = small_plan()
    for order in itertools.permutations(range(5)):
        logger = trt.Logger(trt.Logger.ERROR)
        runtime = trt.Runtime(logger)
        engine = runtime.deserialize_cuda_engine(plan)
        context = engine.create_execution_context()
        inspector = engine.create_engine_inspector()
        chain = [logger, runtime, engine, context, inspector]
        del logger, runtime, engine, context, inspector
        for place in order:
            last, chain[place] = chain[place], None
            gc.collect(0)
            if isinstance(last, trt.IExecutionContext):
                assert last.engine.num_io_tensors == 2
            if isinstance(last, trt.ICudaEngine):
                assert last.create_execution_context() is not None
            if isinstance(last, trt.EngineInspector):
                assert last.get_engine_information(trt.LayerInformationFormat.ONELINE)
            del last


def test_build_objects_keep_what_they_need():
    for order in itertools.permutations(range(5)):
        logger = trt.Logger(trt.Logger.ERROR)
        builder, network = support.small_network(trt, logger)
        config = builder.create_builder_config()
        layer = network.get_layer(0)
        tensor = layer.get_output(0)
        chain = [builder, network, config, layer, tensor]
        del logger, builder, network, config, layer, tensor
        for place in order:
            last, chain[place] = chain[place], None
            gc.collect(0)
            if isinstance(last, trt.INetworkDefinition):
                assert last.num_layers == 2 and last.builder.num_DLA_cores == 0
            if isinstance(last, trt.ILayer):
                assert last.num_outputs == 1
            if isinstance(last, trt.ITensor):
                assert tuple(last.shape) == (3,)
            del last


def test_parser_may_go_before_the_build():
    def parsed():
        builder = trt.Builder(LOGGER)
        network = builder.create_network()
        parser = trt.OnnxParser(network, LOGGER)
        assert parser.parse_from_file(str(support.DIGITS / "digits.onnx")), [str(parser.get_error(i)) for i in range(parser.num_errors)]
        return builder, network

    builder, network = parsed()
    gc.collect()
    config = builder.create_builder_config()
    profile = builder.create_optimization_profile()
    profile.set_shape("input", (1, 1, 28, 28), (1, 1, 28, 28), (16, 1, 28, 28))
    config.add_optimization_profile(profile)
    config.builder_optimization_level = 0
    plan = builder.build_serialized_network(network, config)
    assert support.digit(trt.Runner(bytes(plan)), 7) == 7
    keeper = weakref.ref(network)
    parser = trt.OnnxParser(network, LOGGER)
    del network
    gc.collect()
    assert keeper() is not None, "a parser keeps its network"
    assert not parser.parse(b"nothing") and parser.num_errors == 1
    error = parser.get_error(0)
    assert error.desc() and str(error) and error.code() != trt.ErrorCode.SUCCESS
    del parser
    gc.collect()
    assert error.desc() and keeper() is not None, "an error keeps its parser"
    del error
    gc.collect()
    assert keeper() is None, "a parser and its network keep each other"


def test_layers_have_their_classes():
    builder, network = support.small_network(trt, LOGGER)
    assert isinstance(network.get_layer(0), trt.IConstantLayer) and isinstance(network[1], trt.IElementWiseLayer)
    assert network[-1] is network.get_layer(1) and len(network) == 2 and [layer.name for layer in network]
    support.raises(IndexError, lambda: network[2])
    layer = network.add_activation(network.get_input(0), trt.ActivationType.RELU)
    assert layer.type == trt.ActivationType.RELU and trt.ILayer.type.__get__(layer) == trt.LayerType.ACTIVATION
    again = network.get_layer(2)
    assert again.type == trt.LayerType.ACTIVATION, "the class of an activation says which one it is"
    again.__class__ = trt.IActivationLayer
    assert again.type == trt.ActivationType.RELU
    assert network.builder is builder and builder.logger is LOGGER
    assert layer.get_input(5) is None and network.get_layer(-1) is None


def test_arguments_are_checked():
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (3,))
    support.raises(TypeError, network.add_input, "y", "float32", (3,))
    support.raises(TypeError, network.add_unary, None, trt.UnaryOperation.NEG)
    support.raises(TypeError, network.add_concatenation, [x, None])
    support.raises(TypeError, trt.Builder, None)
    support.raises(TypeError, trt.Builder, "logger")
    support.raises(TypeError, builder.build_serialized_network, network)
    support.raises(RuntimeError, builder.create_optimization_profile().set_shape, "x", (3,), (2,), (1, 1))
    engine = support.small_engine(trt)
    support.raises(ValueError, engine.create_execution_context().execute_v2, [1])
    support.raises(IndexError, lambda: engine[2])
    support.raises(TypeError, trt.Runtime(LOGGER).deserialize_cuda_engine, 5)
    assert trt.Runtime(LOGGER).deserialize_cuda_engine(small_plan()[:-20]) is None
    key = trt.TimingCacheKey.parse("0x" + "0a" * 16)
    assert str(key) == "0x" + "0a" * 16
    for bad in ("", "0x12", "zz" * 16):
        support.raises(ValueError, trt.TimingCacheKey.parse, bad)


def test_host_memory_is_a_buffer():
    plan = support.plan_of(trt, *support.small_network(trt, LOGGER))
    view = memoryview(plan)
    size = plan.nbytes
    del plan
    gc.collect()
    assert len(bytes(view)) == size == view.nbytes and view.readonly
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(view)
    assert np.array_equal(trt.Runner(engine)(X)["y"], 2 * X)


def test_older_names():
    engine = support.small_engine(trt)
    context = engine.create_execution_context()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert engine.num_bindings == 2 and engine.get_binding_index("y") == 1 and engine["y"] == 1 and engine[1] == "y"
        assert engine.binding_is_input(0) and not engine.binding_is_input("y") and len(engine) == 2 and engine
        assert engine.get_binding_shape("x") == (3,) and engine.get_binding_dtype(1) == trt.float32
        assert context.set_binding_shape(0, (3,)) and context.get_binding_shape(1) == (3,)
        config = trt.Builder(LOGGER).create_builder_config()
        config.max_workspace_size = 1 << 20
        assert config.get_memory_pool_limit(trt.MemoryPoolType.WORKSPACE) == 1 << 20 == config.max_workspace_size
        answer = np.empty_like(X)
        assert context.execute(1, [X.ctypes.data, answer.ctypes.data]) and np.array_equal(answer, 2 * X)
        answer[:] = 0
        assert context.execute_async_v2([X.ctypes.data, answer.ctypes.data], 0)
        trt._runner._Cuda().call("cudaDeviceSynchronize")
        assert np.array_equal(answer, 2 * X)
        support.raises(ValueError, context.execute, 2, [1, 2])
        with trt.Builder(LOGGER) as builder:
            support.raises(ValueError, setattr, builder, "max_batch_size", 8)
            builder.max_batch_size = 1
    assert len([w for w in told if w.category is DeprecationWarning]) >= 14, [str(w.message) for w in told]
    assert trt.volume((2, 3, 4)) == 24 and trt.volume(()) == 1 and trt.nptype(trt.int8) is np.int8
    support.raises(TypeError, trt.nptype, trt.bfloat16)
    assert trt.int4.itemsize == 0.5 and trt.float32.itemsize == 4


def test_many_builds_leave_no_memory():
    def one():
        runner = trt.Runner(support.small_engine(trt))
        runner(X)

    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    for _ in range(60):
        one()
    gc.collect()
    before = resident()
    for _ in range(200):
        one()
    gc.collect()
    grown = resident() - before
    assert grown < 4 << 20, f"200 builds left {grown / 2**20:.1f} MiB"


def test_self_check_of_the_package():
    for arguments in ([], ["--check"]):
        done = subprocess.run([sys.executable, "-m", "tensorrt", *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "TensorRT 10.16" in done.stdout and ("right" in done.stdout) == bool(arguments), done.stdout


def test_libraries_are_found_without_proc():
    """As in a bare chroot."""
    def hidden(command):
        return subprocess.run(["unshare", "--mount", "sh", "-c", f"mount -t tmpfs none /proc && {command}"], capture_output=True, text=True,
                              check=False)

    if "libasan" in os.environ.get("LD_PRELOAD", ""):
        raise support.Skip("the sanitizer reads its options from /proc, and looks for leaks without them")
    if not shutil.which("unshare") or hidden("true").returncode != 0:
        raise support.Skip("unshare --mount is not allowed here: /proc cannot be hidden")
    done = hidden(f"{sys.executable} -m tensorrt --check")
    assert done.returncode == 0 and "right" in done.stdout, done.stdout + done.stderr


def test_import_is_quick():
    """Processor time, since whatever else the machine does only adds to the time of a clock."""
    program = ("import sys, time; start = time.process_time(); import tensorrt; took = time.process_time() - start; "
               "print(took, 'numpy' in sys.modules, 'tensorrt.plugin' in sys.modules)")
    best = 1.0
    for _ in range(5):
        took, *others = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
        best = min(best, float(took))
        assert others == ["False", "False"], "the import brings what is needed later only"
    assert best < 0.15, f"{1000 * best:.0f} ms"


def test_docstrings():
    """Classes, functions and properties say what they are, behind their signatures."""
    assert "execution" in trt.IExecutionContext.execute_async_v3.__doc__.lower()
    assert "execute_async_v3(self" in trt.IExecutionContext.execute_async_v3.__doc__
    assert "Classes define it" in trt.IPluginV3OneRuntime.enqueue.__doc__
    assert trt.ITensor.shape.__doc__ and trt.IPluginV3OneCore.plugin_name.__doc__ and trt.INetworkDefinition.__doc__
    without = [f"{name}.{member}" for name, owner in vars(trt).items() if isinstance(owner, type) and owner.__module__ == trt.tensorrt.__name__
               for member, value in vars(owner).items()
               if not member.startswith("_") and type(value) is property and member != "value" and not value.__doc__]
    assert not without, without


def test_progress_bar():
    """Lines that write over each other, wide enough to hide the one before, and nothing left at the end."""
    stream = io.StringIO()
    bar = trt.ProgressBar(stream)
    bar.phase_start("outer", None, 4)
    for step in range(4):
        bar._drawn = 0  # pylint: disable=protected-access
        bar.step_complete("outer", step)
    bar.phase_start("a name with é", "outer", 0)
    bar.phase_finish("a name with é")
    bar.phase_finish("outer")
    lines = stream.getvalue().split("\r")
    assert any("outer [========        ] 2/4" in line for line in lines), lines
    assert lines[-1] == "" and lines[-2].strip() == "" and len(lines[-2]) >= len(lines[-3].rstrip()), lines
    stream = io.StringIO()
    builder, network = support.small_network(trt, trt.Logger(trt.Logger.ERROR))
    plan = support.plan_of(trt, builder, network, lambda config: setattr(config, "progress_monitor", trt.ProgressBar(stream)))
    assert plan is not None and "/" in stream.getvalue() and stream.getvalue().endswith("\r"), repr(stream.getvalue())


def test_messages_of_the_logger():
    logger = trt.Logger()
    assert logger.min_severity == trt.Logger.WARNING
    logger.min_severity = trt.Logger.Severity.VERBOSE
    assert logger.min_severity == trt.ILogger.VERBOSE
    program = ("import tensorrt as trt; log = trt.Logger(trt.Logger.INFO); log.log(trt.Logger.INFO, 'seen'); "
               "log.log(trt.Logger.VERBOSE, 'hidden')")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "[TRT] [I] seen" in done.stderr and "hidden" not in done.stderr


if __name__ == "__main__":
    sys.exit(support.run_all(support.cases_of(globals()), sys.argv[1:]))
