#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A tenth of ONNX's node tests, another one each day, in a virtual environment with the packages that they need.

    python3 tests/onnx/run_node_tests.py --libraries build/release/lib --work FOLDER [--all]

Where the packages cannot be had, the test is skipped and says why.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "compat")]
from python_environment import environment  # noqa: E402
from run import MODULE, SKIPPED  # noqa: E402

PARTS = 10


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--libraries", required=True, help="folder with libnvinfer.so.10 and the others")
    parser.add_argument("--work", required=True, help="where the virtual environment goes")
    parser.add_argument("--all", action="store_true", help="all of them")
    options = parser.parse_args()
    python, reason = environment(pathlib.Path(options.work) / "venv", ["numpy", "onnx", "tensorrt_bindings"],
                                 [["numpy", "onnx"], ["--no-deps", MODULE]])
    if python is None:
        print(f"skipped: {reason}")
        return SKIPPED
    variables = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    paths = [str(pathlib.Path(options.libraries).resolve()), variables.get("LD_LIBRARY_PATH", "")]
    variables["LD_LIBRARY_PATH"] = ":".join(p for p in paths if p)
    part = [] if options.all else ["--every", str(PARTS), "--first", str(int(time.time() / 86400) % PARTS)]
    return subprocess.run([str(python), str(HERE / "node_tests.py"), "--jobs", "2", *part], env=variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
