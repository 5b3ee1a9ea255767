// How a kernel of the CUDA backend makes itself known: one row per file of kernels/.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "backends/cuda/driver/compiler.h"
#include "core/error.h"
#include "ops/operator.h"
#include "runtime/kernel.h"

namespace tenon::backends::cuda {

struct KernelRow {
  std::string_view name;
  int version;
  std::unique_ptr<runtime::Kernel> (*load)(const runtime::KernelLoad& load);
  Code (*code)(const plan::KernelRecord& record) = nullptr;  // of kernels with code of their own, for their tactics
};

std::span<const KernelRow> kernelTable();

// The operator of a record as the description of type T; Unsupported when it is another one.
template <typename T>
T descriptionOf(const plan::KernelRecord& record) {
  const auto op = ops::Operator::parse(record.op);
  const auto* description = op.as<T>();
  if (description == nullptr)
    throw Unsupported("cuda.{}: it computes {}, the plan asks for {}", record.name, T::kName, op.name());
  return *description;
}
template <typename T>
T descriptionOf(const runtime::KernelLoad& load) {
  return descriptionOf<T>(load.record);
}

}  // namespace tenon::backends::cuda
