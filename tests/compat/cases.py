# SPDX-License-Identifier: Apache-2.0
"""Runs every test_* function of the test_*.py files of this folder, each in a process of its own, and counts them."""
import importlib
import os
import pathlib
import signal
import sys
import time
import traceback

import support

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 300
SKIPPED = 77


def child(function):
    """Runs in the new process: the exit status tells how the test ended, its output why."""
    signal.alarm(SECONDS)
    try:
        function()
        status = 0
    except support.Skip as reason:
        print(reason)
        status = SKIPPED
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc(limit=-4, file=sys.stdout)
        status = 1
    sys.stdout.flush()
    os._exit(status)


def outcome(function):
    """(status, text) of one test: 0 for passed, SKIPPED for skipped."""
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
        return 1, text + (f"took more than {SECONDS} s\n" if name == "SIGALRM" else f"ended by {name}\n")
    return os.WEXITSTATUS(status), text


def report(title, function, counts):
    reason = getattr(function, "expected_failure", None)
    start = time.monotonic()
    status, text = outcome(function)
    took = f"{time.monotonic() - start:.1f} s"
    if status == SKIPPED:
        counts["skipped"] += 1
        print(f"skipped  {title}: {text.strip()}")
    elif reason and status:
        counts["expected failures"] += 1
        print(f"expected failure  {title}: {reason}")
    elif not reason and not status:
        counts["passed"] += 1
        print(f"passed  {title} {took}")
    else:
        counts["failed"] += 1
        print(f"FAILED  {title} {took}\n{text if status else f'  passes, though marked as unsupported: {reason}'}")
    sys.stdout.flush()


def main():
    wanted = sys.argv[1:]
    counts = {"passed": 0, "failed": 0, "expected failures": 0, "skipped": 0}
    for file in sorted(HERE.glob("test_*.py")):
        module = importlib.import_module(file.stem)
        for name in [n for n in vars(module) if n.startswith("test_") and callable(getattr(module, n))]:
            title = f"{file.stem.removeprefix('test_')}.{name.removeprefix('test_')}"
            if not wanted or any(w in title for w in wanted):
                report(title, getattr(module, name), counts)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
