// What the tests of attention in its many forms share: a writer of nodes, and the comparison with the formula.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attention_reference.h"

namespace tenon::parsers::onnx {

inline constexpr Form kForm{2, 4, 4, 5, 5, 8, 8};

// Nodes between q, k, v ([B, heads, rows, width]) and y, of the same shape.
class NodeWriter {
 public:
  explicit NodeWriter(ModelMaker& maker) : maker_(maker) {}

  std::string node(const std::string& type, const std::vector<std::string>& inputs) {
    last_ = "t" + std::to_string(count_++);
    written_ = &maker_.node(type, inputs, {last_});
    return last_;
  }
  template <typename Value>
  std::string node(const std::string& type, const std::vector<std::string>& inputs, const std::string& attribute,
                   const Value& value) {
    const std::string result = node(type, inputs);
    ModelMaker::set(*written_, attribute, value);
    return result;
  }
  std::string number(float value) {
    const std::string name = "n" + std::to_string(count_++);
    maker_.floats(name, {}, {value});
    return name;
  }
  std::string list(const Ints& values) {
    const std::string name = "l" + std::to_string(count_++);
    maker_.ints(name, {static_cast<int64_t>(values.size())}, values);
    return name;
  }
  std::string bools(const Ints& shape, const std::vector<bool>& values) {
    const std::string name = "b" + std::to_string(count_++);
    auto& tensor = maker_.initializer(name, shape, 9);
    std::string bytes;
    for (const bool value : values) bytes += static_cast<char>(value);
    tensor.set_raw_data(bytes);
    return name;
  }
  std::string transposed(const std::string& x, const Ints& order) { return node("Transpose", {x}, "perm", order); }
  std::string shaped(const std::string& x, const Ints& shape) { return node("Reshape", {x, list(shape)}); }
  std::string softmax(const std::string& x, int64_t axis = -1) { return node("Softmax", {x}, "axis", axis); }
  // Rows before heads, and back: what stands in front of q, k and v in networks.
  std::string columns(const std::string& x, const Form& f, int64_t heads) {
    return shaped(transposed(x, {0, 2, 1, 3}), {f.batch, -1, heads * f.width});
  }
  std::string heads(const std::string& x, const Form& f, int64_t count) {
    return transposed(shaped(x, {f.batch, -1, count, f.width}), {0, 2, 1, 3});
  }
  ModelMaker& maker() { return maker_; }
  pb::NodeProto& written() { return *written_; }

 private:
  ModelMaker& maker_;
  pb::NodeProto* written_ = nullptr;
  std::string last_;
  int count_ = 0;
};

inline std::vector<bool> lowerTriangle(int64_t rows, int64_t keys) {
  std::vector<bool> result;
  for (int64_t s = 0; s < rows; ++s) {
    for (int64_t t = 0; t < keys; ++t) result.push_back(t <= s);
  }
  return result;
}

using Body = std::function<std::string(NodeWriter&, const Form&)>;  // gives the name of the result

// One layer of the model's engine is attention, and no softmax is left.
inline void expectOneAttention(const ModelMaker& maker) {
  NetworkBench bench;
  ASSERT_TRUE(bench.parse(maker)) << bench.errors();
  const std::unique_ptr<nvinfer1::IBuilderConfig> config(bench.builder->createBuilderConfig());
  config->setBuilderOptimizationLevel(0);
  config->setProfilingVerbosity(nvinfer1::ProfilingVerbosity::kDETAILED);
  const std::unique_ptr<nvinfer1::IHostMemory> plan(bench.builder->buildSerializedNetwork(*bench.network, *config));
  ASSERT_NE(plan, nullptr) << bench.logger.text;
  const std::unique_ptr<nvinfer1::IRuntime> runtime(nvinfer1::createInferRuntime(bench.logger));
  const std::unique_ptr<nvinfer1::ICudaEngine> engine(runtime->deserializeCudaEngine(plan->data(), plan->size()));
  const std::unique_ptr<nvinfer1::IEngineInspector> inspector(engine->createEngineInspector());
  const std::string text = inspector->getEngineInformation(nvinfer1::LayerInformationFormat::kJSON);
  size_t count = 0;
  for (size_t at = text.find("\"attention{"); at != std::string::npos; at = text.find("\"attention{", at + 1)) ++count;
  EXPECT_EQ(count, 1u) << text;
  EXPECT_EQ(text.find("\"softmax{"), std::string::npos) << text;
}

inline void expectAttention(const Form& f, const Body& body, const Reals& bias = {}, int64_t opset = 17) {
  ModelMaker maker(opset);
  auto* microsoft = maker.proto().add_opset_import();
  microsoft->set_domain("com.microsoft");
  microsoft->set_version(1);
  maker.input("q", {f.batch, f.heads, f.rows, f.width});
  maker.input("k", {f.batch, f.keyHeads, f.keys, f.width});
  maker.input("v", {f.batch, f.keyHeads, f.keys, f.valueWidth});
  NodeWriter writer(maker);
  const std::string result = body(writer, f);
  maker.node("Identity", {result}, {"y"});
  maker.output("y");
  const Operands o(f);
  expectOneAttention(maker);
  const auto outputs = runModel(maker, {o.q, o.k, o.v});
  ASSERT_EQ(outputs.size(), 1u);
  expectNear(outputs[0], attention(f, o.q, o.k, o.v, bias));
}

inline std::string scores(NodeWriter& w, const std::string& q = "q", const std::string& k = "k") {
  return w.node("MatMul", {q, w.transposed(k, {0, 1, 3, 2})});
}

inline float root(const Form& f) { return std::sqrt(static_cast<float>(f.width)); }

}  // namespace tenon::parsers::onnx
