// A builder, a network and a parser for the tests that need all three.
#pragma once

#include <NvInfer.h>
#include <NvOnnxParser.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "model_maker.h"
#include "parser.h"

namespace tenon::parsers::onnx {

class CollectingLogger final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kWARNING) {
      text += message;
      text += '\n';
    }
  }
  std::string text;
};

struct NetworkBench {
  NetworkBench() : builder(nvinfer1::createInferBuilder(logger)) {
    network.reset(builder->createNetworkV2(
        1u << static_cast<uint32_t>(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)));
    parser = std::make_unique<Parser>(*network, &logger);
  }

  bool parse(const ModelMaker& maker) {
    const std::string bytes = maker.bytes();
    return parser->parse(bytes.data(), bytes.size(), nullptr);
  }
  std::string errors() const {
    std::string all;
    for (int i = 0; i < parser->getNbErrors(); ++i) {
      all += std::string(parser->getError(i)->desc()) + "\n";
    }
    return all;
  }
  Dimensions outputShape(int32_t index = 0) const { return toDimensions(network->getOutput(index)->getDimensions()); }

  CollectingLogger logger;
  std::unique_ptr<nvinfer1::IBuilder> builder;
  std::unique_ptr<Parser> parser;  // destroyed after the network: the network points to its weights
  std::unique_ptr<nvinfer1::INetworkDefinition> network;
};

inline void setGraph(pb::NodeProto& node, const std::string& name, ModelMaker& inner) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(5);
  *attribute->mutable_g() = inner.graph();
}

// What the parser and the network say to a model that the parser refuses.
inline std::string refusal(const ModelMaker& maker) {
  NetworkBench bench;
  EXPECT_FALSE(bench.parse(maker));
  return bench.errors() + bench.logger.text;
}

}  // namespace tenon::parsers::onnx
