// SPDX-License-Identifier: Apache-2.0
// Execution contexts: addresses, streams and events as numbers, shapes as sequences.
#include <pybind11/stl.h>

#include <algorithm>

#include "module.h"

namespace tenon::python {

namespace {

using Context = nvinfer1::IExecutionContext;

// Programs for release 9 and before give addresses for each optimization profile: those of the active one count.
bool execute(Context& self, const std::vector<size_t>& bindings) {
  const auto count = static_cast<size_t>(self.getEngine().getNbIOTensors());
  const auto profiles = static_cast<size_t>(self.getEngine().getNbOptimizationProfiles());
  if (bindings.size() != count && bindings.size() != count * profiles) {
    throw py::value_error("execute_v2: " + std::to_string(bindings.size()) + " addresses; expected " +
                          std::to_string(count));
  }
  std::vector<void*> addresses;
  for (const size_t address : bindings) addresses.push_back(pointerOf<void*>(address));
  const auto profile = static_cast<size_t>(std::max(self.getOptimizationProfile(), 0));
  void* const* const active = addresses.data() + (bindings.size() > count ? count * profile : 0);
  return longCall([&] { return self.executeV2(active); });
}

std::vector<std::string> inferShapes(Context& self) {
  std::vector<const char*> names(static_cast<size_t>(self.getEngine().getNbIOTensors()));
  const int32_t count = self.inferShapes(static_cast<int32_t>(names.size()), names.data());
  if (count < 0) throw std::runtime_error("infer_shapes failed; the log says why");
  names.resize(std::min(static_cast<size_t>(count), names.size()));
  return {names.begin(), names.end()};
}

// Inputs need no allocation of their own, so both kinds of tensors take a number.
bool setAddress(Context& self, const char* name, size_t address) {
  return self.setTensorAddress(name, pointerOf<void*>(address));
}

bool setInputShape(Context& self, const char* name, const nvinfer1::Dims& shape) {
  return self.setInputShape(name, shape);
}

void setStreams(Context& self, const std::vector<size_t>& numbers) {
  std::vector<cudaStream_t> streams;
  for (const size_t number : numbers) streams.push_back(pointerOf<cudaStream_t>(number));
  self.setAuxStreams(streams.data(), static_cast<int32_t>(streams.size()));
}

}  // namespace

void defineContext(py::handle scope) {
  classOf<Context>(scope, "IExecutionContext")
      .def_property("device_memory", nullptr, py::cpp_function([](Context& self, size_t memory) {
                      self.setDeviceMemory(pointerOf<void*>(memory));
                    }))
      .def("execute_v2", &execute, py::arg("bindings"))
      .def(
          "set_device_memory",
          [](Context& self, size_t memory, int64_t size) { self.setDeviceMemoryV2(pointerOf<void*>(memory), size); },
          py::arg("memory"), py::arg("size"))
      .def("set_input_shape", &setInputShape, py::arg("name"), py::arg("shape"))
      .def("set_tensor_address", &setAddress, py::arg("name"), py::arg("memory"))
      .def(
          "get_tensor_address",
          [](const Context& self, const char* name) { return numberOf(self.getTensorAddress(name)); }, py::arg("name"))
      .def(
          "set_input_consumed_event",
          [](Context& self, size_t event) { return self.setInputConsumedEvent(pointerOf<cudaEvent_t>(event)); },
          py::arg("event"))
      .def("get_input_consumed_event", [](const Context& self) { return numberOf(self.getInputConsumedEvent()); })
      .def("infer_shapes", &inferShapes)
      .def(
          "execute_async_v3",
          [](Context& self, size_t stream) {
            return longCall([&] { return self.enqueueV3(pointerOf<cudaStream_t>(stream)); });
          },
          py::arg("stream_handle"))
      .def(
          "set_optimization_profile_async",
          [](Context& self, int32_t profile, size_t stream) {
            if (!longCall([&] { return self.setOptimizationProfileAsync(profile, pointerOf<cudaStream_t>(stream)); }))
              throw std::runtime_error("set_optimization_profile_async: profile " + std::to_string(profile) +
                                       " is refused; the log says why");
            return true;
          },
          py::arg("profile_index"), py::arg("stream_handle"))
      .def("set_aux_streams", &setStreams, py::arg("aux_streams"))
      .def("__del__", [](const Context&) {});
}

}  // namespace tenon::python
