# SPDX-License-Identifier: Apache-2.0
"""Classes in Python that the library calls: allocators, streams, profilers, monitors, listeners, calibrators."""
import ctypes

import numpy as np
import tensorrt_bindings as trt

import support
from support import LOGGER, close, compiled, complaint, constant, cuda, define, execute, loaded, random, unsupported

X = random(2, 3)


def chain(network, tensor):
    tensor = network.add_softmax(tensor).get_output(0)
    return network.add_matrix_multiply(tensor, trt.MatrixOperation.NONE, constant(network, np.eye(3)),
                                       trt.MatrixOperation.NONE).get_output(0)


def address(capsule):
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, None)


def expected():
    e = np.exp(X - X.max(0))
    return e / e.sum(0)


def test_logger():
    logger = support.Logger()
    trt.Runtime(logger).deserialize_cuda_engine(b"this is no engine")
    assert logger.errors() and all(isinstance(m, str) and m for m in logger.errors())


def test_profiler():
    class Profiler(trt.IProfiler):
        def __init__(self):
            trt.IProfiler.__init__(self)
            self.times = {}

        def report_layer_time(self, layer_name, ms):
            self.times[layer_name] = ms

    engine = loaded(compiled(chain, {"x": X}))
    context = engine.create_execution_context()
    context.profiler = profiler = Profiler()
    execute(engine, {"x": X}, context)
    assert profiler.times and all(name and time >= 0 for name, time in profiler.times.items())
    profiler.times.clear()
    context.enqueue_emits_profile = False
    execute(engine, {"x": X}, context)
    assert not profiler.times and context.report_to_profiler() and profiler.times


class Monitor(trt.IProgressMonitor):
    """Keeps what it is told, and stops the build at a given step."""

    def __init__(self, stop_after=None):
        trt.IProgressMonitor.__init__(self)
        self.open, self.started, self.steps, self.stop_after = [], [], 0, stop_after

    def phase_start(self, phase_name, parent_phase, num_steps):
        assert parent_phase is None or parent_phase in self.open
        self.open.append(phase_name)
        self.started.append((phase_name, num_steps))

    def phase_finish(self, phase_name):
        self.open.remove(phase_name)

    def step_complete(self, phase_name, step):
        assert phase_name in self.open
        self.steps += 1
        return self.stop_after is None or self.steps <= self.stop_after


def test_progress_monitor():
    monitor = Monitor()
    compiled(chain, {"x": X}, configure=lambda c: setattr(c, "progress_monitor", monitor))
    assert monitor.started and monitor.steps > 0 and not monitor.open


def test_progress_monitor_stops_the_build():
    builder, network = define(chain, {"x": X})
    config = builder.create_builder_config()
    config.progress_monitor = monitor = Monitor(stop_after=0)
    assert builder.build_serialized_network(network, config) is None
    assert not monitor.open, "phases are left open"


def run_into_allocator(engine, name, array):
    """Runs an engine with one input whose output goes to an allocator."""
    context = engine.create_execution_context()
    source, allocator = support.Buffer(array.nbytes, array), support.OutputAllocator()
    assert context.set_tensor_address(name, source.pointer) and context.set_output_allocator("output0", allocator)
    assert context.get_output_allocator("output0") is not None
    stream = cuda().stream()
    assert context.execute_async_v3(stream), complaint("the run failed")
    cuda().wait(stream)
    dtype = support.TO_NUMPY[engine.get_tensor_dtype("output0")]
    return allocator, allocator.buffer.array(dtype, allocator.shape)


def test_output_allocator():
    allocator, found = run_into_allocator(loaded(compiled(chain, {"x": X})), "x", X)
    assert allocator.calls >= 1 and allocator.shape == (2, 3)
    close([found], [expected()])


def test_output_allocator_for_unknown_sizes():
    x = np.array([[0, 1, 0], [2, 0, 3]], np.float32)
    engine = loaded(compiled(lambda n, t: n.add_non_zero(t).get_output(0), {"x": x}))
    allocator, found = run_into_allocator(engine, "x", x)
    assert allocator.shape == (2, 3)
    close([found.astype(np.int32)], [np.array(np.nonzero(x), np.int32)])


def test_gpu_allocator():
    class Allocator(trt.IGpuAllocator):
        def __init__(self):
            trt.IGpuAllocator.__init__(self)
            self.live, self.calls = set(), 0

        def allocate(self, size, alignment, flags):
            pointer = cuda().allocate(size)
            self.live.add(pointer)
            self.calls += 1
            return pointer

        def allocate_async(self, size, alignment, flags, stream):
            return self.allocate(size, alignment, flags)

        def reallocate(self, address, alignment, new_size):
            return None

        def deallocate(self, memory):
            if memory:
                self.live.remove(memory)
                cuda().free(memory)
            return True

        def deallocate_async(self, memory, stream):
            return self.deallocate(memory)

    allocator = Allocator()
    plan = compiled(chain, {"x": X})
    runtime = trt.Runtime(LOGGER)
    runtime.gpu_allocator = allocator
    engine = runtime.deserialize_cuda_engine(plan)
    assert engine is not None, complaint("the engine cannot be loaded")
    close([execute(engine, {"x": X})["output0"]], [expected()])
    assert allocator.calls > 0, "the allocator is never asked"
    del engine, runtime
    assert not allocator.live, "memory is left over"


