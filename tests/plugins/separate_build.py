#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the plugins of tests/plugins/library as a user would, with the public headers alone, and runs the tests on them.

    separate_build.py --compiler PROGRAM --program TEST_PLUGINS --work FOLDER
"""
import argparse
import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent
ROOT = SOURCE.parent.parent


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--program", required=True, help="test_plugins")
    parser.add_argument("--work", required=True, help="where the library goes")
    options = parser.parse_args()
    library = pathlib.Path(options.work) / "libseparate_plugins.so"
    files = sorted((SOURCE / "library").glob("*.cpp"))
    # Nothing is linked: libnvinfer is in the program that loads the library.
    command = [options.compiler, "-std=c++20", "-O1", "-shared", "-fPIC", "-fvisibility=hidden", "-Wno-deprecated-declarations",
               "-I", ROOT / "include", "-I", ROOT / "hostcuda/include/cudart", *files, "-o", library]
    subprocess.run([str(word) for word in command], check=True)
    variables = {**os.environ, "TENON_DEVICE": "cpu", "TENON_TEST_PLUGINS": str(library)}
    return subprocess.run([options.program], env=variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
