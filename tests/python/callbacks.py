# SPDX-License-Identifier: Apache-2.0
"""Classes of Python that the library calls: what they are told, what becomes of their exceptions, how long they live."""
import gc
import sys
import threading
import weakref

import support

support.need_numpy()
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import tensorrt as trt  # noqa: E402  pylint: disable=wrong-import-position

QUIET = trt.Logger(trt.Logger.INTERNAL_ERROR)
X = np.array([1, -2, 3], np.float32)


class Oops(Exception):
    pass


class Logger(trt.ILogger):
    def __init__(self, fail=False):
        trt.ILogger.__init__(self)
        self.messages, self.fail, self.threads = [], fail, set()

    def log(self, severity, msg):
        self.messages.append((severity, msg))
        self.threads.add(threading.get_ident())
        if self.fail:
            raise Oops("in the logger")


class Recorder(trt.IErrorRecorder):
    def __init__(self):
        trt.IErrorRecorder.__init__(self)
        self.reports = []

    def get_num_errors(self):
        return len(self.reports)

    def get_error_code(self, index):
        return self.reports[index][0]

    def get_error_desc(self, index):
        return self.reports[index][1]

    def has_overflowed(self):
        return False

    def clear(self):
        self.reports.clear()

    def report_error(self, code, text):
        self.reports.append((code, text))
        return True


def raised(function, *arguments):
    try:
        function(*arguments)
    except Oops as error:
        return str(error)
    raise AssertionError("the exception of the callback is lost")


def broken_build(logger):
    builder, network = support.small_network(trt, logger)
    network.unmark_output(network.get_output(0))
    return builder.build_serialized_network(network, builder.create_builder_config())


def test_logger_is_told():
    logger = Logger()
    assert broken_build(logger) is None
    assert logger.messages and all(isinstance(m, str) for _, m in logger.messages)
    assert any(s == trt.ILogger.ERROR for s, _ in logger.messages)


def test_exception_of_a_logger_ends_the_call():
    logger = Logger()
    builder, network = support.small_network(trt, logger)
    config = builder.create_builder_config()
    network.unmark_output(network.get_output(0))
    logger.fail = True
    assert raised(builder.build_serialized_network, network, config) == "in the logger"
    logger.fail = False
    assert builder.build_serialized_network(network, config) is None, "the exception comes once"


def test_exception_outside_of_long_calls():
    """There it goes to sys.unraisablehook, and the call goes on."""
    seen = []
    sys.unraisablehook = seen.append
    logger = Logger()
    builder = trt.Builder(logger)
    network = builder.create_network()
    logger.fail = True
    assert network.add_input("x", trt.float32, (3,)) is not None
    assert network.add_input("x", trt.float32, (-7,)) is None  # refused, which the logger is told
    assert seen and all(isinstance(row.exc_value, Oops) for row in seen)


def test_subclass_without_the_function():
    class Empty(trt.ILogger):
        pass

    logger = Empty()
    try:
        broken_build(logger)
    except TypeError as error:
        assert "Empty does not define log()" in str(error), error
    else:
        raise AssertionError("nothing said that log() is missing")


def test_subclass_without_the_constructor():
    class Forgot(trt.ILogger):
        def __init__(self):  # pylint: disable=super-init-not-called
            pass

    try:
        Forgot()
    except TypeError as error:
        assert "__init__" in str(error)
    else:
        raise AssertionError("an object without its part of C++ was made")


def test_derived_default_logger():
    class Derived(trt.Logger):
        def __init__(self):
            trt.Logger.__init__(self, trt.Logger.INTERNAL_ERROR)
            self.seen = []

        def log(self, severity, msg):
            self.seen.append(msg)

    logger = Derived()
    assert broken_build(logger) is None and logger.seen


class Monitor(trt.IProgressMonitor):
    def __init__(self, fail_in=None, stop=False):
        trt.IProgressMonitor.__init__(self)
        self.open, self.steps, self.fail_in, self.stop = [], 0, fail_in, stop

    def tell(self, where):
        if self.fail_in == where:
            raise Oops(where)

    def phase_start(self, phase_name, parent_phase, num_steps):
        self.open.append(phase_name)
        self.tell("start")

    def step_complete(self, phase_name, step):
        self.steps += 1
        self.tell("step")
        return not self.stop

    def phase_finish(self, phase_name):
        self.open.remove(phase_name)
        self.tell("finish")


