// Loops and conditionals: the kernels of their regions, again and again, or those of one of two.
#include "backends/cpu/kernels/common/kernel_row.h"
#include "core/error.h"
#include "core/storage.h"
#include "ops/op/if.h"
#include "ops/op/loop.h"
#include "ops/slice_copy.h"
#include "runtime/region_constants.h"

namespace tenon::backends::cpu {
namespace {

using runtime::RegionRun;
using runtime::RegionsKernel;
using runtime::TensorShape;

size_t bytesOfShape(const TensorShape& shape) { return bytesOf(shape.dtype, shape.dims.count()); }

void checkSame(const TensorShape& got, const TensorShape& expected, std::string_view what, size_t index) {
  if (got.dims == expected.dims && got.dtype == expected.dtype) return;  // without making texts
  throw UserError("{} {} is {} {}, expected {} {}", what, index, name(got.dtype), got.dims.text(), name(expected.dtype),
                  expected.dims.text());
}

// A result whose extents the region computes is held against what is expected behind each run, others once.
void checkOutput(const RegionRun& run, size_t output, bool isBehindRun, const TensorShape& expected,
                 std::string_view what, size_t index) {
  if (run.isLate(output) == isBehindRun) checkSame(run.outputs()[output], expected, what, index);
}

std::unique_ptr<runtime::Kernel> loadKernel(const runtime::KernelLoad& load) {
  for (const auto& row : kernelTable()) {
    if (row.name == load.record.name && row.version == load.record.version) return row.load(load);
  }
  throw Unsupported("cpu.regions: there is no kernel '{}' of version {} for {}", load.record.name, load.record.version,
                    load.record.op);
}

runtime::RegionLoad regionLoad(const runtime::KernelLoad& load) {
  constexpr size_t kAlignment = 64;
  return {"cpu", &loadKernel, kAlignment, load.constants, load};
}

class IfInstance final : public runtime::KernelInstance {
 public:
  IfInstance(const RegionsKernel& kernel, const ops::If& choice, bool isTrial)
      : choice_(choice), isTrial_(isTrial), runs_{RegionRun(kernel.steps(0)), RegionRun(kernel.steps(1))} {}

  size_t configure(const runtime::Shapes& shapes) override {
    size_t bytes = 0;
    for (size_t branch = 0; branch < 2; ++branch) {
      auto& run = runs_[branch];
      impossible_[branch] = nullptr;
      if (choice_.isRefused(branch)) continue;
      try {
        bytes = std::max(bytes, run.configure(shapes.inputs.subspan(1), *shapes.symbols));
      } catch (const UserError&) {
        impossible_[branch] = std::current_exception();  // unless it is chosen
        continue;
      }
      for (size_t i = 0; i < shapes.outputs.size(); ++i) {
        if (!choice_.mayDiffer(i)) checkOutput(run, i, false, shapes.outputs[i], "if: result", i);
      }
    }
    outputs_.assign(shapes.outputs.begin(), shapes.outputs.end());
    inputs_ = shapes.inputs.size() - 1;
    return bytes;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    size_t branch = *static_cast<const uint8_t*>(arguments.inputs[0]) != 0 ? 0 : 1;
    if (isTrial_ && choice_.isRefused(branch)) branch = 1 - branch;  // the condition says nothing
    choice_.checkChosen(branch);
    if (impossible_[branch] != nullptr) std::rethrow_exception(impossible_[branch]);
    auto& run = runs_[branch];
    const auto results = run.run({arguments.inputs + 1, inputs_}, arguments.workspace, arguments.stream);
    for (size_t i = 0; i < results.size(); ++i) {
      checkOutput(run, i, true, outputs_[i], "if: result", i);
      if (choice_.mayDiffer(i)) checkOutput(run, i, false, outputs_[i], "if: result", i);
      std::copy_n(static_cast<const char*>(results[i]), bytesOfShape(run.outputs()[i]),
                  static_cast<char*>(arguments.outputs[i]));
    }
  }

 private:
  const ops::If& choice_;
  const bool isTrial_;
  RegionRun runs_[2];
  std::exception_ptr impossible_[2];  // of branches that these shapes do not suit
  std::vector<TensorShape> outputs_;
  size_t inputs_ = 0;
};

class LoopInstance final : public runtime::KernelInstance {
 public:
  LoopInstance(const RegionsKernel& kernel, const ops::Loop& loop)
      : loop_(loop), states_(static_cast<size_t>(loop.states)), body_(kernel.steps(0)), test_(kernel.steps(1)) {}

