# SPDX-License-Identifier: Apache-2.0
"""Cases of files that are not what they were named as: folders, pipes, devices, empty ones, ten gigabytes of nothing."""
import os
import pathlib
import resource
import time

from harness import BATCHES, MODEL, SHORT, Run, case, check, given

SECONDS = 20  # for a refusal, on a machine that does much else; reading ten gigabytes takes longer or needs the memory
MEMORY = 2 << 30


def refused(pattern, *arguments):
    """Ends soon, with an error that fits, and without the memory that reading the file would take."""
    words = [str(given.program), *map(str, arguments)]
    begin = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    Run(*arguments).bad(pattern)
    check(time.perf_counter() - begin < SECONDS, f"{' '.join(words)}: took {time.perf_counter() - begin:.1f} s to say no")
    after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    check(after == before or after * 1024 < MEMORY, f"{' '.join(words)}: {after} KiB were resident")


def strange_files(folder):
    """(file, what is said of it): things that cannot be read as a file."""
    fifo = folder / "fifo"
    if not fifo.exists():
        os.mkfifo(fifo)
    return [("/dev/zero", "a device"), (fifo, "a pipe"), (folder, "a folder"), (folder / "missing", "No such file")]


def sparse(folder):
    file = folder / "sparse"
    with open(file, "wb") as stream:
        stream.truncate(10 << 30)
    return file


@case
def strange_engines_are_refused(folder):
    empty = folder / "empty"
    empty.write_bytes(b"")
    foreign = folder / "foreign"
    foreign.write_bytes(b"ftrt" + bytes(100))
    cases = [*strange_files(folder), (empty, "it is empty"), (sparse(folder), "its first bytes are not"), (foreign, "an engine of NVIDIA")]
    for file, said in cases:
        for flags in ([], ["--asyncFileReader"], ["--timeDeserialize"], ["--getPlanVersionOnly"]):
            refused(f"'{file}'.*{said}", f"--loadEngine={file}", *flags)


@case
def strange_timing_caches_are_refused(folder):
    for file, said in [*strange_files(folder)[:-1], (sparse(folder), "holds no timing cache")]:
        before = pathlib.Path(file).stat()
        refused(f"'{file}'.*{said}", f"--onnx={MODEL}", *BATCHES, "--skipInference", f"--timingCacheFile={file}")
        check(pathlib.Path(file).stat().st_size == before.st_size, f"{file} was changed")
    empty = folder / "empty"  # as mktemp makes it
    empty.write_bytes(b"")
    Run(f"--onnx={MODEL}", *BATCHES, "--skipInference", f"--timingCacheFile={empty}").good()
    check(empty.stat().st_size > 0, "the cache was not written")


@case
def strange_inputs_are_refused(folder):
    for file, said in [*strange_files(folder), (sparse(folder), "has 10737418240 bytes")]:
        refused(f"'{file}'.*{said}", f"--loadEngine={given.engine}", f"--loadInputs=input:{file}", "--shapes=input:1x1x28x28", *SHORT)
