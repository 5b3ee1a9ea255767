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
  const ImportEnvironment environment{network_, store_, files, &supplied_, errors_, logger_, flags_, false};
  GraphImport graph(model, environment);
  const bool complete = graph.run();
  nodeOutputs_ = graph.outputs();
  return complete;
}

bool Parser::parse(const void* data, size_t size, const char* path) noexcept {
  return guarded([&] {
    errors_.clear();
    models_.push_back(loadModel(data, size));
    return import(*models_.back(), path);
  });
}

bool Parser::parseFromFile(const char* file, int /*verbosity: the logger filters*/) noexcept {
  return guarded([&] {
    errors_.clear();
    if (file == nullptr) {
      fail(ErrorCode::kMODEL_DESERIALIZE_FAILED, "parseFromFile: the file name is nullptr");
    }
    const std::string bytes = readFile(file);
    models_.push_back(loadModel(bytes.data(), bytes.size()));
    return import(*models_.back(), file);
  });
}

bool Parser::loadModelProto(const void* data, size_t size, const char* path) noexcept {
  return guarded([&] {
    errors_.clear();
    modelLoaded_ = false;
    supplied_.clear();
    models_.push_back(loadModel(data, size));
    modelPath_ = path == nullptr ? "" : path;
    modelLoaded_ = true;
    return true;
  });
}

bool Parser::loadInitializer(const char* name, const void* data, size_t size) noexcept {
  return guarded([&] {
    if (!modelLoaded_ || name == nullptr || (data == nullptr && size != 0)) {
      fail(ErrorCode::kINVALID_VALUE, "loadInitializer: call loadModelProto first, and give a name and its bytes");
    }
    supplied_[name] = SuppliedBytes{data, size};
    return true;
  });
}

bool Parser::parseModelProto() noexcept {
  return guarded([&] {
    if (!modelLoaded_) {
      fail(ErrorCode::kINVALID_VALUE, "parseModelProto: no model is loaded; call loadModelProto first");
    }
    errors_.clear();
    return import(*models_.back(), modelPath_.c_str());
  });
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
