// IParser: parsing, and the answers about the last model.
#include "parser.h"

#include "operator_table.h"

namespace tenon::parsers::onnx {

bool Parser::import(const pb::ModelProto& model, const char* path) {
  const ExternalFiles files(path);
  SqueezeChoices squeezes = chooseSqueezes(model, files);
  const ImportEnvironment environment{network_, store_,  files,    &source_.supplied(), errors_, logger_, flags_,
                                      false,    nullptr, &squeezes};
  GraphImport graph(model, environment);
  const bool complete = graph.run();
  nodeOutputs_ = graph.outputs();
  return complete;
}

bool Parser::parse(const void* data, size_t size, const char* path) noexcept {
  return source_.useBytes(data, size, path, [&](const auto& model, const char* from) { return import(model, from); });
}

bool Parser::parseFromFile(const char* file, int /*verbosity: the logger filters*/) noexcept {
  return source_.useFile("parseFromFile", file,
                         [&](const auto& model, const char* from) { return import(model, from); });
}

bool Parser::parseModelProto() noexcept {
  return source_.useLoaded("parseModelProto", [&](const auto& model, const char* from) { return import(model, from); });
}

bool Parser::supportsOperator(const char* name) const noexcept { return name != nullptr && hasImporter("", name); }

const char* const* Parser::getUsedVCPluginLibraries(int64_t& count) const noexcept {
  count = 0;  // no importer needs a plugin library
  return nullptr;
}

const nvinfer1::ITensor* Parser::getLayerOutputTensor(const char* name, int64_t index) noexcept {
  const auto found = name == nullptr ? nodeOutputs_.end() : nodeOutputs_.find(name);
  if (found == nodeOutputs_.end() || index < 0 || index >= static_cast<int64_t>(found->second.size())) {
    return nullptr;
  }
  return found->second[static_cast<size_t>(index)];
}

bool Parser::setBuilderConfig(const nvinfer1::IBuilderConfig* config) noexcept {
  return config != nullptr;  // it matters for DLA only, which nothing here targets
}

}  // namespace tenon::parsers::onnx
