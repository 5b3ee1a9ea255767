# SPDX-License-Identifier: Apache-2.0
"""The module on several threads and in processes that were forked: builds and runs side by side, callbacks from any thread, objects that
are freed elsewhere than they were made."""
import gc
import multiprocessing
import os
import queue
import sys
import threading

import support

support.need_numpy()
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import tensorrt as trt  # noqa: E402  pylint: disable=wrong-import-position

LOGGER = trt.Logger(trt.Logger.ERROR)
X = np.array([1, -2, 3], np.float32)


def together(*functions):
    """Runs functions on threads of their own; raises what the first one raised."""
    raised = queue.Queue()

    def run(function):
        try:
            function()
        except BaseException as error:  # pylint: disable=broad-except
            raised.put(error)

    threads = [threading.Thread(target=run, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not raised.empty():
        raise raised.get()


def test_runs_leave_the_lock():
    """While one thread builds or runs, another goes on."""
    runner, count, done = trt.Runner(support.small_engine(trt)), [0], threading.Event()

    def counts():
        while not done.is_set():
            count[0] += 1

    thread = threading.Thread(target=counts)
    thread.start()
    for _ in range(3):
        assert support.plan_of(trt, *support.small_network(trt, LOGGER)) is not None
        runner(X)
    done.set()
    thread.join()
    assert count[0] > 1000


def runs(engine, factor, times):
    runner = trt.Runner(engine)
    for _ in range(times):
        answer = runner(X * factor)["y"]
        assert np.array_equal(answer, 2 * X * factor), (factor, answer)


def in_fork(function):
    """Whether the function succeeds in a forked process."""
    return os.waitpid(support.forked(function), 0)[1] == 0


def test_contexts_of_one_engine():
    engine = support.small_engine(trt)
    together(*[lambda n=n: runs(engine, n, 50) for n in range(4)])


def test_builds_and_runs_side_by_side():
    """Builds with callbacks of Python on some threads, executions on others, objects freed on whatever thread is the last."""
    engine = support.small_engine(trt)

    class Logger(trt.ILogger):
        def __init__(self):
            trt.ILogger.__init__(self)
            self.count = 0

        def log(self, severity, msg):
            self.count += 1

    class Monitor(trt.IProgressMonitor):
        def __init__(self):
            trt.IProgressMonitor.__init__(self)
            self.threads = set()

        def phase_start(self, phase_name, parent_phase, num_steps):
            self.threads.add(threading.get_ident())

        def step_complete(self, phase_name, step):
            return True

        def phase_finish(self, phase_name):
            pass

    def build(scale):
        for _ in range(5):
            logger, monitor = Logger(), Monitor()
            plan = support.plan_of(trt, *support.small_network(trt, logger, scale), lambda c, m=monitor: setattr(c, "progress_monitor", m))
            answer = trt.Runner(bytes(plan), logger=logger)(X)["y"]
            assert np.array_equal(answer, scale * X), (scale, answer)
            assert logger.count and monitor.threads

    def collect():
        for _ in range(20):
            gc.collect()

    together(*[lambda s=s: build(s) for s in (2.0, 3.0, -1.5)], *[lambda n=n: runs(engine, n, 200) for n in (1, 5)], collect)


def test_loggers_of_python_on_threads():
    class Logger(trt.ILogger):
        def __init__(self):
            trt.ILogger.__init__(self)
            self.messages = []

        def log(self, severity, msg):
            self.messages.append(msg)

    def broken(logger):
        builder, network = support.small_network(trt, logger)
        network.unmark_output(network.get_output(0))
        assert builder.build_serialized_network(network, builder.create_builder_config()) is None

    loggers = [Logger() for _ in range(4)]
    together(*[lambda one=one: broken(one) for one in loggers])
    assert all(logger.messages for logger in loggers)


def test_arguments_of_threads():
    """Arrays become weights, tuples extents, on several threads at once."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def add():
        builder = trt.Builder(LOGGER)
        network = builder.create_network()
        for _ in range(300):
            layer = network.add_constant((3,), np.ones(3, np.float32))
            network.add_shuffle(layer.get_output(0)).reshape_dims = (1, 3)

    together(*[add] * 4)
    sys.setswitchinterval(before)


def test_objects_freed_elsewhere():
    made = queue.Queue()

    def make():
        for _ in range(10):
            runner = trt.Runner(support.small_engine(trt))
            runner(X)
            made.put(runner)

    def free():
        for _ in range(10):
            made.get(timeout=50)

    together(make, free)


def test_forks():
    """The engine of the parent, an engine of their own, a child of a child; the parent goes on."""
    engine = support.small_engine(trt)
    runs(engine, 1, 2)
    assert in_fork(lambda: runs(engine, 3, 5))
    assert in_fork(lambda: runs(support.small_engine(trt), 2, 5))
    assert in_fork(lambda: runs(engine, 1, 1) or in_fork(lambda: runs(engine, 4, 2)) or os._exit(2))
    runs(engine, 7, 2)


def test_fork_while_others_run():
    """Children begin while other threads of the parent execute: they have one thread, and work."""
    engine, done = support.small_engine(trt), threading.Event()
    runs(engine, 2, 1)  # what is made at the first execution of a process is there

    def run():
        while not done.is_set():
            runs(engine, 2, 5)

    def fork():
        try:
            for _ in range(5):
                assert in_fork(lambda: runs(support.small_engine(trt), 3, 3))
        finally:
            done.set()

    together(run, run, fork)


def work(factor):
    """In another process, which `spawn` begins with nothing."""
    runner = trt.Runner(support.small_engine(trt))
    return runner(X * factor)["y"].tolist()


def test_pools_of_processes():
    for way in ("fork", "spawn"):
        with multiprocessing.get_context(way).Pool(2) as pool:
            assert pool.map(work, range(4)) == [(2 * X * factor).tolist() for factor in range(4)], way


if __name__ == "__main__":
    sys.exit(support.run_all(support.cases_of(globals()), sys.argv[1:]))
