#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes, for each implementing class that is recorded, a mock of it and a check of each of its slots."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "capture", "api"))

from description import Api, short, write  # noqa: E402


def main():
    api = Api()
    out = ['#include "forward.h"', "", "using namespace nvinfer1;", ""]
    count = 0
    for part in api.parts:
        name = short(part)
        out.append(f"struct M{name} final : {part} {{")
        for method in api.methods_of(part):
            function = method.function
            types = "".join(f", {p}" for p in function.parameters)
            values = "".join(f", a{i}" for i in range(len(function.parameters)))
            out.append(f"  {function.returns} {function.name}"
                       f"({function.declared([f'a{i}' for i in range(len(function.parameters))])}) {function.qualifiers} override {{ "
                       f'return arrived<{function.returns}{types}>("{name}", {function.slot}{values}); }}')
        out += ["};", f"static void check{name}() {{", f"  M{name} mock;", f"  tenon::capture::P{name} wrapper(dummy(), &mock);",
                f"  {part}& v = wrapper;"]
        for method in api.methods_of(part):
            function = method.function
            out.append(f'  check(v, "{method.name}", "{name}", {function.slot}, &{part}::{function.name});')
            count += 1
        out += ["}", ""]
    out += ["int checkAll() {"] + [f"  check{short(p)}();" for p in api.parts] + [f"  return {count};", "}"]
    write(sys.argv[1], out)


if __name__ == "__main__":
    main()
