// Operators that are plugins: found in the registry by name, built from the node's attributes.
#pragma once

#include "onnx_node.h"

namespace tenon::parsers::onnx {

// The creator that `node` names, or nullptr.
nvinfer1::IPluginCreatorInterface* findPluginCreator(nvinfer1::INetworkDefinition& network, const OnnxNode& node);

// For the message that a node has no creator: those of the same name in another version or namespace, else those whose
// names differ in little; empty where there are none.
std::string nearPlugins(nvinfer1::INetworkDefinition& network, const OnnxNode& node);

// Adds the plugin as a layer. Creators of the kinds V1 and V3ONE are accepted.
ParsedValues importPlugin(OnnxNode& node, nvinfer1::IPluginCreatorInterface& creator);

}  // namespace tenon::parsers::onnx
