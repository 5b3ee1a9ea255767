# SPDX-License-Identifier: Apache-2.0
"""Polygraphy, unchanged, on this module: models compared with ONNX Runtime, converted, saved, loaded, inspected."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import support

sys.path.insert(0, str(support.ROOT / "tests/support"))
from python_environment import environment  # noqa: E402  pylint: disable=wrong-import-position

MODEL = str(support.DIGITS / "digits.onnx")
PACKAGES = [["numpy"], ["onnx"], ["onnxruntime"], ["polygraphy==0.53.6"]]
SHAPES = ["--trt-min-shapes", "input:[1,1,28,28]", "--trt-opt-shapes", "input:[2,1,28,28]", "--trt-max-shapes", "input:[4,1,28,28]"]
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


def installed():
    """The polygraphy of PATH, where its Python has the release that the module was built for and ONNX Runtime; else None."""
    found = shutil.which("polygraphy")
    if not found:
        return None
    python = pathlib.Path(found).resolve().parent / "python"
    check = f"import sys, onnxruntime, polygraphy; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    return found if python.exists() and subprocess.run([str(python), "-c", check], check=False, capture_output=True).returncode == 0 else None


def program():
    """The command, or None and the reason."""
    found = installed()
    if found:
        return found, None
    folder = pathlib.Path(os.environ["TENON_BUILD"]) / "tests/python/polygraphy"
    python, reason = environment(folder, ["numpy", "onnx", "onnxruntime", "polygraphy"], PACKAGES)
    return (str(python.parent / "polygraphy"), None) if python else (None, reason)


def run(command, *arguments):
    variables = dict(os.environ, LD_LIBRARY_PATH=f"{os.environ['TENON_BUILD']}/lib:{os.environ.get('LD_LIBRARY_PATH', '')}")
    done = subprocess.run([command, *arguments], capture_output=True, text=True, check=False, env=variables, timeout=200)
    assert done.returncode == 0, f"polygraphy {' '.join(arguments)}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def cases(command):
    def compared():
        with tempfile.TemporaryDirectory() as folder:
            engine = f"{folder}/digits.engine"
            said = run(command, "run", MODEL, "--trt", "--onnxrt", *SHAPES, "--input-shapes", "input:[3,1,28,28]", "--val-range",
                       "[0,1]", "--iterations", "3", "--atol", "1e-4", "--save-engine", engine)
            assert "Pass Rate: 100.00%" in said and "3/3 iterations" in said, said[-2000:]
            said = run(command, "run", engine, "--trt", "--model-type", "engine", "--input-shapes", "input:[4,1,28,28]")
            assert "shape=(4, 10)" in said, said[-2000:]
            said = run(command, "inspect", "model", engine, "--model-type", "engine", "--show", "layers")
            assert "max=(4, 1, 28, 28)" in said and "Layer(s)" in said, said[-2000:]

    def in_half_precision():
        said = run(command, "run", MODEL, "--trt", "--fp16", "--onnxrt", *SHAPES, "--atol", "1e-2", "--rtol", "1e-2")
        assert "Pass Rate: 100.00%" in said, said[-2000:]

    def converted():
        with tempfile.TemporaryDirectory() as folder:
            engine = f"{folder}/digits.engine"
            run(command, "convert", MODEL, "--convert-to", "trt", "-o", engine, *SHAPES)
            assert os.path.getsize(engine) > 1000
        assert "Graph Input(s)" in run(command, "inspect", "model", MODEL)

    def module_is_ours():
        import tensorrt  # pylint: disable=import-outside-toplevel
        said = run(command, "run", MODEL, "--trt", "-vv", *SHAPES)
        assert os.path.dirname(tensorrt.__file__) in said, said[:2000]

    return {"compared": compared, "in_half_precision": in_half_precision, "converted": converted, "module_is_ours": module_is_ours}


def main():
    command, reason = program()
    if command is None:
        print(f"skipped: {reason}")
        return support.SKIPPED
    return support.run_all(cases(command), sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
