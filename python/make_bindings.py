# SPDX-License-Identifier: Apache-2.0
"""Writes the plain part of the Python module: enums, classes, and what each member calls, from two tables of facts.

    make_bindings.py FOLDER

api/surface-10.16.api says what Python sees, abi/layout-10.16.json how C++ declares the functions behind it. What is more
than one call of one function (the table says "adapter") is in src/, by hand.
"""
import json
import pathlib
import sys

import documentation
import surface
from surface import plain

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENUM_FILES, MEMBER_FILES = 3, 8

# Classes that src/ declares and defines by hand: values, and interfaces that classes in Python implement.
BY_HAND = {
    "FallbackString", "Weights", "Dims", "Dims2", "DimsHW", "Dims3", "Dims4", "IHostMemory", "InterfaceInfo",
    "IVersionedInterface", "Permutation", "TimingCacheKey", "TimingCacheValue", "NodeIndices", "SubGraphCollection",
    "ILogger", "Logger", "IProfiler", "Profiler", "IErrorRecorder", "IDebugListener", "IOutputAllocator",
    "IProgressMonitor", "IGpuAllocator", "IGpuAsyncAllocator", "IStreamReader", "IStreamReaderV2", "IStreamWriter",
    "IInt8Calibrator", "IInt8LegacyCalibrator", "IInt8EntropyCalibrator", "IInt8EntropyCalibrator2",
    "IInt8MinMaxCalibrator", "IAlgorithmSelector", "IPluginCreatorInterface", "IPluginCreator", "IPluginCreatorV3One",
    "IPluginCreatorV3Quick", "PluginField", "PluginFieldCollection", "PluginFieldCollection_", "PluginTensorDesc",
    "DynamicPluginTensorDesc", "IDimensionExpr", "DimsExprs", "IExprBuilder", "IPluginV2", "IPluginV2Ext",
    "IPluginV2DynamicExtBase", "IPluginV2DynamicExt", "IPluginCapability", "IPluginV3", "IPluginV3OneCore", "IPluginV3OneBuild",
    "IPluginV3OneBuildV2", "IPluginV3OneRuntime", "IPluginV3QuickCore", "IPluginV3QuickBuild", "IPluginV3QuickAOTBuild",
    "IPluginV3QuickRuntime", "IPluginResourceContext", "IPluginResource", "KernelLaunchParams", "ISymExpr", "ISymExprs",
}
# Objects that belong to Python once a function has returned them; all others belong to the object they came from.
OWNED = {
    "Builder", "INetworkDefinition", "IBuilderConfig", "Runtime", "ICudaEngine", "IExecutionContext", "Refitter",
    "EngineInspector", "ITimingCache", "ISerializationConfig", "IRuntimeConfig",
}
SHARED = {"OnnxParser", "OnnxParserRefitter"}
# Functions that make such an object, and need the one that made it for as long as it lives.
MAKERS = {
    "createNetworkV2", "createBuilderConfig", "buildEngineWithConfig", "createExecutionContext", "createEngineInspector",
    "createExecutionContextWithoutDeviceMemory", "createSerializationConfig", "createRuntimeConfig", "loadRuntime",
}
COPIES = {"serialize", "serializeWithConfig"}  # and one that needs nothing of it
# Functions during which other threads of Python run, and in which what callbacks raise comes back.
LONG = {
    "buildEngineWithConfig", "buildSerializedNetworkToStream", "isNetworkSupported", "createExecutionContext",
    "createExecutionContextWithoutDeviceMemory", "serialize", "serializeWithConfig", "refitCudaEngine",
    "parseModelProto", "refitModelProto", "reportToProfiler", "updateDeviceMemorySizeForShapes", "createNetworkV2",
}
# Objects that are lent to the one they are given to: it keeps them.
LENT = {"IErrorRecorder", "IGpuAllocator", "IProfiler", "IProgressMonitor", "IInt8Calibrator", "IAlgorithmSelector",
        "IOutputAllocator", "IDebugListener", "ITimingCache", "IExecutionContext", "IBuilderConfig", "IRuntimeConfig"}
# Names of the table that stand for a setter with a check of its own; ours checks in the function itself.
RENAMED = {"cumulative_layer_set_operation": "setOperation", "attention_set_operation": "setNormalizationOperation",
           "kv_cache_update_layer_set_cache_mode": "setCacheMode"}
# Plain calls in the table that give up the interpreter's lock, or that keep what they are given: in src/registry.cpp.
MEMBERS_BY_HAND = {("IPluginRegistry", name) for name in (
    "register_creator", "deregister_creator", "get_plugin_creator", "load_library", "deregister_library",
    "acquire_plugin_resource", "release_plugin_resource")} | {("IPluginV2Layer", "plugin"), ("IPluginV3Layer", "plugin")}
