// SPDX-License-Identifier: Apache-2.0
// IPluginV3 and its capabilities, as classes in Python define them.
#include "plugins.h"

namespace tenon::python {

namespace {

using namespace nvinfer1;

// The capability of one type behind an object of Python's; a TypeError where it has none.
template <class One, class Quick>
IPluginCapability* capabilityAs(const py::object& object, const char* expected) {
  if (py::isinstance<One>(object)) return object.cast<One*>();
  if (py::isinstance<Quick>(object)) return object.cast<Quick*>();
  throw py::type_error("get_capability_interface() returned " +
                       py::cast<std::string>(py::type::handle_of(object).attr("__name__")) +
                       "; expected an object of " + expected);
}

IPluginCapability* capabilityOf(const py::object& object, PluginCapabilityType type) {
  switch (type) {
    case PluginCapabilityType::kCORE:
      return capabilityAs<IPluginV3OneCore, IPluginV3QuickCore>(object, "IPluginV3OneCore");
    case PluginCapabilityType::kBUILD:
      return capabilityAs<IPluginV3OneBuild, IPluginV3QuickBuild>(object, "IPluginV3OneBuild");
    case PluginCapabilityType::kRUNTIME:
      return capabilityAs<IPluginV3OneRuntime, IPluginV3QuickRuntime>(object, "IPluginV3OneRuntime");
  }
  throw py::value_error("a capability of the type " + std::to_string(static_cast<int32_t>(type)));
}

// An object of Python's as the library calls it. Python owns the first one; what clone() and creators give the library
// is another that keeps the object of Python's and goes when the library deletes it.
class PythonV3 : public IPluginV3 {
 public:
  PythonV3() = default;
  PythonV3(py::object held, const PythonV3& behind) : held_(std::move(held)), behind_(&behind) {}
  ~PythonV3() override {
    if (behind_ == this) return;
    if (!interpreterRuns()) {
      held_.release();
      for (py::object& capability : capabilities_) capability.release();
      return;
    }
    const py::gil_scoped_acquire lock;
    fromLibrary("IPluginV3.destroy", [&] {
      const py::function found = py::get_override(base(), "destroy");
      if (found) found();
    });
    for (py::object& capability : capabilities_) capability = py::object();
    held_ = py::object();
  }
  PythonV3(const PythonV3&) = delete;
  PythonV3& operator=(const PythonV3&) = delete;

  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  py::object object() const { return held_ ? held_ : handleOf(*const_cast<PythonV3*>(this)); }

  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    return fromLibrary<IPluginCapability*>("IPluginV3.get_capability_interface", nullptr, [&]() -> IPluginCapability* {
      const py::object found = definedIn(base(), "get_capability_interface")(type);
      if (found.is_none()) return nullptr;
      IPluginCapability* const capability = capabilityOf(found, type);
      // The library uses it as long as the plugin, which keeps it unless it is the plugin.
      if (held_ && !found.is(held_)) capabilities_[static_cast<size_t>(type)] = found;
      return capability;
    });
  }
  IPluginV3* clone() noexcept override {
    return fromLibrary<IPluginV3*>("IPluginV3.clone", nullptr,
                                   [&] { return heldV3(definedIn(base(), "clone")(), "clone"); });
  }

