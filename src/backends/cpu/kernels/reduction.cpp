// Reductions of any type, and several of one tensor over the same axes, which read it once.
#include <cstdint>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/reduce_tasks.h"
#include "core/error.h"
#include "core/platform/threads.h"
#include "ops/sibling_reductions.h"

namespace tenon::backends::cpu {
namespace {

class ReduceInstance final : public runtime::KernelInstance {
 public:
  explicit ReduceInstance(const std::vector<ops::Reduce>& ops) : parts_(ops.begin(), ops.end()) {
    for (size_t p = 0; p < ops.size() && ops.size() == 2; ++p) {
      if (ops[p].op == ops::ReduceOp::kMin && ops[1 - p].op == ops::ReduceOp::kMax) least_ = p;
    }
  }

  size_t configure(const runtime::Shapes& shapes) override {
    constexpr size_t kAlignment = 64;
    size_t bytes = 0;
    workspaces_.clear();
    for (size_t p = 0; p < parts_.size(); ++p) {
      workspaces_.push_back(bytes);
      bytes += (parts_[p].configure(shapes.inputs[0], shapes.outputs[p]) + kAlignment - 1) / kAlignment * kAlignment;
    }
    return bytes;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    const auto grain = std::max<int64_t>(1, parts_[0].grain() / static_cast<int64_t>(parts_.size()));
    const bool isOfExtremes = least_ < parts_.size() && parts_[0].isOfRows();
    platform::parallelFor(parts_[0].count(), grain, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) isOfExtremes ? extremes(task, arguments) : each(task, arguments);
    });
    for (size_t p = 0; p < parts_.size(); ++p) parts_[p].finish(arguments.outputs[p], workspace(arguments, p));
  }

 private:
  void* workspace(const runtime::LaunchArguments& arguments, size_t part) const {
    return static_cast<char*>(arguments.workspace) + workspaces_[part];
  }
  // What a task reads is in the cache for the next part.
  void each(int64_t task, const runtime::LaunchArguments& arguments) const {
    for (size_t p = 0; p < parts_.size(); ++p)
      parts_[p].run(task, arguments.inputs[0], arguments.outputs[p], workspace(arguments, p));
  }
  void extremes(int64_t task, const runtime::LaunchArguments& arguments) const {
    const size_t most = 1 - least_;
    parts_[least_].runExtremes(task, arguments.inputs[0], arguments.outputs[least_], workspace(arguments, least_),
                               parts_[most], arguments.outputs[most], workspace(arguments, most));
  }

  std::vector<ReduceTasks> parts_;
  std::vector<size_t> workspaces_;  // bytes from the beginning
  size_t least_ = SIZE_MAX;         // of least elements beside the greatest ones
};

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  const auto parts = ops::siblingReductions(op);
  if (parts.empty())
    throw Unsupported("cpu.reduction computes reductions of one tensor, the plan asks for {}", op.text());
  return std::make_unique<SimpleKernel<std::vector<ops::Reduce>, ReduceInstance>>(parts);
}

}  // namespace

KernelRow kernelRow_reduction() { return {"reduction", 1, &load}; }

}  // namespace tenon::backends::cpu