WARNS_ON_SET_ONLY = {("ITensor", "dtype")}
CXX_KEYWORDS = {"None": "py::none()", "True": "true", "False": "false"}


class Writer:
    def __init__(self):
        self.surface = surface.read()
        self.classes = json.loads((ROOT / "abi/layout-10.16.json").read_text())["classes"]
        self.python_names = {plain(e.cpp): e.name for e in self.surface.classes.values()}

    def overloads(self, name, function):
        while name:
            found = [row for row in self.classes[name].get("functions", []) if row[0] == function]
            if found:
                return name, found
            name = (self.classes[name].get("bases") or [None])[0]
        return None, []

    def choose(self, entry, function, parameters):
        """The declaration behind a function: by number of arguments, then by their types' names."""
        owner, rows = self.overloads(entry.cpp, RENAMED.get(function, function))
        rows = [row for row in rows if len(row[2]) == len(parameters)]
        if len(rows) > 1:
            rows = [row for row in rows if all(p.type == "object" or plain(t) == p.type or p.type in ("str", "int", "bool", "float")
                                               or self.python_names.get(plain(t)) == p.type
                                               for t, p in zip(row[2], parameters))]
        if len(rows) != 1:
            raise SystemExit(f"{entry.name}: {function} with {len(parameters)} arguments has {len(rows)} declarations in {owner}; "
                             "expected one. Say in the table that it is an adapter, and define it in src/.")
        return owner, rows[0]

    def default(self, text):
        if text in CXX_KEYWORDS or text.lstrip("-").replace(".", "").isdigit() or text.startswith("'"):
            return CXX_KEYWORDS.get(text, text.replace("'", '"'))
        enum, member = text.rsplit(".", 1)
        return f"{self.surface.enums[enum].cpp}::k{member}"

    def arguments(self, parameters):
        words = []
        for p in parameters:
            if p.name.startswith("arg"):
                continue  # by position only
            words.append(f'py::arg("{p.name}")' + (f" = {self.default(p.default)}" if p.default else ""))
        return words

    @staticmethod
    def extras(function, row, where):
        """How long what a function returns or takes lives."""
        words = []
        result = plain(row[1])
        if row[1].endswith(("*", "&")) and "char" not in row[1]:
            if function in MAKERS:
                words += ["py::return_value_policy::take_ownership", "py::keep_alive<0, 1>()"]
            elif function in COPIES:
                words += ["py::return_value_policy::take_ownership"]
            elif result in LENT or result in ("ILogger", "IPluginRegistry", "IBuilder", "ICudaEngine"):
                words += ["py::return_value_policy::reference"]
            else:
                words += ["py::return_value_policy::reference_internal"]
        if where != "getter":
            words += [f"Keeps<{place}>()" for place, kind in enumerate(row[2], 2)
                      if plain(kind) in LENT and not (function in LONG and plain(kind) == "IBuilderConfig")]
        return words

    def call(self, entry, function, parameters, member, where):
        """A pointer to a member function, or a lambda where more is to be done than to call it."""
        owner, row = self.choose(entry, function, parameters)
        function = row[0]
        weights = any(plain(kind) == "Weights" for kind in [row[1], *row[2]])
        warns = member.deprecated and not ((entry.name, member.name) in WARNS_ON_SET_ONLY and where == "getter")
        qualifier = " const" if "const" in row[3] else ""
        if not weights and not warns and function not in LONG:
            types = ", ".join(row[2])
            return f"static_cast<{row[1]} ({owner}::*)({types}){qualifier}>(&{owner}::{function})", row
        names = [f"a{i}" for i in range(len(row[2]))]
        kinds = ["const HostWeights&" if plain(k) == "Weights" else k for k in row[2]]
        declared = "".join(f", {k} {n}" for k, n in zip(kinds, names))
        passed = ", ".join(f"{n}.weights" if plain(k) == "Weights" else n for k, n in zip(row[2], names))
        lines = [f"  keepOwner(self, {n}.owner);" for k, n in zip(row[2], names) if plain(k) == "Weights"]
        if warns:
            lines.append(f'  warnDeprecated("{entry.name}.{member.name}", "{member.deprecated}");')
        body = f"self.{function}({passed})"
        if function in LONG:
            body = f"longCall([&]() -> {row[1]} {{ return {body}; }})"
        if plain(row[1]) == "Weights":
            body = f"viewOf({body}, self)"
        result = "HostWeights" if plain(row[1]) == "Weights" else row[1]
        inner = "\n".join([*lines, f"  return {body};"])
        return f"[]({entry.cpp}& self{declared}) -> {result} {{\n{inner}\n}}", row

    def method(self, entry, member):
        call, row = self.call(entry, member.functions[0], member.parameters, member, "method")
        words = [f'"{member.name}"', call, *self.arguments(member.parameters), *self.extras(row[0], row, "method")]
        return f"  c.def({', '.join(words)});"

    def property(self, entry, member):
        getter, row = self.call(entry, member.functions[0], [], member, "getter")
        policy = self.extras(row[0], row, "getter")
        read = f"py::cpp_function({', '.join([getter, *policy])})"
        if member.kind != "property":
            return f'  c.def_property_readonly("{member.name}", {read});'
        setter, row = self.call(entry, member.functions[1], [surface.Parameter("value")], member, "setter")
        write = f"py::cpp_function({', '.join([setter, f'py::name({json.dumps(member.name)})', *self.extras(row[0], row, 'setter')])})"
        return f'  c.def_property("{member.name}", {read}, {write});'

    def members(self, entry):
        last = None
        for member in entry.members:
            if not member.functions and last and last.name == member.name and last.functions and not last.adapter:
                member.functions, member.adapter = last.functions, False
            last = member
            if member.adapter or not member.functions or any("::" in f or f.startswith("m") and f[1].isupper() for f in member.functions):
                continue
            if (entry.name, member.name) in MEMBERS_BY_HAND:
                continue
            yield self.method(entry, member) if member.kind == "method" else self.property(entry, member)


