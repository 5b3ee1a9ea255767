# SPDX-License-Identifier: Apache-2.0
"""Runs every test_* function of the test_*.py files of this folder, each in a process of its own, and counts them."""
import importlib
import os
import pathlib
import signal
import sys
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 120


def child(function):
    """Runs in the new process: the exit status tells how the test ended, its output why."""
    signal.alarm(SECONDS)
    try:
        function()
        status = 0
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc(limit=-4, file=sys.stdout)
        status = 1
    sys.stdout.flush()
    os._exit(status)


def outcome(function):
    """(passed, text) of one test."""
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
        name = signal.Signals(os.WTERMSIG(status)).name
        return False, text + (f"took more than {SECONDS} s\n" if name == "SIGALRM" else f"ended by {name}\n")
    return os.WEXITSTATUS(status) == 0, text


def main():
    wanted = sys.argv[1:]
    passed = failed = expected = 0
    for file in sorted(HERE.glob("test_*.py")):
        module = importlib.import_module(file.stem)
        for name in [n for n in vars(module) if n.startswith("test_") and callable(getattr(module, n))]:
            title = f"{file.stem.removeprefix('test_')}.{name.removeprefix('test_')}"
            if wanted and not any(w in title for w in wanted):
                continue
            function = getattr(module, name)
            reason = getattr(function, "expected_failure", None)
            start = time.monotonic()
            good, text = outcome(function)
            took = f"{time.monotonic() - start:.1f} s"
            if reason and not good:
                expected += 1
                print(f"expected failure  {title}: {reason}")
            elif good and not reason:
                passed += 1
                print(f"passed  {title} {took}")
            else:
                failed += 1
                print(f"FAILED  {title} {took}\n{text or '  passes, though a failure is expected: ' + str(reason)}")
            sys.stdout.flush()
    print(f"{passed} passed, {failed} failed, {expected} expected failures")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    sys.exit(main())
