// Plugins in a capture: what is needed to make the same one again.
#pragma once

#include <NvInfer.h>

#include <cstdint>
#include <string>

namespace tenon::capture {

// A number for the plugin as it is now. The capture gets its type, version, namespace and state, and the fields it was
// created with when a creator of the registry made it.
uint64_t pluginNumber(nvinfer1::IPluginV2& plugin);
uint64_t pluginNumber(nvinfer1::IPluginV3& plugin);

// Keeps how a creator of the registry has just made a plugin: with these fields, and `members` of the line besides.
struct PluginIdentity {
  const char* interface;
  const char* type;
  const char* version;
  const char* space;
};
void notePlugin(const void* plugin, const PluginIdentity& who, const char* name, const std::string& members,
                const nvinfer1::PluginFieldCollection* fields);

// What the application sees in place of a creator: it notes the fields of what it makes. The same for the same creator;
// a creator of a kind that is not known here stays itself.
nvinfer1::IPluginCreatorInterface* wrapCreator(nvinfer1::IPluginCreatorInterface* real);
const nvinfer1::IPluginCreatorInterface& unwrapCreator(const nvinfer1::IPluginCreatorInterface& creator);

}  // namespace tenon::capture
