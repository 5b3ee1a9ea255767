// How a kernel of the CUDA backend makes itself known: one row per file of kernels/.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "core/error.h"
#include "ops/operator.h"
#include "runtime/kernel.h"

namespace tenon::backends::cuda {

struct KernelRow {
  std::string_view name;
  int version;
  std::unique_ptr<runtime::Kernel> (*load)(const runtime::KernelLoad& load);
};

std::span<const KernelRow> kernelTable();

// The record's operator as the description of type T; Unsupported when it is another one.
template <typename T>
T descriptionOf(const runtime::KernelLoad& load) {
  const auto op = ops::Operator::parse(load.record.op);
  const auto* description = op.as<T>();
  if (description == nullptr) throw Unsupported("cuda.{}: it computes {}, the plan asks for {}", load.record.name, T::kName, op.name());
  return *description;
}

}  // namespace tenon::backends::cuda
