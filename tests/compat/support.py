# SPDX-License-Identifier: Apache-2.0
"""What the compatibility tests share: device memory, a logger that keeps its messages, and one run of a network."""
import ctypes
import os
import pathlib

import numpy as np
import tensorrt_bindings as trt

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DIGITS = ROOT / "models/digits"

TO_TRT = {np.dtype(n): t for n, t in (
    ("float32", trt.float32), ("float16", trt.float16), ("int32", trt.int32), ("int64", trt.int64),
    ("int8", trt.int8), ("bool", trt.bool), ("uint8", trt.uint8))}
TO_NUMPY = {t: n for n, t in TO_TRT.items()}


class Skip(Exception):
    """Raised by a test that cannot run here; says why."""


def unsupported(reason):
    """Marks a test of something that the library does not do yet. It runs all the same, and must fail."""
    def mark(function):
        function.expected_failure = reason
        return function
    return mark


class Logger(trt.ILogger):
    """A logger in Python, so that each message of the library is a call back into it."""

    def __init__(self):
        trt.ILogger.__init__(self)
        self.messages = []

    def log(self, severity, msg):
        self.messages.append((severity, msg))

    def errors(self):
        return [m for s, m in self.messages if s in (trt.ILogger.ERROR, trt.ILogger.INTERNAL_ERROR)]


LOGGER = Logger()


def complaint(what, logger=None):
    errors = (logger or LOGGER).errors()
    return f"{what}; the library said: {' | '.join(errors[-3:]) or 'nothing'}"


class Runtime:
    """The few functions of the CUDA runtime library that a program with an engine needs."""

    def __init__(self):
        names = [os.environ["TENON_CUDART"]] if "TENON_CUDART" in os.environ else ["libcudart.so.13", "libcudart.so.12"]
        for name in names:
            try:
                self.library = ctypes.CDLL(name)
                return
            except OSError:
                continue
        raise OSError(f"none of {', '.join(names)} could be opened")

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name} returned {status}")

    def allocate(self, size):
        pointer = ctypes.c_void_p()
        self.call("cudaMalloc", ctypes.byref(pointer), ctypes.c_size_t(max(size, 1)))
        return pointer.value

    def free(self, pointer):
        self.call("cudaFree", ctypes.c_void_p(pointer))

    def copy(self, target, source, size):
        self.call("cudaMemcpy", ctypes.c_void_p(target), ctypes.c_void_p(source), ctypes.c_size_t(size), 4)

    def stream(self):
        handle = ctypes.c_void_p()
        self.call("cudaStreamCreate", ctypes.byref(handle))
        return handle.value

    def wait(self, stream):
        self.call("cudaStreamSynchronize", ctypes.c_void_p(stream))


_CUDA = []


def cuda():
    if not _CUDA:
        _CUDA.append(Runtime())
    return _CUDA[0]


class Buffer:
    """Device memory with the contents of an array."""

    def __init__(self, size, contents=None):
        self.size, self.pointer = size, None
        self.pointer = cuda().allocate(size)
        if contents is not None and size:
            cuda().copy(self.pointer, contents.ctypes.data, size)

    def array(self, dtype, shape):
        result = np.empty(shape, dtype)
        if result.nbytes:
            cuda().copy(result.ctypes.data, self.pointer, result.nbytes)
        return result

    def __del__(self):
        if self.pointer:
            cuda().free(self.pointer)


class OutputAllocator(trt.IOutputAllocator):
    """Memory for an output whose size is only known when the engine runs."""

    def __init__(self):
        trt.IOutputAllocator.__init__(self)
        self.buffer = None
        self.shape = None
        self.calls = 0

    def reallocate_output(self, tensor_name, memory, size, alignment):
        self.calls += 1
        if self.buffer is None or self.buffer.size < size:
            self.buffer = Buffer(size)
        return self.buffer.pointer

    def reallocate_output_async(self, tensor_name, memory, size, alignment, stream):
        return self.reallocate_output(tensor_name, memory, size, alignment)

    def notify_shape(self, tensor_name, shape):
        self.shape = tuple(shape)


KEPT = []  # the numbers that networks point at


def constant(network, values, dtype=np.float32):
    """The output of a constant layer."""
    KEPT.append(np.array(values, dtype, order="C"))
    return network.add_constant(KEPT[-1].shape, KEPT[-1]).get_output(0)


def define(build, inputs, dynamic=(), flags=0):
    """A builder and a network of the given inputs; `build` adds the rest and returns the outputs."""
    builder = trt.Builder(LOGGER)
    network = builder.create_network(flags)
    tensors = []
    for name, array in inputs.items():
        shape = [-1] * array.ndim if name in dynamic else list(array.shape)
        tensor = network.add_input(name, TO_TRT[array.dtype], shape)
        assert tensor is not None, complaint(f"no input {name}")
        tensors.append(tensor)
    outputs = build(network, *tensors)
    for index, tensor in enumerate(outputs if isinstance(outputs, (list, tuple)) else [outputs]):
        tensor.name = f"output{index}"
        network.mark_output(tensor)
    return builder, network


