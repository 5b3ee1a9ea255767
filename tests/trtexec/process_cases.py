# SPDX-License-Identifier: Apache-2.0
"""Cases of how processes of trtexec end: full disks, killed and interrupted processes, terminals."""
import os
import pathlib
import pty
import random
import re
import resource
import signal
import subprocess
import sys
import time

from harness import BATCHES, MODEL, ROOT, Run, case, check, given


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


@case
def builds_end_by_interrupt(folder):
    models = pathlib.Path(os.environ.get("TENON_MODELS", ROOT.parent / "shared" / "models"))
    model = models / "onnx" / "det_yolox_nano_coco.onnx"
    if not model.exists():
        print(f"skipped: {model} is not there; a build that lasts long enough needs a larger model")
        sys.exit(77)
    path = folder / "engine"
    words = [str(given.program), f"--onnx={model}", "--skipInference", "--builderOptimizationLevel=5",
             f"--saveEngine={path}"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:
            if "Finished parsing" in line:
                break
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        check(process.wait(timeout=60) == 1, f"status {process.returncode} after an interrupt\n{rest}")
    check("the build was cancelled" in rest and "&&&& FAILED" in rest, f"no word of the cancellation in\n{rest}")
    check(not path.exists(), "a cancelled build wrote an engine")


@case
def progress_is_drawn_on_a_terminal(folder):
    words = [str(given.program), f"--onnx={MODEL}", *BATCHES, "--skipInference"]
    child, terminal = pty.fork()
    if child == 0:
        os.environ["TERM"] = "xterm"
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
    check(b"\r\033[K" in seen and re.search(rb"\[=* *\] \d+/\d+", seen), f"no progress in\n{seen.decode()}")
    lines = [line for line in seen.decode().splitlines() if "Engine built in" in line]
    check(len(lines) == 1 and "[I] Engine built in" in lines[0], f"the progress spoils the log: {lines}")
    check("\033" not in Run(f"--onnx={MODEL}", *BATCHES, "--skipInference").out, "progress in a file")
