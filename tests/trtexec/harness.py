# SPDX-License-Identifier: Apache-2.0
"""What the cases of trtexec share: their table, a run of the program, the digits model and its golden answers."""
import array
import json
import pathlib
import re
import subprocess
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DIGITS = ROOT / "models" / "digits"
MODEL = DIGITS / "digits.onnx"
BATCHES = ["--minShapes=input:1x1x28x28", "--optShapes=input:4x1x28x28", "--maxShapes=input:10x1x28x28"]
SHORT = ["--warmUp=0", "--duration=0", "--iterations=5"]
CASES = {}

given = types.SimpleNamespace(program=None, engine=None)  # the program of this run, and the engine that `build` makes


def case(function):
    CASES[function.__name__] = function
    return function


def check(truth, message):
    if not truth:
        sys.exit(f"failed: {message}")


class Run:
    """One run of the program; it may fail, but never by a signal."""

    def __init__(self, *arguments, folder=None):
        self.words = [str(given.program), *(str(argument) for argument in arguments)]
        done = subprocess.run(self.words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, timeout=240)
        self.status, self.out, self.err = done.returncode, done.stdout.decode(), done.stderr.decode()
        check(self.status in (0, 1), f"{' '.join(self.words)}: status {self.status}\n{self.out}\n{self.err}")

    def good(self):
        check(self.status == 0, f"{' '.join(self.words)}: status {self.status}\n{self.out}\n{self.err}")
        check("&&&& PASSED TensorRT.trtexec [TensorRT v" in self.out, f"no PASSED line in\n{self.out}")
        return self

    def bad(self, *patterns):
        check(self.status == 1, f"{' '.join(self.words)}: succeeded, and should not\n{self.out}")
        check("&&&& PASSED" not in self.out, "a failed run says PASSED")
        for pattern in patterns:
            check(re.search(pattern, self.err), f"no error line fits '{pattern}' in\n{self.err}")
        return self

    def warns(self, times, about):
        lines = [line for line in self.out.splitlines() if "[W]" in line and about in line]
        check(len(lines) == times, f"{len(lines)} warnings of {about}, expected {times}:\n{self.out}")
        return self

    def says(self, *patterns):
        for pattern in patterns:
            check(re.search(pattern, self.out), f"no line fits '{pattern}' in\n{self.out}")
        return self


def read_picture(path):
    data = path.read_bytes()
    header = re.match(rb"P5\s+28\s+28\s+255\s", data)
    check(header, f"{path}: not the picture that was expected")
    return array.array("f", (value / 255 for value in data[header.end():]))


def write_samples(folder):
    """The ten sample pictures as one raw file."""
    path = folder / "samples.raw"
    with open(path, "wb") as file:
        for digit in range(10):
            read_picture(DIGITS / "samples" / f"{digit}.pgm").tofile(file)
    return path


def check_golden(path):
    """The exported outputs are those that another program computed from the same pictures."""
    golden = json.loads((DIGITS / "golden.json").read_text())
    (output,) = json.loads(path.read_text())
    check(output["dimensions"] == "10x10", f"the output is {output['dimensions']}")
    expected = [value for row in golden["probabilities"] for value in row]
    check(len(output["values"]) == len(expected), f"{len(output['values'])} values")
    worst = max(abs(got - want) for got, want in zip(output["values"], expected))
    check(worst <= golden["tolerance"], f"the worst difference to the golden values is {worst}")


def run_samples(folder, *arguments):
    exported = folder / "outputs.json"
    run = Run(f"--loadEngine={given.engine}", "--shapes=input:10x1x28x28",
              f"--loadInputs=input:{write_samples(folder)}", f"--exportOutput={exported}", *SHORT, *arguments).good()
    check_golden(exported)
    return run
