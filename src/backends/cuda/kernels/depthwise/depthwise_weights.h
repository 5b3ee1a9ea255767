// Constant weights of depthwise convolutions, packed by tap.
#pragma once

#include <string_view>

#include "runtime/packer.h"

namespace tenon::backends::cuda {

// No infinity and no NaN, of f32, f16 or bf16.
bool allFinite(const TensorView& weights);

class WeightsByTap : public runtime::Packer {
 public:
  // Unsupported where the second operand is no constant. `kernel` is for messages.
  WeightsByTap(const runtime::KernelLoad& load, std::string_view kernel);
  std::vector<runtime::PackedForm> packedForms(Layout) const override;
  // [K,1,kernel...] to [kernel...,K].
  void pack(const runtime::PackedForm&, std::span<const void* const> sources, void* to) const override;

 protected:
  bool isFinite() const { return isFinite_; }

 private:
  TensorView weights_;  // without data
  bool isFinite_ = false;
};

}  // namespace tenon::backends::cuda
