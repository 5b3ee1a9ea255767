// SPDX-License-Identifier: Apache-2.0
// The refitter: lists of what is missing, ranges, and refitting on a stream.
#include <pybind11/stl.h>

#include "module.h"

namespace tenon::python {

namespace {

using namespace nvinfer1;
using Names = std::vector<std::string>;

Owned<IRefitter> makeRefitter(ICudaEngine& engine, ILogger& logger) {
  IRefitter* const refitter = longCall([&] { return createInferRefitter(engine, logger); });
  if (!refitter) throw std::runtime_error("no refitter could be made of this engine; the log says why");
  return Owned<IRefitter>(refitter);
}

template <class F>
Names namesOf(F&& list) {
  std::vector<const char*> names(static_cast<size_t>(std::max(list(0, nullptr), 0)));
  list(static_cast<int32_t>(names.size()), names.data());
  return {names.begin(), names.end()};
}

template <class F>
std::pair<Names, std::vector<WeightsRole>> rolesOf(F&& list) {
  std::vector<const char*> names(static_cast<size_t>(std::max(list(0, nullptr, nullptr), 0)));
  std::vector<WeightsRole> roles(names.size());
  list(static_cast<int32_t>(names.size()), names.data(), roles.data());
  return {Names(names.begin(), names.end()), roles};
}

constexpr char kRanges[] = "since 10.1, use explicit quantization";

py::tuple rangeOf(const IRefitter& self, const char* tensor) {
  warnDeprecated("Refitter.get_dynamic_range", kRanges);
  return py::make_tuple(self.getDynamicRangeMin(tensor), self.getDynamicRangeMax(tensor));
}

bool setRange(IRefitter& self, const char* tensor, const std::vector<float>& range) {
  warnDeprecated("Refitter.set_dynamic_range", kRanges);
  if (range.size() != 2)
    throw py::value_error("set_dynamic_range: " + std::to_string(range.size()) +
                          " numbers; expected the least and the greatest");
  return self.setDynamicRange(tensor, range[0], range[1]);
}

}  // namespace

void defineRefitter(py::module_& module) {
  py::reinterpret_borrow<py::class_<IRefitter, Owned<IRefitter>>>(module.attr("Refitter"))
      .def(py::init(&makeRefitter), py::arg("engine"), py::arg("logger"), py::keep_alive<1, 2>(),
           py::keep_alive<1, 3>())
      .def("get_missing",
           [](IRefitter& self) {
             return rolesOf(
                 [&](int32_t n, const char** names, WeightsRole* roles) { return self.getMissing(n, names, roles); });
           })
      .def("get_all",
           [](IRefitter& self) {
             return rolesOf(
                 [&](int32_t n, const char** names, WeightsRole* roles) { return self.getAll(n, names, roles); });
           })
      .def("get_missing_weights",
           [](IRefitter& self) {
             return namesOf([&](int32_t n, const char** names) { return self.getMissingWeights(n, names); });
           })
      .def("get_all_weights",
           [](IRefitter& self) {
             return namesOf([&](int32_t n, const char** names) { return self.getAllWeights(n, names); });
           })
      .def("get_tensors_with_dynamic_range",
           [](const IRefitter& self) {
             warnDeprecated("Refitter.get_tensors_with_dynamic_range", kRanges);
             return namesOf([&](int32_t n, const char** names) { return self.getTensorsWithDynamicRange(n, names); });
           })
      .def("get_dynamic_range", &rangeOf, py::arg("tensor_name"))
      .def("set_dynamic_range", &setRange, py::arg("tensor_name"), py::arg("range"))
      .def(
          "refit_cuda_engine_async",
          [](IRefitter& self, size_t stream) {
            return longCall([&] { return self.refitCudaEngineAsync(pointerOf<cudaStream_t>(stream)); });
          },
          py::arg("stream_handle"))
      .def("__del__", [](const IRefitter&) {});
}

}  // namespace tenon::python
