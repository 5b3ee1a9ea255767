# SPDX-License-Identifier: Apache-2.0
"""Forks during the very first execution, build or load of a process, from another thread, at any moment of it: the child, which has none
of the parent's threads, executes, and so does the parent. Each trial is a process of its own, in which nothing has run before.

    first_forks.py [TRIALS] [KIND...]     of each kind; 20 by default

Where a child hangs, gdb, if it is here, says at what.
"""
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import support

support.need_numpy()
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import tensorrt as trt  # noqa: E402  pylint: disable=wrong-import-position

TRIALS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
LONGEST = 30  # seconds that a child may take, beside whatever else the machine does
SIZE = 64 * 1024  # so that loops are cut for several threads
LOGGER = trt.Logger(trt.Logger.ERROR)


def small_plan():
    return support.plan_of(trt, *support.small_network(trt, LOGGER, size=SIZE))


def in_another_process(make):
    """A plan: here nothing may have run before."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(bytes(make()))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        plan = pipe.read()
    os.waitpid(child, 0)
    return plan


def execute(engine):
    x, y = np.arange(SIZE, dtype=np.float32), np.zeros(SIZE, np.float32)
    assert engine.create_execution_context().execute_v2([x.ctypes.data, y.ctypes.data])
    assert np.array_equal(y, 2 * x)


def load(plan):
    return trt.Runtime(LOGGER).deserialize_cuda_engine(plan)


def build():
    return load(bytes(small_plan()))


def run_digits(plan):
    support.run_digits(load(plan), (1, 2))


# What the other thread does while the process forks: (the plan, what is done before, what is done then, what the child does).
KINDS = {"execution": (small_plan, load, execute, lambda plan: execute(load(plan))),
         "load": (small_plan, bytes, lambda plan: execute(load(plan)), lambda plan: execute(load(plan))),
         "build": (small_plan, bytes, lambda plan: execute(build()), lambda plan: execute(load(plan))),
         "digits": (lambda: support.digits_plan(trt, LOGGER), bytes, run_digits, run_digits)}  # what oneDNN computes


def ended(process, seconds=LONGEST):
    """How a process ended: its status, or None where it takes too long and is ended."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return status
        time.sleep(0.0005)
    print(stack_of(process))
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None


def stack_of(process):
    if shutil.which("gdb") is None:
        return f"process {process} hangs; there is no gdb to say at what"
    done = subprocess.run(["gdb", "-p", str(process), "-batch", "-ex", "thread apply all bt 16"], capture_output=True, text=True, check=False)
    return "\n".join(line for line in done.stdout.splitlines() if line.startswith(("#", "Thread")))


def trial(plan, kind, delay):
    """In a fresh process: 0, or 2 for a child that failed and 3 for one that hung."""
    _, before, then, after = KINDS[kind]
    ready, failed = before(plan), []
    begin = threading.Event()

    def other():
        begin.set()
        try:
            then(ready)
        except BaseException as error:  # pylint: disable=broad-except
            failed.append(error)

    thread = threading.Thread(target=other)
    thread.start()
    begin.wait()
    until = time.perf_counter() + delay
    while time.perf_counter() < until:
        pass
    child = support.forked(lambda: after(plan))
    status = ended(child)
    thread.join()
    if failed:
        raise failed[0]
    after(plan)
    os._exit(0 if status == 0 else 3 if status is None else 2)


def main():
    seed = int.from_bytes(os.urandom(4), "little")
    random.seed(seed)
    wrong = 0
    for kind in KINDS if len(sys.argv) < 3 else sys.argv[2:]:
        plan, counts = in_another_process(KINDS[kind][0]), {}
        begin = time.monotonic()
        for _ in range(TRIALS):
            delay = random.choice((0, random.uniform(0, 3e-4), random.uniform(0, 3e-3)))
            status = ended(support.forked(lambda k=kind, d=delay: trial(plan, k, d)), 3 * LONGEST)
            outcome = {0: "right", 2 << 8: "child failed", 3 << 8: "child hung", None: "parent hung"}.get(status, f"status {status}")
            counts[outcome] = counts.get(outcome, 0) + 1
            wrong += outcome != "right"
        print(f"{kind}: {', '.join(f'{count} {outcome}' for outcome, count in counts.items())}; {time.monotonic() - begin:.1f} s", flush=True)
    print(f"seed {seed}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
