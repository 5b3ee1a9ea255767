#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the symbols that a shared library exports with the table: no more, no less, and under the right soname."""
import argparse
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def differences(expected, found):
    return ([f"not exported: {s}" for s in sorted(expected - found)] +
            [f"exported without need: {s}" for s in sorted(found - expected)])


def exported(nm, library):
    output = subprocess.run([nm, "-D", "--defined-only", library], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {line.split()[-1] for line in output.splitlines() if len(line.split()) >= 3}


def version_script(path):
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"#.*", "", file.read())
    return set(re.findall(r"(\w+);", text.split("local:")[0]))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="nvinfer, nvonnxparser or nvinfer_plugin")
    parser.add_argument("--library", help="the library; without it only the version script is compared")
    parser.add_argument("--script", required=True, help="the version script of the library")
    parser.add_argument("--nm", default="nm")
    options = parser.parse_args()
    with open(os.path.join(HERE, "..", "..", "abi", "layout-10.16.json"), encoding="utf-8") as file:
        expected = set(json.load(file)["exports"][options.name])
    if not differences(expected | {"missing"}, expected) or not differences(expected, expected | {"extra"}):
        print("the comparison notices nothing")
        return 1
    wrong = [f"version script, {d}" for d in differences(expected, version_script(options.script))]
    if options.library and not os.path.exists(options.library):
        wrong.append(f"{options.library} is not built")
    elif options.library:
        wrong += differences(expected, exported(options.nm, options.library))
        with open(options.library, "rb") as file:
            if f"lib{options.name}.so.10".encode() + b"\0" not in file.read():
                wrong.append(f"soname is not lib{options.name}.so.10")
    print("\n".join(wrong + [f"{options.name}: {len(expected)} symbols, {len(wrong)} differences"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
