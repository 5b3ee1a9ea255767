// A loop in one context: the kernels of its body are put on the stream again and again. States change between two
// places; slices of tensors and parts of results are places of their own, so that an iteration copies nothing but
// states that become one another.
#pragma once

#include "backends/cuda/kernels/regions/loop_capture.h"
#include "backends/cuda/kernels/regions/loop_places.h"
#include "backends/cuda/kernels/regions/moves.h"
#include "backends/cuda/kernels/regions/region_kernel.h"
#include "ops/op/loop.h"

namespace tenon::backends::cuda {

class LoopKernel final : public RegionKernel {
 public:
  LoopKernel(const ops::Loop& loop, const runtime::KernelLoad& load);
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;

 private:
  ops::Loop loop_;
  std::optional<int64_t> count_;  // where it is a constant
};

class LoopInstance final : public runtime::KernelInstance, public runtime::Control {
 public:
  LoopInstance(const RegionKernel& kernel, const ops::Loop& loop, std::optional<int64_t> count);

  size_t configure(const runtime::Shapes& shapes) override;
  void launch(const runtime::LaunchArguments& arguments) override;
  bool isDecidedByDevice() const override { return isDecided_; }
  bool waits() const override { return isDecided_ && capture_ == nullptr; }
  bool callsHost() const override { return cuda::callsHost(body_) || cuda::callsHost(test_); }
  size_t launches() const override { return launches_; }
  void rethrow() const override;

 private:
  using Sequence = LoopPlaces::Sequence;

  Sequence sequence(const runtime::TensorShape& shape, const ops::LoopAxis& axis, bool knowsIndex);
  void findStates(std::span<const runtime::TensorShape> inputs);
  void addHome(size_t output, std::optional<size_t> part);
  size_t take(size_t bytes);
  void count();
  void chooseWay();

  void begin(const runtime::LaunchArguments& arguments);
  bool goesOn(int64_t k, const runtime::LaunchArguments& arguments);
  void iterate(int64_t k, const runtime::LaunchArguments& arguments);
  void finish(int64_t done, const runtime::LaunchArguments& arguments);
  char* workspace(size_t at, const runtime::LaunchArguments& arguments) const;
  void* place(size_t at, size_t state, int64_t k, const runtime::LaunchArguments& arguments) const;
  void* slice(size_t i, int64_t k, const runtime::LaunchArguments& arguments) const;
  void* part(size_t i, int64_t k, const runtime::LaunchArguments& arguments) const;

  const ops::Loop& loop_;
  const ops::Operator op_;
  const size_t first_;  // operands that are no inputs of the regions
  const std::optional<int64_t> constantCount_;
  runtime::RegionRun body_;
  runtime::RegionRun test_;
  Moves moves_;
  ReadBack readBack_;
  DataType countType_ = DataType::kI64;
  std::optional<int64_t> known_;  // number of iterations, for these shapes
  int64_t limit_ = 0;             // of iterations; their number, where there is no condition
  bool isDecided_ = false;
  size_t launches_ = 0;
  LoopPlaces places_;
  std::unique_ptr<LoopCapture> capture_;  // where a captured stream is given a conditional node
  size_t bytes_ = 0;                      // of the workspace so far
  size_t regionsAt_ = 0;
  std::vector<void*> addresses_;  // of the regions' inputs
};

}  // namespace tenon::backends::cuda