def monitored(monitor):
    builder, network = support.small_network(trt, QUIET)
    return support.plan_of(trt, builder, network, lambda c: setattr(c, "progress_monitor", monitor))


def test_monitor():
    monitor = Monitor()
    assert monitored(monitor) is not None and monitor.steps and not monitor.open
    stopping = Monitor(stop=True)
    assert monitored(stopping) is None and not stopping.open
    for where in ("start", "step", "finish"):
        assert raised(monitored, Monitor(where)) == where
    assert monitored(Monitor()) is not None, "a build after a failed one"


def test_interrupt_from_the_keyboard():
    class Interrupting(Monitor):
        def step_complete(self, phase_name, step):
            raise KeyboardInterrupt

    try:
        monitored(Interrupting())
    except KeyboardInterrupt:
        return
    raise AssertionError("the build swallowed Ctrl-C")


def test_error_recorder():
    recorder, runtime = Recorder(), trt.Runtime(QUIET)
    runtime.error_recorder = recorder
    assert runtime.error_recorder is recorder
    assert runtime.deserialize_cuda_engine(b"this is no engine") is None
    assert recorder.reports and recorder.reports[0][0] != trt.ErrorCodeTRT.SUCCESS and recorder.reports[0][1]

    class Failing(Recorder):
        def report_error(self, code, text):
            raise Oops("in the recorder")

    failing = Failing()
    runtime.error_recorder = failing
    assert raised(runtime.deserialize_cuda_engine, b"nothing") == "in the recorder"
    runtime.error_recorder = None
    assert runtime.error_recorder is None


class Allocator(trt.IGpuAllocator):
    """Memory of numpy arrays, as the CPU can use it."""

    def __init__(self):
        trt.IGpuAllocator.__init__(self)
        self.live, self.calls, self.fail = {}, 0, False

    def allocate(self, size, alignment, flags):
        self.calls += 1
        if self.fail:
            raise Oops("no memory")
        array = np.empty(size + alignment, np.uint8)
        address = array.ctypes.data + -array.ctypes.data % alignment
        self.live[address] = array
        return address

    def reallocate(self, address, alignment, new_size):
        return None

    def deallocate(self, memory):
        return self.live.pop(memory, None) is not None


def plan_with_memory():
    """An engine that needs memory between its layers: the rows of x, softmax, times the identity."""
    builder = trt.Builder(QUIET)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (2, 3))
    middle = network.add_softmax(x)
    middle.axes = 2
    one = network.add_constant((3, 3), np.eye(3, dtype=np.float32)).get_output(0)
    none = trt.MatrixOperation.NONE
    y = network.add_matrix_multiply(middle.get_output(0), none, one, none).get_output(0)
    y.name = "y"
    network.mark_output(y)
    return support.plan_of(trt, builder, network)


def test_gpu_allocator():
    plan = plan_with_memory()
    rows = np.random.default_rng(3).uniform(-2, 2, (2, 3)).astype(np.float32)
    powers = np.exp(rows.astype(np.float64))
    allocator, runtime = Allocator(), trt.Runtime(QUIET)
    runtime.gpu_allocator = allocator
    engine = runtime.deserialize_cuda_engine(plan)
    runner = trt.Runner(engine)
    np.testing.assert_allclose(runner(rows)["y"], powers / powers.sum(1, keepdims=True), 1e-5)
    assert allocator.calls
    seen = weakref.ref(allocator)
    allocator.fail = True
    assert raised(engine.create_execution_context) == "no memory"
    live = allocator.live
    del allocator
    gc.collect()
    assert seen() is not None, "the allocator went before its engine"
    del engine, runner, runtime
    gc.collect()
    assert seen() is None and not live, "memory or the allocator is left over"