 private:
  const IPluginV3* base() const { return behind_; }
  py::object held_;
  const PythonV3* behind_ = this;
  py::object capabilities_[3];
};

template <class Base>
class PythonBuild : public Base {
 public:
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  int32_t configurePlugin(const DynamicPluginTensorDesc* in, int32_t inputs, const DynamicPluginTensorDesc* out,
                          int32_t outputs) noexcept override {
    return fromLibrary("IPluginV3OneBuild.configure_plugin", kFailed, [&] {
      return statusOf(definedIn(base(), "configure_plugin")(listOf(in, inputs), listOf(out, outputs)));
    });
  }
  int32_t getOutputDataTypes(DataType* types, int32_t outputs, const DataType* inputTypes,
                             int32_t inputs) const noexcept override {
    return fromLibrary("IPluginV3OneBuild.get_output_data_types", kFailed, [&] {
      const auto answer = definedIn(base(), "get_output_data_types")(listOf(inputTypes, inputs));
      for (const py::object& type : itemsOf(answer, outputs, "get_output_data_types")) *types++ = type.cast<DataType>();
      return 0;
    });
  }
  int32_t getOutputShapes(const DimsExprs* in, int32_t inputs, const DimsExprs* shapes, int32_t shapeInputs,
                          DimsExprs* out, int32_t outputs, IExprBuilder& builder) noexcept override {
    return fromLibrary("IPluginV3OneBuild.get_output_shapes", kFailed, [&] {
      const ExprScope scope(builder);
      const auto answer = definedIn(base(), "get_output_shapes")(scope.shapes(in, inputs),
                                                                 scope.shapes(shapes, shapeInputs), scope.builder());
      for (const py::object& shape : itemsOf(answer, outputs, "get_output_shapes")) *out++ = nativeShape(shape);
      return 0;
    });
  }
  bool supportsFormatCombination(int32_t position, const DynamicPluginTensorDesc* operands, int32_t inputs,
                                 int32_t outputs) noexcept override {
    return fromLibrary("IPluginV3OneBuild.supports_format_combination", false, [&] {
      return definedIn(base(), "supports_format_combination")(position, listOf(operands, inputs + outputs), inputs)
          .template cast<bool>();
    });
  }
  int32_t getNbOutputs() const noexcept override {
    if (outputs) return *outputs;
    return fromLibrary("IPluginV3OneBuild.num_outputs", kFailed,
                       []() -> int32_t { throw py::attribute_error("num_outputs is not set"); });
  }
  size_t getWorkspaceSize(const DynamicPluginTensorDesc* in, int32_t inputs, const DynamicPluginTensorDesc* out,
                          int32_t outputCount) const noexcept override {
    return fromLibrary("IPluginV3OneBuild.get_workspace_size", size_t{0}, [&] {
      const py::function found = py::get_override(base(), "get_workspace_size");
      return found ? found(listOf(in, inputs), listOf(out, outputCount)).template cast<size_t>() : 0;
    });
  }
  int32_t getNbTactics() noexcept override {
    return fromLibrary("IPluginV3OneBuild.get_valid_tactics", kFailed, [&] {
      const py::function found = py::get_override(base(), "get_valid_tactics");
      tactics_ = found ? found().template cast<std::vector<int32_t>>() : std::vector<int32_t>();
      return static_cast<int32_t>(tactics_.size());
    });
  }
  int32_t getValidTactics(int32_t* tactics, int32_t count) noexcept override {
    if (static_cast<size_t>(count) > tactics_.size()) getNbTactics();
    if (static_cast<size_t>(count) != tactics_.size()) return kFailed;
    std::copy(tactics_.begin(), tactics_.end(), tactics);
    return 0;
  }
  const char* getTimingCacheID() noexcept override { return timing.orNull(); }
  int32_t getFormatCombinationLimit() noexcept override { return limit; }
  const char* getMetadataString() noexcept override { return metadata.orNull(); }

  std::optional<int32_t> outputs;
  int32_t limit = IPluginV3OneBuild::kDEFAULT_FORMAT_COMBINATION_LIMIT;
  Text timing{"timing_cache_id"}, metadata{"metadata_string"};

 protected:
  const Base* base() const { return this; }

