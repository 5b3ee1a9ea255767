// The parser that programs see.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "branch_join.h"
#include "model_source.h"
#include "node_import.h"

namespace tenon::parsers::onnx {

// One parser fills one network. It owns the weights that the network points to, so it must outlive the build of the
// engine, as the API demands. Used by one thread at a time.
class Parser final : public nvonnxparser::IParser {
 public:
  Parser(nvinfer1::INetworkDefinition& network, nvinfer1::ILogger* logger)
      : network_(network), logger_(logger), errors_(logger) {}

  bool parse(const void* data, size_t size, const char* path) noexcept override;
  bool parseFromFile(const char* file, int verbosity) noexcept override;
  bool supportsModel(const void* data, size_t size, SubGraphCollection_t& parts, const char* path) noexcept override;
  bool parseWithWeightDescriptors(const void* data, size_t size) noexcept override {
    return parse(data, size, nullptr);
  }
  bool supportsOperator(const char* name) const noexcept override;
  int getNbErrors() const noexcept override { return static_cast<int>(errors_.size()); }
  const nvonnxparser::IParserError* getError(int index) const noexcept override {
    return index < 0 ? nullptr : errors_.at(static_cast<size_t>(index));
  }
  void clearErrors() noexcept override { errors_.clear(); }
  const char* const* getUsedVCPluginLibraries(int64_t& count) const noexcept override;
  void setFlags(nvonnxparser::OnnxParserFlags flags) noexcept override { flags_ = flags; }
  nvonnxparser::OnnxParserFlags getFlags() const noexcept override { return flags_; }
  void clearFlag(nvonnxparser::OnnxParserFlag flag) noexcept override {
    flags_ &= ~(1u << static_cast<uint32_t>(flag));
  }
  void setFlag(nvonnxparser::OnnxParserFlag flag) noexcept override { flags_ |= 1u << static_cast<uint32_t>(flag); }
  bool getFlag(nvonnxparser::OnnxParserFlag flag) const noexcept override {
    return (flags_ >> static_cast<uint32_t>(flag)) & 1u;
  }
  const nvinfer1::ITensor* getLayerOutputTensor(const char* name, int64_t index) noexcept override;
  bool supportsModelV2(const void* data, size_t size, const char* path) noexcept override;
  int64_t getNbSubgraphs() noexcept override { return static_cast<int64_t>(subgraphs_.size()); }
  bool isSubgraphSupported(int64_t index) noexcept override;
  int64_t* getSubgraphNodes(int64_t index, int64_t& length) noexcept override;
  bool loadModelProto(const void* data, size_t size, const char* path) noexcept override {
    return source_.load(data, size, path);
  }
  bool loadInitializer(const char* name, const void* data, size_t size) noexcept override {
    return source_.supply(name, data, size);
  }
  bool parseModelProto() noexcept override;
  bool setBuilderConfig(const nvinfer1::IBuilderConfig* config) noexcept override;

 private:
  // Nodes that can be imported, in topological order (topology.h). `supported` is that of the whole model.
  struct Subgraph {
    std::vector<int64_t> nodes;
    bool supported = false;
  };

  bool import(const pb::ModelProto& model, const char* path);
  // An import into a network of its own, so that the caller's stays as it is; errors are in the list, not in the log.
  struct Trial {
    bool complete = false;
    std::vector<NodeStatus> status;
  };
  Trial tryImport(const pb::ModelProto& model, const ExternalFiles& files, bool probes, SqueezeChoices& squeezes);
  // With which choices the model can be imported; the first ones where it cannot.
  SqueezeChoices chooseSqueezes(const pb::ModelProto& model, const ExternalFiles& files);
  bool probe(const void* data, size_t size, const char* path);
  Subgraph* subgraph(const char* caller, int64_t index) noexcept;  // nullptr, with an error, where there is none

  nvinfer1::INetworkDefinition& network_;
  nvinfer1::ILogger* logger_;
  ErrorList errors_;
  WeightStore store_;
  ModelSource source_{errors_};
  nvonnxparser::OnnxParserFlags flags_ = 1u
                                         << static_cast<uint32_t>(nvonnxparser::OnnxParserFlag::kNATIVE_INSTANCENORM);
  std::unordered_map<std::string, std::vector<nvinfer1::ITensor*>> nodeOutputs_;
  std::vector<Subgraph> subgraphs_;
};

}  // namespace tenon::parsers::onnx
