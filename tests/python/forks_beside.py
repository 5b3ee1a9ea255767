# SPDX-License-Identifier: Apache-2.0
"""Forks while two other threads build, load, execute, set shapes, destroy and log, at any moment: each child does the same once, with
objects of its own, and ends in time.

    forks_beside.py [CHILDREN]     300 by default

Where a child hangs, gdb, if it is here, says at what. What a child prints goes to a file that nobody reads.
"""
import itertools
import os
import random
import sys
import threading
import time

import support

support.need_numpy()
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import tensorrt as trt  # noqa: E402  pylint: disable=wrong-import-position

CHILDREN = int(sys.argv[1]) if len(sys.argv) > 1 else 300
AT_ONCE = 2  # children that are alive


class Quiet(trt.ILogger):
    """Calls of Python from the library."""

    def __init__(self):
        trt.ILogger.__init__(self)
        self.count = 0

    def log(self, severity, msg):
        self.count += 1


LOGGERS = (trt.Logger(trt.Logger.ERROR), trt.Logger(trt.Logger.VERBOSE), Quiet())


class Work:
    """What threads and children do, by turns."""

    def __init__(self):
        self.plan = support.digits_plan(trt, LOGGERS[0])
        self.small = bytes(support.plan_of(trt, *support.small_network(trt, LOGGERS[0], size=65536)))

    def build(self, logger):
        assert support.plan_of(trt, *support.small_network(trt, logger)) is not None

    def build_digits(self, logger):
        assert support.digits_plan(trt, logger)

    def load_and_run(self, logger):
        support.run_digits(trt.Runtime(logger).deserialize_cuda_engine(self.plan), (1, 3, 2))

    def run_small(self, logger):
        engine = trt.Runtime(logger).deserialize_cuda_engine(self.small)
        x, y = np.arange(65536, dtype=np.float32), np.zeros(65536, np.float32)
        for _ in range(3):
            assert engine.create_execution_context().execute_v2([x.ctypes.data, y.ctypes.data])
        assert np.array_equal(y, 2 * x)

    def runner(self, logger):
        answer = trt.Runner(self.plan, logger=logger)(np.zeros(support.DIGITS_SHAPE, np.float32))
        assert all(np.isfinite(array).all() for array in answer.values())

    def all(self):
        return (self.build, self.build_digits, self.load_and_run, self.run_small, self.runner)


def quietly(function):
    """In the child: its messages go nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    function()


def goes_on(work, done, failed, seed):
    choice = random.Random(seed)
    while not done.is_set():
        try:
            choice.choice(work.all())(choice.choice(LOGGERS))
        except BaseException as error:  # pylint: disable=broad-except
            failed.append(error)
            done.set()


def main():
    import first_forks  # for the end of a child  pylint: disable=import-outside-toplevel
    seed = int.from_bytes(os.urandom(4), "little")
    print(f"seed {seed}", flush=True)
    choice = random.Random(seed)
    kept = os.dup(2)
    quietly(lambda: None)
    work, done, failed = Work(), threading.Event(), []
    threads = [threading.Thread(target=goes_on, args=(work, done, failed, seed + 1 + i)) for i in range(2)]
    for thread in threads:
        thread.start()
    begin, wrong, alive = time.monotonic(), 0, []
    tasks = itertools.cycle(work.all())
    for _ in range(CHILDREN):
        time.sleep(choice.uniform(0, 0.004))
        task, logger = next(tasks), choice.choice(LOGGERS)
        alive.append((task.__name__, support.forked(lambda t=task, l=logger: t(l))))
        while len(alive) >= AT_ONCE or done.is_set() and alive:
            name, child = alive.pop(0)
            status = first_forks.ended(child)
            if status != 0:
                print(f"{name}: {'hung' if status is None else f'status {status}'}", flush=True)
                wrong += 1
        if failed:
            break
    for name, child in alive:
        wrong += first_forks.ended(child) != 0
    done.set()
    for thread in threads:
        thread.join()
    os.dup2(kept, 2)
    if failed:
        raise failed[0]
    print(f"{CHILDREN} children, {wrong} wrong; {time.monotonic() - begin:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
