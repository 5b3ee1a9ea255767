// SPDX-License-Identifier: Apache-2.0
// Creators of plugins and resources that plugins share, of C++ and as classes in Python define them.
#include "plugins.h"

namespace tenon::python {

namespace {

using namespace nvinfer1;

// Name, version, namespace and fields are set by the class's __init__; the library reads them without Python.
template <class Base>
class PythonNamed : public Base {
 public:
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  const char* getPluginName() const noexcept override { return name.get(); }
  const char* getPluginVersion() const noexcept override { return version.get(); }
  const char* getPluginNamespace() const noexcept override { return space.get(); }
  const PluginFieldCollection* getFieldNames() noexcept override { return fields.native(); }

  Text name{"name"}, version{"plugin_version"}, space{"plugin_namespace", ""};
  FieldList fields;

 protected:
  const Base* base() const { return this; }
};

class PythonCreator : public PythonNamed<IPluginCreator> {
 public:
  void setPluginNamespace(const char* text) noexcept override { space.set(text ? text : ""); }
  IPluginV2* createPlugin(const char* layer, const PluginFieldCollection* given) noexcept override {
    return fromLibrary<IPluginV2*>("IPluginCreator.create_plugin", nullptr, [&] {
      return heldV2(definedIn(base(), "create_plugin")(textOf(layer), FieldView{copyOf(given)}), "create_plugin");
    });
  }
  IPluginV2* deserializePlugin(const char* layer, const void* data, size_t size) noexcept override {
    return fromLibrary<IPluginV2*>("IPluginCreator.deserialize_plugin", nullptr, [&] {
      const py::bytes bytes(static_cast<const char*>(data), size);
      return heldV2(definedIn(base(), "deserialize_plugin")(textOf(layer), bytes), "deserialize_plugin");
    });
  }
};

class PythonCreatorV3 : public PythonNamed<IPluginCreatorV3One> {
 public:
  IPluginV3* createPlugin(const char* layer, const PluginFieldCollection* given,
                          TensorRTPhase phase) noexcept override {
    return fromLibrary<IPluginV3*>("IPluginCreatorV3One.create_plugin", nullptr, [&] {
      return heldV3(definedIn(base(), "create_plugin")(textOf(layer), FieldView{copyOf(given)}, phase),
                    "create_plugin");
    });
  }
};

class PythonCreatorQuick : public PythonNamed<IPluginCreatorV3Quick> {
 public:
  IPluginV3* createPlugin(const char* layer, const char* nameSpace, const PluginFieldCollection* given,
                          TensorRTPhase phase, QuickPluginCreationRequest request) noexcept override {
    return fromLibrary<IPluginV3*>("IPluginCreatorV3Quick.create_plugin", nullptr, [&] {
      return heldV3(definedIn(base(), "create_plugin")(textOf(layer), textOf(nameSpace), FieldView{copyOf(given)},
                                                       phase, request),
                    "create_plugin");
    });
  }
};

// What all creators have; space() differs, as the oldest ones have a setter in C++.
template <class T, class Written, class Class>
void defineIdentity(Class& type) {
  type.def(py::init<>());
  defineSetting<T, Written>(
      type, "name", [](T& self) { return textOf(self.getPluginName()); }, &Written::name);
  defineSetting<T, Written>(
      type, "plugin_version", [](T& self) { return textOf(self.getPluginVersion()); }, &Written::version);
  defineSetting<T, Written>(
      type, "field_names", [](T& self) { return FieldView{copyOf(self.getFieldNames())}; }, &Written::fields);
}

template <class T, class Written, class Class>
void defineSpace(Class& type) {
  defineSetting<T, Written>(
      type, "plugin_namespace", [](T& self) { return textOf(self.getPluginNamespace()); }, &Written::space);
}

// A plugin that a creator made, which is Python's now.
template <class T, class F>
py::object made(F&& create) {
  T* plugin = nullptr;
  longCall([&] { plugin = create(); });
  return pluginObject(plugin, py::return_value_policy::take_ownership);
}

// As PythonV3: the object that Python made, or one of the library's that keeps it.
class PythonResource : public IPluginResource {
 public:
  PythonResource() = default;
  PythonResource(py::object held, const PythonResource& behind) : held_(std::move(held)), behind_(&behind) {}
  ~PythonResource() override {
    if (!held_) return;
    if (!interpreterRuns()) {
      held_.release();
      return;
    }
    const py::gil_scoped_acquire lock;
    held_ = py::object();
  }
  PythonResource(const PythonResource&) = delete;
  PythonResource& operator=(const PythonResource&) = delete;

  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  py::object object() const { return held_ ? held_ : handleOf(*const_cast<PythonResource*>(this)); }
  int32_t release() noexcept override {
    return fromLibrary("IPluginResource.release", kFailed, [&] { return statusOf(definedIn(base(), "release")()); });
  }
  IPluginResource* clone() noexcept override {
    return fromLibrary<IPluginResource*>("IPluginResource.clone", nullptr, [&] {
      const py::object copy = definedIn(base(), "clone")();
      const auto* const python = dynamic_cast<const PythonResource*>(copy.cast<IPluginResource*>());
      if (!python) throw py::type_error("clone() returned a resource of C++; expected one of a class in Python");
      return new PythonResource(copy, *python);
    });
  }

