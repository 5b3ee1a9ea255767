#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes, for each implementing class that is recorded and each interface that applications implement, a mock of it and
a check of each of its slots."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "capture", "api"))

from description import USER, Api, short, write  # noqa: E402

ASKS_ITS_ARGUMENTS = ("selectAlgorithms",)  # the scene "answers" looks at it


def overridden(function, owner):
    """The function of a mock that notes that it was reached."""
    names = [f"a{i}" for i in range(len(function.parameters))]
    types = "".join(f", {p}" for p in function.parameters)
    values = "".join(f", {name}" for name in names)
    return (f"  {function.returns} {function.name}({function.declared(names)}) {function.qualifiers} override {{ "
            f'return arrived<{function.returns}{types}>("{owner}", {function.slot}{values}); }}')


def users(api):
    """Lines for what the library calls on objects of the application, and how many functions that are."""
    out, count, names = [], 0, [n for n in api.table.classes if short(n) in USER]
    for full in names:
        name = short(full)
        functions = {f.name: f for owner in api.table.chain(full) for f in api.table.functions(owner)
                     if f.slot is not None}
        functions = [f for f in functions.values() if not f.extra.get("final")]
        out += [f"struct U{name} final : {full} {{"] + [overridden(f, name) for f in functions] + ["};"]
        out += [f"static void checkUser{name}() {{", f"  U{name} mock;", "  uint64_t id = 0;",
                f"  {full}& v = *tenon::capture::standInFor(static_cast<{full}*>(&mock), id);"]
        for function in functions:
            if function.name not in ASKS_ITS_ARGUMENTS:
                out.append(f'  check<{function.owner}>(v, "{name}.{function.name}", "{name}", {function.slot}, '
                           f"&{function.owner}::{function.name});")
                count += 1
        out += ["}", ""]
    out += ["static void checkUsers() {"] + [f"  checkUser{short(n)}();" for n in names] + ["}", ""]
    return out, count


def main():
    api = Api()
    out = ['#include "forward.h"', "", "using namespace nvinfer1;", ""]
    count = 0
    for part in api.parts:
        name = short(part)
        out.append(f"struct M{name} final : {part} {{")
        out += [overridden(method.function, name) for method in api.methods_of(part)]
        out += ["};", f"static void check{name}() {{", f"  M{name} mock;",
                f"  tenon::capture::P{name} wrapper(dummy(), &mock);",
                f"  {part}& v = wrapper;"]
        for method in api.methods_of(part):
            function = method.function
            out.append(f'  check(v, "{method.name}", "{name}", {function.slot}, &{part}::{function.name});')
            count += 1
        out += ["}", ""]
    lines, more = users(api)
    checks = [f"  check{short(p)}();" for p in api.parts]
    out += lines + ["int checkAll() {", "  checkUsers();"] + checks + [f"  return {count + more};", "}"]
    write(sys.argv[1], out)


if __name__ == "__main__":
    main()
