# SPDX-License-Identifier: Apache-2.0
"""Cases of how processes of trtexec end: full disks, killed and interrupted processes, terminals."""
import fcntl
import os
import pathlib
import pty
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import termios
import time

from harness import BATCHES, MODEL, SHORT, Run, case, check, given


@case
def a_full_disk_leaves_no_engine(folder):
    full = pathlib.Path("/dev/full")
    if not full.exists():
        print("skipped: this system has no /dev/full")
        sys.exit(77)
    Run(f"--onnx={MODEL}", *BATCHES, "--skipInference", f"--saveEngine={full}").bad("cannot write")


def run_with_small_files(limit, ignored, *arguments):
    """Runs the program where no file may grow beyond `limit` bytes: the write in the middle ends it, or fails."""

    def restrict():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN if ignored else signal.SIG_DFL)

    return subprocess.run([str(given.program), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          preexec_fn=restrict, restore_signals=False, timeout=240)


@case
def what_ends_a_write_leaves_the_old_file(folder):
    saved, cache = folder / "saved", folder / "cache"
    build_it = [f"--onnx={MODEL}", *BATCHES, "--skipInference", f"--saveEngine={saved}", f"--timingCacheFile={cache}"]
    Run(*build_it).good()
    whole = {path: path.read_bytes() for path in (saved, cache)}
    for path in (saved, cache):
        others = [word for word in build_it if str(path) in word or not word.startswith(("--save", "--timing"))]
        for ignored in (False, True):
            run = run_with_small_files(len(whole[path]) // 2, ignored, *others)
            expected = 1 if ignored else -signal.SIGXFSZ
            check(run.returncode == expected,
                  f"{path.name}: status {run.returncode}, expected {expected}\n{run.stderr.decode()}")
            check(path.read_bytes() == whole[path], f"{path.name} is neither the old file nor a new one")
            left = [file for file in folder.iterdir() if file not in whole]
            check(bool(left) != ignored,
                  f"a failed write left {left}" if ignored else "nothing was written in part: no test")
            for file in left:
                file.unlink()
    Run(*build_it).good()


@case
def a_killed_process_leaves_the_old_file_or_the_new_one(folder):
    saved, cache = folder / "saved", folder / "cache"
    build = [str(given.program), f"--onnx={MODEL}", "--skipInference", f"--saveEngine={saved}",
             f"--timingCacheFile={cache}"]
    shapes = [BATCHES, ["--minShapes=input:1x1x28x28", "--optShapes=input:2x1x28x28", "--maxShapes=input:3x1x28x28"]]
    for words in shapes * 2:  # afterwards the cache has both, and nothing is measured any more
        Run(*build[1:], *words).good()
    engines, caches, seconds = set(), {cache.read_bytes()}, 0.0
    for words in shapes:
        begin = time.perf_counter()
        Run(*build[1:], *words).good()
        seconds = max(seconds, time.perf_counter() - begin)
        engines.add(saved.read_bytes())
        caches.add(cache.read_bytes())
    check(len(engines) == 2, f"{len(engines)} engines of two ranges of shapes")
    generator, killed, torn = random.Random(7), 0, 0
    for i in range(int(os.environ.get("TENON_KILLS", 20))):
        words = [*build, *shapes[i % 2]]
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            time.sleep(generator.uniform(0, seconds))
            process.kill()
        killed += process.wait() == -signal.SIGKILL
        check(saved.read_bytes() in engines, f"kill {i}: the engine is neither of the two")
        check(cache.read_bytes() in caches, f"kill {i}: the timing cache is not what it was")
        for part in folder.glob("*.part*"):
            torn += 1
            part.unlink()
    check(killed > 0, "every process ended before it was killed: no test")
    print(f"{killed} processes killed, {torn} of them in the middle of a write")


@case
def endless_runs_end_by_interrupt(folder):
    words = [str(given.program), f"--loadEngine={given.engine}", "--shapes=input:1x1x28x28", "--duration=-1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:
            if "Starting inference" in line:
                break
        try:
            process.wait(timeout=1)
            sys.exit("failed: the endless run ended by itself")
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        check(process.wait(timeout=30) != 0, "an interrupted run says that it succeeded")


def interrupt(words, *signals):
    """Runs a build that lasts some seconds, since it measures often, and sends it signals; the status and the text.

    Several signals arrive together: the process is stopped while they are sent, so that it cannot end between them."""
    words = [str(given.program), f"--onnx={MODEL}", "--skipInference", "--avgTiming=1000000", "--verbose", *words]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        timed = 0
        for line in process.stdout:
            timed += "timed " in line
            if timed == 5:
                break
        for number in (signal.SIGSTOP, *signals, signal.SIGCONT):
            process.send_signal(number)
        rest = process.stdout.read()
        return process.wait(timeout=60), rest


@case
def builds_end_by_interrupt(folder):
    path, cache = folder / "engine", folder / "cache"
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        status, rest = interrupt([f"--saveEngine={path}", f"--timingCacheFile={cache}"], number)
        check(status == 128 + number, f"status {status} after {number!r}\n{rest}")
        check(re.search(rf"cancelled by .*{number.name}.*no engine was written, and the next build goes on", rest)
              and "&&&& FAILED" in rest, f"no word of the cancellation in\n{rest}")
        check([file.name for file in folder.iterdir()] == ["cache"], f"{list(folder.iterdir())} after {number!r}")
        # Five measurements and their names; a build at level 0 shows what an empty cache is.
        empty = folder / "empty"
        Run(f"--onnx={MODEL}", "--skipInference", "--builderOptimizationLevel=0", f"--timingCacheFile={empty}").good()
        check(cache.stat().st_size > empty.stat().st_size + 5 * 50, "the timings of the cancelled build are lost")
        Run(f"--onnx={MODEL}", "--skipInference", f"--timingCacheFile={cache}").good().says(
            r"Loaded \d+ bytes of timing cache", r"[1-9]\d* from the timing cache")
        empty.unlink()
        cache.unlink()
    status, rest = interrupt([], signal.SIGINT)
    check(status == 130 and "--timingCacheFile=<file> would have kept the timings" in rest, f"status {status}\n{rest}")


@case
def a_second_interrupt_ends_a_build_at_once(folder):
    path = folder / "engine"
    # Of two signals that are there together, the system chooses which one is handled first.
    status, rest = interrupt([f"--saveEngine={path}"], signal.SIGINT, signal.SIGTERM)
    check(status in (-signal.SIGTERM, -signal.SIGINT), f"status {status}\n{rest}")
    check(rest.count("Once more ends it at once") == 1, rest)
    check(not list(folder.iterdir()), f"it left {list(folder.iterdir())}")


def unwritable(folder, arguments, redirected):
    """Runs where the standard output is a full disk, or closed; the status and the error lines."""
    words = " ".join(f"'{word}'" for word in [given.program, *arguments])
    done = subprocess.run(["sh", "-c", f"{words} {redirected}"], stderr=subprocess.PIPE, cwd=folder, timeout=240)
    return done.returncode, done.stderr.decode()


@case
def output_that_is_lost_is_an_error(folder):
    engine = folder / "engine"
    load = [f"--loadEngine={given.engine}", *SHORT]
    for arguments in (["--help"], ["--version"], ["--help=man"], [], load, [*load, "--dumpOutput"],
                      [*load, "--dumpProfile"], [*load, "--dumpLayerInfo"],
                      [f"--onnx={MODEL}", "--skipInference", f"--saveEngine={engine}"]):
        for redirected, reason in ((">/dev/full", "No space left on device"), (">&-", "Bad file descriptor")):
            status, text = unwritable(folder, arguments, redirected)
            check(status == 1 and f"the standard output could not be written: {reason}" in text,
                  f"{arguments} {redirected}: status {status}\n{text}")
    # A file that is opened while the standard output is closed must not take its place, and its lines.
    check(engine.read_bytes()[:8] == b"TENONPLN" and b"[I]" not in engine.read_bytes()[-2000:], "the log is in the engine")
    Run(f"--loadEngine={engine}", *SHORT).good()


@case
def files_on_a_full_disk_are_named(folder):
    load = [f"--loadEngine={given.engine}", *SHORT]
    for flag in ("--exportTimes", "--exportOutput", "--exportProfile", "--exportLayerInfo"):
        Run(*load, f"{flag}=/dev/full").bad("cannot write .*'/dev/full'.*No space left on device")


def on_terminal(columns, *arguments):
    """What the program writes to a terminal of so many columns."""
    words = [str(given.program), *map(str, arguments)]
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm"
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execv(words[0], words)
    seen = b""
    while True:
        try:
            data = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other side is closed
            break
        if not data:
            break
        seen += data
    check(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, seen.decode())
    return seen


@case
def progress_is_drawn_on_a_terminal(folder):
    seen = on_terminal(80, f"--onnx={MODEL}", *BATCHES, "--skipInference")
    check(b"\r\033[K" in seen and re.search(rb"\[=* *\] \d+/\d+", seen), f"no progress in\n{seen.decode()}")
    lines = [line for line in seen.decode().splitlines() if "Engine built in" in line]
    check(len(lines) == 1 and "[I] Engine built in" in lines[0], f"the progress spoils the log: {lines}")
    check("\033" not in Run(f"--onnx={MODEL}", *BATCHES, "--skipInference").out, "progress in a file")


@case
def progress_fits_the_terminal(folder):
    for columns in (80, 40):
        seen = on_terminal(columns, f"--onnx={MODEL}", *BATCHES, "--skipInference").decode()
        # A status line is what stands between two returns to the first column, without an end of its own.
        drawn = [part for part in re.split("\r\033\\[K", seen)[1:] if part and "\n" not in part]
        check(drawn, f"no progress in\n{seen!r}")
        for line in drawn:
            check(len(line) < columns, f"{len(line)} characters on {columns} columns: {line!r}")
            check(re.search(r" \d+/\d+$", line), f"no count at the end of {line!r}")
        outer = {match[1] for match in re.finditer(r"^Building [^>]*?(\d+/3)", "\n".join(drawn), re.MULTILINE)}
        check({"0/3", "1/3", "2/3"} <= outer, f"the outer phase was seen at {outer} in {drawn}")