def profile_for(builder, config, inputs, dynamic):
    if dynamic:
        profile = builder.create_optimization_profile()
        for name in dynamic:
            shape = inputs[name].shape
            profile.set_shape(name, tuple(1 for _ in shape), shape, tuple(2 * e for e in shape))
        assert config.add_optimization_profile(profile) >= 0, complaint("the profile is refused")


def compiled(build, inputs, dynamic=(), flags=0, configure=None):
    """The serialized engine of such a network."""
    builder, network = define(build, inputs, dynamic, flags)
    config = builder.create_builder_config()
    config.builder_optimization_level = 0  # nothing is measured: these tests ask what is computed, not how fast
    profile_for(builder, config, inputs, dynamic)
    if configure:
        configure(config)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None, complaint("no engine")
    return plan


def loaded(plan):
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    assert engine is not None, complaint("the engine cannot be loaded")
    return engine


def execute(engine, inputs, context=None, aliases=None):
    """Runs an engine on arrays and returns its outputs by name; `aliases` names outputs that share an input's memory."""
    context = context or engine.create_execution_context()
    assert context is not None, complaint("no context")
    buffers, allocators = {}, {}
    names = [engine.get_tensor_name(i) for i in range(engine.num_io_tensors)]
    for name in names:
        if engine.get_tensor_mode(name) != trt.TensorIOMode.INPUT:
            continue
        array = np.array(inputs[name], order="C")
        assert context.set_input_shape(name, array.shape), complaint(f"shape {array.shape} of {name} is refused")
        if engine.get_tensor_location(name) == trt.TensorLocation.HOST:
            buffers[name] = array
            address = array.ctypes.data
        else:
            buffers[name] = Buffer(array.nbytes, array)
            address = buffers[name].pointer
        assert context.set_tensor_address(name, address), complaint(f"address of {name} is refused")
    outputs = [n for n in names if engine.get_tensor_mode(n) == trt.TensorIOMode.OUTPUT]
    for name in outputs:
        place_output(engine, context, name, buffers, allocators, aliases or {})
    stream = cuda().stream()
    assert context.execute_async_v3(stream), complaint("the run failed")
    cuda().wait(stream)
    return {name: fetch(engine, context, name, buffers, allocators) for name in outputs}


def place_output(engine, context, name, buffers, allocators, aliases):
    shape = context.get_tensor_shape(name)
    dtype = TO_NUMPY[engine.get_tensor_dtype(name)]
    if name in aliases:
        buffers[name] = buffers[aliases[name]]
    elif min(shape, default=1) < 0:
        allocators[name] = OutputAllocator()
        assert context.set_output_allocator(name, allocators[name])
        return
    elif engine.get_tensor_location(name) == trt.TensorLocation.HOST:
        buffers[name] = np.empty(tuple(shape), dtype)
        assert context.set_tensor_address(name, buffers[name].ctypes.data)
        return
    else:
        buffers[name] = Buffer(trt.volume(shape) * dtype.itemsize)
    assert context.set_tensor_address(name, buffers[name].pointer), complaint(f"address of {name} is refused")


def fetch(engine, context, name, buffers, allocators):
    dtype = TO_NUMPY[engine.get_tensor_dtype(name)]
    if name in allocators:
        return allocators[name].buffer.array(dtype, allocators[name].shape)
    if isinstance(buffers[name], np.ndarray):
        return buffers[name]
    return buffers[name].array(dtype, tuple(context.get_tensor_shape(name)))


def run(build, inputs, dynamic=(), flags=0, configure=None, aliases=None):
    """Builds, saves, loads and runs a network; returns its outputs in order."""
    results = execute(loaded(compiled(build, inputs, dynamic, flags, configure)), inputs, aliases=aliases)
    return [results[name] for name in sorted(results, key=lambda n: int(n.removeprefix("output")))]


def close(found, expected, tolerance=1e-4):
    """Compares lists of arrays, types and shapes included."""
    assert len(found) == len(expected), f"{len(found)} outputs, expected {len(expected)}"
    for index, (a, b) in enumerate(zip(found, expected)):
        b = np.asarray(b)
        assert a.shape == b.shape, f"output {index} has the shape {a.shape}, expected {b.shape}"
        assert a.dtype == b.dtype, f"output {index} has the type {a.dtype}, expected {b.dtype}"
        np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), tolerance, tolerance,
                                   err_msg=f"output {index}")


def random(*shape, seed=1, low=-1.0, high=1.0):
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def picture(digit):
    """A sample of the shipped model as its input wants it."""
    data = (DIGITS / "samples" / f"{digit}.pgm").read_bytes()
    return (np.frombuffer(data[-784:], np.uint8).astype(np.float32) / 255).reshape(1, 1, 28, 28)
