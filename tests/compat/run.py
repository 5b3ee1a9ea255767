#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs NVIDIA's own compiled Python module of TensorRT on the libraries of this build.

The module comes from the Python package index, unchanged, into a virtual environment in the build folder. Where it
cannot be had, the test is skipped and says why. The last line counts what was tested.
"""
import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from python_environment import environment  # noqa: E402

MODULE = "tensorrt-cu13-bindings==10.16.1.11"
SKIPPED = 77


def module_environment(work):
    """The Python that finds the module, in a virtual environment below the folder `work`, or None and the reason."""
    return environment(pathlib.Path(work) / "venv", ["numpy", "tensorrt_bindings"], [["numpy"], ["--no-deps", MODULE]])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--libraries", required=True, help="folder with libnvinfer.so.10 and the others")
    parser.add_argument("--work", required=True, help="where the virtual environment goes")
    parser.add_argument("--script", default="cases.py", help="what to run with the module")
    parser.add_argument("tests", nargs="*", help="parts of names of tests; all by default")
    options = parser.parse_args()
    python, reason = module_environment(options.work)
    if python is None:
        print(f"skipped: {reason}")
        return SKIPPED
    variables = dict(os.environ)
    paths = [str(pathlib.Path(options.libraries).resolve()), variables.get("LD_LIBRARY_PATH", "")]
    variables["LD_LIBRARY_PATH"] = ":".join(p for p in paths if p)
    variables["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.run([str(python), str(HERE / options.script), *options.tests], env=variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
