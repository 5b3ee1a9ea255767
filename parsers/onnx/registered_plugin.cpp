// Plugins of the standard library by name: created, added, let go.
#include "registered_plugin.h"

#include <memory>
#include <string_view>

namespace tenon::parsers::onnx {

std::optional<Term> addRegistered(const char* name, const char* version,
                                  const std::vector<nvinfer1::PluginField>& fields, const std::vector<Term>& inputs) {
  NetworkWriter& writer = inputs.front().writer();
  auto* const creator = writer.network().getBuilder().getPluginRegistry().getCreator(name, version, "");
  if (creator == nullptr || std::string_view(creator->getInterfaceInfo().kind) != "PLUGIN CREATOR_V3ONE") {
    return std::nullopt;
  }
  const nvinfer1::PluginFieldCollection collection{static_cast<int32_t>(fields.size()), fields.data()};
  const std::unique_ptr<nvinfer1::IPluginV3> plugin(static_cast<nvinfer1::IPluginCreatorV3One*>(creator)->createPlugin(
      name, &collection, nvinfer1::TensorRTPhase::kBUILD));
  if (plugin == nullptr) {
    fail(FaultKind::kInvalidNode,
         fmt::format("plugin '{}' was not created from the node's attributes; the log says why", name));
  }
  std::vector<nvinfer1::ITensor*> tensors;
  for (const Term& input : inputs) {
    tensors.push_back(&writer.tensor(input));
  }
  auto* made = writer.network().addPluginV3(tensors.data(), static_cast<int32_t>(tensors.size()), nullptr, 0, *plugin);
  return Term(writer, writer.output(writer.added(made, "addPluginV3")));
}

}  // namespace tenon::parsers::onnx
