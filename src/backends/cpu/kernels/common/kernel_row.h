// How a kernel of the CPU backend makes itself known: one row per file of kernels/.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "ops/operator.h"
#include "runtime/kernel.h"

namespace tenon::backends::cpu {

struct KernelRow {
  std::string_view name;
  int version;
  std::unique_ptr<runtime::Kernel> (*load)(const runtime::KernelLoad& load);
};

std::span<const KernelRow> kernelTable();

// A constant that may be packed as floats. Plans may claim anything.
inline bool isConstantF32(const TensorView& operand) {
  return operand.data != nullptr && operand.dtype == DataType::kF32;
}

// A kernel that has nothing to keep between contexts but its operator: Instance(const T& description), made per
// context.
template <typename T, typename Instance>
class SimpleKernel final : public runtime::Kernel {
 public:
  explicit SimpleKernel(const T& description) : description_(description) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<Instance>(description_);
  }

 private:
  T description_;
};

template <typename T, typename Instance>
std::unique_ptr<runtime::Kernel> loadSimple(const runtime::KernelLoad& load) {
  const auto op = ops::Operator::parse(load.record.op);
  const auto* description = op.as<T>();
  if (description == nullptr)
    throw Unsupported("cpu.{}: it computes {}, the plan asks for {}", load.record.name, T::kName, op.name());
  return std::make_unique<SimpleKernel<T, Instance>>(*description);
}

}  // namespace tenon::backends::cpu
