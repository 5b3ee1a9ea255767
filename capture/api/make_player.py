#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the player's dispatch: one function per recorded function, the classes with their bases, what deletes them."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from description import Api, short, write  # noqa: E402

FILES = 4


def argument(method, number, parameter):
    kind = parameter.kind
    if kind in ("integer",):
        return f"s.integer<{parameter.plain}>({number})"
    if kind == "real":
        return f"static_cast<{parameter.plain}>(s.real({number}))"
    if kind == "enumeration":
        return f"static_cast<{parameter.plain}>(s.enumeration({number}, kEnum_{parameter.name}))"
    if kind == "object":
        call = f"s.object<{parameter.plain}>({number}, kIndex_{parameter.name})"
        return f"s.given({number}, {call})" if parameter.is_reference else call
    if kind == "user":
        call = f"s.user<{parameter.plain}>({number})"
        return f"s.given({number}, {call})" if parameter.is_reference else call
    if kind.startswith("out_"):
        return {"out_object": "s.memory()", "out_floats": "s.floatRoom()", "out_keys": "s.keyRoom()"}[kind]
    if kind == "stream":
        return "nullptr"
    if kind == "ints64":
        return f"s.ints64({number}, {method.counts[number]})"
    if kind in ("objects", "ints32", "floats", "texts", "blob"):
        return f"s.{kind}({number}, {method.counts[number]})"
    return f"s.{kind}({number})"


def result(method, call):
    kind = method.result.kind
    if kind == "void":
        return f"{call};"
    if kind == "object":
        address = "&" if method.result.is_reference else ""
        return f"s.objectResult({address}{call}, kIndex_{method.result.name});"
    if kind == "enumeration":
        return f"s.enumerationResult(kEnum_{method.result.name}, static_cast<int64_t>({call}));"
    if kind in ("plugin2", "plugin3", "registry"):
        return f"s.ignore(&{call});"
    if kind in ("user", "stream", "pointer"):
        return f"s.presence({call} != nullptr);"
    return f"s.{kind}Result({call});"


def public_names(api):
    """The name under which the public class offers each function, as its inline forwarders say."""
    names = {}
    for name, entry in api.table.classes.items():
        for function in entry.get("functions", []):
            target = function[4].get("calls")
            if target and "apiv" not in name:
                names.setdefault(target[1], function[0])
    return [names.get(f"{m.part}::{m.function.name}", m.function.name) for m in api.methods]


def main():
    api, folder = Api(), sys.argv[1]
    out = ["// Generated: how the public classes name the recorded functions.", '#include "player/public_names.h"', "",
           "namespace tenon::capture {", "namespace {", "constexpr std::string_view kNames[] = {"]
    out += [f'    "{name}",' for name in public_names(api)]
    out += ["};", "}  // namespace", "std::span<const std::string_view> publicNames() { return kNames; }",
            "}  // namespace tenon::capture"]
    write(os.path.join(folder, "public_names.cpp"), out)
    names = [n for n, _ in api.classes]
    head = ["// Generated: how recorded calls are made again.", "#pragma once", "", '#include "player/step.h"', "",
            "namespace tenon::capture {"]
    head += [f"constexpr int kIndex_{short(n)} = {i};" for i, n in enumerate(names)]
    head += [f"extern const Dispatch kDispatch{i}[];" for i in range(FILES)]
    write(os.path.join(folder, "dispatch.h"), head + ["}  // namespace tenon::capture"])

    out = ["// Generated: the classes of a capture.", '#include "dispatch.h"', "", "namespace tenon::capture {", "namespace {"]
    out.append("constexpr PlayedClass kClasses[] = {")
    for name in names:
        bases = [b for b in api.table.chain(name)[:-1] if b in names]
        base = f"kIndex_{short(bases[-1])}" if bases else "-1"
        destroy = f"[](void* face) {{ delete static_cast<{name}*>(face); }}" if api.is_deletable(name) else "nullptr"
        out.append(f'    {{"{short(name)}", {base}, {destroy}}},')
    out += ["};", "}  // namespace", "std::span<const PlayedClass> playedClasses() { return kClasses; }",
            "int layerIndex(nvinfer1::LayerType type) {", "  switch (type) {"]
    for enumerator, name in api.layer_types():
        out += [f"    case nvinfer1::LayerType::{enumerator}:", f"      return kIndex_{short(name)};"]
    out += ["    default:", "      return kIndex_ILayer;", "  }", "}"]
    out += ["void callMethod(int method, Step& step) {",
            f"  constexpr int kPerFile = {(len(api.methods) + FILES - 1) // FILES};",
            "  static constexpr const Dispatch* kFiles[] = {" + ", ".join(f"kDispatch{i}" for i in range(FILES)) + "};",
            "  kFiles[method / kPerFile][method % kPerFile](step);", "}", "}  // namespace tenon::capture"]
    write(os.path.join(folder, "classes.cpp"), out)

    per_file = (len(api.methods) + FILES - 1) // FILES
    for number in range(FILES):
        methods = api.methods[number * per_file:(number + 1) * per_file]
        out = ["// Generated: recorded calls, made again.", '#include "dispatch.h"', '#include "enums.h"', "",
               "namespace tenon::capture {", "namespace {", "using namespace nvinfer1;"]
        for part in sorted({m.part for m in methods}):
            owner, member = api.parts[part]
            out += [f"struct Open_{short(part)} : {owner} {{",
                    f"  static {part}& of({owner}* object) {{ return *(object->*(&Open_{short(part)}::{member})); }}", "};"]
        out += ["}  // namespace", f"const Dispatch kDispatch{number}[] = {{"]
        for method in methods:
            owner = short(method.owner)
            target = f"Open_{short(method.part)}::of(s.self<{method.owner}>(kIndex_{owner}))"
            values = ", ".join(argument(method, i, p) for i, p in enumerate(method.parameters))
            out.append(f"    [](Step& s) {{ {result(method, f'{target}.{method.function.name}({values})')} }},")
        out += ["};", "}  // namespace tenon::capture"]
        write(os.path.join(folder, f"dispatch{number}.cpp"), out)


if __name__ == "__main__":
    main()
