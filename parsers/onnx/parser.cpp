// IParser: parsing, the check of what is supported, and the answers about the last model.
#include "parser.h"

#include "guard.h"

namespace tenon::onnxparser {

template <typename Action>
bool Parser::guarded(const Action& action) noexcept {
  return guardCall(errors_, action);
}

bool Parser::import(const pb::ModelProto& model, const char* path) {
  const ExternalFiles files(path);
  const ImportEnvironment environment{network_, store_, files, &source_.supplied(), errors_, logger_, flags_, false};
  GraphImport graph(model, environment);
  const bool complete = graph.run();
  nodeOutputs_ = graph.outputs();
  return complete;
}

bool Parser::parse(const void* data, size_t size, const char* path) noexcept {
  return source_.useBytes(data, size, path, [&](const auto& model, const char* from) { return import(model, from); });
}

bool Parser::parseFromFile(const char* file, int /*verbosity: the logger filters*/) noexcept {
  return source_.useFile("parseFromFile", file, [&](const auto& model, const char* from) { return import(model, from); });
}

bool Parser::parseModelProto() noexcept {
  return source_.useLoaded("parseModelProto", [&](const auto& model, const char* from) { return import(model, from); });
}

bool Parser::probe(const void* data, size_t size, const char* path) {
  errors_.clear();
  subgraphs_.clear();
  const auto model = loadModel(data, size);
  // A network of its own, so that the caller's stays as it is. Weights are declared first: they outlive it.
  WeightStore store;
  const ExternalFiles files(path);
  const std::unique_ptr<nvinfer1::INetworkDefinition> scratch(network_.getBuilder().createNetworkV2(network_.getFlags()));
  if (scratch == nullptr) {
    fail(ErrorCode::kINTERNAL_ERROR, "the builder made no network to try the model on");
  }
  const ImportEnvironment environment{*scratch, store, files, nullptr, errors_, logger_, flags_, true};
  GraphImport graph(*model, environment);
  const bool complete = graph.run();
  for (const int index : graph.order()) {
    const bool supported = graph.status()[static_cast<size_t>(index)] != NodeStatus::kFAILED;
    if (subgraphs_.empty() || subgraphs_.back().supported != supported) {
      subgraphs_.push_back({{}, supported});
    }
    subgraphs_.back().nodes.push_back(index);
  }
  return complete;
}

bool Parser::supportsModelV2(const void* data, size_t size, const char* path) noexcept {
  return guarded([&] { return probe(data, size, path); });
}

bool Parser::supportsModel(const void* data, size_t size, SubGraphCollection_t& parts, const char* path) noexcept {
  return guarded([&] {
    parts.clear();
    const bool complete = probe(data, size, path);
    for (const Subgraph& subgraph : subgraphs_) {
      parts.emplace_back(std::vector<size_t>(subgraph.nodes.begin(), subgraph.nodes.end()), subgraph.supported);
    }
    return complete;
  });
}

bool Parser::isSubgraphSupported(int64_t index) noexcept {
  return guarded([&] {
    if (index < 0 || index >= getNbSubgraphs()) {
      fail(ErrorCode::kINVALID_VALUE, fmt::format("isSubgraphSupported: index {}; expected 0 to {}", index,
                                                  getNbSubgraphs() - 1));
    }
    return subgraphs_[static_cast<size_t>(index)].supported;
  });
}

int64_t* Parser::getSubgraphNodes(int64_t index, int64_t& length) noexcept {
  length = 0;
  const bool valid = guarded([&] {
    if (index < 0 || index >= getNbSubgraphs()) {
      fail(ErrorCode::kINVALID_VALUE, fmt::format("getSubgraphNodes: index {}; expected 0 to {}", index,
                                                  getNbSubgraphs() - 1));
    }
    return true;
  });
  if (!valid) {
    return nullptr;
  }
  Subgraph& subgraph = subgraphs_[static_cast<size_t>(index)];
  length = static_cast<int64_t>(subgraph.nodes.size());
  return subgraph.nodes.data();
}

bool Parser::supportsOperator(const char* name) const noexcept { return name != nullptr && hasImporter(name); }

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

}  // namespace tenon::onnxparser
