# SPDX-License-Identifier: Apache-2.0
"""What the tests of the Python module share: cases that run in processes of their own, and why one cannot run."""
import ctypes
import gc
import os
import pathlib
import signal
import sys
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DIGITS = ROOT / "models/digits"
DIGITS_SHAPE = (1, 1, 28, 28)
SKIPPED = 77
SECONDS = 60
SHOWS = False  # what cases print, also those that pass


class Skip(Exception):
    """Raised by a test that cannot run here; says why."""


def forked(function):
    """Calls the function in a forked process, whose status is 0 where it returns; the number of the process."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            function()
            status = 0
        finally:
            os._exit(status)
    return child


def need_numpy():
    """Ends the script where this Python has no numpy: its tests are skipped, and say so."""
    try:
        import numpy  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        print(f"skipped: numpy is missing for {sys.executable} (Debian: python3-numpy)")
        sys.exit(SKIPPED)


def child(function):
    signal.alarm(SECONDS)
    try:
        function()
        status = 0
    except Skip as reason:
        print(reason)
        status = SKIPPED
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc(file=sys.stdout)
        status = 1
    sys.stdout.flush()
    if status == 0 and leaks():
        status = 1
    sys.stderr.flush()
    os._exit(status)


def leaks():
    """Whether the leak sanitizer, where the process has it, finds memory that nothing leads to; it prints what."""
    gc.collect()
    check = getattr(ctypes.CDLL(None), "__lsan_do_recoverable_leak_check", None)
    return check is not None and os.path.isdir("/proc/self") and check() != 0  # it reads the threads there


def run_one(function):
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        os.dup2(writing, 1)
        os.dup2(writing, 2)
        child(function)
    os.close(writing)
    with os.fdopen(reading, errors="replace") as pipe:
        text = pipe.read()
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status):
        return 1, text + f"ended by {signal.Signals(os.WTERMSIG(status)).name}\n"
    return os.WEXITSTATUS(status), text


def run_all(cases, wanted=()):
    """Runs functions by name, each in a process of its own: a crash costs one case. The status for sys.exit."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for name, function in cases.items():
        if wanted and not any(part in name for part in wanted):
            continue
        start = time.monotonic()
        status, text = run_one(function)
        outcome = {0: "passed", SKIPPED: "skipped"}.get(status, "failed")
        counts[outcome] += 1
        print(f"{outcome}  {name} {time.monotonic() - start:.1f} s" + (f": {text.strip()}" if outcome != "passed" or SHOWS and text else ""), flush=True)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if counts["failed"] or not counts["passed"] else 0


def cases_of(module):
    return {name.removeprefix("test_"): value for name, value in module.items() if name.startswith("test_")}


def raises(kind, function, *arguments, **named):
    """The message of the exception that the call must raise."""
    try:
        function(*arguments, **named)
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def digit(runner, number):
    """What a Runner of the shipped model reads in one of its samples."""
    import numpy as np  # pylint: disable=import-outside-toplevel
    data = np.frombuffer((DIGITS / f"samples/{number}.pgm").read_bytes()[-784:], np.uint8)
    (answer,) = runner((data.reshape(1, 1, 28, 28) / 255).astype(np.float32)).values()
    return int(answer.argmax())


def small_network(trt, logger, scale=2.0, size=3):
    """(builder, network) of y = scale * x. The array of the constant has no other name: the network keeps it."""
    import numpy as np  # pylint: disable=import-outside-toplevel
    builder = trt.Builder(logger)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (size,))
    factor = network.add_constant((size,), np.full(size, scale, np.float32)).get_output(0)
    y = network.add_elementwise(x, factor, trt.ElementWiseOperation.PROD).get_output(0)
    y.name = "y"
    network.mark_output(y)
    return builder, network


def plan_of(trt, builder, network, configure=None):
    config = builder.create_builder_config()
    config.builder_optimization_level = 0
    if configure:
        configure(config)
    return builder.build_serialized_network(network, config)


def small_engine(trt, logger=None, scale=2.0):
    logger = logger or trt.Logger(trt.Logger.ERROR)
    return trt.Runtime(logger).deserialize_cuda_engine(plan_of(trt, *small_network(trt, logger, scale)))


def digits_plan(trt, logger):
    """Convolutions, poolings and products, which oneDNN computes, for any batch."""
    builder = trt.Builder(logger)
    network = builder.create_network()
    parser = trt.OnnxParser(network, logger)
    assert parser.parse_from_file(str(DIGITS / "digits.onnx"))
    config = builder.create_builder_config()
    config.builder_optimization_level = 0
    profile = builder.create_optimization_profile()
    profile.set_shape(network.get_input(0).name, DIGITS_SHAPE, (2,) + DIGITS_SHAPE[1:], (4,) + DIGITS_SHAPE[1:])
    config.add_optimization_profile(profile)
    return bytes(builder.build_serialized_network(network, config))


def run_digits(engine, batches):
    import numpy as np  # pylint: disable=import-outside-toplevel
    context = engine.create_execution_context()
    names = [engine.get_tensor_name(i) for i in range(engine.num_io_tensors)]
    for batch in batches:
        assert context.set_input_shape(names[0], (batch,) + DIGITS_SHAPE[1:])
        arrays = [np.zeros(tuple(context.get_tensor_shape(name)), np.float32) for name in names]
        assert context.execute_v2([array.ctypes.data for array in arrays])
        assert np.isfinite(arrays[-1]).all()