 private:
  std::vector<int32_t> tactics_;  // of the last count
};

class PythonBuildV2 : public PythonBuild<IPluginV3OneBuildV2> {
 public:
  int32_t getAliasedInput(int32_t output) noexcept override {
    return fromLibrary("IPluginV3OneBuildV2.get_aliased_input", -1, [&] {
      const py::function found = py::get_override(base(), "get_aliased_input");
      return found ? found(output).cast<int32_t>() : -1;
    });
  }
};

class PythonRuntime : public IPluginV3OneRuntime {
 public:
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  int32_t setTactic(int32_t tactic) noexcept override {
    return fromLibrary("IPluginV3OneRuntime.set_tactic", kFailed, [&] {
      const py::function found = py::get_override(base(), "set_tactic");
      return found ? statusOf(found(tactic)) : 0;
    });
  }
  int32_t onShapeChange(const PluginTensorDesc* in, int32_t inputs, const PluginTensorDesc* out,
                        int32_t outputs) noexcept override {
    inputs_ = static_cast<size_t>(inputs);
    outputs_ = static_cast<size_t>(outputs);
    return fromLibrary("IPluginV3OneRuntime.on_shape_change", kFailed, [&] {
      return statusOf(definedIn(base(), "on_shape_change")(listOf(in, inputs), listOf(out, outputs)));
    });
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out, const void* const* inputs,
                  void* const* outputs, void* workspace, cudaStream_t stream) noexcept override {
    return fromLibrary("IPluginV3OneRuntime.enqueue", kFailed, [&] {
      return statusOf(definedIn(base(), "enqueue")(
          listOf(in, static_cast<int32_t>(inputs_)), listOf(out, static_cast<int32_t>(outputs_)),
          addressesOf(inputs, inputs_), addressesOf(outputs, outputs_), numberOf(workspace), numberOf(stream)));
    });
  }
  IPluginV3* attachToContext(IPluginResourceContext* context) noexcept override {
    return fromLibrary<IPluginV3*>("IPluginV3OneRuntime.attach_to_context", nullptr, [&] {
      const py::object given = py::cast(context, py::return_value_policy::reference);
      return heldV3(definedIn(base(), "attach_to_context")(given), "attach_to_context");
    });
  }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    return fromLibrary<const PluginFieldCollection*>("IPluginV3OneRuntime.get_fields_to_serialize", nullptr, [&] {
      fields_.set(fieldsFrom(definedIn(base(), "get_fields_to_serialize")()));
      return fields_.native();
    });
  }

 private:
  const IPluginV3OneRuntime* base() const { return this; }
  size_t inputs_ = 0, outputs_ = 0;  // enqueue() is not told, but always follows on_shape_change()
  FieldList fields_;
};

void declareBuild(py::module_& module) {
  using T = IPluginV3OneBuild;
  using Python = PythonBuild<T>;
  using PythonTwo = PythonBuild<IPluginV3OneBuildV2>;
  py::class_<T, IPluginCapability, Kept<T>, Python> type(module, "IPluginV3OneBuild");
  type.def(py::init<>()).def(py::init([](const T&) { return new Python; }));
  type.attr("DEFAULT_FORMAT_COMBINATION_LIMIT") = static_cast<int32_t>(T::kDEFAULT_FORMAT_COMBINATION_LIMIT);
  // Objects of both classes have these settings.
  const auto define = [&](const char* name, auto getter, auto one, auto two) {
    type.def_property(name, getter, [name, one, two](T& self, const py::object& value) {
      auto* const first = dynamic_cast<Python*>(&self);
      auto* const second = dynamic_cast<PythonTwo*>(&self);
      if (first) return one(*first, value);
      if (second) return two(*second, value);
      throw py::attribute_error(std::string(name) + " of an object that C++ made cannot be set");
    });
  };
  const auto count = [](auto& self, const py::object& value) { self.outputs = value.cast<int32_t>(); };
  const auto limit = [](auto& self, const py::object& value) { self.limit = value.cast<int32_t>(); };
  const auto metadata = [](auto& self, const py::object& value) { self.metadata.set(value.cast<std::string>()); };
  const auto timing = [](auto& self, const py::object& value) { self.timing.set(value.cast<std::string>()); };
  define(
      "num_outputs", [](T& self) { return self.getNbOutputs(); }, count, count);
  define(
      "format_combination_limit", [](T& self) { return self.getFormatCombinationLimit(); }, limit, limit);
  define(
      "metadata_string", [](T& self) { return textOf(self.getMetadataString()); }, metadata, metadata);
  define(
      "timing_cache_id", [](T& self) { return textOf(self.getTimingCacheID()); }, timing, timing);
  mustDefine<T>(type, "get_output_data_types", py::arg("input_types"));
  mustDefine<T>(type, "get_output_shapes", py::arg("inputs"), py::arg("shape_inputs"), py::arg("expr_builder"));
  mustDefine<T>(type, "configure_plugin", py::arg("in"), py::arg("out"));
  mustDefine<T>(type, "supports_format_combination", py::arg("pos"), py::arg("in_out"), py::arg("num_inputs"));
  type.def(
          "get_workspace_size", [](T&, const py::object&, const py::object&) { return 0; }, py::arg("in"),
          py::arg("out"))
      .def("get_valid_tactics", [](T&) { return py::list(); });
  using T2 = IPluginV3OneBuildV2;
  py::class_<T2, T, Kept<T2>, PythonBuildV2>(module, "IPluginV3OneBuildV2")
      .def(py::init<>())
      .def(py::init([](const T2&) { return new PythonBuildV2; }))
      .def("get_aliased_input", [](T2&) { return -1; })
      .def(
          "get_aliased_input", [](T2&, int32_t) { return -1; }, py::arg("output_index"));
}

