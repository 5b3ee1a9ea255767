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
import venv

HERE = pathlib.Path(__file__).resolve().parent
MODULE = "tensorrt-cu13-bindings==10.16.1.11"
SKIPPED = 77


def environment(folder):
    """The Python of a virtual environment with the module in it, or None and the reason."""
    python = folder / "bin/python"
    if not python.exists():
        try:
            venv.create(folder, with_pip=True, symlinks=True)
        except (OSError, subprocess.CalledProcessError) as error:
            return None, f"no virtual environment: {error}"
    check = [str(python), "-c", "import importlib.util as u, sys; "
             "sys.exit(not (u.find_spec('numpy') and u.find_spec('tensorrt_bindings')))"]
    if subprocess.run(check, check=False).returncode == 0:
        return python, None
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
    for what in (["numpy"], ["--no-deps", MODULE]):
        done = subprocess.run(pip + what, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            reason = (done.stdout.strip().splitlines() or ["pip failed"])[-1]
            return None, f"{what[-1]} for Python {sys.version_info.major}.{sys.version_info.minor}: {reason}"
    return python, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--libraries", required=True, help="folder with libnvinfer.so.10 and the others")
    parser.add_argument("--work", required=True, help="where the virtual environment goes")
    parser.add_argument("--script", default="cases.py", help="what to run with the module")
    parser.add_argument("tests", nargs="*", help="parts of names of tests; all by default")
    options = parser.parse_args()
    python, reason = environment(pathlib.Path(options.work) / "venv")
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
