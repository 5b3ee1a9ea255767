// Builds a plugin layer from a node: attributes become fields by name, inputs become inputs.
#include "plugin_import.h"

#include <deque>
#include <string_view>

namespace tenon::parsers::onnx {
namespace {

using nvinfer1::PluginField;
using nvinfer1::PluginFieldType;

// The fields of one creation, with the memory they point to.
struct Fields {
  std::deque<std::string> texts;
  std::deque<std::vector<int32_t>> integers;
  std::deque<float> reals;
  std::vector<PluginField> list;
};

void addField(Fields& fields, const OnnxNode& node, const pb::AttributeProto& attribute, const std::string& name) {
  const char* key = fields.texts.emplace_back(name).c_str();
  switch (attribute.type()) {
    case 1: {
      const float* value = &fields.reals.emplace_back(attribute.f());
      fields.list.emplace_back(key, value, PluginFieldType::kFLOAT32, 1);
      return;
    }
    case 2: {
      const auto& value = fields.integers.emplace_back(1, static_cast<int32_t>(attribute.i()));
      fields.list.emplace_back(key, value.data(), PluginFieldType::kINT32, 1);
      return;
    }
    case 3: {
      const std::string& value = fields.texts.emplace_back(attribute.s());
      fields.list.emplace_back(key, value.data(), PluginFieldType::kCHAR, static_cast<int32_t>(value.size()));
      return;
    }
    case 6:
      fields.list.emplace_back(key, attribute.floats().data(), PluginFieldType::kFLOAT32, attribute.floats_size());
      return;
    case 7: {
      const auto& value = fields.integers.emplace_back(attribute.ints().begin(), attribute.ints().end());
      fields.list.emplace_back(key, value.data(), PluginFieldType::kINT32, static_cast<int32_t>(value.size()));
      return;
    }
    case 4: {
      const WeightBytes& tensor = node.loader().load(attribute.t(), "");
      const bool real = tensor.type == DataType::kFLOAT;
      const bool half = tensor.type == DataType::kHALF;
      const bool integer = tensor.type == DataType::kINT32;
      const auto type = real      ? PluginFieldType::kFLOAT32
                        : half    ? PluginFieldType::kFLOAT16
                        : integer ? PluginFieldType::kINT32
                                  : PluginFieldType::kINT64;
      if (!real && !half && !integer && tensor.type != DataType::kINT64) {
        break;
      }
      fields.list.emplace_back(key, tensor.data, type, static_cast<int32_t>(tensor.count()));
      return;
    }
    default: break;
  }
  fail(FaultKind::kUnsupportedAttribute,
       fmt::format("attribute '{}' cannot become a plugin field: AttributeProto type {}; expected FLOAT, INT, STRING, "
                   "TENSOR, FLOATS or INTS",
                   name, attribute.type()));
}

}  // namespace

nvinfer1::IPluginCreatorInterface* findPluginCreator(nvinfer1::INetworkDefinition& network, const OnnxNode& node) {
  nvinfer1::IPluginRegistry& registry = network.getBuilder().getPluginRegistry();
  const std::string version = node.text("plugin_version", "1");
  const std::string space = node.text("plugin_namespace", "");
  auto* creator = registry.getCreator(node.type().c_str(), version.c_str(), space.c_str());
  if (creator == nullptr && space.empty() && !isStandardDomain(node.proto().domain())) {
    creator = registry.getCreator(node.type().c_str(), version.c_str(), node.proto().domain().c_str());
  }
  return creator;
}

ParsedValues importPlugin(OnnxNode& node, nvinfer1::IPluginCreatorInterface& creator) {
  Fields fields;
  for (const pb::AttributeProto& own : node.proto().attribute()) {
    const pb::AttributeProto* attribute = node.resolve(own);
    if (attribute != nullptr && own.name() != "plugin_version" && own.name() != "plugin_namespace") {
      addField(fields, node, *attribute, own.name());
    }
  }
  nvinfer1::PluginFieldCollection collection{static_cast<int32_t>(fields.list.size()), fields.list.data()};
  std::vector<nvinfer1::ITensor*> inputs;
  for (size_t i = 0; i < node.inputCount(); ++i) {
    if (node.hasInput(i)) {
      inputs.push_back(&node.tensor(i));
    }
  }
  const std::string name = node.qualified(node.proto().name());
  const std::string_view kind = creator.getInterfaceInfo().kind;
  auto& network = node.writer().network();
  nvinfer1::ILayer* layer = nullptr;
  if (kind == "PLUGIN CREATOR_V1") {
    auto* plugin = static_cast<nvinfer1::IPluginCreator&>(creator).createPlugin(name.c_str(), &collection);
    layer =
        plugin == nullptr ? nullptr : network.addPluginV2(inputs.data(), static_cast<int32_t>(inputs.size()), *plugin);
  } else if (kind == "PLUGIN CREATOR_V3ONE") {
    auto* plugin = static_cast<nvinfer1::IPluginCreatorV3One&>(creator).createPlugin(name.c_str(), &collection,
                                                                                     nvinfer1::TensorRTPhase::kBUILD);
    layer = plugin == nullptr
                ? nullptr
                : network.addPluginV3(inputs.data(), static_cast<int32_t>(inputs.size()), nullptr, 0, *plugin);
  } else {
    fail(FaultKind::kUnsupportedNode, fmt::format("the plugin creator of '{}' has interface '{}'; expected PLUGIN "
                                                  "CREATOR_V1 or PLUGIN CREATOR_V3ONE",
                                                  node.type(), kind));
  }
  if (layer == nullptr) {
    fail(FaultKind::kInvalidNode,
         fmt::format("plugin '{}' was not created from the node's {} attributes, or the network "
                     "refused it; the log says why",
                     node.type(), fields.list.size()));
  }
  node.writer().added(layer, "addPlugin");
  ParsedValues outputs;
  for (int32_t i = 0; i < layer->getNbOutputs(); ++i) {
    outputs.emplace_back(node.writer().output(*layer, i));
  }
  return outputs;
}

}  // namespace tenon::parsers::onnx
