# SPDX-License-Identifier: Apache-2.0
"""What the module costs: an execution beside the same one in C++, and the memory of a thousand builds."""
import ctypes
import gc
import os
import pathlib
import sys
import time
import weakref

import support

support.need_numpy()
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import tensorrt as trt  # noqa: E402  pylint: disable=wrong-import-position

SIZE = 3
BUILDS = int(os.environ.get("TENON_BUILDS", "1000"))
LOGGER = trt.Logger(trt.Logger.ERROR)


def resident():
    """Bytes of the process in memory."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_an_execution_costs_two_microseconds_more_than_in_cpp():
    most = 2e-6
    library = ctypes.CDLL(os.environ["TENON_CALL_COSTS"])
    library.secondsOfEnqueue.restype = ctypes.c_double
    plan = bytes(support.plan_of(trt, *support.small_network(trt, LOGGER, size=SIZE)))
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    memory = np.zeros((2, SIZE), np.float32)  # of the host, as all memory is here
    for place, name in enumerate(engine):
        context.set_tensor_address(name, memory[place].ctypes.data)
    cuda = ctypes.CDLL(os.environ["TENON_CUDART"])
    stream = ctypes.c_void_p()
    assert cuda.cudaStreamCreate(ctypes.byref(stream)) == 0
    handle, calls, found = stream.value, 200, []
    for _ in range(8):  # in turn, so that both meet the same machine
        native = library.secondsOfEnqueue(plan, ctypes.c_size_t(len(plan)), SIZE, 20, calls)
        assert native > 0
        best = 1.0
        for _ in range(20):
            start = time.perf_counter()
            for _ in range(calls):
                context.execute_async_v3(handle)
            best = min(best, (time.perf_counter() - start) / calls)
            assert cuda.cudaStreamSynchronize(stream) == 0
        found.append((best - native, best, native))
    extra, best, native = min(found)
    print(f"{1e6 * best:.2f} us, in C++ {1e6 * native:.2f} us")
    assert extra <= most, f"{1e6 * best:.2f} us, in C++ {1e6 * native:.2f} us"


class Monitor(trt.IProgressMonitor):
    def __init__(self, raises):
        trt.IProgressMonitor.__init__(self)
        self.raises = raises

    def phase_start(self, phase_name, parent_phase, num_steps):
        raises, self.raises = self.raises, False  # later ones would only be printed
        if raises:
            raise KeyError("in a callback")

    def step_complete(self, phase_name, step):
        return True

    def phase_finish(self, phase_name):
        pass


def build(raises):
    """One build with its objects; a weak reference to what it was given."""
    builder, network = support.small_network(trt, LOGGER)
    monitor = Monitor(raises)

    def configure(config):
        config.progress_monitor = monitor

    try:
        plan = support.plan_of(trt, builder, network, configure)
        context = trt.Runtime(LOGGER).deserialize_cuda_engine(plan).create_execution_context()
        assert context.engine.num_io_tensors == 2 and not raises
    except KeyError:
        assert raises
    return weakref.ref(monitor)


def thousand_builds(raises):
    most = 2 << 20
    for _ in range(200):  # pools and caches fill up
        build(raises)
    gc.collect()
    objects, before = len(gc.get_objects()), resident()
    seen = [build(raises) for _ in range(BUILDS)]
    gc.collect()
    alive = sum(reference() is not None for reference in seen)
    assert alive == 0, f"{alive} of {BUILDS} monitors are alive"
    del seen
    grown, more = resident() - before, len(gc.get_objects()) - objects
    print(f"{BUILDS} builds: {grown / 1024:.0f} KiB and {more} objects of Python more than before")
    assert more <= 20, f"{more} objects of Python more are alive after {BUILDS} builds"
    assert grown <= most, f"{grown / 1024:.0f} KiB more are resident after {BUILDS} builds; expected at most {most / 1024:.0f}"


def test_thousand_builds_leave_nothing():
    thousand_builds(False)


def test_thousand_builds_that_raise_leave_nothing():
    thousand_builds(True)


if __name__ == "__main__":
    support.SECONDS, support.SHOWS = 280 + BUILDS // 5, True
    sys.exit(support.run_all(support.cases_of(globals()), sys.argv[1:]))
