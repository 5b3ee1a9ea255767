// Operators on the GPU whose results are equal to the reference's to the bit.
#pragma once

#include "cases/cases.h"
#include "cuda/on_gpu.h"

namespace tenon::test {

inline std::string textOf(const TensorView& view) {
  const std::vector<int64_t> extents(view.dims.begin(), view.dims.end());
  return fmt::format("{}[{}]", name(view.dtype), fmt::join(extents, ","));
}

// By the kernel of that name, and never on the host; `compare(index, got, expected)` for each output.
template <typename Compare>
void runByKernel(const std::string& op, const std::string& kernel, const std::vector<HostTensor>& inputs,
                 Compare compare) {
  Case c;
  c.op = op;
  for (const auto& input : inputs) c.operands.push_back(textOf(input.view()));
  SCOPED_TRACE(c.text());
  const auto graph = graph::parse(graphOf(c));
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  options.filter = [&](const graph::Node&, std::vector<compile::Candidate> candidates) {
    std::erase_if(candidates, [&](const auto& candidate) { return candidate.tactic != "cuda." + kernel; });
    return candidates;
  };
  const auto expected = graph::evaluate(graph, views(inputs));
  const auto got = runOnGpu(graph, inputs, options).outputs;
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].view().bytes(), expected[i].view().bytes());
    compare(i, got[i].view(), expected[i].view());
  }
}

inline void expectExact(const std::string& op, const std::string& kernel, const std::vector<HostTensor>& inputs,
                        const std::string& what = {}) {
  runByKernel(op, kernel, inputs, [&](size_t i, const TensorView& got, const TensorView& expected) {
    if (expected.bytes() == 0 || std::memcmp(got.data, expected.data, expected.bytes()) == 0) return;
    for (int64_t k = 0; k < expected.count(); ++k) {
      const double a = got.loadDouble(k);
      const double b = expected.loadDouble(k);
      if (a == b ? std::signbit(a) == std::signbit(b) : std::isnan(a) && std::isnan(b)) continue;
      ADD_FAILURE() << what << ": output " << i << ", element " << k << " is " << a << ", expected " << b;
      break;
    }
  });
}

inline void expectClose(const std::string& op, const std::string& kernel, const std::vector<HostTensor>& inputs,
                        double tolerance) {
  runByKernel(op, kernel, inputs, [&](size_t i, const TensorView& got, const TensorView& expected) {
    EXPECT_LE(relativeError(got, expected), tolerance) << "output " << i;
  });
}

inline HostTensor number(DataType type, double value) {
  HostTensor tensor(type, Dims{});
  tensor.view().storeDouble(0, value);
  return tensor;
}

}  // namespace tenon::test
