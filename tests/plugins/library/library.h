// SPDX-License-Identifier: Apache-2.0
// What the plugins of the test library share. The library sees the public headers only, as a user's would.
#pragma once

#include <NvInfer.h>
#include <NvInferRuntimePlugin.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace library {

using namespace nvinfer1;

// Calls of the older plugins, in order, for takeCalls().
void note(const std::string& call);

inline int64_t volume(const Dims& dims) {
  int64_t count = 1;
  for (int32_t i = 0; i < dims.nbDims; ++i) count *= dims.d[i];
  return count;
}

float fromHalf(uint16_t bits);
uint16_t toHalf(float value);

inline const PluginField* find(const PluginFieldCollection* fields, const char* name) {
  for (int32_t i = 0; fields != nullptr && i < fields->nbFields; ++i) {
    if (std::strcmp(fields->fields[i].name, name) == 0) return &fields->fields[i];
  }
  return nullptr;
}

inline float floatField(const PluginFieldCollection* fields, const char* name, float otherwise) {
  const PluginField* field = find(fields, name);
  return field != nullptr && field->data != nullptr ? *static_cast<const float*>(field->data) : otherwise;
}

int liveObjects();  // of IPluginV3
const std::vector<IPluginCreatorInterface*>& creatorsV3();
const std::vector<IPluginCreatorInterface*>& creatorsV2();
IPluginCreatorInterface* creatorQuick();
const std::vector<IPluginCreatorInterface*>& creatorsFormats();
const std::vector<IPluginCreatorInterface*>& creatorsStream();
const std::vector<IPluginCreatorInterface*>& creatorsHostile();

}  // namespace library
