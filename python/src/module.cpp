// SPDX-License-Identifier: Apache-2.0
// The module tensorrt.tensorrt: what is declared in which order, and who keeps whom.
#include "module.h"

#include <algorithm>
#include <unordered_map>

namespace tenon::python {

void declareEnums(py::handle scope);
void declareValues(py::module_& module);
void declareWeights(py::module_& module);
void declareWatchers(py::module_& module);
void declareMemoryInterfaces(py::module_& module);
void declareBuildInterfaces(py::module_& module);
void declarePluginFields(py::module_& module);
void declarePluginShapes(py::module_& module);
void declarePluginV2(py::module_& module);
void declarePluginV3(py::module_& module);
void declarePluginQuick(py::module_& module);
void declareCreators(py::module_& module);
void declareClasses(py::handle scope);
void defineMembers(py::handle scope);
void defineLayers(py::handle scope);
void defineNetwork(py::handle scope);
void defineBuilder(py::module_& module);
void defineConfig(py::handle scope);
void defineRuntime(py::module_& module);
void defineContext(py::handle scope);
void defineRefitter(py::module_& module);
void defineParser(py::module_& module);
void defineRegistry(py::module_& module);
void defineDocstrings(py::module_& module);

namespace {

using Owners = std::unordered_map<const nvinfer1::ILayer*, std::vector<py::object>>;

Owners& ownersOfLayers() {
  static auto* const owners = new Owners;  // outlives the interpreter
  return *owners;
}

}  // namespace

void keepWeightsOfLayer(const nvinfer1::ILayer* layer, const py::object& owner) {
  if (owner) ownersOfLayers()[layer].push_back(owner);
}

template <>
void Delete<nvinfer1::INetworkDefinition>::operator()(nvinfer1::INetworkDefinition* network) const {
  std::vector<std::vector<py::object>> owners;  // given up after the network
  for (int32_t i = 0; i < network->getNbLayers() && !ownersOfLayers().empty(); ++i) {
    const auto found = ownersOfLayers().find(network->getLayer(i));
    if (found == ownersOfLayers().end()) continue;
    owners.push_back(std::move(found->second));
    ownersOfLayers().erase(found);
  }
  const py::gil_scoped_release released;
  delete network;
}

void keepAlive(py::handle keeper, py::handle kept) {
  if (!keeper || !kept || kept.is_none()) return;
  const auto& patients = py::detail::get_internals().patients;
  const auto found = patients.find(keeper.ptr());
  if (found != patients.end() && std::ranges::find(found->second, kept.ptr()) != found->second.end()) return;
  py::detail::add_patient(keeper.ptr(), kept.ptr());
}

void warnDeprecated(const char* name, const char* reason) {
  const std::string text = std::string(name) + " is deprecated: " + reason;
  if (PyErr_WarnEx(PyExc_DeprecationWarning, text.c_str(), 1) != 0) throw py::error_already_set();
}

Bytes::Bytes(const py::handle& object, int flags) {
  if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw py::error_already_set();
}

py::object textOf(const char* text) {
  if (!text) return py::none();
  return py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::char_traits<char>::length(text)), "replace"));
}

}  // namespace tenon::python

PYBIND11_MODULE(tensorrt, module) {
  using namespace tenon::python;
  module.doc() = "TensorRT's Python interface on Tenon";
  declareEnums(module);
  declareValues(module);
  declareWeights(module);
  declareWatchers(module);
  declareMemoryInterfaces(module);
  declareBuildInterfaces(module);
  declarePluginFields(module);
  declarePluginShapes(module);
  declarePluginV2(module);
  declarePluginV3(module);
  declarePluginQuick(module);
  declareCreators(module);
  declareClasses(module);
  defineMembers(module);
  defineLayers(module);
  defineNetwork(module);
  defineBuilder(module);
  defineConfig(module);
  defineRuntime(module);
  defineContext(module);
  defineRefitter(module);
  defineParser(module);
  defineRegistry(module);
  defineDocstrings(module);
  using nvinfer1::DataType;
  for (const auto& [name, type] : std::initializer_list<std::pair<const char*, DataType>>{{"float32", DataType::kFLOAT},
                                                                                          {"float16", DataType::kHALF},
                                                                                          {"bfloat16", DataType::kBF16},
                                                                                          {"int8", DataType::kINT8},
                                                                                          {"int32", DataType::kINT32},
                                                                                          {"int64", DataType::kINT64},
                                                                                          {"bool", DataType::kBOOL},
                                                                                          {"uint8", DataType::kUINT8},
                                                                                          {"fp8", DataType::kFP8},
                                                                                          {"int4", DataType::kINT4},
                                                                                          {"fp4", DataType::kFP4},
                                                                                          {"e8m0", DataType::kE8M0}})
    module.attr(name) = type;
}
