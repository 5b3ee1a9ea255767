# SPDX-License-Identifier: Apache-2.0
"""Polygraphy, unchanged, on this module or, with --module nvidia, on NVIDIA's compiled one over the same libraries: models compared
with ONNX Runtime, converted, saved, loaded, inspected, checked, cut, bisected, their tactics recorded and replayed. --release names
another release of Polygraphy than the one that the other tests use."""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import packages
import support

MODEL = str(support.DIGITS / "digits.onnx")
SHAPES = ["--trt-min-shapes", "input:[1,1,28,28]", "--trt-opt-shapes", "input:[2,1,28,28]", "--trt-max-shapes", "input:[4,1,28,28]"]
MAIN = "import sys; from polygraphy.tools import main; sys.exit(main())"


class Polygraphy:
    """The program, in a folder of its own."""

    def __init__(self, python, options, folder):
        self.python, self.folder, self.module = python, pathlib.Path(folder), options.module
        more = [packages.polygraphy(options.release)[0]] if options.release else []
        self.variables = packages.module_variables(options.module, folder, *more)
        # `debug` starts commands; a user would write `polygraphy` there.
        command = self.folder / "bin/polygraphy"
        command.parent.mkdir()
        command.write_text(f"#!{python}\n{MAIN}\n")
        command.chmod(0o755)
        self.variables["PATH"] = f"{command.parent}:{self.variables['PATH']}"

    def __call__(self, *arguments):
        done = subprocess.run([self.python, "-c", MAIN, *arguments], capture_output=True, text=True, check=False, env=self.variables,
                              timeout=200, cwd=self.folder)
        assert done.returncode == 0, f"polygraphy {' '.join(arguments)}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout


def compared(run):
    said = run("run", MODEL, "--trt", "--onnxrt", *SHAPES, "--input-shapes", "input:[3,1,28,28]", "--val-range", "[0,1]",
               "--iterations", "3", "--atol", "1e-4", "--save-engine", "digits.engine")
    assert "Pass Rate: 100.0" in said and "3/3 iterations" in said, said[-2000:]
    said = run("run", "digits.engine", "--trt", "--model-type", "engine", "--input-shapes", "input:[4,1,28,28]")
    assert "shape=(4, 10)" in said, said[-2000:]
    said = run("inspect", "model", "digits.engine", "--model-type", "engine", "--show", "layers", "attrs")
    assert "max=(4, 1, 28, 28)" in said and "Layer(s)" in said, said[-2000:]


def every_tensor_compared(run):
    said = run("run", MODEL, "--trt", "--onnxrt", *SHAPES, "--trt-outputs", "mark", "all", "--onnx-outputs", "mark", "all", "--atol", "1e-4",
               "--rtol", "1e-3")
    assert "Pass Rate: 100.0" in said and said.count("PASSED | Output") >= 4, said[-2000:]


def in_half_precision(run):
    said = run("run", MODEL, "--trt", "--fp16", "--onnxrt", *SHAPES, "--atol", "1e-2", "--rtol", "1e-2")
    assert "Pass Rate: 100.0" in said, said[-2000:]


def precisions_of_layers(run):
    said = run("run", MODEL, "--trt", "--onnxrt", "--fp16", "--precision-constraints", "obey", "--layer-precisions", "*:float32", *SHAPES,
               "--atol", "1e-4", "--rtol", "1e-3")
    assert "Pass Rate: 100.0" in said, said[-2000:]
    run("run", MODEL, "--trt", "--strongly-typed", *SHAPES, "--save-timing-cache", "times.cache", "--builder-optimization-level", "1")
    assert (run.folder / "times.cache").stat().st_size > 0


def converted(run):
    run("convert", MODEL, "--convert-to", "trt", "-o", "digits.engine", *SHAPES)
    assert (run.folder / "digits.engine").stat().st_size > 1000
    assert "Graph Input(s)" in run("inspect", "model", MODEL)


def written_script_runs(run):
    run("run", MODEL, "--trt", "--onnxrt", *SHAPES, "--atol", "1e-4", "--gen-script", "compare.py")
    done = subprocess.run([run.python, "compare.py"], capture_output=True, text=True, check=False, env=run.variables, cwd=run.folder)
    assert done.returncode == 0 and "Pass Rate: 100.0" in done.stdout, done.stdout[-2000:] + done.stderr[-2000:]


