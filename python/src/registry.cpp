// SPDX-License-Identifier: Apache-2.0
// The registry of plugin creators, as far as it holds creators of C++.
#include <NvInferPlugin.h>

#include "module.h"

namespace tenon::python {

namespace {

using namespace nvinfer1;

// A creator by its kind: the ones of TensorRT 10 say theirs.
py::object creatorOf(IPluginCreatorInterface* creator) {
  constexpr auto kReference = py::return_value_policy::reference;
  if (!creator) return py::none();
  const std::string kind = creator->getInterfaceInfo().kind;
  if (kind == "PLUGIN CREATOR_V3ONE") return py::cast(static_cast<IPluginCreatorV3One*>(creator), kReference);
  if (kind == "PLUGIN CREATOR_V1") return py::cast(static_cast<IPluginCreator*>(creator), kReference);
  return py::cast(creator, kReference);
}

template <class F>
py::list creatorsOf(F&& list) {
  int32_t count = 0;
  IPluginCreatorInterface* const* const creators = list(&count);
  py::list objects;
  for (int32_t i = 0; creators && i < count; ++i) objects.append(creatorOf(creators[i]));
  return objects;
}

template <class T>
void declareCreator(py::module_& module, const char* name) {
  py::class_<T, Lent<T>, IPluginCreatorInterface>(module, name)
      .def_property_readonly("name", [](const T& self) { return textOf(self.getPluginName()); })
      .def_property_readonly("plugin_version", [](const T& self) { return textOf(self.getPluginVersion()); })
      .def_property_readonly("plugin_namespace", [](const T& self) { return textOf(self.getPluginNamespace()); });
}

}  // namespace

void declareCreators(py::module_& module) {
  py::class_<IPluginCreatorInterface, Lent<IPluginCreatorInterface>, IVersionedInterface>(module,
                                                                                          "IPluginCreatorInterface");
  declareCreator<IPluginCreator>(module, "IPluginCreator");
  declareCreator<IPluginCreatorV3One>(module, "IPluginCreatorV3One");
}

void defineRegistry(py::module_& module) {
  module.def("get_plugin_registry", &getPluginRegistry, py::return_value_policy::reference);
  module.def(
      "init_libnvinfer_plugins",
      [](const py::object& logger, const char* space) {
        void* const pointer = logger.is_none() ? nullptr : static_cast<void*>(logger.cast<ILogger*>());
        return initLibNvInferPlugins(pointer, space);
      },
      py::arg("logger"), py::arg("namespace"));
  classOf<IPluginRegistry>(module, "IPluginRegistry")
      .def_property_readonly(
          "all_creators",
          [](IPluginRegistry& self) { return creatorsOf([&](int32_t* count) { return self.getAllCreators(count); }); })
      .def_property_readonly("all_creators_recursive",
                             [](IPluginRegistry& self) {
                               return creatorsOf([&](int32_t* count) { return self.getAllCreatorsRecursive(count); });
                             })
      .def_property_readonly("plugin_creator_list",
                             [](IPluginRegistry& self) {
                               int32_t count = 0;
                               IPluginCreator* const* const creators = self.getPluginCreatorList(&count);
                               py::list list;
                               for (int32_t i = 0; creators && i < count; ++i)
                                 list.append(py::cast(creators[i], py::return_value_policy::reference));
                               return list;
                             })
      .def(
          "get_creator",
          [](IPluginRegistry& self, const char* type, const char* version, const char* space) {
            return creatorOf(self.getCreator(type, version, space));
          },
          py::arg("type"), py::arg("version"), py::arg("plugin_namespace") = "");
}

}  // namespace tenon::python
