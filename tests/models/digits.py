#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shipped model on its ten samples, one by one and in batches, against the stored probabilities.

    digits.py --trtexec PROGRAM
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODEL = ROOT / "models/digits"
SAMPLES = [MODEL / "samples" / f"{digit}.pgm" for digit in range(10)]
BATCHES = [[0], [7], [1, 2, 3], [9, 8, 7, 6, 5, 4, 3], list(range(10))]


def run(*command):
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        print("+", " ".join(words))
        sys.exit(f"status {done.returncode}: {done.stdout[-4000:]}")


def check(trtexec, engine, batch, golden, folder):
    raw, answer = folder / "input", folder / "answer.json"
    run(sys.executable, ROOT / "scripts/digits.py", "pack", *[SAMPLES[digit] for digit in batch], raw)
    run(trtexec, f"--loadEngine={engine}", f"--shapes=input:{len(batch)}x1x28x28", f"--loadInputs=input:{raw}",
        f"--exportOutput={answer}", "--iterations=2", "--duration=0", "--warmUp=0")
    (tensor,) = json.loads(answer.read_text())
    if tensor["name"] != "probabilities" or tensor["dimensions"] != f"{len(batch)}x10":
        sys.exit(f"output {tensor['name']} {tensor['dimensions']}; expected probabilities {len(batch)}x10")
    expected = [value for digit in batch for value in golden["probabilities"][digit]]
    found = [float(value) for value in tensor["values"]]
    error = max((abs(a - b) for a, b in zip(found, expected)), default=1.0) if len(found) == len(expected) else 1.0
    passed = error <= golden["tolerance"]
    print(f"batch of {len(batch)}: error {error:.1e}, allowed {golden['tolerance']:.0e}{'' if passed else '  WRONG'}")
    return passed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trtexec", required=True)
    options = parser.parse_args()
    golden = json.loads((MODEL / "golden.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        engine = folder / "engine"
        run(options.trtexec, f"--onnx={MODEL / 'digits.onnx'}", f"--saveEngine={engine}", "--skipInference",
            "--minShapes=input:1x1x28x28", "--optShapes=input:4x1x28x28", "--maxShapes=input:16x1x28x28")
        passed = sum(check(options.trtexec, engine, batch, golden, folder) for batch in BATCHES)
    print(f"{passed} passed, {len(BATCHES) - passed} failed")
    return 0 if passed == len(BATCHES) else 1


if __name__ == "__main__":
    sys.exit(main())
