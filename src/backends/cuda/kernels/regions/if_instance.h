// A conditional in one context: the kernels of one of its branches.
#pragma once

#include "backends/cuda/kernels/regions/moves.h"
#include "backends/cuda/kernels/regions/region_kernel.h"
#include "ops/op/if.h"

namespace tenon::backends::cuda {

class IfKernel final : public RegionKernel {
 public:
  IfKernel(const ops::If& choice, const runtime::KernelLoad& load);
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;

 private:
  ops::Operator op_;
  std::optional<int64_t> condition_;  // where it is a constant
};

class IfInstance final : public runtime::KernelInstance, public runtime::Control {
 public:
  IfInstance(const RegionKernel& kernel, const ops::Operator& op, std::optional<int64_t> condition);

  size_t configure(const runtime::Shapes& shapes) override;
  void launch(const runtime::LaunchArguments& arguments) override;
  bool waits() const override;
  size_t launches() const override;

 private:
  const ops::Operator& op_;
  const std::optional<int64_t> condition_;
  runtime::RegionRun branches_[2];
  Moves moves_;
  ReadBack readBack_;
  size_t inputs_ = 0;
};

}  // namespace tenon::backends::cuda
