// A loop in one context: the kernels of its body are put on the stream again and again. States change between two
// places; slices of tensors and parts of results are places of their own, so that an iteration copies nothing but
// states that become one another.
#pragma once

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
  bool waits() const override { return waits_; }
  size_t launches() const override { return launches_; }

 private:
  // A tensor along whose axis the iterations go: sliced, or made of parts.
  struct Sequence {
    runtime::TensorShape shape;
    Slices slices;
    bool reverse = false;
    bool apart = false;  // its slices stand in the workspace, because they are no addresses that kernels take
    size_t at = 0;       // there
    size_t pitch = 0;    // bytes from slice to slice
  };
  struct State {
    size_t bytes = 0;
    bool copies = false;  // it becomes what another state is, which that one's next value may overwrite
    size_t at = 0;        // of a copy, in the workspace
    void* now = nullptr;
  };
  // Where a result of the body goes: it is part of a result of the loop, or has two places in turn.
  struct Home {
    size_t root = 0;
    std::optional<size_t> part;
    size_t state = 0;  // without a part: one place is the result of this state
    size_t at = 0;     // and the other one in the workspace
  };

  Sequence sequence(const runtime::TensorShape& shape, const ops::LoopAxis& axis, bool knowsIndex);
  void findStates(std::span<const runtime::TensorShape> inputs);
  void addHome(size_t output, std::optional<size_t> part);
  size_t take(size_t bytes);
  void count();

  void begin(const runtime::LaunchArguments& arguments);
  bool goesOn(int64_t k, const runtime::LaunchArguments& arguments);
  void iterate(int64_t k, const runtime::LaunchArguments& arguments);
  void finish(int64_t done, const runtime::LaunchArguments& arguments);
  void checkIteration(int64_t k) const;
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
  bool waits_ = false;
  size_t launches_ = 0;
  std::vector<State> states_;
  std::vector<Sequence> sliced_;
  std::vector<Sequence> parts_;
  std::vector<Home> homes_;
  size_t bytes_ = 0;  // of the workspace so far
  size_t regionsAt_ = 0;
  std::vector<void*> addresses_;  // of the regions' inputs
};

}  // namespace tenon::backends::cuda
