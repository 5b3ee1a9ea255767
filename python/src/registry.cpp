// SPDX-License-Identifier: Apache-2.0
// The registry of plugin creators, and the functions of a network that add plugins. The registry calls Python with its
// lock held, so that every call of it gives up the interpreter's lock first.
#include <NvInferPlugin.h>

#include <unordered_map>

#include "plugins.h"

namespace tenon::python {

py::object resourceObject(nvinfer1::IPluginResource* resource);

namespace {

using namespace nvinfer1;
using Registry = IPluginRegistry;

// The registry lives as long as the process, and the creators in it too, until they are taken out.
std::unordered_map<const IPluginCreatorInterface*, py::object>& registered() {
  static auto* const creators = new std::unordered_map<const IPluginCreatorInterface*, py::object>;
  return *creators;
}

// A creator by its kind: the ones of TensorRT 10 say theirs.
py::object creatorOf(IPluginCreatorInterface* creator) {
  constexpr auto kReference = py::return_value_policy::reference;
  if (!creator) return py::none();
  const std::string kind = creator->getInterfaceInfo().kind;
  if (kind == "PLUGIN CREATOR_V3ONE") return py::cast(static_cast<IPluginCreatorV3One*>(creator), kReference);
  if (kind == "PLUGIN CREATOR_V1") return py::cast(static_cast<IPluginCreator*>(creator), kReference);
  if (kind == "PLUGIN CREATOR_V3QUICK") return py::cast(static_cast<IPluginCreatorV3Quick*>(creator), kReference);
  return py::cast(creator, kReference);
}

template <class F>
py::list creatorsOf(F&& list) {
  int32_t count = 0;
  IPluginCreatorInterface* const* creators = nullptr;
  longCall([&] { creators = list(&count); });
  py::list objects;
  for (int32_t i = 0; creators && i < count; ++i) objects.append(creatorOf(creators[i]));
  return objects;
}

bool registerCreator(Registry& self, IPluginCreatorInterface& creator, const std::string& space) {
  const py::object object = creatorOf(&creator);
  const bool done = longCall([&] { return self.registerCreator(creator, space.c_str()); });
  if (done) registered()[&creator] = object;
  return done;
}

bool deregisterCreator(Registry& self, IPluginCreatorInterface& creator) {
  const bool done = longCall([&] { return self.deregisterCreator(creator); });
  if (done) registered().erase(&creator);
  return done;
}

using Tensors = std::vector<ITensor*>;

int32_t countOf(const Tensors& tensors, const char* what) {
  for (const ITensor* tensor : tensors) {
    if (!tensor) throw py::type_error(std::string(what) + ": None among the tensors");
  }
  return static_cast<int32_t>(tensors.size());
}

IPluginV3Layer* addPluginV3(INetworkDefinition& self, const Tensors& inputs, const Tensors& shapes, IPluginV3& plugin) {
  const int32_t count = countOf(inputs, "inputs"), shapeCount = countOf(shapes, "shape_inputs");
  // The layer stays the network's.
  IPluginV3Layer* layer = nullptr;
  longCall([&] { layer = self.addPluginV3(inputs.data(), count, shapes.data(), shapeCount, plugin); });
  return layer;
}

IPluginV2Layer* addPluginV2(INetworkDefinition& self, const Tensors& inputs, IPluginV2& plugin) {
  const int32_t count = countOf(inputs, "inputs");
  IPluginV2Layer* layer = nullptr;
  longCall([&] { layer = self.addPluginV2(inputs.data(), count, plugin); });
  return layer;
}

// What a function of tensorrt.plugin.op returned: a tuple, or a function of whether the code is compiled with the
// engine.
IPluginV3Layer* addTuple(INetworkDefinition& self, const py::tuple& parts) {
  if (parts.size() != 3) {
    throw py::value_error("add_plugin: a tuple of " + std::to_string(parts.size()) +
                          "; expected (inputs, shape_inputs, plugin)");
  }
  return addPluginV3(self, parts[0].cast<Tensors>(), parts[1].cast<Tensors>(), parts[2].cast<IPluginV3&>());
}

void defineNetworkFunctions(py::handle scope) {
  constexpr auto kInternal = py::return_value_policy::reference_internal;
  classOf<INetworkDefinition>(scope, "INetworkDefinition")
      .def("add_plugin_v2", &addPluginV2, py::arg("inputs"), py::arg("plugin"), kInternal)
      .def("add_plugin_v3", &addPluginV3, py::arg("inputs"), py::arg("shape_inputs"), py::arg("plugin"), kInternal)
      .def("add_plugin", &addTuple, py::arg("tuple"), kInternal)
      .def(
          "add_plugin",
          [](INetworkDefinition& self, const py::function& function) {
            using enum NetworkDefinitionCreationFlag;
            const auto request = self.getFlag(kPREFER_AOT_PYTHON_PLUGINS)   ? QuickPluginCreationRequest::kPREFER_AOT
                                 : self.getFlag(kPREFER_JIT_PYTHON_PLUGINS) ? QuickPluginCreationRequest::kPREFER_JIT
                                                                            : QuickPluginCreationRequest::kUNKNOWN;
            return addTuple(self, function(request).cast<py::tuple>());
          },
          py::arg("func"), kInternal)
      .def(
          "add_plugin",
          [](INetworkDefinition& self, const py::function& function, bool aot) {
            const auto request =
                aot ? QuickPluginCreationRequest::kSTRICT_AOT : QuickPluginCreationRequest::kSTRICT_JIT;
            return addTuple(self, function(request).cast<py::tuple>());
          },
          py::arg("func"), py::arg("aot"), kInternal);
  classOf<IPluginV2Layer>(scope, "IPluginV2Layer").def_property_readonly("plugin", [](IPluginV2Layer& self) {
    return pluginObject(&self.getPlugin(), py::return_value_policy::reference);
  });
  classOf<IPluginV3Layer>(scope, "IPluginV3Layer").def_property_readonly("plugin", [](IPluginV3Layer& self) {
    return pluginObject(&self.getPlugin(), py::return_value_policy::reference);
  });
}

void defineCreators(py::class_<Registry>& type) {
  type.def_property_readonly(
          "all_creators",
          [](Registry& self) { return creatorsOf([&](int32_t* count) { return self.getAllCreators(count); }); })
      .def_property_readonly("all_creators_recursive",
                             [](Registry& self) {
                               return creatorsOf([&](int32_t* count) { return self.getAllCreatorsRecursive(count); });
                             })
      .def_property_readonly("plugin_creator_list",
                             [](Registry& self) {
                               int32_t count = 0;
                               IPluginCreator* const* creators = nullptr;
                               longCall([&] { creators = self.getPluginCreatorList(&count); });
                               py::list list;
                               for (int32_t i = 0; creators && i < count; ++i) list.append(creatorOf(creators[i]));
                               return list;
                             })
      .def(
          "get_creator",
          [](Registry& self, const char* name, const char* version, const char* space) {
            IPluginCreatorInterface* found = nullptr;
            longCall([&] { found = self.getCreator(name, version, space); });
            return creatorOf(found);
          },
          py::arg("type"), py::arg("version"), py::arg("plugin_namespace") = "")
      .def(
          "get_plugin_creator",
          [](Registry& self, const char* name, const char* version, const char* space) {
            IPluginCreator* found = nullptr;
            longCall([&] { found = self.getPluginCreator(name, version, space); });
            return creatorOf(found);
          },
          py::arg("type"), py::arg("version"), py::arg("plugin_namespace") = "");
}

}  // namespace

void defineRegistry(py::module_& module) {
  module.def("get_plugin_registry", &getPluginRegistry, py::return_value_policy::reference);
  module.def(
      "init_libnvinfer_plugins",
      [](const py::object& logger, const char* space) {
        void* const pointer = logger.is_none() ? nullptr : static_cast<void*>(logger.cast<ILogger*>());
        return longCall([&] { return initLibNvInferPlugins(pointer, space); });
      },
      py::arg("logger"), py::arg("namespace"));
  auto type = py::reinterpret_borrow<py::class_<Registry>>(module.attr("IPluginRegistry"));
  defineCreators(type);
  type.def(
          "register_creator",
          [](Registry& self, IPluginCreator& creator, const std::string& space) {
            return registerCreator(self, creator, space);
          },
          py::arg("creator"), py::arg("plugin_namespace") = "")
      .def("register_creator", &registerCreator, py::arg("creator"), py::arg("plugin_namespace") = "")
      .def(
          "deregister_creator",
          [](Registry& self, IPluginCreator& creator) { return deregisterCreator(self, creator); }, py::arg("creator"))
      .def("deregister_creator", &deregisterCreator, py::arg("creator"))
      .def(
          "load_library",
          [](Registry& self, const char* path) -> py::object {
            void* handle = nullptr;
            longCall([&] { handle = self.loadLibrary(path); });
            return handle ? py::object(py::capsule(handle, "plugin library")) : py::none();
          },
          py::arg("plugin_path"))
      .def(
          "deregister_library",
          [](Registry& self, const py::capsule& handle) {
            void* const pointer = handle.get_pointer();
            longCall([&] { self.deregisterLibrary(pointer); });
          },
          py::arg("handle"))
      .def(
          "acquire_plugin_resource",
          [](Registry& self, const char* key, IPluginResource* resource) {
            IPluginResource* found = nullptr;
            longCall([&] { found = self.acquirePluginResource(key, resource); });
            return resourceObject(found);
          },
          py::arg("key"), py::arg("resource"))
      .def(
          "release_plugin_resource",
          [](Registry& self, const char* key) { return longCall([&] { return self.releasePluginResource(key); }); },
          py::arg("key"));
  defineNetworkFunctions(module);
}

}  // namespace tenon::python