void declareRuntime(py::module_& module) {
  using T = IPluginV3OneRuntime;
  py::class_<T, IPluginCapability, Kept<T>, PythonRuntime> type(module, "IPluginV3OneRuntime");
  type.def(py::init<>()).def(py::init([](const T&) { return new PythonRuntime; }));
  mustDefine<T>(type, "on_shape_change", py::arg("in"), py::arg("out"));
  type.def(
      "set_tactic", [](T&, int32_t) { return 0; }, py::arg("tactic"));
  mustDefine<T>(type, "get_fields_to_serialize");
  mustDefine<T>(type, "enqueue", py::arg("input_desc"), py::arg("output_desc"), py::arg("inputs"), py::arg("outputs"),
                py::arg("workspace"), py::arg("stream"));
  mustDefine<T>(type, "attach_to_context", py::arg("resource_context"));
}

}  // namespace

IPluginV3* heldV3(const py::object& plugin, const char* function) {
  if (plugin.is_none()) throw py::type_error(std::string(function) + "() returned None; expected a plugin");
  auto* const object = plugin.cast<IPluginV3*>();
  if (const auto* python = dynamic_cast<const PythonV3*>(object)) return new PythonV3(plugin, *python);
  return object->clone();  // of C++: this one stays Python's
}

py::object pluginObject(IPluginV3* plugin, py::return_value_policy policy) {
  if (!plugin) return py::none();
  auto* const python = dynamic_cast<PythonV3*>(plugin);
  if (!python) return py::cast(plugin, policy);
  py::object object = python->object();
  if (policy == py::return_value_policy::take_ownership) delete plugin;
  return object;
}

void declarePluginV3(py::module_& module) {
  py::class_<IPluginCapability, Kept<IPluginCapability>, IVersionedInterface>(module, "IPluginCapability");
  py::class_<IPluginV3, IVersionedInterface, Kept<IPluginV3>, PythonV3>(module, "IPluginV3")
      .def(py::init<>())
      .def(py::init([](const IPluginV3&) { return new PythonV3; }))
      .def(
          "get_capability_interface",
          [](IPluginV3& self, PluginCapabilityType type) -> py::object {
            constexpr auto kInternal = py::return_value_policy::reference;
            IPluginCapability* const found = self.getCapabilityInterface(type);
            if (!found) return py::none();
            const std::string kind = found->getInterfaceInfo().kind;
            if (kind == "PLUGIN_V3ONE_CORE") return py::cast(static_cast<IPluginV3OneCore*>(found), kInternal);
            if (kind == "PLUGIN_V3ONE_BUILD") return py::cast(static_cast<IPluginV3OneBuild*>(found), kInternal);
            if (kind == "PLUGIN_V3ONE_RUNTIME") return py::cast(static_cast<IPluginV3OneRuntime*>(found), kInternal);
            return py::cast(found, kInternal);
          },
          py::arg("type"), py::keep_alive<0, 1>())
      .def("clone", [](IPluginV3& self) { return pluginObject(self.clone(), py::return_value_policy::take_ownership); })
      .def("destroy", [](IPluginV3&) {});
  declareCore<IPluginV3OneCore, PythonCore<IPluginV3OneCore>>(module, "IPluginV3OneCore");
  declareBuild(module);
  declareRuntime(module);
}

}  // namespace tenon::python