class Output(trt.IOutputAllocator):
    def __init__(self, fail=None):
        trt.IOutputAllocator.__init__(self)
        self.array, self.shape, self.fail = None, None, fail

    def reallocate_output(self, tensor_name, memory, size, alignment):
        if self.fail == "memory":
            raise Oops(tensor_name)
        self.array = np.empty(max(size // 4, 1), np.float32)
        return self.array.ctypes.data

    def notify_shape(self, tensor_name, shape):
        self.shape = tuple(shape)


def execute(context, allocator):
    cuda = trt._runner._Cuda()
    context.set_tensor_address("x", X.ctypes.data)
    assert context.set_output_allocator("y", allocator)
    answer = context.execute_async_v3(0)
    cuda.call("cudaDeviceSynchronize")
    return answer


def test_output_allocator():
    context = support.small_engine(trt, QUIET).create_execution_context()
    output = Output()
    assert execute(context, output) and output.shape == (3,) and np.array_equal(output.array[:3], 2 * X)
    assert context.get_output_allocator("y") is output
    assert raised(execute, support.small_engine(trt, QUIET).create_execution_context(), Output("memory")) == "y"


def test_given_objects_are_kept_once():
    """A context that is given the same object in each run does not grow; the last one outlives its names."""
    context = support.small_engine(trt, QUIET).create_execution_context()
    output = Output()
    before = sys.getrefcount(output)
    for _ in range(100):
        context.set_output_allocator("y", output)
    assert sys.getrefcount(output) == before + 1
    seen = weakref.ref(output)
    del output
    gc.collect()
    assert seen() is not None
    del context
    gc.collect()
    assert seen() is None


def test_profiler_and_listener():
    class Profiler(trt.IProfiler):
        def __init__(self):
            trt.IProfiler.__init__(self)
            self.times = {}

        def report_layer_time(self, layer_name, ms):
            self.times[layer_name] = ms

    class Listener(trt.IDebugListener):
        def __init__(self):
            trt.IDebugListener.__init__(self)
            self.seen = []

        def process_debug_tensor(self, addr, location, type, shape, name, stream):  # pylint: disable=redefined-builtin
            self.seen.append((name, tuple(shape), type, addr != 0))

    builder, network = support.small_network(trt, QUIET)
    inner = network.add_unary(network.get_output(0), trt.UnaryOperation.NEG).get_output(0)
    inner.name = "z"
    network.mark_output(inner)
    assert network.mark_debug(network.get_output(0))
    engine = trt.Runtime(QUIET).deserialize_cuda_engine(support.plan_of(trt, builder, network))
    runner, profiler, listener = trt.Runner(engine), Profiler(), Listener()
    runner.context.profiler = profiler
    assert runner.context.set_debug_listener(listener) and runner.context.set_tensor_debug_state("y", True)
    assert np.array_equal(runner(X)["z"], -2 * X)
    assert runner.context.profiler is profiler and profiler.times and listener.seen == [("y", (3,), trt.float32, True)]


def test_interfaces_of_python_call_themselves():
    """What Python overrides is reached through the base class too."""
    recorder = Recorder()
    assert trt.IErrorRecorder.report_error(recorder, trt.ErrorCodeTRT.FAILED_EXECUTION, "x") and recorder.num_errors() == 1
    calibrator = type("Calibrator", (trt.IInt8EntropyCalibrator2,), {
        "get_batch_size": lambda self: 3, "get_batch": lambda self, names: [7] * len(names),
        "read_calibration_cache": lambda self: b"cache", "write_calibration_cache": lambda self, cache: setattr(self, "cache", bytes(cache))})()
    base = trt.IInt8EntropyCalibrator2
    assert base.get_batch_size(calibrator) == 3 and base.get_batch(calibrator, ["a", "b"]) == [7, 7]
    assert base.read_calibration_cache(calibrator) == b"cache"
    base.write_calibration_cache(calibrator, b"kept")
    assert calibrator.cache == b"kept" and calibrator.get_algorithm() == trt.CalibrationAlgoType.ENTROPY_CALIBRATION_2


def test_objects_at_the_end_of_the_process():
    """Objects that modules and cycles hold until the interpreter ends."""
    import subprocess  # pylint: disable=import-outside-toplevel
    program = """
import sys, tensorrt as trt
sys.path.insert(0, %r)
import support
class Log(trt.ILogger):
    def log(self, severity, msg):
        self.last = msg
logger = Log()
logger.me = logger
logger.severity = trt.Logger.VERBOSE
engine = support.small_engine(trt, logger)
runner = trt.Runner(engine)
logger.engine = engine
runner.me = runner
""" % str(support.ROOT / "tests/python")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr}"


if __name__ == "__main__":
    sys.exit(support.run_all(support.cases_of(globals()), sys.argv[1:]))
