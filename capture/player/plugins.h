// Makes the plugins of a capture again, by the creators that are registered in this process.
#pragma once

#include <NvInfer.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "player/capture_file.h"

namespace tenon::capture {

class Plugins {
 public:
  using DataOf = std::function<std::pair<const void*, size_t>(uint64_t id)>;

  Plugins() = default;
  Plugins(const Plugins&) = delete;
  Plugins& operator=(const Plugins&) = delete;
  ~Plugins();

  // Makes the plugin of a line {"plugin": ...}. Throws CaptureError, which names type, version and namespace, when
  // there is no creator or it refuses.
  void define(const Line& line, const DataOf& dataOf);

  nvinfer1::IPluginV2* plugin2(uint64_t id) const;  // null for a number that is none
  nvinfer1::IPluginV3* plugin3(uint64_t id) const;

 private:
  std::vector<nvinfer1::PluginField> fields(const Line& line, const Json& list, const DataOf& dataOf);

  std::map<uint64_t, nvinfer1::IPluginV2*> second_;
  std::map<uint64_t, nvinfer1::IPluginV3*> third_;
  std::deque<std::string> names_;
  std::deque<std::vector<char>> bytes_;
};

}  // namespace tenon::capture
