// A network of its own for each test case, and a log that keeps what was said.
#pragma once

#include <NvInfer.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "api/network/network.h"
#include "graph/graph.h"

namespace tenon::api {

inline bool operator==(const nv::Dims& a, const std::vector<int64_t>& b) {
  return a.nbDims == static_cast<int32_t>(b.size()) && std::equal(b.begin(), b.end(), a.d);
}

class KeptLog final : public nv::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kERROR) errors.emplace_back(message);
  }
  std::vector<std::string> errors;
};

class NetworkTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(log.errors, expected) << "messages that no test line expected"; }

  // The one error that was reported since the last call holds `part`.
  void expectError(const std::string& part) {
    ASSERT_EQ(log.errors.size(), 1U) << fmt::format("{}", fmt::join(log.errors, "\n"));
    EXPECT_NE(log.errors[0].find(part), std::string::npos) << log.errors[0];
    log.errors.clear();
  }

  nv::ITensor& input(const char* name, std::vector<int64_t> extents, nv::DataType type = nv::DataType::kFLOAT) {
    return *network->addInput(name, type, dims(extents));
  }
  static nv::Dims dims(const std::vector<int64_t>& extents) {
    nv::Dims result{static_cast<int32_t>(extents.size()), {}};
    std::copy(extents.begin(), extents.end(), result.d);
    return result;
  }
  static std::vector<int64_t> extents(nv::ITensor* tensor) {
    const nv::Dims dims = tensor->getDimensions();
    return dims.nbDims < 0 ? std::vector<int64_t>{-99} : std::vector<int64_t>(dims.d, dims.d + dims.nbDims);
  }
  // Weights that live as long as the test.
  nv::Weights floats(int64_t count, float value = 0.5F) {
    kept.push_back(std::make_unique<std::vector<float>>(static_cast<size_t>(count), value));
    return {nv::DataType::kFLOAT, kept.back()->data(), count};
  }
  nv::ITensor& ints(const std::vector<int64_t>& values) {
    keptInts.push_back(std::make_unique<std::vector<int64_t>>(values));
    const nv::Weights weights{nv::DataType::kINT64, keptInts.back()->data(), static_cast<int64_t>(values.size())};
    return *network->addConstant(dims({static_cast<int64_t>(values.size())}), weights)->getOutput(0);
  }
  // The nodes of the assembled graph, one operator per line.
  std::string operators(nv::ITensor* output) {
    output->setName("y");
    network->markOutput(*output);
    const graph::Graph graph = network->assemble();
    std::string text;
    for (const auto node : graph.order()) text += (text.empty() ? "" : "\n") + graph.node(node).op.text();
    return text;
  }

  struct NoBuilder final : nv::IBuilder {};
  KeptLog log;
  std::vector<std::string> expected;
  NoBuilder builder;
  Reporter reporter{&log};
  std::unique_ptr<Network> network = std::make_unique<Network>(builder, reporter, 0U);
  std::vector<std::unique_ptr<std::vector<float>>> kept;
  std::vector<std::unique_ptr<std::vector<int64_t>>> keptInts;
};

}  // namespace tenon::api
