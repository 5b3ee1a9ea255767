#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the wrappers: one class per implementing class (its functions record and forward), one per public class."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from description import Api, short, write  # noqa: E402

FILES = 6  # of functions: so that they compile side by side


def argument(method, number, parameter):
    """(statements before the call, expression for the library)"""
    name, kind = f"a{number}", parameter.kind
    count = f"a{method.counts[number]}" if method.counts.get(number) is not None else "0"
    simple = {"boolean": "boolean", "text": "text", "real": "real", "dims": "dims", "permutation": "permutation",
              "weights": "weights", "key": "key", "value": "value", "stream": "stream"}
    if kind in simple:
        return f"c.{simple[kind]}({name});", name
    if kind == "integer":
        call = "unsignedInteger" if api_unsigned(parameter) else "integer"
        return f"c.{call}({name});", name
    if kind == "enumeration":
        return f"c.enumeration(kEnum_{parameter.name}, static_cast<int64_t>({name}));", name
    if kind == "object":
        if parameter.is_reference:
            return f"auto* r{number} = c.object(&{name});", f"*r{number}"
        return f"auto* r{number} = c.object({name});", f"r{number}"
    if kind == "user":
        if parameter.is_reference:
            return f"auto* r{number} = c.user(&{name});", f"*r{number}"
        return f"auto* r{number} = c.user({name});", f"r{number}"
    if kind in ("objects", "ints32", "floats", "texts", "blob"):
        return f"auto r{number} = c.{kind}({name}, static_cast<int64_t>({count}));", f"r{number}"
    if kind == "ints64":
        return f"c.ints64({name}, static_cast<int64_t>({count}));", name
    if kind in ("plugin2", "plugin3"):
        return f"auto& r{number} = c.plugin({name});", f"r{number}"
    if kind.startswith("out_"):
        return "c.pointer(nullptr);", name  # told with the results
    raise SystemExit(f"{method.name}: no way to record an argument of the kind '{kind}'")


def api_unsigned(parameter):
    return parameter.plain in ("uint32_t", "uint64_t", "std::size_t", "size_t") or parameter.name in (
        "BuilderFlags", "QuantizationFlags", "TacticSources", "TensorFormats", "NetworkDefinitionCreationFlags")


def outputs(method):
    lines = []
    for number, parameter in enumerate(method.parameters):
        if parameter.kind == "out_object":
            lines.append(f"c.objectOutput(a{number}, {class_of(parameter)});")
        elif parameter.kind == "out_floats":
            lines.append(f"c.floatsOutput(a{number}, a{method.counts[number]});")
        elif parameter.kind == "out_keys":
            lines.append(f"c.keysOutput(a{number}, std::min<int64_t>(r, a{method.counts[number]}));")
    return lines


def class_of(parameter):
    return f"kClass_{parameter.name}"


def result(method):
    kind, parameter = method.result.kind, method.result
    if kind in ("boolean", "text", "real", "weights", "value", "stream"):
        return f"return c.{kind}(r);"
    if kind == "dims":
        return "c.dims(r);\n  return r;"
    if kind == "integer":
        call = "unsignedInteger" if api_unsigned(parameter) else "integer"
        return f"c.{call}(r);\n  return r;"
    if kind == "enumeration":
        return f"c.enumeration(kEnum_{parameter.name}, static_cast<int64_t>(r));\n  return r;"
    if kind == "permutation":
        return "return c.permutation(r);"
    if kind in ("pointer", "engine"):
        return "c.pointer(r);\n  return r;"
    if kind == "user":
        return "return c.userResult(r);"
    if kind in ("plugin2", "plugin3"):
        return "return c.plugin(r);"
    if kind == "registry":
        return "c.pointer(&r);\n  return *wrapRegistry(&r);"
    if kind == "object":
        if parameter.name == "ILayer":
            return "return c.layerResult(r);"
        if parameter.is_reference:
            return f"return *c.objectResult(&r, {class_of(parameter)});"
        return f"return c.objectResult(r, {class_of(parameter)});"
    raise SystemExit(f"{method.name}: no way to record a result of the kind '{kind}'")


def declared(function, names):
    return f"{function.name}({function.declared(names)}) {function.qualifiers}".rstrip()


