// Loops and conditionals of the interface: a fixture that evaluates the assembled graph.
#pragma once

#include "core/error.h"
#include "fixture.h"

namespace tenon::api {

using nv::ElementWiseOperation;
using nv::LoopOutput;
using nv::TripLimit;
using Numbers = std::vector<double>;

class ControlFlow : public NetworkTest {
 protected:
  nv::ITensor& number(int64_t value) {
    keptInts.push_back(std::make_unique<std::vector<int64_t>>(1, value));
    return *network->addConstant(dims({}), {nv::DataType::kINT64, keptInts.back()->data(), 1})->getOutput(0);
  }
  nv::ITensor& real(float value, std::vector<int64_t> shape = {1}) {
    return *network->addConstant(dims(shape), floats(1, value))->getOutput(0);
  }
  nv::ITensor& binary(nv::ITensor& a, nv::ITensor& b, ElementWiseOperation op) {
    return *network->addElementWise(a, b, op)->getOutput(0);
  }
  nv::ITensor& sum(nv::ITensor& a, nv::ITensor& b) { return binary(a, b, ElementWiseOperation::kSUM); }
  nv::ITensor& product(nv::ITensor& a, nv::ITensor& b) { return binary(a, b, ElementWiseOperation::kPROD); }

  static HostTensor host(const Dims& dims, const Numbers& values, DataType type = DataType::kF32) {
    HostTensor tensor(type, dims);
    for (size_t i = 0; i < values.size(); ++i) tensor.view().storeDouble(static_cast<int64_t>(i), values[i]);
    return tensor;
  }
  // The outputs of the whole network for these inputs.
  std::vector<Numbers> evaluate(const std::vector<HostTensor>& inputs) {
    const graph::Graph graph = network->assemble();
    graph::verify(graph);
    std::vector<TensorView> views;
    for (const auto& input : inputs) views.push_back(input.view());
    std::vector<Numbers> results;
    for (const auto& output : graph::evaluate(graph, views)) {
      results.emplace_back();
      for (int64_t i = 0; i < output.view().count(); ++i) results.back().push_back(output.view().loadDouble(i));
    }
    return results;
  }
  void mark(nv::ITensor* tensor, const char* name) {
    tensor->setName(name);
    network->markOutput(*tensor);
  }
  // What assembling refuses.
  std::string refusal() {
    try {
      network->assemble();
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
};

}  // namespace tenon::api
