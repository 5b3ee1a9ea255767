// A conditional in one context: the kernels of one of its branches.
#pragma once

#include "backends/cuda/driver/conditional_nodes.h"
#include "backends/cuda/kernels/regions/decisions.h"
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
  bool isTrial_;                      // is measured, with values that say nothing
};

class IfInstance final : public runtime::KernelInstance, public runtime::Control {
 public:
  IfInstance(const RegionKernel& kernel, const ops::Operator& op, std::optional<int64_t> condition, bool isTrial);

  size_t configure(const runtime::Shapes& shapes) override;
  void launch(const runtime::LaunchArguments& arguments) override;
  bool isDecidedByDevice() const override;
  bool waits() const override { return isDecidedByDevice() && decisions_ == nullptr; }
  bool callsHost() const override;
  size_t launches() const override;
  void rethrow() const override;

 private:
  void runBranch(size_t index, const runtime::LaunchArguments& arguments, void* stream);
  void capture(const runtime::LaunchArguments& arguments);
  static void checkResult(const runtime::RegionRun& branch, size_t i, const runtime::TensorShape& expected);
  bool isPossible(size_t index) const;
  const ops::Operator& op_;
  const std::optional<int64_t> condition_;
  const bool isTrial_;
  runtime::RegionRun branches_[2];
  Moves moves_;
  ReadBack readBack_;
  std::unique_ptr<Decisions> decisions_;  // where a captured stream is given a conditional node
  std::unique_ptr<BodyStream> inner_;
  size_t inputs_ = 0;
  std::vector<runtime::TensorShape> outputs_;
  std::exception_ptr impossible_[2];  // of branches that these shapes do not suit
};

}  // namespace tenon::backends::cuda