 private:
  const IPluginResource* base() const { return behind_; }
  py::object held_;
  const PythonResource* behind_ = this;
};

void declareResources(py::module_& module) {
  py::class_<IPluginResourceContext>(module, "IPluginResourceContext")
      .def_property_readonly("gpu_allocator", py::cpp_function(&IPluginResourceContext::getGpuAllocator,
                                                               py::return_value_policy::reference))
      .def_property_readonly("error_recorder", py::cpp_function(&IPluginResourceContext::getErrorRecorder,
                                                                py::return_value_policy::reference));
  py::class_<IPluginResource, IVersionedInterface, Kept<IPluginResource>, PythonResource> type(module,
                                                                                               "IPluginResource");
  type.def(py::init<>());
  mustDefine<IPluginResource>(type, "release");
  mustDefine<IPluginResource>(type, "clone");
}

}  // namespace

py::object resourceObject(IPluginResource* resource) {
  if (!resource) return py::none();
  if (auto* const python = dynamic_cast<PythonResource*>(resource)) return python->object();
  return py::cast(resource, py::return_value_policy::reference);
}

void declareCreators(py::module_& module) {
  py::class_<IPluginCreatorInterface, Kept<IPluginCreatorInterface>, IVersionedInterface>(module,
                                                                                          "IPluginCreatorInterface");
  using V1 = IPluginCreator;
  py::class_<V1, Kept<V1>, IPluginCreatorInterface, PythonCreator> first(module, "IPluginCreator");
  defineIdentity<V1, PythonCreator>(first);
  first
      .def_property(
          "plugin_namespace", [](const V1& self) { return textOf(self.getPluginNamespace()); }, &V1::setPluginNamespace)
      .def(
          "create_plugin",
          [](V1& self, const char* name, const FieldView& fields) {
            const FieldList list(fields.fields);
            return made<IPluginV2>([&] { return self.createPlugin(name, list.native()); });
          },
          py::arg("name"), py::arg("field_collection"))
      .def(
          "deserialize_plugin",
          [](V1& self, const char* name, const py::buffer& data) {
            const Bytes bytes(data);
            return made<IPluginV2>([&] { return self.deserializePlugin(name, bytes.data(), bytes.size()); });
          },
          py::arg("name"), py::arg("serialized_plugin"));
  using One = IPluginCreatorV3One;
  py::class_<One, Kept<One>, IPluginCreatorInterface, PythonCreatorV3> third(module, "IPluginCreatorV3One");
  defineIdentity<One, PythonCreatorV3>(third);
  defineSpace<One, PythonCreatorV3>(third);
  third.def(
      "create_plugin",
      [](One& self, const char* name, const FieldView& fields, TensorRTPhase phase) {
        const FieldList list(fields.fields);
        return made<IPluginV3>([&] { return self.createPlugin(name, list.native(), phase); });
      },
      py::arg("name"), py::arg("field_collection"), py::arg("phase"));
  using Quick = IPluginCreatorV3Quick;
  py::class_<Quick, Kept<Quick>, IPluginCreatorInterface, PythonCreatorQuick> quick(module, "IPluginCreatorV3Quick");
  defineIdentity<Quick, PythonCreatorQuick>(quick);
  defineSpace<Quick, PythonCreatorQuick>(quick);
  quick.def(
      "create_plugin",
      [](Quick& self, const char* name, const char* space, const FieldView& fields, TensorRTPhase phase,
         QuickPluginCreationRequest request) {
        const FieldList list(fields.fields);
        return made<IPluginV3>([&] { return self.createPlugin(name, space, list.native(), phase, request); });
      },
      py::arg("name"), py::arg("namespace"), py::arg("field_collection"), py::arg("phase"), py::arg("quickPluginType"));
  declareResources(module);
}

}  // namespace tenon::python
