// Bytes of ONNX models: the parser takes them or says why not, and a network that it made can be asked about.
#include <NvInfer.h>
#include <NvOnnxParser.h>

#include <cstdlib>
#include <memory>

#include "support.h"

namespace {

class SilentLog final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    tenon::fuzz::require(severity != Severity::kINTERNAL_ERROR, "a model breaks an invariant", message);
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool kOnProcessor = setenv("TENON_DEVICE", "cpu", 1) == 0;
  static auto* const log = new SilentLog;
  static nvinfer1::IBuilder* const builder = nvinfer1::createInferBuilder(*log);
  tenon::fuzz::require(kOnProcessor && builder != nullptr, "there is a builder");
  const std::unique_ptr<nvinfer1::INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, *log));
  const bool isParsed = parser->parse(data, size);
  tenon::fuzz::require(isParsed || parser->getNbErrors() > 0, "a refusal has a reason");
  for (int i = 0; i < parser->getNbErrors(); ++i)
    tenon::fuzz::require(parser->getError(i)->desc() != nullptr, "an error has a text");
  for (int i = 0; isParsed && i < network->getNbOutputs(); ++i) {
    tenon::fuzz::require(network->getOutput(i)->getDimensions().nbDims >= -1, "an output has dimensions");
  }
  tenon::fuzz::require(parser->supportsModelV2(data, size) == isParsed,
                       "what is parsed is supported, and nothing else");
  for (int64_t i = 0, last = parser->getNbSubgraphs(); i < last; ++i) {
    int64_t length = 0;
    tenon::fuzz::require(parser->getSubgraphNodes(i, length) != nullptr && length > 0, "a subgraph has nodes");
    tenon::fuzz::require(parser->isSubgraphSupported(i) == isParsed, "subgraphs are supported where the model is");
  }
  return 0;
}
