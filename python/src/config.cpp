// SPDX-License-Identifier: Apache-2.0
// Configurations of builds and of serialization, and timing caches.
#include <pybind11/stl.h>

#include "module.h"

namespace tenon::python {

namespace {

using namespace nvinfer1;

std::vector<std::string> pluginsOf(const IBuilderConfig& self) {
  std::vector<std::string> paths;
  for (int32_t i = 0; i < self.getNbPluginsToSerialize(); ++i) paths.emplace_back(self.getPluginToSerialize(i));
  return paths;
}

void setPlugins(IBuilderConfig& self, const std::vector<std::string>& paths) {
  std::vector<const char*> texts;
  for (const std::string& path : paths) texts.push_back(path.c_str());
  self.setPluginsToSerialize(texts.data(), static_cast<int32_t>(texts.size()));
}

ITimingCache* makeTimingCache(IBuilderConfig& self, const py::buffer& serialized) {
  const Bytes bytes(serialized);
  return longCall([&] { return self.createTimingCache(bytes.data(), bytes.size()); });
}

std::vector<TimingCacheKey> keysOf(const ITimingCache& self) {
  std::vector<TimingCacheKey> keys(static_cast<size_t>(std::max<int64_t>(self.queryKeys(nullptr, 0), 0)));
  const int64_t count = self.queryKeys(keys.data(), static_cast<int64_t>(keys.size()));
  keys.resize(static_cast<size_t>(std::max<int64_t>(std::min<int64_t>(count, static_cast<int64_t>(keys.size())), 0)));
  return keys;
}

}  // namespace

void defineConfig(py::handle scope) {
  classOf<IBuilderConfig>(scope, "IBuilderConfig")
      .def_property(
          "profile_stream", [](const IBuilderConfig& self) { return numberOf(self.getProfileStream()); },
          [](IBuilderConfig& self, size_t stream) { self.setProfileStream(pointerOf<cudaStream_t>(stream)); })
      .def_property("plugins_to_serialize", &pluginsOf, &setPlugins)
      .def_property(
          "remote_auto_tuning_config",
          [](const IBuilderConfig& self) { return textOf(self.getRemoteAutoTuningConfig()); },
          [](IBuilderConfig& self, const char* text) {
            if (!self.setRemoteAutoTuningConfig(text))
              throw py::value_error("remote_auto_tuning_config is refused; the log says why");
          })
      // The configuration a cache is made from may go before the cache.
      .def("create_timing_cache", &makeTimingCache, py::arg("serialized_timing_cache"),
           py::return_value_policy::take_ownership, py::keep_alive<0, 1>())
      .def("__del__", [](const IBuilderConfig&) {});
  classOf<ISerializationConfig>(scope, "ISerializationConfig")
      .def_property("flags", &ISerializationConfig::getFlags, [](ISerializationConfig& self, SerializationFlags flags) {
        if (!self.setFlags(flags)) throw py::value_error("flags are refused; the log says why");
      });
  classOf<ITimingCache>(scope, "ITimingCache").def("queryKeys", &keysOf);
}

}  // namespace tenon::python