def debug_build(run):
    said = run("debug", "build", MODEL, *SHAPES, "--until", "2", "--check", "polygraphy", "run", "polygraphy_debug.engine", "--model-type",
               "engine", "--trt")
    assert "Passed: 2/2" in said, said[-2000:]


def debug_precision(run):
    run("run", MODEL, "--onnxrt", "--save-inputs", "in.json", "--save-outputs", "golden.json", "--input-shapes", "input:[2,1,28,28]")
    said = run("debug", "precision", MODEL, *SHAPES, "--fp16", "--mode", "linear", "--check", "polygraphy", "run", "polygraphy_debug.engine",
               "--model-type", "engine", "--trt", "--load-inputs", "in.json", "--load-outputs", "golden.json", "--atol", "1e-1")
    assert "PASSED" in said, said[-2000:]


def cut_checked_and_reduced(run):
    run("surgeon", "sanitize", MODEL, "-o", "fixed.onnx", "--fold-constants", "--override-input-shapes", "input:[1,1,28,28]")
    run("surgeon", "extract", "fixed.onnx", "-o", "part.onnx", "--inputs", "input:[1,1,28,28]:auto")
    run("check", "lint", "part.onnx")
    said = run("run", "part.onnx", "--trt", "--onnxrt", "--atol", "1e-4")
    assert "Pass Rate: 100.0" in said, said[-2000:]


def debug_reduce(run):
    """What differs from ONNX Runtime by more than nothing: some nodes are left."""
    run("surgeon", "sanitize", MODEL, "-o", "fixed.onnx", "--fold-constants", "--override-input-shapes", "input:[1,1,28,28]")
    said = run("debug", "reduce", "fixed.onnx", "-o", "reduced.onnx", "--mode", "bisect", "--check", "polygraphy", "run",
               "polygraphy_debug.onnx", "--trt", "--onnxrt", "--atol", "1e-9", "--rtol", "1e-9")
    assert (run.folder / "reduced.onnx").stat().st_size < (run.folder / "fixed.onnx").stat().st_size, said[-2000:]


def tactics_replayed(run):
    """What one build took, written down by an algorithm selector, is what the next one takes."""
    options = ["--trt", "--onnxrt", *SHAPES, "--atol", "1e-4", "--builder-optimization-level", "3"]
    run("run", MODEL, *options, "--save-tactics", "replay.json", "--save-engine", "first.engine")
    assert "tactic" in run("inspect", "tactics", "replay.json").lower()
    said = run("run", MODEL, *options, "--load-tactics", "replay.json", "--save-engine", "second.engine")
    assert "Pass Rate: 100.0" in said, said[-2000:]
    assert (run.folder / "first.engine").read_bytes() == (run.folder / "second.engine").read_bytes(), "another engine"


def module_is_the_one(run):
    said = run("run", MODEL, "--trt", "-vv", *SHAPES)
    wanted = str(packages.BUILD / "python/tensorrt") if run.module == "ours" else str(run.folder / "forward/tensorrt")
    assert wanted in said, said[:2000]


CASES = [compared, every_tensor_compared, in_half_precision, precisions_of_layers, converted, written_script_runs, debug_build,
         debug_precision, cut_checked_and_reduced, debug_reduce, tactics_replayed, module_is_the_one]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(":", maxsplit=1)[0])
    parser.add_argument("--module", choices=("ours", "nvidia"), default="ours")
    parser.add_argument("--release", help="of Polygraphy, such as 0.49.26; by default the one that the other tests use")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    theirs = ["tensorrt_bindings"] if options.module == "nvidia" else []
    python, reason = packages.python_with("numpy", "onnx", "onnxruntime", "polygraphy", "onnx_graphsurgeon", *theirs)
    if python is not None and options.release:
        _, reason = packages.polygraphy(options.release)
    if reason is not None:
        print(f"skipped: {reason}")
        return support.SKIPPED

    def in_folder(case):
        def run():
            with tempfile.TemporaryDirectory() as folder:
                case(Polygraphy(python, options, folder))
        return run

    cases = {case.__name__: in_folder(case) for case in CASES}
    support.SECONDS = 200  # several programs each
    return support.run_all(cases, options.cases)


if __name__ == "__main__":
    sys.exit(main())