HEAD = "// Generated by python/make_bindings.py.\n#include \"module.h\"\n\nnamespace tenon::python {\n\n"
HEAD_OF_ENUMS = HEAD.replace('#include "module.h"\n', '#include "module.h"\n\n#include <impl/NvInferPythonPlugin.h>\n')
TAIL = "\n}  // namespace tenon::python\n"


def write(path, text):
    """What is the same stays as old as it is, and what was compiled from it too."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def enum_code(entry, texts):
    name, text = entry.name.split(".")[-1], json.dumps(texts.enum(entry))
    rows = "".join(f'\n      .value("{k}", static_cast<{entry.cpp}>({v}), {json.dumps(texts.enum(entry, k))})' for k, v in entry.values.items())
    return f'  py::enum_<{entry.cpp}>(scope, "{name}", {text}, py::arithmetic()){rows};\n'


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    writer = Writer()
    table = writer.surface
    texts = documentation.of(table)
    enums = [e for e in table.enums.values() if "." not in e.name]
    for place in range(ENUM_FILES):
        rows = "".join(enum_code(e, texts) for e in enums[place::ENUM_FILES])
        write(folder / f"enums{place}.cpp", f"{HEAD_OF_ENUMS}void declareEnums{place}(py::handle scope) {{\n{rows}}}\n{TAIL}")
    classes = [e for e in table.classes.values() if e.name not in BY_HAND]
    declared, groups = [], [[] for _ in range(MEMBER_FILES)]
    for entry in classes:
        holder = "Owned" if entry.name in OWNED else "Shared" if entry.name in SHARED else "Lent"
        bases = f", {table.classes[entry.bases[0]].cpp}" if entry.bases else ""
        declared.append(f'  py::class_<{entry.cpp}, {holder}<{entry.cpp}>{bases}>(scope, "{entry.name}");\n')
        rows = list(writer.members(entry))
        if rows:
            min(groups, key=lambda g: sum(len(r) for _, r in g)).append((entry, rows))
    write(folder / "classes.cpp", f"{HEAD}void declareClasses(py::handle scope) {{\n{''.join(declared)}}}\n{TAIL}")
    for place, group in enumerate(groups):
        text = "".join(f'static void define{e.name}(py::class_<{e.cpp}> c) {{\n' + "\n".join(rows) + "\n}\n\n" for e, rows in group)
        text += f"void defineMembers{place}(py::handle scope) {{\n"
        text += "".join(f'  define{e.name}(classOf<{e.cpp}>(scope, "{e.name}"));\n' for e, _ in group) + "}\n"
        write(folder / f"members{place}.cpp", HEAD + text + TAIL)
    calls = [f"declareEnums{i}" for i in range(ENUM_FILES)], [f"defineMembers{i}" for i in range(MEMBER_FILES)]
    lines = [f"void {name}(py::handle scope);\n" for name in [*calls[0], *calls[1]]]
    lines.append("\nvoid declareEnums(py::handle scope) {\n" + "".join(f"  {n}(scope);\n" for n in calls[0]) + "}\n")
    lines.append("\nvoid declareSeverity(py::handle scope) {\n" + enum_code(table.enums["ILogger.Severity"], texts) + "}\n")
    lines.append("\nvoid defineMembers(py::handle scope) {\n" + "".join(f"  {n}(scope);\n" for n in calls[1]) + "}\n")
    write(folder / "all.cpp", HEAD + "".join(lines) + TAIL)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
