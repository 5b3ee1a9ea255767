// Generated pointwise code on the device, and its launches: for pointwise nodes and for epilogues in place.
#pragma once

#include <span>

#include "backends/cuda/run/libraries.h"
#include "backends/cuda/run/pointwise_code.h"
#include "runtime/kernel.h"

namespace tenon::backends::cuda {

// A loaded module. `code` is machine code for this chip, or empty: then it is compiled here.
class GeneratedPointwise {
 public:
  GeneratedPointwise(const ops::ScalarExpr& expr, std::span<const DataType> inputs, DataType output, std::span<const std::byte> code);
  ~GeneratedPointwise();
  GeneratedPointwise(const GeneratedPointwise&) = delete;
  GeneratedPointwise& operator=(const GeneratedPointwise&) = delete;
  CUfunction function() const noexcept { return function_; }

 private:
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

class PointwiseLauncher {
 public:
  explicit PointwiseLauncher(std::shared_ptr<const GeneratedPointwise> code) : code_(std::move(code)) {}
  void configure(std::span<const runtime::TensorShape> inputs, const runtime::TensorShape& output);
  void launch(void* const* inputs, void* output, runtime::StreamHandle stream);

 private:
  std::shared_ptr<const GeneratedPointwise> code_;
  PointwiseParameters parameters_{};
  size_t inputs_ = 0;
};

}  // namespace tenon::backends::cuda