def definition(api, method):
    function = method.function
    names = [f"a{i}" for i in range(len(function.parameters))]
    after = api.notes["afterwards"].get(method.name)
    opening = f"{function.returns} P{short(method.part)}::{declared(function, names)} {{"
    body = [f"  Call c(self_, {method.index});"]
    values = []
    for number, parameter in enumerate(method.parameters):
        before, value = argument(method, number, parameter)
        body.append("  " + before)
        values.append(value)
    body.append("  c.forward();")
    call = f"real_->{function.name}({', '.join(values)})"
    if method.result.kind == "void":
        body.append(f"  {call};")
    else:
        reference = "&&" if function.returns.endswith("&") else ""
        body.append(f"  auto{reference} r = {call};")
        if method.is_build and method.result.name == "IHostMemory":
            body.append("  c.built(r);")
        body += [f"  {line}" for line in outputs(method)]
        body.append("  " + result(method))
    if after:
        body = ["  auto* made = [&] {"] + ["  " + line for line in body] + ["  }();", f"  {after}(made);", "  return made;"]
    return [opening] + body + ["}"]


def header(api):
    out = ["// Generated: the wrappers of the objects that the library hands out.", "#pragma once", "",
           "#include <NvInfer.h>", "", '#include "shim/object.h"', "",
           "#pragma GCC diagnostic ignored \"-Wdeprecated-declarations\"", "namespace tenon::capture {",
           "using namespace nvinfer1;  // as the table names them", ""]
    for part in api.parts:
        name = short(part)
        out += [f"class P{name} final : public {part} {{", " public:",
                f"  P{name}(Object& self, {part}* real) : self_(self), real_(real) {{}}"]
        for method in api.methods_of(part):
            function = method.function
            out.append(f"  {function.returns} {declared(function, [''] * len(function.parameters))} override;")
        out += ["", " private:", "  Object& self_;", f"  {part}* real_;", "};", ""]
    out += [f"extern const ClassInfo kClass_{short(name)};" for name, _ in api.classes]
    return out + ["}  // namespace tenon::capture"]


def faces(api):
    out = ["// Generated: the public classes that the application sees.", '#include "wrappers_generated.h"',
           '#include "shim/wrappers.h"', "", "namespace tenon::capture {", "namespace {", ""]
    # A pointer to a protected member that is named through a derived class opens it on any object of the base.
    for name, hidden in api.classes:
        plain = short(name)
        out += [f"class F{plain} final : public {name}, public Object {{", " public:",
                f"  explicit F{plain}({name}* real)",
                f"      : Object(kClass_{plain}, real, static_cast<{name}*>(this))"]
        for _, member, part in hidden:
            out[-1] += ","
            out.append(f"        {member.lower()}_(*this, real->*(&F{plain}::{member}))")
        out.append("  {")
        out += [f"    {member} = &{member.lower()}_;" for _, member, _ in hidden]
        out.append("  }")
        if api.is_deletable(name):
            out.append(f"  ~F{plain}() noexcept override {{\n    released(*this, [](void* real) {{ delete static_cast<{name}*>(real); }});\n  }}")
        out += ["", " private:"]
        out += [f"  P{short(part)} {member.lower()}_;" for _, member, part in hidden]
        out += ["};", ""]
    out += ["}  // namespace", ""]
    for name, _ in api.classes:
        plain = short(name)
        deletable = "true" if api.is_deletable(name) else "false"
        out.append(f'const ClassInfo kClass_{plain}{{"{plain}", [](void* real) -> Object* {{ '
                   f"return new F{plain}(static_cast<{name}*>(real)); }}, {deletable}}};")
    out += ["", "const ClassInfo& layerClass(const nvinfer1::ILayer& layer) {", "  switch (layer.getType()) {"]
    for enumerator, name in api.layer_types():
        out += [f"    case nvinfer1::LayerType::{enumerator}:", f"      return kClass_{short(name)};"]
    out += ["    default:", "      return kClass_ILayer;", "  }", "}", "}  // namespace tenon::capture"]
    return out


def main():
    api, folder = Api(), sys.argv[1]
    write(os.path.join(folder, "wrappers_generated.h"), header(api))
    write(os.path.join(folder, "faces.cpp"), faces(api))
    bins = [[] for _ in range(FILES)]
    for number, part in enumerate(sorted(api.parts, key=lambda p: -len(api.methods_of(p)))):
        smallest = min(bins, key=lambda b: sum(len(api.methods_of(p)) for p in b))
        smallest.append(part)
    for number, parts in enumerate(bins):
        out = ["// Generated: functions that record and forward.", '#include "wrappers_generated.h"', "",
               "#include <algorithm>", "", '#include "enums.h"', '#include "shim/call.h"', '#include "shim/library.h"',
               '#include "shim/wrappers.h"', "", "namespace tenon::capture {"]
        for part in parts:
            for method in api.methods_of(part):
                out += definition(api, method)
        write(os.path.join(folder, f"functions{number}.cpp"), out + ["}  // namespace tenon::capture"])


if __name__ == "__main__":
    main()
