// SPDX-License-Identifier: Apache-2.0
// Plugins of the older family: those of C++ as they are, and IPluginV2DynamicExt as classes in Python define it.
#include "plugins.h"

#include <cstring>

namespace tenon::python {

namespace {

using namespace nvinfer1;

// Programs return texts, too, JSON mostly.
py::object serialized(py::object answer) {
  return py::isinstance<py::str>(answer) ? py::object(answer.attr("encode")()) : answer;
}

// As PythonV3: the object that Python made, or one of the library's that keeps it.
class PythonV2 : public IPluginV2DynamicExt {
 public:
  PythonV2() = default;
  PythonV2(py::object held, const PythonV2& behind) : held_(std::move(held)), behind_(&behind) {}
  PythonV2(const PythonV2&) = delete;
  PythonV2& operator=(const PythonV2&) = delete;

  py::object object() const { return held_ ? held_ : handleOf(*const_cast<PythonV2*>(this)); }

  int32_t getTensorRTVersion() const noexcept override {
    return static_cast<int32_t>((static_cast<uint32_t>(PluginVersion::kV2_DYNAMICEXT_PYTHON) << 24U) |
                                (static_cast<uint32_t>(NV_TENSORRT_VERSION) & 0xFFFFFFU));
  }
  const char* getPluginType() const noexcept override { return base()->type.get(); }
  const char* getPluginVersion() const noexcept override { return base()->version.get(); }
  const char* getPluginNamespace() const noexcept override { return base()->space.get(); }
  void setPluginNamespace(const char* text) noexcept override {
    const_cast<PythonV2*>(base())->space.set(text ? text : "");
  }
  int32_t getNbOutputs() const noexcept override {
    if (base()->outputs) return *base()->outputs;
    return fromLibrary("IPluginV2DynamicExt.num_outputs", kFailed,
                       []() -> int32_t { throw py::attribute_error("num_outputs is not set"); });
  }
  DataType getOutputDataType(int32_t index, const DataType* types, int32_t count) const noexcept override {
    return fromLibrary("IPluginV2DynamicExt.get_output_datatype", static_cast<DataType>(kFailed), [&] {
      return definedIn(base(), "get_output_datatype")(index, listOf(types, count)).cast<DataType>();
    });
  }
  DimsExprs getOutputDimensions(int32_t index, const DimsExprs* in, int32_t inputs,
                                IExprBuilder& builder) noexcept override {
    return fromLibrary("IPluginV2DynamicExt.get_output_dimensions", DimsExprs{kFailed, {}}, [&] {
      const ExprScope scope(builder);
      return nativeShape(definedIn(base(), "get_output_dimensions")(index, scope.shapes(in, inputs), scope.builder()));
    });
  }
  bool supportsFormatCombination(int32_t position, const PluginTensorDesc* operands, int32_t inputs,
                                 int32_t outputCount) noexcept override {
    return fromLibrary("IPluginV2DynamicExt.supports_format_combination", false, [&] {
      return definedIn(base(), "supports_format_combination")(position, listOf(operands, inputs + outputCount), inputs)
          .cast<bool>();
    });
  }
  void configurePlugin(const DynamicPluginTensorDesc* in, int32_t inputs, const DynamicPluginTensorDesc* out,
                       int32_t outputCount) noexcept override {
    inputs_ = inputs;
    fromLibrary("IPluginV2DynamicExt.configure_plugin",
                [&] { definedIn(base(), "configure_plugin")(listOf(in, inputs), listOf(out, outputCount)); });
  }
  size_t getWorkspaceSize(const PluginTensorDesc* in, int32_t inputs, const PluginTensorDesc* out,
                          int32_t outputCount) const noexcept override {
    return fromLibrary("IPluginV2DynamicExt.get_workspace_size", size_t{0}, [&] {
      const py::function found = py::get_override(base(), "get_workspace_size");
      return found ? found(listOf(in, inputs), listOf(out, outputCount)).cast<size_t>() : 0;
    });
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out, const void* const* inputs,
                  void* const* outputs, void* workspace, cudaStream_t stream) noexcept override {
    return fromLibrary("IPluginV2DynamicExt.enqueue", kFailed, [&] {
      const int32_t count = getNbOutputs();
      return statusOf(definedIn(base(), "enqueue")(
          listOf(in, inputs_), listOf(out, count), addressesOf(inputs, static_cast<size_t>(inputs_)),
          addressesOf(outputs, static_cast<size_t>(count)), numberOf(workspace), numberOf(stream)));
    });
  }
  int32_t initialize() noexcept override {
    return fromLibrary("IPluginV2DynamicExt.initialize", kFailed, [&] {
      const py::function found = py::get_override(base(), "initialize");
      return found ? statusOf(found()) : 0;
    });
  }
  void terminate() noexcept override { callOptional("IPluginV2DynamicExt.terminate", "terminate"); }
  size_t getSerializationSize() const noexcept override {
    return fromLibrary("IPluginV2DynamicExt.get_serialization_size", size_t{0}, [&] {
      const py::function found = py::get_override(base(), "get_serialization_size");
      return found ? found().cast<size_t>() : Bytes(serialized(definedIn(base(), "serialize")())).size();
    });
  }
  void serialize(void* buffer) const noexcept override {
    fromLibrary("IPluginV2DynamicExt.serialize", [&] {
      const Bytes bytes(serialized(definedIn(base(), "serialize")()));
      const size_t expected = getSerializationSize();
      if (bytes.size() != expected) {
        throw py::value_error("serialize() returned " + std::to_string(bytes.size()) +
                              " bytes; get_serialization_size() says " + std::to_string(expected));
      }
      std::memcpy(buffer, bytes.data(), bytes.size());
    });
  }
  IPluginV2DynamicExt* clone() const noexcept override {
    return fromLibrary<IPluginV2DynamicExt*>("IPluginV2DynamicExt.clone", nullptr, [&] {
      const py::object copy = definedIn(base(), "clone")();
      auto* const held = new PythonV2(copy, copy.cast<const PythonV2&>());
      held->inputs_ = inputs_;  // a clone is configured as what it was made from
      return held;
    });
  }
  void destroy() noexcept override {
    if (behind_ == this) {
      delete this;
      return;
    }
    if (!interpreterRuns()) {
      held_.release();
      return;
    }
    const py::gil_scoped_acquire lock;
    callOptional("IPluginV2DynamicExt.destroy", "destroy");
    delete this;
  }

