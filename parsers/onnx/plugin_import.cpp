// Builds a plugin layer from a node: attributes become fields by name, inputs become inputs.
#include "plugin_import.h"

#include <fmt/ranges.h>
#include <impl/NvInferPythonPlugin.h>

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

namespace tenon::parsers::onnx {
namespace {

using nvinfer1::PluginField;
using nvinfer1::PluginFieldType;

// Which inputs of a node are shape inputs of its plugin: values instead of tensors.
constexpr std::string_view kShapeInputs = "tensorrt_plugin_shape_input_indices";

std::set<int64_t> shapeInputsOf(const OnnxNode& node) {
  std::set<int64_t> result;
  for (const pb::AttributeProto& own : node.proto().attribute()) {
    const pb::AttributeProto* attribute = node.resolve(own);
    if (attribute == nullptr || own.name() != kShapeInputs) {
      continue;
    }
    for (const int64_t index : attribute->ints()) {
      if (index < 0 || index >= static_cast<int64_t>(node.inputCount())) {
        fail(FaultKind::kInvalidNode, fmt::format("attribute '{}' names input {}; the node has {} inputs", kShapeInputs,
                                                  index, node.inputCount()));
      }
      result.insert(index);
    }
  }
  return result;
}

struct PluginName {
  std::string name, version, space;
};

PluginName identityOf(nvinfer1::IPluginCreatorInterface& creator) {
  const auto text = [](const char* value) { return std::string(value != nullptr ? value : ""); };
  const auto of = [&](auto& known) {
    return PluginName{text(known.getPluginName()), text(known.getPluginVersion()), text(known.getPluginNamespace())};
  };
  const std::string_view kind = creator.getInterfaceInfo().kind;
  if (kind == "PLUGIN CREATOR_V1") {
    return of(static_cast<nvinfer1::IPluginCreator&>(creator));
  }
  if (kind == "PLUGIN CREATOR_V3QUICK") {
    return of(static_cast<nvinfer1::IPluginCreatorV3Quick&>(creator));
  }
  return kind == "PLUGIN CREATOR_V3ONE" ? of(static_cast<nvinfer1::IPluginCreatorV3One&>(creator)) : PluginName{};
}

// Whether functions of Python run, or what they compile: what the network was made to prefer.
nvinfer1::QuickPluginCreationRequest preferenceOf(nvinfer1::INetworkDefinition& network) {
  using enum nvinfer1::NetworkDefinitionCreationFlag;
  using enum nvinfer1::QuickPluginCreationRequest;
  if (network.getFlag(kPREFER_AOT_PYTHON_PLUGINS)) {
    return kPREFER_AOT;
  }
  return network.getFlag(kPREFER_JIT_PYTHON_PLUGINS) ? kPREFER_JIT : kUNKNOWN;
}

// Whether two names agree but for case, '_' and '-', or one holds the other.
bool differInLittle(const std::string& a, const std::string& b) {
  const auto plain = [](const std::string& name) {
    std::string result;
    for (const char c : name) {
      if (c != '_' && c != '-') {
        result += static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
      }
    }
    return result;
  };
  constexpr size_t kLeast = 4;  // characters; shorter names are in many
  const std::string x = plain(a);
  const std::string y = plain(b);
  const auto holds = [](const std::string& one, const std::string& other) {
    return other.size() >= kLeast && one.find(other) != std::string::npos;
  };
  return !x.empty() && (x == y || holds(x, y) || holds(y, x));
}

// The fields of one creation, with the memory they point to.
struct Fields {
  std::deque<std::string> texts;
  std::deque<std::vector<int32_t>> integers;
  std::deque<float> reals;
  std::vector<PluginField> list;
};

// Of the elements of a tensor; none where plugins have no such field.
std::optional<PluginFieldType> fieldTypeOf(DataType type) {
  switch (type) {
    case DataType::kFLOAT: return PluginFieldType::kFLOAT32;
    case DataType::kHALF: return PluginFieldType::kFLOAT16;
    case DataType::kBF16: return PluginFieldType::kBF16;
    case DataType::kFP8: return PluginFieldType::kFP8;
    case DataType::kINT64: return PluginFieldType::kINT64;
    case DataType::kINT32: return PluginFieldType::kINT32;
    case DataType::kINT8: return PluginFieldType::kINT8;
    case DataType::kINT4: return PluginFieldType::kINT4;
    default: return std::nullopt;
  }
}

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
      const auto type = fieldTypeOf(tensor.type);
      if (!type) {
        break;
      }
      fields.list.emplace_back(key, tensor.data, *type, static_cast<int32_t>(tensor.count()));
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

std::string nearPlugins(nvinfer1::INetworkDefinition& network, const OnnxNode& node) {
  int32_t count = 0;
  auto* const* creators = network.getBuilder().getPluginRegistry().getAllCreatorsRecursive(&count);
  std::vector<std::string> same;
  std::vector<std::string> like;
  for (int32_t i = 0; i < count; ++i) {
    const auto one = identityOf(*creators[i]);
    const auto text = fmt::format("'{}' version '{}' namespace '{}'", one.name, one.version, one.space);
    if (one.name == node.type()) {
      same.push_back(text);
    } else if (differInLittle(one.name, node.type())) {
      like.push_back(text);
    }
  }
  if (same.empty() && like.empty()) {
    return {};
  }
  return fmt::format(
      ". Asked for version '{}' namespace '{}' of plugins; registered {} {}", node.text("plugin_version", "1"),
      node.text("plugin_namespace", ""),
      same.empty() ? "under names like it:" : "under that name:", fmt::join(same.empty() ? like : same, ", "));
}

ParsedValues importPlugin(OnnxNode& node, nvinfer1::IPluginCreatorInterface& creator) {
  Fields fields;
  for (const pb::AttributeProto& own : node.proto().attribute()) {
    const pb::AttributeProto* attribute = node.resolve(own);
    if (attribute != nullptr && own.name() != "plugin_version" && own.name() != "plugin_namespace" &&
        own.name() != kShapeInputs) {
      addField(fields, node, *attribute, own.name());
    }
  }
  nvinfer1::PluginFieldCollection collection{static_cast<int32_t>(fields.list.size()), fields.list.data()};
  const std::set<int64_t> shapeIndices = shapeInputsOf(node);
  std::vector<nvinfer1::ITensor*> inputs;
  std::vector<nvinfer1::ITensor*> shapeInputs;
  for (size_t i = 0; i < node.inputCount(); ++i) {
    if (node.hasInput(i)) {
      (shapeIndices.contains(static_cast<int64_t>(i)) ? shapeInputs : inputs).push_back(&node.tensor(i));
    }
  }
  const auto inputCount = static_cast<int32_t>(inputs.size());
  const std::string name = node.qualified(node.proto().name());
  const std::string_view kind = creator.getInterfaceInfo().kind;
  auto& network = node.writer().network();
  nvinfer1::ILayer* layer = nullptr;
  // The network keeps a copy of the plugin.
  if (kind == "PLUGIN CREATOR_V1") {
    if (!shapeIndices.empty()) {
      fail(FaultKind::kInvalidNode,
           fmt::format("attribute '{}' is for plugins of the interface IPluginV3; the creator of '{}' makes older ones",
                       kShapeInputs, node.type()));
    }
    auto* plugin = static_cast<nvinfer1::IPluginCreator&>(creator).createPlugin(name.c_str(), &collection);
    if (plugin != nullptr) {
      layer = network.addPluginV2(inputs.data(), inputCount, *plugin);
      plugin->destroy();
    }
  } else if (kind == "PLUGIN CREATOR_V3ONE") {
    const std::unique_ptr<nvinfer1::IPluginV3> plugin(static_cast<nvinfer1::IPluginCreatorV3One&>(creator).createPlugin(
        name.c_str(), &collection, nvinfer1::TensorRTPhase::kBUILD));
    if (plugin != nullptr) {
      layer = network.addPluginV3(inputs.data(), inputCount, shapeInputs.data(),
                                  static_cast<int32_t>(shapeInputs.size()), *plugin);
    }
  } else if (kind == "PLUGIN CREATOR_V3QUICK") {
    auto& quick = static_cast<nvinfer1::IPluginCreatorV3Quick&>(creator);
    const std::unique_ptr<nvinfer1::IPluginV3> plugin(
        quick.createPlugin(quick.getPluginName(), quick.getPluginNamespace(), &collection,
                           nvinfer1::TensorRTPhase::kBUILD, preferenceOf(network)));
    if (plugin != nullptr) {
      layer = network.addPluginV3(inputs.data(), inputCount, shapeInputs.data(),
                                  static_cast<int32_t>(shapeInputs.size()), *plugin);
    }
  } else {
    fail(FaultKind::kUnsupportedNode,
         fmt::format(
             "the plugin creator of '{}' has interface '{}'; expected PLUGIN CREATOR_V1, PLUGIN CREATOR_V3ONE or "
             "PLUGIN CREATOR_V3QUICK",
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
