#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the library of recorder.h: an object of every class, made from the table of the binary interface."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "abi"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "abi"))

from abi_table import Table, identifier  # noqa: E402
from make_probe import mock  # noqa: E402

ENTRIES = """
extern "C" {
void* createInferBuilder_INTERNAL(void*, int32_t) noexcept { return Object<IBuilder>::make(); }
void* createInferRuntime_INTERNAL(void*, int32_t) noexcept { return Object<IRuntime>::make(); }
void* createInferRefitter_INTERNAL(void*, void*, int32_t) noexcept { return Object<IRefitter>::make(); }
void* createNvOnnxParser_INTERNAL(void*, void*, int) noexcept { return Object<nvonnxparser::IParser>::make(); }
void* createNvOnnxParserRefitter_INTERNAL(void*, void*, int32_t) noexcept {
  return Object<nvonnxparser::IParserRefitter>::make();
}
int getNvOnnxParserVersion() noexcept { return NV_ONNX_PARSER_VERSION; }
IPluginRegistry* getPluginRegistry() noexcept { return Object<IPluginRegistry>::make(); }
bool initLibNvInferPlugins(void*, const char*) { return true; }

void recorderNextLayer(const char* name) { nextLayer() = name; }
//! From here on objects are known, and the call lets all go that are not deleted yet.
void recorderFree() {
  for (void* memory : kept()) ::operator delete(memory);
  kept().clear();
  keeps() = true;
}
void recorderReset() { lastCall() = Call{}; }
const char* recorderOwner() { return lastCall().owner; }
int recorderSlot() { return lastCall().slot; }
}

namespace nvinfer1 {
extern "C" IPluginRegistry* getBuilderPluginRegistry(EngineCapability) noexcept {
  return Object<IPluginRegistry>::make();
}
}  // namespace nvinfer1
"""


def main():
    table, target = Table(sys.argv[1]), sys.argv[2]
    order = []

    def visit(name):
        if name in order or name == "nvinfer1::INoCopy":
            return
        for _, _, hidden in table.hidden_pointers(name):
            visit(hidden)
        order.append(name)

    for name, entry in table.classes.items():
        if entry.get("slots"):
            visit(name)
    layers = [n for n in order if "nvinfer1::ILayer" in table.chain(n)]
    out = ['#include "recorder.h"', "", "using namespace nvinfer1;", "using namespace recorder;", "", "namespace recorder {"]
    out += [f"template <> struct Object<{n}> {{ static {n}* make(); }};" for n in order]
    out += ["}  // namespace recorder", "", "namespace {"]
    for name in order:
        lines = mock(table, name, checks=False)
        out += lines[:-1] + ["  static void* operator new(std::size_t size) { return recorder::allocate(size); }",
                             "  static void operator delete(void* memory) { recorder::release(memory); }"] + lines[-1:]
    out += ["}  // namespace", "", "namespace recorder {"]
    for name in order:
        if name != "nvinfer1::ILayer":
            out.append(f"{name}* Object<{name}>::make() {{ return new Mock_{identifier(name)}; }}")
    out.append("ILayer* Object<ILayer>::make() {")
    out += [f'  if (nextLayer() == "{n}") return new Mock_{identifier(n)};' for n in layers]
    out += ["  return new Mock_nvinfer1_ILayer;", "}", "}  // namespace recorder", ENTRIES]
    with open(target, "w", encoding="utf-8") as file:
        file.write("\n".join(out))


if __name__ == "__main__":
    main()
