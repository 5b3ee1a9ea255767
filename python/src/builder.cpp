// SPDX-License-Identifier: Apache-2.0
// The builder, and optimization profiles.
#include <pybind11/stl.h>

#include "module.h"

namespace tenon::python {

namespace {

using namespace nvinfer1;

Owned<IBuilder> makeBuilder(ILogger& logger) {
  IBuilder* const builder = longCall([&] { return createInferBuilder(logger); });
  if (!builder) throw std::runtime_error("no builder could be made; the log says why");
  return Owned<IBuilder>(builder);
}

void setShape(IOptimizationProfile& self, const char* input, const Dims& least, const Dims& best, const Dims& most) {
  const Dims* const shapes[] = {&least, &best, &most};
  for (int i = 0; i < 3; ++i) {
    if (!self.setDimensions(input, kSelectors[i], *shapes[i]))
      throw std::runtime_error("set_shape: shapes of input '" + std::string(input) + "' are refused; the log says why");
  }
}

std::vector<Dims> getShape(const IOptimizationProfile& self, const char* input) {
  std::vector<Dims> shapes;
  for (const auto which : kSelectors) {
    shapes.push_back(self.getDimensions(input, which));
    if (shapes.back().nbDims < 0) return {};
  }
  return shapes;
}

void setShapeInput(IOptimizationProfile& self, const char* input, const std::vector<int64_t>& least,
                   const std::vector<int64_t>& best, const std::vector<int64_t>& most) {
  const std::vector<int64_t>* const values[] = {&least, &best, &most};
  for (int i = 0; i < 3; ++i) {
    if (!self.setShapeValuesV2(input, kSelectors[i], values[i]->data(), static_cast<int32_t>(values[i]->size())))
      throw std::runtime_error("set_shape_input: values of input '" + std::string(input) +
                               "' are refused; the log says why");
  }
}

std::vector<std::vector<int64_t>> getShapeInput(const IOptimizationProfile& self, const char* input) {
  std::vector<std::vector<int64_t>> values;
  const int32_t count = self.getNbShapeValues(input);
  for (const auto which : kSelectors) {
    const int64_t* const first = self.getShapeValuesV2(input, which);
    if (!first || count < 0) return {};
    values.emplace_back(first, first + count);
  }
  return values;
}

void defineProfile(py::class_<IOptimizationProfile> type) {
  type.def("set_shape", &setShape, py::arg("input"), py::arg("min"), py::arg("opt"), py::arg("max"))
      .def("get_shape", &getShape, py::arg("input"))
      .def("set_shape_input", &setShapeInput, py::arg("input"), py::arg("min"), py::arg("opt"), py::arg("max"))
      .def("get_shape_input", &getShapeInput, py::arg("input"));
}

}  // namespace

void defineBuilder(py::module_& module) {
  auto type = py::reinterpret_borrow<py::class_<IBuilder, Owned<IBuilder>>>(module.attr("Builder"));
  constexpr auto kOwn = py::return_value_policy::take_ownership;
  type.def(py::init(&makeBuilder), py::arg("logger"), py::keep_alive<1, 2>())
      .def_property("gpu_allocator", nullptr, py::cpp_function(&IBuilder::setGpuAllocator, Keeps<2>()))
      .def(
          "build_serialized_network",
          [](IBuilder& self, INetworkDefinition& network, IBuilderConfig& config) {
            return longCall([&] { return self.buildSerializedNetwork(network, config); });
          },
          py::arg("network"), py::arg("config"), kOwn)
      .def(
          "build_serialized_network",
          [](IBuilder& self, INetworkDefinition& network, IBuilderConfig& config, py::list kernelText) {
            IHostMemory* text = nullptr;
            IHostMemory* const plan = longCall([&] { return self.buildSerializedNetwork(network, config, text); });
            if (text) kernelText.append(py::cast(text, kOwn));
            return plan;
          },
          py::arg("network"), py::arg("config"), py::arg("kernel_text"), kOwn)
      .def("__del__", [](const IBuilder&) {});
  defineProfile(classOf<IOptimizationProfile>(module, "IOptimizationProfile"));
  module.def("get_builder_plugin_registry", &getBuilderPluginRegistry, py::return_value_policy::reference);
}

}  // namespace tenon::python
