#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes one model from file to answer through trtexec and compares with the stored right answer.

    check.py MODEL static|dynamic TOLERANCE --trtexec PROGRAM [--models FOLDER] [-- FLAG ...]

MODEL is a path below the models folder without .onnx. One process builds the engine and saves it, another loads it,
so the plan file is part of what is tested. Flags after `--` go to the building process. Where the models are not here,
the script says so and ends with status 77.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import golden

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def run(*command):
    words = [str(word) for word in command]
    begin = time.perf_counter()
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        print("+", " ".join(words))
        print("\n".join(done.stdout.splitlines()[-40:]))
        sys.exit(f"{pathlib.Path(words[0]).name} ended with status {done.returncode}")
    return time.perf_counter() - begin, done.stdout


def quoted(name):
    return f"'{name}'" if re.search("[:,]", name) else name


def input_name(path):
    """The name of the only input of a light network, which is `data` or `data_0`, `gpu_0/data_0`."""
    found = re.search(rb"(gpu_0/)?data(_0)?", path.read_bytes())
    return found.group(0).decode()


def add_arguments(parser):
    parser.add_argument("model")
    parser.add_argument("kind", choices=["static", "dynamic"])
    parser.add_argument("tolerance", type=float)
    parser.add_argument("--models", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("TENON_MODELS") or ROOT.parent / "shared/models"))


def load_model(options):
    """The model's path, its inputs by name and its right answer; ends with a skip where one is not here."""
    path = options.models / (options.model + ".onnx")
    if not path.exists():
        skip("the models folder is not here (TENON_MODELS or ../shared/models)" if not options.models.is_dir()
             else f"{options.model}.onnx is not in the models folder")
    stored = golden.golden_of(options.models, path)
    if stored is None:
        skip(f"no right answer is stored for {options.model}")
    inputs, outputs = stored
    return path, {name or input_name(path): value for name, value in inputs.items()}, outputs


def count_wrong(found, outputs, tolerance):
    """Compares {name: values} with the right answer, says how far each output is off, and counts those too far off."""
    wrong = 0
    for name, stride, expected in outputs:
        if name is not None and name not in found:
            sys.exit(f"the output {name} is missing; found {', '.join(found)}")
        error = golden.error_of(found[name] if name else next(iter(found.values())), stride, expected)
        wrong += not error <= tolerance
        print(f"  {name or 'output'}: {len(expected)} values, error {error:.1e}, allowed {tolerance:.0e}"
              + ("" if error <= tolerance else "  WRONG"))
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add_arguments(parser)
    parser.add_argument("flags", nargs="*")
    parser.add_argument("--trtexec", required=True)
    options = parser.parse_args()
    path, inputs, outputs = load_model(options)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        files = []
        for k, (name, value) in enumerate(inputs.items()):
            (folder / f"input{k}").write_bytes(value.data)
            files.append(f"{quoted(name)}:{folder / f'input{k}'}")
        shapes = ",".join(f"{quoted(name)}:{'x'.join(map(str, value.shape))}" for name, value in inputs.items())
        shapes = [f"--shapes={shapes}"] if options.kind == "dynamic" else []
        engine, answer = folder / "engine", folder / "answer.json"
        build, _ = run(options.trtexec, f"--onnx={path}", f"--saveEngine={engine}", "--skipInference", *shapes,
                       *options.flags)
        infer, report = run(options.trtexec, f"--loadEngine={engine}", f"--loadInputs={','.join(files)}", *shapes,
                            f"--exportOutput={answer}", "--iterations=2", "--duration=0", "--warmUp=0")
        found = {tensor["name"]: [float(value) for value in tensor["values"]]
                 for tensor in json.loads(answer.read_text())}
        size = engine.stat().st_size

    print(f"{options.model}: built in {build:.1f} s, {size / 2**20:.1f} MiB, loaded and run in {infer:.1f} s")
    wrong = count_wrong(found, outputs, options.tolerance)
    if wrong:
        sys.exit(f"{wrong} of {len(outputs)} outputs are wrong")


if __name__ == "__main__":
    main()
