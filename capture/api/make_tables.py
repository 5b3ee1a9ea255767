#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of recorded functions and of enumerations: methods.cpp, enums.h."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from description import Api, short, write  # noqa: E402


def main():
    api, folder = Api(), sys.argv[1]
    enums = sorted(n for n in api.enums if n.startswith("nvinfer1::") and n.count("::") == 1)
    out = ["// Generated: the recorded functions.", '#include "common/method.h"', "", "namespace tenon::capture {",
           "namespace {"]
    for method in api.methods:
        if method.parameters:
            rows = ", ".join(f'{{"{p.declared}", "{p.kind}"}}' for p in method.parameters)
            out.append(f"constexpr ParameterInfo kParameters{method.index}[] = {{{rows}}};")
    out.append("constexpr MethodInfo kMethods[] = {")
    for m in api.methods:
        parameters = f"kParameters{m.index}" if m.parameters else "{}"
        flags = ", ".join("true" if f else "false" for f in (m.is_build, m.is_long, m.is_fresh))
        out.append(f'    {{"{m.name}", {parameters}, {{"{m.result.declared}", "{m.result.kind}"}}, {flags}}},')
    out.append("};")
    for name in enums:
        values = sorted(api.enums[name]["values"].items(), key=lambda item: item[1])
        out.append(f"constexpr std::string_view kNames_{short(name)}[] = {{" +
                   ", ".join(f'"{k}"' for k, _ in values) + "};")
        out.append(f"constexpr int64_t kValues_{short(name)}[] = {{" + ", ".join(str(v) for _, v in values) + "};")
    out.append("constexpr EnumInfo kEnums[] = {")
    out += [f'    {{"{n}", kNames_{short(n)}, kValues_{short(n)}}},' for n in enums]
    out += ["};", "}  // namespace", "std::span<const MethodInfo> methods() { return kMethods; }",
            "std::span<const EnumInfo> enums() { return kEnums; }", "}  // namespace tenon::capture"]
    write(os.path.join(folder, "methods.cpp"), out)
    header = ["// Generated: numbers of the enumerations.", "#pragma once", "namespace tenon::capture {"]
    header += [f"constexpr int kEnum_{short(n)} = {i};" for i, n in enumerate(enums)]
    write(os.path.join(folder, "enums.h"), header + ["}  // namespace tenon::capture"])


if __name__ == "__main__":
    main()
