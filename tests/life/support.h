// What the programs of this folder share: a log that prints errors, a check that ends the process, the small network
// run once.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>

#include "support/small_network.h"

namespace tenon::test {

class PrintingLog final : public nv::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kERROR) std::fprintf(stderr, "log: %s\n", message);
  }
};

inline void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::_Exit(1);
}

inline bool answersRight(const SmallNetwork& network, nv::IExecutionContext& context, uint32_t seed = 7) {
  const auto x = uniform(SmallNetwork::kMaxBatch * SmallNetwork::kInput, seed);
  std::vector<float> y(SmallNetwork::kMaxBatch * SmallNetwork::kOutput);
  void* bindings[] = {const_cast<float*>(x.data()), y.data()};
  return context.setInputShape("x", SmallNetwork::inputDims(SmallNetwork::kMaxBatch)) && context.executeV2(bindings) &&
         network.error(x, y) < 1e-5;
}

}  // namespace tenon::test
