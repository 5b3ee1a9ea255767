#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that the layout test can fail: each kind of fact is changed in the table, and the test must notice."""
import argparse
import copy
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def function(table, owner, name):
    return next(row for row in table["classes"][owner]["functions"] if row[0] == name)


def swap_slots(table):
    first, second = (function(table, "nvinfer1::apiv::VHostMemory", n)[4] for n in ("data", "size"))
    first["slot"], second["slot"] = second["slot"], first["slot"]


def add_slot(table):
    table["classes"]["nvinfer1::apiv::VTimingCache"]["slots"] += 1


def change_size(table):
    table["classes"]["nvinfer1::Dims64"]["size"] += 8


def change_offset(table):
    table["classes"]["nvinfer1::PluginField"]["fields"][3][2] += 4


def change_value(table):
    table["enums"]["nvinfer1::DataType"]["values"]["kFP4"] = 12


def change_enum_max(table):
    table["enums"]["nvinfer1::DataType"]["max"] += 1


def change_default(table):
    function(table, "nvinfer1::ILoop", "addIterator")[4]["defaults"]["1"] = "1"


def change_field_default(table):
    table["classes"]["nvinfer1::PluginField"]["constructors"][0][3][2] = "1"


def change_forwarder(table):
    function(table, "nvinfer1::IHostMemory", "data")[4]["calls"][2] += 1


def change_body(table):
    row = function(table, "nvinfer1::v_1_0::IPluginV3", "getInterfaceInfo")
    row[4]["gives"] = row[4]["gives"].replace("1, 0", "2, 0")


def drop_const(table):
    function(table, "nvinfer1::apiv::VHostMemory", "size")[3] = "noexcept"


def drop_noexcept(table):
    function(table, "nvinfer1::apiv::VHostMemory", "size")[3] = "const"


def change_parameter(table):
    function(table, "nvinfer1::ITensor", "setDimensionName")[2][0] = "int64_t"


def change_constant(table):
    table["classes"]["nvinfer1::Dims64"]["constants"]["MAX_DIMS"][1] = 9


def change_alias(table):
    table["aliases"]["nvinfer1::TacticSources"] = "uint64_t"


def change_macro(table):
    table["macros"]["NV_TENSORRT_VERSION"][1] += 1


# What is changed, and the entries of the table that a probe then needs to look at.
CHANGES = [
    (swap_slots, ["nvinfer1::apiv::VHostMemory"]),
    (add_slot, ["nvinfer1::apiv::VTimingCache"]),
    (change_size, ["nvinfer1::Dims64"]),
    (change_offset, ["nvinfer1::PluginField"]),
    (change_value, ["nvinfer1::DataType"]),
    (change_enum_max, ["nvinfer1::DataType"]),
    (change_default, ["nvinfer1::ILoop"]),
    (change_field_default, ["nvinfer1::PluginField"]),
    (change_forwarder, ["nvinfer1::IHostMemory"]),
    (change_body, ["nvinfer1::v_1_0::IPluginV3"]),
    (drop_const, ["nvinfer1::apiv::VHostMemory"]),
    (drop_noexcept, ["nvinfer1::apiv::VHostMemory"]),
    (change_parameter, ["nvinfer1::ITensor"]),
    (change_constant, ["nvinfer1::Dims64"]),
    (change_alias, ["nvinfer1::TacticSources"]),
    (change_macro, ["NV_TENSORRT_VERSION"]),
]


def passes(options, table, only, folder):
    """Generates, compiles and runs a probe of the given entries; false if any of these finds a difference."""
    path = os.path.join(folder, "table.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(table, file)
    subprocess.run([sys.executable, os.path.join(HERE, "make_probe.py"), path, folder, "--only", *only], check=True)
    program = os.path.join(folder, "probe")
    source = os.path.join(folder, "all.cpp")
    with open(source, "w", encoding="utf-8") as file:
        file.write('#include "layout.cpp"\n#include "calls.cpp"\n#include "main.cpp"\n')
    command = [options.compiler, "-std=c++17", "-O0", "-w", "-fno-access-control", f"-I{HERE}"]
    command += [f"-I{path}" for path in options.include] + [source, "-o", program]
    compiled = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
    if compiled.returncode != 0:
        if "static assertion failed" in compiled.stderr or "static_assert failed" in compiled.stderr or (
                "static_cast" in compiled.stderr):
            return False
        raise RuntimeError(f"the probe does not compile:\n{compiled.stderr[:2000]}")
    return subprocess.run([program], stdout=subprocess.DEVNULL, check=False).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", action="append", default=[])
    options = parser.parse_args()
    with open(os.path.join(HERE, "..", "..", "abi", "layout-10.16.json"), encoding="utf-8") as file:
        original = json.load(file)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        everything = sorted({name for _, names in CHANGES for name in names})
        if not passes(options, original, everything, folder):
            print("the unchanged table does not pass")
            return 1
        for change, only in CHANGES:
            table = copy.deepcopy(original)
            change(table)
            if passes(options, table, only, folder):
                print(f"{change.__name__}: not noticed")
                wrong += 1
    print(f"{len(CHANGES) - wrong} of {len(CHANGES)} changes noticed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