  Text type{"plugin_type"}, version{"plugin_version"}, space{"plugin_namespace", ""};
  std::optional<int32_t> outputs;

 private:
  ~PythonV2() override = default;
  void callOptional(const char* where, const char* name) noexcept {
    fromLibrary(where, [&] {
      const py::function found = py::get_override(base(), name);
      if (found) found();
    });
  }
  const PythonV2* base() const { return behind_; }
  py::object held_;
  const PythonV2* behind_ = this;
  int32_t inputs_ = 0;  // enqueue() is not told
};

std::vector<void*> pointersOf(const std::vector<size_t>& numbers) {
  std::vector<void*> pointers;
  for (const size_t number : numbers) pointers.push_back(pointerOf<void*>(number));
  return pointers;
}

// The extents of all inputs, for plugins that are told of them in a row.
using Shapes = std::vector<Dims>;

int32_t sizeOf(const Shapes& shapes) { return static_cast<int32_t>(shapes.size()); }

void declareV2(py::module_& module) {
  using T = IPluginV2;
  py::class_<T, Destroyed<T>> type(module, "IPluginV2");
  defineSetting<T, PythonV2>(
      type, "num_outputs", [](T& self) { return self.getNbOutputs(); }, &PythonV2::outputs);
  defineSetting<T, PythonV2>(
      type, "plugin_type", [](T& self) { return textOf(self.getPluginType()); }, &PythonV2::type);
  defineSetting<T, PythonV2>(
      type, "plugin_version", [](T& self) { return textOf(self.getPluginVersion()); }, &PythonV2::version);
  type.def_property(
          "plugin_namespace", [](const T& self) { return textOf(self.getPluginNamespace()); }, &T::setPluginNamespace)
      .def_property_readonly("tensorrt_version", [](const T& self) { return self.getTensorRTVersion(); })
      .def_property_readonly("serialization_size", [](const T& self) { return self.getSerializationSize(); })
      .def(
          "get_output_shape",
          [](T& self, int32_t index, const Shapes& inputs) {
            return self.getOutputDimensions(index, inputs.data(), sizeOf(inputs));
          },
          py::arg("index"), py::arg("input_shapes"))
      .def("supports_format", &T::supportsFormat, py::arg("dtype"), py::arg("format"))
      .def(
          "configure_with_format",
          [](T& self, const Shapes& inputs, const Shapes& outputs, DataType dtype, TensorFormat format, int32_t batch) {
            self.configureWithFormat(inputs.data(), sizeOf(inputs), outputs.data(), sizeOf(outputs), dtype, format,
                                     batch);
          },
          py::arg("input_shapes"), py::arg("output_shapes"), py::arg("dtype"), py::arg("format"),
          py::arg("max_batch_size"))
      .def("initialize", &T::initialize)
      .def("terminate", &T::terminate)
      .def("get_workspace_size", &T::getWorkspaceSize, py::arg("max_batch_size"))
      .def(
          "execute_async",
          [](T& self, int32_t batch, const std::vector<size_t>& inputs, const std::vector<size_t>& outputs,
             size_t workspace, size_t stream) {
            const std::vector<void*> in = pointersOf(inputs), out = pointersOf(outputs);
            return longCall([&] {
              return self.enqueue(batch, in.data(), out.data(), pointerOf<void*>(workspace),
                                  pointerOf<cudaStream_t>(stream));
            });
          },
          py::arg("batch_size"), py::arg("inputs"), py::arg("outputs"), py::arg("workspace"), py::arg("stream_handle"))
      .def("serialize",
           [](const T& self) {
             py::bytearray bytes(std::string(self.getSerializationSize(), '\0'));
             self.serialize(PyByteArray_AsString(bytes.ptr()));
             return py::memoryview(bytes);
           })
      .def("destroy", [](T&) {})  // an object goes with its last name
      .def("clone", [](const T& self) { return pluginObject(self.clone(), py::return_value_policy::take_ownership); });
}

void declareV2Ext(py::module_& module) {
  using T = IPluginV2Ext;
  py::class_<T, IPluginV2, Destroyed<T>>(module, "IPluginV2Ext")
      .def(
          "get_output_data_type",
          [](const T& self, int32_t index, const std::vector<DataType>& types) {
            return self.getOutputDataType(index, types.data(), static_cast<int32_t>(types.size()));
          },
          py::arg("index"), py::arg("input_types"))
      .def(
          "configure_plugin",
          [](T& self, const Shapes& inputs, const Shapes& outputs, const std::vector<DataType>& inputTypes,
             const std::vector<DataType>& outputTypes, const std::vector<bool>& inputsBroadcast,
             const std::vector<bool>& outputsBroadcast, TensorFormat format, int32_t batch) {
            if (inputTypes.size() != inputs.size() || inputsBroadcast.size() != inputs.size() ||
                outputTypes.size() != outputs.size() || outputsBroadcast.size() != outputs.size()) {
              throw py::value_error("configure_plugin: the lists of inputs or of outputs differ in length");
            }
            const auto flags = [](const std::vector<bool>& list) {
              auto array = std::make_unique<bool[]>(list.size() + 1);
              std::copy(list.begin(), list.end(), array.get());
              return array;
            };
            const auto in = flags(inputsBroadcast), out = flags(outputsBroadcast);
            self.configurePlugin(inputs.data(), sizeOf(inputs), outputs.data(), sizeOf(outputs), inputTypes.data(),
                                 outputTypes.data(), in.get(), out.get(), format, batch);
          },
          py::arg("input_shapes"), py::arg("output_shapes"), py::arg("input_types"), py::arg("output_types"),
          py::arg("input_is_broadcasted"), py::arg("output_is_broacasted"), py::arg("format"),
          py::arg("max_batch_size"))
      .def(
          "attach_to_context",
          [](T& self, size_t cudnn, size_t cublas, size_t allocator) {
            self.attachToContext(pointerOf<cudnnContext*>(cudnn), pointerOf<cublasContext*>(cublas),
                                 pointerOf<IGpuAllocator*>(allocator));
          },
          py::arg("cudnn"), py::arg("cublas"), py::arg("allocator"))
      .def("detach_from_context", [](T& self) { self.detachFromContext(); })
      .def("clone", [](const T& self) { return pluginObject(self.clone(), py::return_value_policy::take_ownership); });
}

void declareDynamic(py::module_& module) {
  py::class_<IPluginV2DynamicExt, IPluginV2, Destroyed<IPluginV2DynamicExt>>(module, "IPluginV2DynamicExtBase");
  using T = PythonV2;
  py::class_<T, IPluginV2DynamicExt, Destroyed<T>> type(module, "IPluginV2DynamicExt");
  type.def(py::init([] { return new T; })).def(py::init([](const T&) { return new T; }));
  type.attr("FORMAT_COMBINATION_LIMIT") = static_cast<int32_t>(IPluginV2DynamicExt::kFORMAT_COMBINATION_LIMIT);
  type.def("initialize", [](T&) { return 0; }).def("terminate", [](T&) {}).def("destroy", [](T&) {});
  type.def("get_serialization_size",
           [](const py::object& self) { return Bytes(serialized(self.attr("serialize")())).size(); });
  type.def(
      "get_workspace_size", [](T&, const py::object&, const py::object&) { return 0; }, py::arg("in"), py::arg("out"));
  mustDefine<T>(type, "serialize");
  mustDefine<T>(type, "clone");
  mustDefine<T>(type, "get_output_datatype", py::arg("index"), py::arg("input_types"));
  mustDefine<T>(type, "get_output_dimensions", py::arg("output_index"), py::arg("inputs"), py::arg("expr_builder"));
  mustDefine<T>(type, "configure_plugin", py::arg("pos"), py::arg("in_out"));
  mustDefine<T>(type, "supports_format_combination", py::arg("pos"), py::arg("in_out"), py::arg("num_inputs"));
  mustDefine<T>(type, "enqueue", py::arg("input_desc"), py::arg("output_desc"), py::arg("inputs"), py::arg("outputs"),
                py::arg("workspace"), py::arg("stream"));
}

}  // namespace

IPluginV2* heldV2(const py::object& plugin, const char* function) {
  if (plugin.is_none()) throw py::type_error(std::string(function) + "() returned None; expected a plugin");
  auto* const object = plugin.cast<IPluginV2*>();
  if (const auto* python = dynamic_cast<const PythonV2*>(object)) return new PythonV2(plugin, *python);
  return object->clone();
}

py::object pluginObject(IPluginV2* plugin, py::return_value_policy policy) {
  if (!plugin) return py::none();
  if (auto* const python = dynamic_cast<PythonV2*>(plugin)) {
    py::object object = python->object();
    if (policy == py::return_value_policy::take_ownership) plugin->destroy();
    return object;
  }
  switch ((static_cast<uint32_t>(plugin->getTensorRTVersion()) >> 24U) &
          ~static_cast<uint32_t>(kPLUGIN_VERSION_PYTHON_BIT)) {
    case 1: return py::cast(static_cast<IPluginV2Ext*>(plugin), policy);
    case 3: return py::cast(static_cast<IPluginV2DynamicExt*>(plugin), policy);
    default: return py::cast(plugin, policy);
  }
}

void declarePluginV2(py::module_& module) {
  declareV2(module);
  declareV2Ext(module);
  declareDynamic(module);
}

}  // namespace tenon::python