class Reader(trt.IStreamReader):
    """Reads from bytes, at most so many at a time."""

    def __init__(self, data):
        trt.IStreamReader.__init__(self)
        self.data, self.position = bytes(data), 0

    def read(self, size):
        part = self.data[self.position:self.position + size]
        self.position += len(part)
        return part


def test_stream_reader():
    reader = Reader(compiled(chain, {"x": X}))
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(reader)
    assert engine is not None, complaint("the engine cannot be loaded")
    close([execute(engine, {"x": X})["output0"]], [expected()])


def test_stream_reader_v2():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise support.Skip("NVIDIA's module opens the CUDA driver to hand over a reader of this kind") from None

    class ReaderV2(trt.IStreamReaderV2):
        def __init__(self, data):
            trt.IStreamReaderV2.__init__(self)
            self.data, self.position = bytes(data), 0

        def read(self, num_bytes, stream):
            part = self.data[self.position:self.position + num_bytes]
            self.position += len(part)
            return part

        def seek(self, offset, where):
            base = {trt.SeekPosition.SET: 0, trt.SeekPosition.CUR: self.position,
                    trt.SeekPosition.END: len(self.data)}[where]
            self.position = base + offset
            return 0 <= self.position <= len(self.data)

    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(ReaderV2(compiled(chain, {"x": X})))
    assert engine is not None, complaint("the engine cannot be loaded")
    close([execute(engine, {"x": X})["output0"]], [expected()])


def test_stream_writer():
    class Writer(trt.IStreamWriter):
        def __init__(self):
            trt.IStreamWriter.__init__(self)
            self.data = b""

        def write(self, data):
            self.data += bytes(data)
            return len(data)

    writer = Writer()
    builder, network = define(chain, {"x": X})
    assert builder.build_serialized_network_to_stream(network, builder.create_builder_config(), writer)
    close([execute(loaded(writer.data), {"x": X})["output0"]], [expected()])


def test_debug_listener():
    class Listener(trt.IDebugListener):
        def __init__(self):
            trt.IDebugListener.__init__(self)
            self.seen = {}

        def process_debug_tensor(self, addr, location, type, shape, name, stream):  # pylint: disable=redefined-builtin
            array = np.empty(tuple(shape), support.TO_NUMPY[type])
            cuda().copy(array.ctypes.data, addr if isinstance(addr, int) else address(addr), array.nbytes)
            self.seen[name] = array

    def build(network, tensor):
        inner = network.add_softmax(tensor).get_output(0)
        inner.name = "inside"
        assert network.mark_debug(inner) and network.is_debug_tensor(inner)
        return network.add_unary(inner, trt.UnaryOperation.NEG).get_output(0)

    engine = loaded(compiled(build, {"x": X}))
    assert engine.is_debug_tensor("inside")
    context = engine.create_execution_context()
    listener = Listener()
    assert context.set_debug_listener(listener) and context.set_tensor_debug_state("inside", True)
    close([execute(engine, {"x": X}, context)["output0"]], [-expected()])
    close([listener.seen["inside"]], [expected()])


@unsupported("calibration")
def test_int8_calibrator():
    class Calibrator(trt.IInt8EntropyCalibrator2):
        def __init__(self):
            trt.IInt8EntropyCalibrator2.__init__(self)
            self.left, self.cache = 3, None
            self.buffer = support.Buffer(X.nbytes, X)

        def get_batch_size(self):
            return 2

        def get_batch(self, names):
            assert names == ["x"]
            self.left -= 1
            return [self.buffer.pointer] if self.left >= 0 else None

        def read_calibration_cache(self):
            return None

        def write_calibration_cache(self, cache):
            self.cache = bytes(cache)

    calibrator = Calibrator()

    def configure(config):
        config.set_flag(trt.BuilderFlag.INT8)
        config.int8_calibrator = calibrator

    close([execute(loaded(compiled(chain, {"x": X}, configure=configure)), {"x": X})["output0"]], [expected()], 0.05)
    assert calibrator.left < 0 and calibrator.cache


def test_algorithm_selector():
    class Selector(trt.IAlgorithmSelector):
        def __init__(self):
            trt.IAlgorithmSelector.__init__(self)
            self.asked, self.told = [], []

        def select_algorithms(self, context, choices):
            self.asked.append(context.name)
            assert choices and all(c.timing_msec >= 0 and c.workspace_size >= 0 for c in choices)
            shapes = [tuple(map(tuple, context.get_shape(i))) for i in range(context.num_inputs + context.num_outputs)]
            assert all(least == usual == greatest for least, usual, greatest in shapes), shapes
            info = choices[-1].get_algorithm_io_info(0)
            assert info.dtype == trt.float32 and info.components_per_element >= 1 and len(info.strides) == len(shapes[0][1])
            return [len(choices) - 1]

        def report_algorithms(self, contexts, choices):
            self.told = [(c.name, a.algorithm_variant.tactic) for c, a in zip(contexts, choices)]

    selector = Selector()
    engine = loaded(compiled(chain, {"x": X}, configure=lambda c: setattr(c, "algorithm_selector", selector)))
    assert selector.asked and [name for name, _ in selector.told] == selector.asked
    close([execute(engine, {"x": X})["output0"]], [expected()])