  size_t configure(const runtime::Shapes& shapes) override {
    outputs_.assign(shapes.outputs.begin(), shapes.outputs.end());
    std::vector<TensorShape> inputs(shapes.inputs.begin() + (loop_.counted ? 1 : 0), shapes.inputs.end());
    sliced_.clear();
    if (loop_.counted) countType_ = shapes.inputs[0].dtype;
    size_t bytes = 0;
    const auto take = [&](const TensorShape& shape) {
      const size_t at = bytes;
      bytes += alignBytes(bytesOfShape(shape), 64);
      return at;
    };
    heldAt_.clear();
    for (size_t i = 0; i < loop_.slices.size(); ++i) {
      auto& shape = inputs[states_ + i];
      sliced_.push_back(shape);
      shape.dims = ops::withoutAxis(shape.dims, loop_.slices[i].axis);
      heldAt_.push_back(take(shape));
    }
    for (size_t i = 0; i < states_; ++i) heldAt_.push_back(take(inputs[i]));  // of a state that another one becomes
    regionsAt_ = bytes;
    const size_t body = body_.configure(inputs, *shapes.symbols);
    const size_t test = test_.configure(inputs, *shapes.symbols);
    for (size_t i = 0; i < states_; ++i) {
      checkOutput(body_, i, false, inputs[i], "loop: the next value of state", i);
      checkSame(outputs_[i], inputs[i], "loop: result", i);
    }
    for (size_t i = 0; i < loop_.stacks.size(); ++i) {
      checkOutput(body_, states_ + i, false, partOf(i), "loop: part of result", states_ + i);
    }
    addresses_.assign(inputs.size(), nullptr);
    return bytes + std::max(body, test);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    auto* const base = static_cast<char*>(arguments.workspace);
    const int64_t count = loop_.counted ? loadInt(countType_, arguments.inputs[0], 0) : INT64_MAX;
    void* const* const operands = arguments.inputs + (loop_.counted ? 1 : 0);
    std::copy_n(operands, addresses_.size(), addresses_.begin());
    // The states live in the results.
    for (size_t i = 0; i < states_; ++i) {
      copy(operands[i], arguments.outputs[i], outputs_[i]);
      addresses_[i] = arguments.outputs[i];
    }
    for (size_t i = 0; i < sliced_.size(); ++i) addresses_[states_ + i] = base + heldAt_[i];
    for (size_t i = 0; i < loop_.stacks.size(); ++i)
      std::fill_n(static_cast<char*>(arguments.outputs[states_ + i]), bytesOfShape(outputs_[states_ + i]), char{0});
    int64_t done = 0;
    for (; done < count; ++done) {
      readSlices(operands, done);
      if (loop_.tested() &&
          *static_cast<const uint8_t*>(test_.run(addresses_, base + regionsAt_, arguments.stream)[0]) == 0)
        break;
      ops::checkIterationLimit(done, most_);
      checkIteration(done);
      finish(body_.run(addresses_, base + regionsAt_, arguments.stream), arguments, done);
    }
    for (size_t i = 0; i < loop_.stacks.size(); ++i) {
      if (loop_.stacks[i].reverse) stackOf(arguments, i).reverse(done);
    }
  }

