# SPDX-License-Identifier: Apache-2.0
"""Cases of the memory that loading an engine takes."""
import array
import os
import pathlib
import random
import subprocess
import time

from harness import Run, case, check, given

EXTENT = 3584  # of a square matrix, 49 MiB
MATRICES = 3
SLACK = 48 << 20  # what a process has without weights


def field(number, value):
    """A field of a protobuf message: a number, or bytes."""

    def varint(n):
        return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])

    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def value_info(name):
    dims = b"".join(field(1, field(1, extent)) for extent in (8, EXTENT))
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, dims)))


def write_model(path):
    """x, multiplied by one matrix after the other."""
    generator = random.Random(1)
    row = array.array("f", (generator.uniform(-1, 1) for _ in range(EXTENT)))
    graph = field(2, "g")
    for k in range(MATRICES):
        values = b"".join((row[i:] + row[:i]).tobytes() for i in range(k, k + EXTENT))
        graph += field(5, field(1, EXTENT) + field(1, EXTENT) + field(2, 1) + field(8, f"w{k}") + field(9, values))
        source, result = f"x{k}", f"x{k + 1}"
        graph += field(1, field(1, source) + field(1, f"w{k}") + field(2, result) + field(3, f"product{k}") + field(4, "MatMul"))
    graph += field(11, value_info("x0")) + field(12, value_info(f"x{MATRICES}"))
    path.write_bytes(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13)))


def most_memory(*arguments):
    """The most bytes beside mapped files that the process had at a time."""
    most = 0
    with subprocess.Popen([str(given.program), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        status = pathlib.Path(f"/proc/{process.pid}/status")
        while process.poll() is None:
            lines = status.read_text().splitlines() if status.exists() else []
            most = max([most, *(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon"))])
            time.sleep(0.001)
        text = process.stdout.read().decode()
    check(process.returncode == 0, f"{arguments}: status {process.returncode}\n{text}")
    return most


@case
def weights_are_loaded_once(folder):
    model, engine = folder / "model.onnx", folder / "engine"
    write_model(model)
    Run(f"--onnx={model}", f"--saveEngine={engine}", "--skipInference", "--builderOptimizationLevel=0").good()
    size = os.path.getsize(engine)
    check(size > MATRICES * 4 * EXTENT * EXTENT, f"an engine of {size} bytes")
    run = ("--iterations=1", "--duration=0", "--warmUp=0")
    one = size // MATRICES
    for flags, allowed in (([], size), (["--asyncFileReader"], size + one)):  # read into place, then packed one by one
        most = most_memory(f"--loadEngine={engine}", *flags, *run)
        print(f"{' '.join(flags) or 'mapped'}: {most / size:.2f} of the engine's {size >> 20} MiB")
        check(most < allowed + SLACK, f"{flags}: {most >> 20} MiB for an engine of {size >> 20} MiB")
