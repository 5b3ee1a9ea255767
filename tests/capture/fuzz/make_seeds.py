#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the fuzz target of captures begins with: captures of the test's program, each with its BIN file in one input.

    make_seeds.py --build build/release FOLDER
"""
import argparse
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from support import Setup, captured  # noqa: E402

SCENES = ("interleaved", "failure", "users", "profiles", "streams", "answers", "plugins", "measured")
LARGEST = 1 << 16  # of a BIN file; longer inputs are slow and say no more


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("folder")
    options = parser.parse_args()
    setup = Setup(os.path.abspath(options.build))
    os.makedirs(options.folder, exist_ok=True)
    variables = {"plugins": {"TENON_CAPTURE_PLUGINS": os.path.join(setup.libraries, "libcapture_plugins.so")},
                 "answers": {"TRT_SHIM_NVINFER_LIB_NAME": os.path.join(setup.libraries, "libcapture_asking.so")}}
    for scene in SCENES:
        done = captured(setup, [setup.program("capture_program"), scene, setup.path("engine")], scene,
                        TRT_SHIM_INLINE_WEIGHTS_LOWER_EQUAL_THAN="16", **variables.get(scene, {}))
        with open(setup.path(scene + ".json"), encoding="utf-8") as file:
            text = re.sub(r'"bin":"[^"]*"', '"bin":"101"', file.read(), count=1)
        with open(setup.path(scene + ".bin"), "rb") as file:
            weights = file.read()[:LARGEST]
        with open(os.path.join(options.folder, scene), "wb") as file:
            file.write(text.rstrip("\n").encode() + b"\nBIN\n" + weights)
        print(f"{scene}: {len(text)} bytes of calls, {len(weights)} of data, exit status {done.returncode}")
    setup.clean()


if __name__ == "__main__":
    main()
