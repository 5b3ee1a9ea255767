// SPDX-License-Identifier: Apache-2.0
// The parser of ONNX, its errors, and the parser that refits.
#include <pybind11/stl.h>

#include "module.h"

namespace tenon::python {

namespace {

using nvonnxparser::IParser;
using nvonnxparser::IParserError;
using nvonnxparser::IParserRefitter;

// The weights that a parser reads are used after it, by the build or the refit: `taker` keeps the parser of C++ as long
// as it lives itself (and the logger with it). The parser's object in Python keeps `taker`, so nothing keeps itself.
template <class T, class Taker>
Shared<T> sharedWith(Taker& taker, T* made) {
  if (!made) throw std::runtime_error("no parser could be made; the log says why");
  const Shared<T> parser(made, Delete<T>());
  const py::object taking = handleOf(taker);
  keepAlive(taking, py::capsule(new Shared<T>(parser), [](void* kept) { delete static_cast<Shared<T>*>(kept); }));
  return parser;
}

Shared<IParser> makeParser(nvinfer1::INetworkDefinition& network, nvinfer1::ILogger& logger) {
  return sharedWith(network, nvonnxparser::createParser(network, logger));
}

Shared<IParserRefitter> makeParserRefitter(nvinfer1::IRefitter& refitter, nvinfer1::ILogger& logger) {
  return sharedWith(refitter, nvonnxparser::createParserRefitter(refitter, logger));
}

// A function of the bytes of a model; the path says where its weights lie that are in files of their own.
template <class T>
auto withModel(bool (T::*function)(const void*, size_t, const char*) noexcept) {
  return [function](T& self, const py::buffer& model, const char* path) {
    const Bytes bytes(model);
    return longCall([&] { return (self.*function)(bytes.data(), bytes.size(), path); });
  };
}

template <class T>
bool loadInitializer(T& self, const char* name, size_t data, size_t size) {
  return self.loadInitializer(name, pointerOf<const void*>(data), size);
}

auto supportsModel(IParser& self, const py::buffer& model, const char* path) {
  const Bytes bytes(model);
  SubGraphCollection_t graphs;
  const bool supported = longCall([&] { return self.supportsModel(bytes.data(), bytes.size(), graphs, path); });
  return std::make_pair(supported, graphs);
}

int64_t checkedIndex(IParser& self, int64_t index) {
  const int64_t count = self.getNbSubgraphs();
  if (index < 0 || index >= count)
    throw py::index_error("subgraph " + std::to_string(index) + " of " + std::to_string(count));
  return index;
}

py::list nodesOf(IParser& self, int64_t index) {
  int64_t count = 0;
  const int64_t* const nodes = self.getSubgraphNodes(checkedIndex(self, index), count);
  py::list list;
  for (int64_t i = 0; nodes && i < count; ++i) list.append(nodes[i]);
  return list;
}

std::vector<std::string> pluginLibrariesOf(const IParser& self) {
  int64_t count = 0;
  const char* const* const paths = self.getUsedVCPluginLibraries(count);
  return paths ? std::vector<std::string>(paths, paths + count) : std::vector<std::string>();
}

std::vector<std::string> stackOf(const IParserError& self) {
  const char* const* const names = self.localFunctionStack();
  return names ? std::vector<std::string>(names, names + self.localFunctionStackSize()) : std::vector<std::string>();
}

std::string textOfError(const IParserError& self) {
  const auto word = [](const char* text) { return std::string(text ? text : ""); };
  std::string where = self.node() >= 0 ? "node " + std::to_string(self.node()) + " [" + word(self.nodeOperator()) +
                                             "] '" + word(self.nodeName()) + "': "
                                       : "";
  return "In " + word(self.file()) + ":" + std::to_string(self.line()) + " (" + word(self.func()) + "): " + where +
         word(self.desc());
}

void defineOnnxParser(py::module_& module) {
  py::reinterpret_borrow<py::class_<IParser, Shared<IParser>>>(module.attr("OnnxParser"))
      .def(py::init(&makeParser), py::arg("network"), py::arg("logger"), py::keep_alive<2, 3>(), py::keep_alive<1, 2>())
      .def("parse", withModel<IParser>(&IParser::parse), py::arg("model"), py::arg("path") = py::none())
      .def(
          "parse_with_weight_descriptors",
          [](IParser& self, const py::buffer& model) {
            const Bytes bytes(model);
            return longCall([&] { return self.parseWithWeightDescriptors(bytes.data(), bytes.size()); });
          },
          py::arg("model"))
      .def(
          "parse_from_file",
          [](IParser& self, const std::string& model) {
            constexpr int kVerbosity = static_cast<int>(nvinfer1::ILogger::Severity::kVERBOSE);
            return longCall([&] { return self.parseFromFile(model.c_str(), kVerbosity); });
          },
          py::arg("model"))
      .def("supports_model", &supportsModel, py::arg("model"), py::arg("path") = py::none())
      .def("supports_model_v2", withModel<IParser>(&IParser::supportsModelV2), py::arg("model"),
           py::arg("path") = py::none())
      .def(
          "is_subgraph_supported",
          [](IParser& self, int64_t index) { return self.isSubgraphSupported(checkedIndex(self, index)); },
          py::arg("index"))
      .def("get_subgraph_nodes", &nodesOf, py::arg("index"))
      .def("get_used_vc_plugin_libraries", &pluginLibrariesOf)
      .def("load_model_proto", withModel<IParser>(&IParser::loadModelProto), py::arg("model"),
           py::arg("path") = py::none())
      .def("load_initializer", &loadInitializer<IParser>, py::arg("name"), py::arg("data"), py::arg("size"))
      .def("__del__", [](const IParser&) {});
}

void defineOnnxParserRefitter(py::module_& module) {
  py::reinterpret_borrow<py::class_<IParserRefitter, Shared<IParserRefitter>>>(module.attr("OnnxParserRefitter"))
      .def(py::init(&makeParserRefitter), py::arg("refitter"), py::arg("logger"), py::keep_alive<2, 3>(),
           py::keep_alive<1, 2>())
      .def("refit_from_bytes", withModel<IParserRefitter>(&IParserRefitter::refitFromBytes), py::arg("model"),
           py::arg("path") = py::none())
      .def(
          "refit_from_file",
          [](IParserRefitter& self, const std::string& model) {
            return longCall([&] { return self.refitFromFile(model.c_str()); });
          },
          py::arg("model"))
      .def("load_model_proto", withModel<IParserRefitter>(&IParserRefitter::loadModelProto), py::arg("model"),
           py::arg("path") = py::none())
      .def("load_initializer", &loadInitializer<IParserRefitter>, py::arg("name"), py::arg("data"), py::arg("size"));
}

}  // namespace

void defineParser(py::module_& module) {
  defineOnnxParser(module);
  defineOnnxParserRefitter(module);
  classOf<IParserError>(module, "ParserError")
      .def("local_function_stack", &stackOf)
      .def("__str__", &textOfError)
      .def("__repr__", &textOfError);
  module.def("get_nv_onnx_parser_version", &getNvOnnxParserVersion);
}

}  // namespace tenon::python
