#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one model through the small C++ program and compares: at the stored shape, and at others where it is dynamic.

    program.py MODEL static|dynamic TOLERANCE [SHAPE] --program PROGRAM --work FOLDER [--models FOLDER]

One engine serves all shapes of a dynamic model. At batch 3 the stored input stands first and last, so both rows must
give the stored answer. At SHAPE the oracle is ONNX Runtime in a virtual environment; where that cannot be had, the test
says so and leaves out this shape alone.
"""
import argparse
import array
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import check

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from python_environment import environment  # noqa: E402

PEER = """
import sys, numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.log_severity_level = 3
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
shape = [int(extent) for extent in sys.argv[3].split("x")]
value = numpy.fromfile(sys.argv[2], numpy.float32).reshape(shape)
names = [output.name for output in session.get_outputs()]
for name, found in zip(names, session.run(names, {session.get_inputs()[0].name: value})):
    numpy.save(sys.argv[4] + "/" + name.replace("/", "~") + ".npy", found)
    print(name)
"""


def floats(data):
    values = array.array("f")
    values.frombytes(data)
    return values


class Case:
    """One shape of the only dynamic input, or the stored inputs themselves."""

    def __init__(self, inputs):
        self.inputs = inputs  # {name: (shape, bytes)}

    def words(self, folder, number):
        words = ["--case"]
        for k, (name, (shape, data)) in enumerate(self.inputs.items()):
            file = folder / f"in{number}.{k}"
            file.write_bytes(data)
            words += [name, "x".join(map(str, shape)), file]
        return words


def cases_of(inputs, kind, shape):
    """The stored case; batch 3 with another row in the middle; random values of `shape`."""
    cases = [Case({name: (value.shape, bytes(value.data)) for name, value in inputs.items()})]
    if kind == "static":
        return cases
    (name, stored), = inputs.items()
    middle = floats(stored.data)
    middle.reverse()
    row = bytes(stored.data)
    cases.append(Case({name: ((3 * stored.shape[0], *stored.shape[1:]), row + middle.tobytes() + row)}))
    if shape:
        source, values = random.Random(7), floats(stored.data)
        count = 1
        for extent in shape:
            count *= extent
        chosen = array.array("f", (source.choice(values) for _ in range(count)))
        cases.append(Case({name: (shape, chosen.tobytes())}))
    return cases


def expected_of_peer(python, path, case, folder):
    """ONNX Runtime's outputs in the form of stored answers."""
    (shape, data), = case.inputs.values()
    (folder / "peer.in").write_bytes(data)
    done = subprocess.run([str(python), "-c", PEER, str(path), str(folder / "peer.in"), "x".join(map(str, shape)), str(folder)],
                          stdout=subprocess.PIPE, text=True, check=True)
    return [(name, 1, check.golden.read_npy((folder / (name.replace("/", "~") + ".npy")).read_bytes()).values())
            for name in done.stdout.splitlines()]


def found_of(folder, printed, number, prefix=""):
    found = {}
    for line in printed.splitlines():  # among what the builder logs
        words = re.fullmatch(r"(\d+) (\d+) (.+)", line)
        if words and int(words[1]) == number:
            found[words[3]] = floats((folder / f"{prefix}{words[1]}.{words[2]}.raw").read_bytes())
    return found


def rows_of(found, row, rows):
    return {name: values[row * len(values) // rows:(row + 1) * len(values) // rows] for name, values in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    check.add_arguments(parser)
    parser.add_argument("shape", nargs="?", help="a second shape of a dynamic input, 2x3x48x131")
    parser.add_argument("--program", required=True)
    parser.add_argument("--work", required=True, help="where the virtual environment goes")
    parser.add_argument("--level", default="3", help="builder optimization level")
    options = parser.parse_args()
    path, inputs, outputs = check.load_model(options)
    shape = tuple(map(int, options.shape.split("x"))) if options.shape else None
    cases = cases_of(inputs, options.kind, shape)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        words = [word for k, case in enumerate(cases) for word in case.words(folder, k)]
        seconds, printed = check.run(options.program, options.level, path, folder, *words)
        print(f"{options.model}: built, loaded and run at {len(cases)} shapes in {seconds:.1f} s")
        wrong = 0
        for prefix in "", "again.":
            wrong += check.count_wrong(found_of(folder, printed, 0, prefix), outputs, options.tolerance)
            if len(cases) > 1:
                three = found_of(folder, printed, 1, prefix)
                wrong += check.count_wrong(rows_of(three, 0, 3), outputs, options.tolerance)
                wrong += check.count_wrong(rows_of(three, 2, 3), outputs, options.tolerance)
        if len(cases) > 2:
            python, reason = environment(pathlib.Path(options.work) / "venv", ["numpy", "onnxruntime"],
                                         [["numpy", "onnxruntime"]])
            if python is None:
                print(f"left out: {options.shape}, because there is no ONNX Runtime to compare with: {reason}")
            else:
                expected = expected_of_peer(python, path, cases[2], folder)
                for prefix in "", "again.":
                    wrong += check.count_wrong(found_of(folder, printed, 2, prefix), expected, options.tolerance)
    if wrong:
        sys.exit(f"{wrong} outputs are wrong")


if __name__ == "__main__":
    main()
