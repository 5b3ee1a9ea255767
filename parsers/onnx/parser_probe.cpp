// Which parts of a model are supported: the model is imported into a scratch network.
#include "parser.h"
#include "topology.h"

namespace tenon::parsers::onnx {
namespace {

using Severity = nvinfer1::ILogger::Severity;

// Keeps what the network says from the log: a refused node is an answer here, no error.
class NetworkMessages final : public nvinfer1::IErrorRecorder {
 public:
  std::string last;

  int32_t getNbErrors() const noexcept override { return last.empty() ? 0 : 1; }
  nvinfer1::ErrorCode getErrorCode(int32_t) const noexcept override { return code_; }
  ErrorDesc getErrorDesc(int32_t) const noexcept override { return last.c_str(); }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { last.clear(); }
  bool reportError(nvinfer1::ErrorCode code, ErrorDesc description) noexcept override {
    code_ = code;
    try {
      last = description == nullptr ? "" : description;
    } catch (...) {
      last.clear();
    }
    return false;
  }
  RefCount incRefCount() noexcept override { return ++references_; }
  RefCount decRefCount() noexcept override { return --references_; }

 private:
  nvinfer1::ErrorCode code_ = nvinfer1::ErrorCode::kSUCCESS;
  RefCount references_ = 0;
};

// Errors are verbose lines as long as this lives.
class Quietly {
 public:
  explicit Quietly(ErrorList& errors) : errors_(errors) { errors_.setSeverity(Severity::kVERBOSE); }
  Quietly(const Quietly&) = delete;
  Quietly& operator=(const Quietly&) = delete;
  ~Quietly() { errors_.setSeverity(Severity::kERROR); }

 private:
  ErrorList& errors_;
};

}  // namespace

Parser::Trial Parser::tryImport(const pb::ModelProto& model, const ExternalFiles& files, bool probes,
                                SqueezeChoices& squeezes) {
  // Weights and messages are declared first: they outlive the network.
  WeightStore store;
  NetworkMessages messages;
  const std::unique_ptr<nvinfer1::INetworkDefinition> scratch(
      network_.getBuilder().createNetworkV2(network_.getFlags()));
  if (scratch == nullptr) {
    fail(FaultKind::kInternal, "the builder made no network to try the model on");
  }
  scratch->setErrorRecorder(&messages);
  const ImportEnvironment environment{*scratch,       store,    files,  probes ? nullptr : &source_.supplied(),
                                      errors_,        logger_,  flags_, probes,
                                      &messages.last, &squeezes};
  GraphImport graph(model, environment);
  const Quietly quietly(errors_);
  Trial trial;
  trial.complete = graph.run();
  trial.status = graph.status();
  return trial;
}

SqueezeChoices Parser::chooseSqueezes(const pb::ModelProto& model, const ExternalFiles& files) {
  constexpr int kMostTrials = 16;
  if (!hasOptionalSqueeze(model)) {
    return {};
  }
  SqueezeChoices choices;
  for (int trial = 0; trial < kMostTrials; ++trial) {
    const bool complete = tryImport(model, files, false, choices).complete;
    errors_.clear();
    if (complete) {
      choices.rewind();
      return choices;
    }
    if (!choices.advance()) {
      break;
    }
  }
  return {};
}

// Clients build each subgraph as a model of its own and ask again, until the answer is that a model is supported as a
// whole. So a node that cannot be imported stands in no subgraph: asking again must get somewhere.
bool Parser::probe(const void* data, size_t size, const char* path) {
  errors_.clear();
  subgraphs_.clear();
  const auto model = loadModel(data, size);
  const ExternalFiles files(path);
  SqueezeChoices squeezes = chooseSqueezes(*model, files);
  const Trial trial = tryImport(*model, files, true, squeezes);
  const bool complete = trial.complete;
  std::vector<bool> supported;
  bool anyRefused = false;
  for (const NodeStatus status : trial.status) {
    supported.push_back(status != NodeStatus::kFAILED);
    anyRefused = anyRefused || !supported.back();
  }
  if (complete || anyRefused) {  // else the fault is in the model as a whole: no part of it would fare better
    for (std::vector<int64_t>& nodes : supportedRuns(model->graph(), supported)) {
      subgraphs_.push_back({std::move(nodes), complete});
    }
  }
  return complete;
}

bool Parser::supportsModelV2(const void* data, size_t size, const char* path) noexcept {
  return guardCall(errors_, [&] { return probe(data, size, path); });
}

bool Parser::supportsModel(const void* data, size_t size, SubGraphCollection_t& parts, const char* path) noexcept {
  return guardCall(errors_, [&] {
    parts.clear();
    const bool complete = probe(data, size, path);
    for (const Subgraph& subgraph : subgraphs_) {
      parts.emplace_back(std::vector<size_t>(subgraph.nodes.begin(), subgraph.nodes.end()), subgraph.supported);
    }
    return complete;
  });
}

Parser::Subgraph* Parser::subgraph(const char* caller, int64_t index) noexcept {
  const bool valid = guardCall(errors_, [&] {
    if (index < 0 || index >= getNbSubgraphs()) {
      fail(FaultKind::kInvalidValue,
           getNbSubgraphs() == 0 ? fmt::format("{}: index {}, but there are no subgraphs", caller, index)
                                 : fmt::format("{}: index {}; expected 0 to {}", caller, index, getNbSubgraphs() - 1));
    }
    return true;
  });
  return valid ? &subgraphs_[static_cast<size_t>(index)] : nullptr;
}

bool Parser::isSubgraphSupported(int64_t index) noexcept {
  const Subgraph* found = subgraph("isSubgraphSupported", index);
  return found != nullptr && found->supported;
}

int64_t* Parser::getSubgraphNodes(int64_t index, int64_t& length) noexcept {
  Subgraph* found = subgraph("getSubgraphNodes", index);
  length = found == nullptr ? 0 : static_cast<int64_t>(found->nodes.size());
  return found == nullptr ? nullptr : found->nodes.data();
}

}  // namespace tenon::parsers::onnx
