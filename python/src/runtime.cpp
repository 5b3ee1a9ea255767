// SPDX-License-Identifier: Apache-2.0
// The runtime, and what an engine says of its tensors.
#include <dlfcn.h>
#include <pybind11/stl.h>

#include "module.h"

namespace tenon::python {

namespace {

using namespace nvinfer1;
using Runtime = py::class_<IRuntime, Owned<IRuntime>>;

Owned<IRuntime> makeRuntime(ILogger& logger) {
  IRuntime* const runtime = longCall([&] { return createInferRuntime(logger); });
  if (!runtime) throw std::runtime_error("no runtime could be made; the log says why");
  return Owned<IRuntime>(runtime);
}

ICudaEngine* fromBytes(IRuntime& self, const py::buffer& plan) {
  const Bytes bytes(plan);
  return longCall([&] { return self.deserializeCudaEngine(bytes.data(), bytes.size()); });
}

template <class Reader>
ICudaEngine* fromReader(IRuntime& self, Reader& reader) {
  return longCall([&] { return self.deserializeCudaEngine(reader); });
}

// A fact of a tensor, for the engine's first profile or for another.
template <class R>
void perProfile(py::class_<ICudaEngine>& type, const char* name, R (ICudaEngine::*plain)(const char*) const noexcept,
                R (ICudaEngine::*profiled)(const char*, int32_t) const noexcept) {
  type.def(name, plain, py::arg("name"));
  type.def(name, profiled, py::arg("name"), py::arg("profile_index"));
}

std::vector<Dims> profileShape(const ICudaEngine& self, const char* name, int32_t profile) {
  std::vector<Dims> shapes;
  for (const auto which : kSelectors) shapes.push_back(self.getProfileShape(name, profile, which));
  return shapes;
}

// Shape values have as many elements as the tensor's extent says: it is a scalar or a row.
std::vector<std::vector<int64_t>> profileValues(const ICudaEngine& self, const char* name, int32_t profile) {
  const Dims shape = self.getTensorShape(name);
  int64_t count = shape.nbDims < 0 ? 0 : 1;
  for (int32_t i = 0; i < shape.nbDims; ++i) count *= std::max<int64_t>(shape.d[i], 0);
  std::vector<std::vector<int64_t>> values;
  for (const auto which : kSelectors) {
    const int64_t* const first = self.getProfileTensorValuesV2(name, profile, which);
    if (!first) return {};
    values.emplace_back(first, first + count);
  }
  return values;
}

void defineEngine(py::class_<ICudaEngine> type) {
  using Engine = ICudaEngine;
  perProfile<int32_t>(type, "get_tensor_bytes_per_component", &Engine::getTensorBytesPerComponent,
                      &Engine::getTensorBytesPerComponent);
  perProfile<int32_t>(type, "get_tensor_components_per_element", &Engine::getTensorComponentsPerElement,
                      &Engine::getTensorComponentsPerElement);
  perProfile<TensorFormat>(type, "get_tensor_format", &Engine::getTensorFormat, &Engine::getTensorFormat);
  perProfile<const char*>(type, "get_tensor_format_desc", &Engine::getTensorFormatDesc, &Engine::getTensorFormatDesc);
  perProfile<int32_t>(type, "get_tensor_vectorized_dim", &Engine::getTensorVectorizedDim,
                      &Engine::getTensorVectorizedDim);
  type.def("get_tensor_profile_shape", &profileShape, py::arg("name"), py::arg("profile_index"))
      .def("get_tensor_profile_values", &profileValues, py::arg("name"), py::arg("profile_index"))
      .def(
          "get_tensor_profile_values",
          [](const Engine& self, int32_t profile, const char* name) { return profileValues(self, name, profile); },
          py::arg("profile_index"), py::arg("name"))
      .def("get_aliased_input_tensor", &Engine::getAliasedInputTensor, py::arg("name"))
      .def("get_weight_streaming_automatic_budget", &Engine::getWeightStreamingAutomaticBudget)
      .def("__getitem__",
           [](const Engine& self, int32_t index) {
             const int32_t count = self.getNbIOTensors();
             if (index < 0) index += count;
             if (index < 0 || index >= count)
               throw py::index_error("tensor " + std::to_string(index) + " of " + std::to_string(count));
             return textOf(self.getIOTensorName(index));
           })
      .def("__del__", [](const Engine&) {});
}

// The file of the libnvinfer that this process has loaded, as the loader names it.
py::object fileOfLibrary() {
  Dl_info info{};
  const auto function = reinterpret_cast<const void*>(&createInferRuntime_INTERNAL);
  if (dladdr(function, &info) == 0) throw std::runtime_error("the loader does not tell the file of libnvinfer");
  return textOf(info.dli_fname);
}

}  // namespace

void defineRuntime(py::module_& module) {
  constexpr auto kOwn = py::return_value_policy::take_ownership;
  py::reinterpret_borrow<Runtime>(module.attr("Runtime"))
      .def(py::init(&makeRuntime), py::arg("logger"), py::keep_alive<1, 2>())
      .def_property("gpu_allocator", nullptr, py::cpp_function(&IRuntime::setGpuAllocator, Keeps<2>()))
      .def("deserialize_cuda_engine", &fromReader<IStreamReaderV2>, py::arg("stream_reader_v2"), kOwn,
           py::keep_alive<0, 1>())
      .def("deserialize_cuda_engine", &fromReader<IStreamReader>, py::arg("stream_reader"), kOwn,
           py::keep_alive<0, 1>())
      .def("deserialize_cuda_engine", &fromBytes, py::arg("serialized_engine"), kOwn, py::keep_alive<0, 1>())
      .def("__del__", [](const IRuntime&) {});
  module.def("_file_of_library", &fileOfLibrary);
  defineEngine(classOf<ICudaEngine>(module, "ICudaEngine"));
}

}  // namespace tenon::python
