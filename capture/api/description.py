# SPDX-License-Identifier: Apache-2.0
"""The recorded part of the interface: the table of the binary layout joined with the annotations beside this file."""
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "abi"))

from abi_table import LAYOUT, Table  # noqa: E402

INTEGERS = {"int32_t": "int32_t", "int64_t": "int64_t", "uint32_t": "uint32_t", "uint64_t": "uint64_t",
            "std::size_t": "std::size_t", "size_t": "std::size_t"}
USER = ("ILogger", "IErrorRecorder", "IGpuAllocator", "IProgressMonitor", "IAlgorithmSelector", "IInt8Calibrator",
        "IStreamWriter")


def short(name):
    return name.split("::")[-1]


class Parameter:
    """One parameter or result: its type as declared and the kind, which says how it is written in a capture."""

    def __init__(self, api, declared, kind=None):
        self.declared = declared
        self.plain = re.sub(r"^const | const$", "", declared).rstrip("&*").strip()
        self.is_reference = declared.endswith("&")
        self.name = short(self.plain)
        self.kind = kind or api.kind_of(declared, self.plain)


class Method:
    """One recorded function: public class, implementing class, name, parameters and result."""

    def __init__(self, api, owner, part, function, index):
        self.owner, self.part, self.function, self.index = owner, part, function, index
        self.name = f"{short(owner)}.{function.name}"
        arrays = api.notes["arrays"].get(self.name, {})
        outputs = api.notes["outputs"].get(self.name, {})
        self.parameters = []
        self.counts = {}
        for number, declared in enumerate(function.parameters):
            key = str(number)
            kind = None
            if key in arrays:
                kind = api.array_kind(declared)
                self.counts[number] = arrays[key]
            elif key in outputs:
                kind = api.output_kind(declared)
                self.counts[number] = outputs[key]
            self.parameters.append(Parameter(api, declared, kind))
        self.result = Parameter(api, function.returns)
        self.is_build = self.name in api.notes["builds"]
        self.is_long = self.is_build or self.name in api.notes["long"]
        self.is_fresh = any(function.name.startswith(prefix) for prefix in api.notes["fresh"])


class Api:
    """All recorded classes and methods."""

    def __init__(self):
        with open(os.path.join(HERE, "annotations.json"), encoding="utf-8") as file:
            self.notes = json.load(file)
        self.table = Table(LAYOUT)
        self.enums = self.table.data["enums"]
        self.aliases = self.table.data["aliases"]
        self.parts = {}      # implementing class -> (public class that holds the pointer, member)
        self.classes = []    # public classes that are handed out, each with its chain of parts
        skipped = {f"nvinfer1::apiv::{n}" for n in self.notes["not recorded"]}
        for name in self.table.classes:
            hidden = self.table.hidden_pointers(name)
            if not hidden or any(h[2] in skipped for h in hidden):
                continue
            if "apiv" in name or not all(h[2].startswith("nvinfer1::apiv::") for h in hidden):
                continue
            for owner, member, part in hidden:
                self.parts[part] = (owner, member)
            self.classes.append((name, hidden))
        self.methods = []
        for part, (owner, _) in self.parts.items():
            for function in sorted(self.table.functions(part), key=lambda f: f.slot):
                self.methods.append(Method(self, owner, part, function, len(self.methods)))

    def is_deletable(self, name):
        return self.table.classes[name].get("destructor", ["protected"])[0] == "public"

    def methods_of(self, part):
        return [m for m in self.methods if m.part == part]

    def layer_types(self):
        """(enumerator, class) of each layer type that a network can hold."""
        def normal(text):
            return text.replace("_", "").lower()
        by_name = {normal(re.sub(r"^I|Layer$", "", short(n))): n for n, _ in self.classes}
        rows = []
        for enumerator in self.enums["nvinfer1::LayerType"]["values"]:
            named = self.notes["layer types"].get(enumerator)
            found = f"nvinfer1::{named}" if named else by_name.get(normal(enumerator[1:]))
            if found:
                rows.append((enumerator, found))
        return rows

    def resolved(self, plain):
        target = self.aliases.get(plain, plain)
        return self.resolved(target) if target != plain and isinstance(target, str) else plain

    def kind_of(self, declared, plain):
        plain = self.resolved(plain)
        if declared == "void":
            return "void"
        if plain in ("cudaStream_t", "CUstream_st"):
            return "stream"
        if declared == "const char*":
            return "text"
        if short(plain) in USER:
            return "user"
        if declared.rstrip("&*") != declared:
            if plain.endswith("Dims64") or short(plain) == "Dims":
                return "dims"
            if short(plain) in ("Permutation", "TimingCacheKey", "TimingCacheValue"):
                return {"Permutation": "permutation", "TimingCacheKey": "key", "TimingCacheValue": "value"}[short(plain)]
            if short(plain) == "IPluginV2":
                return "plugin2"
            if short(plain) == "IPluginV3":
                return "plugin3"
            if short(plain) == "ICudaEngine":
                return "engine"
            if short(plain) == "IPluginRegistry":
                return "registry"
            if plain in self.table.classes:
                return "object"
            return "pointer"
        if plain in ("bool",):
            return "boolean"
        if plain in ("float", "double"):
            return "real"
        if plain in INTEGERS:
            return "integer"
        if plain in self.enums:
            return "enumeration"
        if short(plain) in ("Dims", "Dims64"):
            return "dims"
        if short(plain) == "Weights":
            return "weights"
        if short(plain) == "TimingCacheValue":
            return "value"
        raise SystemExit(f"no way to write a '{declared}' into a capture: add a rule to {__file__}")

    @staticmethod
    def array_kind(declared):
        return {"nvinfer1::ITensor* const*": "objects", "int64_t*": "ints64", "const int32_t*": "ints32",
                "const int64_t*": "ints64", "const float*": "floats", "const char* const*": "texts",
                "const void*": "blob"}[declared]

    @staticmethod
    def output_kind(declared):
        return {"float*": "out_floats", "nvinfer1::TimingCacheKey*": "out_keys",
                "nvinfer1::IHostMemory*&": "out_object"}[declared]


def write(path, lines):
    """Writes a generated file, unless it is there with the same content: then nothing is compiled again."""
    text = "\n".join(lines) + "\n"
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