 private:
  static void copy(const void* from, void* to, const TensorShape& shape) {
    if (from != to) std::copy_n(static_cast<const char*>(from), bytesOfShape(shape), static_cast<char*>(to));
  }
  ops::SliceCopy stackOf(const runtime::LaunchArguments& arguments, size_t i) const {
    const auto& shape = outputs_[states_ + i];
    return {TensorView{arguments.outputs[states_ + i], shape.dtype, shape.dims}, loop_.stacks[i].axis};
  }
  // The condition is asked once more than the body runs: then a slice may be missing.
  void readSlices(void* const* operands, int64_t k) {
    for (size_t i = 0; i < sliced_.size(); ++i) {
      const ops::SliceCopy cut({operands[states_ + i], sliced_[i].dtype, sliced_[i].dims}, loop_.slices[i].axis);
      if (k < cut.extent) cut.read(loop_.slices[i].reverse ? cut.extent - 1 - k : k, addresses_[states_ + i]);
    }
  }
  // In each iteration, so that texts are made for errors only.
  void checkIteration(int64_t k) const {
    for (size_t i = 0; i < sliced_.size(); ++i) {
      const int64_t extent = sliced_[i].dims[static_cast<int>(loop_.slices[i].axis)];
      if (k >= extent)
        throw UserError("loop: iteration {} reads beyond the {} slices of a tensor {}", k, extent,
                        sliced_[i].dims.text());
    }
    for (size_t i = 0; i < loop_.stacks.size(); ++i) {
      const auto& dims = outputs_[states_ + i].dims;
      const int64_t extent = dims[static_cast<int>(loop_.stacks[i].axis)];
      if (k >= extent)
        throw UserError("loop: iteration {} gives more than the {} parts of a result {}", k, extent, dims.text());
    }
  }
  TensorShape partOf(size_t stack) const {
    TensorShape part = outputs_[states_ + stack];
    part.dims = ops::withoutAxis(part.dims, loop_.stacks[stack].axis);
    return part;
  }
  // Parts of results, then the next states: one that another state becomes is set aside before that is overwritten.
  void finish(std::span<void* const> results, const runtime::LaunchArguments& arguments, int64_t k) {
    for (size_t i = 0; i < states_; ++i) checkOutput(body_, i, true, outputs_[i], "loop: the next value of state", i);
    for (size_t i = 0; i < loop_.stacks.size(); ++i) {
      if (body_.isLate(states_ + i))
        checkOutput(body_, states_ + i, true, partOf(i), "loop: part of result", states_ + i);
    }
    for (size_t i = 0; i < loop_.stacks.size(); ++i) stackOf(arguments, i).write(k, results[states_ + i]);
    auto* const base = static_cast<char*>(arguments.workspace);
    const auto isOther = [&](size_t i) {
      return std::any_of(arguments.outputs, arguments.outputs + states_,
                         [&](const void* state) { return state == results[i] && state != arguments.outputs[i]; });
    };
    for (size_t i = 0; i < states_; ++i) {
      if (isOther(i)) copy(results[i], base + heldAt_[sliced_.size() + i], outputs_[i]);
    }
    for (size_t i = 0; i < states_; ++i)
      copy(isOther(i) ? base + heldAt_[sliced_.size() + i] : results[i], arguments.outputs[i], outputs_[i]);
  }

  const ops::Loop& loop_;
  const int64_t most_ = ops::mostIterations();
  size_t states_;
  RegionRun body_;
  RegionRun test_;
  DataType countType_ = DataType::kI64;
  std::vector<TensorShape> outputs_, sliced_;
  std::vector<size_t> heldAt_;  // in the workspace: slices, then states
  size_t regionsAt_ = 0;
  std::vector<void*> addresses_;  // of the regions' inputs
};

class IfKernel final : public RegionsKernel {
 public:
  IfKernel(const ops::If& choice, const runtime::KernelLoad& load)
      : RegionsKernel(std::vector{choice.then, choice.otherwise}, 1, 0, regionLoad(load)),
        choice_(choice),
        isTrial_(load.trial) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<IfInstance>(*this, choice_, isTrial_);
  }

 private:
  ops::If choice_;
  bool isTrial_;  // is measured, with values that say nothing
};

class LoopKernel final : public RegionsKernel {
 public:
  LoopKernel(const ops::Loop& loop, const runtime::KernelLoad& load)
      : RegionsKernel(std::vector{loop.next, loop.tested() ? loop.test : unasked(loop)}, loop.counted ? 1 : 0,
                      static_cast<size_t>(loop.states) + loop.slices.size(), regionLoad(load)),
        loop_(loop) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<LoopInstance>(*this, loop_);
  }

 private:
  // In place of a condition that there is not.
  static ops::Region unasked(const ops::Loop& loop) {
    ops::RegionBody body;
    body.inputs = loop.next->inputs;
    return ops::Region(std::move(body));
  }
  ops::Loop loop_;
};

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  if (const auto* choice = op.as<ops::If>()) return std::make_unique<IfKernel>(*choice, request);
  if (const auto* loop = op.as<ops::Loop>()) return std::make_unique<LoopKernel>(*loop, request);
  throw Unsupported("cpu.regions runs loops and conditionals, the plan asks for {}", op.name());
}

}  // namespace

KernelRow kernelRow_regions() { return {"regions", 1, &load}; }

}  // namespace tenon::backends::cpu
