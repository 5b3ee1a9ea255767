// Conditionals: the condition is read, or known; a branch writes to the results.
#include "backends/cuda/kernels/regions/if_instance.h"

#include <algorithm>

#include "backends/cuda/driver/cuda_device.h"
#include "core/error.h"

namespace tenon::backends::cuda {

IfKernel::IfKernel(const ops::If& choice, const runtime::KernelLoad& load)
    : RegionKernel(std::vector{choice.then, choice.otherwise}, 1, 0, load), op_(choice), isTrial_(load.trial) {
  if (!load.constants.empty()) condition_ = constantInteger(load.constants[0]);
}

std::unique_ptr<runtime::KernelInstance> IfKernel::instantiate() const {
  return std::make_unique<IfInstance>(*this, op_, condition_, isTrial_);
}

IfInstance::IfInstance(const RegionKernel& kernel, const ops::Operator& op, std::optional<int64_t> condition,
                       bool isTrial)
    : op_(op),
      condition_(condition),
      isTrial_(isTrial),
      branches_{runtime::RegionRun(kernel.steps(0)), runtime::RegionRun(kernel.steps(1))},
      moves_(kernel.module()) {}

size_t IfInstance::configure(const runtime::Shapes& shapes) {
  makeCurrent();
  checkOperands(op_, shapes);
  size_t bytes = 0;
  const auto& choice = *op_.as<ops::If>();
  bool areBothPossible = true;
  for (size_t index = 0; index < 2; ++index) {
    auto& branch = branches_[index];
    impossible_[index] = nullptr;
    try {
      choice.checkChosen(index);
      bytes = std::max(bytes, branch.configure(shapes.inputs.subspan(1), *shapes.symbols, true));
    } catch (const UserError&) {
      impossible_[index] = std::current_exception();  // unless it is chosen
      areBothPossible = false;
      continue;
    }
    for (size_t i = 0; i < shapes.outputs.size(); ++i) {
      if (!choice.mayDiffer(i)) checkResult(branch, i, shapes.outputs[i]);
    }
  }
  outputs_.assign(shapes.outputs.begin(), shapes.outputs.end());
  inputs_ = shapes.inputs.size() - 1;
  const bool isWanted = isDecidedByDevice() && !callsHost() && areBothPossible;
  const auto* const module = isWanted ? decisionModule() : nullptr;
  decisions_ = module != nullptr ? std::make_unique<Decisions>(*module) : nullptr;
  if (decisions_ != nullptr && inner_ == nullptr) inner_ = std::make_unique<BodyStream>();
  return bytes;
}

void IfInstance::checkResult(const runtime::RegionRun& branch, size_t i, const runtime::TensorShape& expected) {
  const auto& got = branch.outputs()[i];
  checkUser(got.dims == expected.dims && got.dtype == expected.dtype, "if: result {} is {} {}, expected {} {}", i,
            name(got.dtype), got.dims.text(), name(expected.dtype), expected.dims.text());
}

// Whether it can be the one that is chosen, for these shapes of the results.
bool IfInstance::isPossible(size_t index) const {
  const auto& got = branches_[index].outputs();
  return std::equal(got.begin(), got.end(), outputs_.begin(),
                    [](const auto& a, const auto& b) { return a.dims == b.dims; });
}

void IfInstance::launch(const runtime::LaunchArguments& arguments) {
  if (decisions_ != nullptr && !condition_ && isCapturing(arguments.stream)) return capture(arguments);
  if (isRecording() && waits()) throw Unsupported("a conditional that waits for the device is not recorded");
  const int64_t condition =
      condition_ ? *condition_ : readBack_.integer(DataType::kBool, arguments.inputs[0], arguments.stream);
  runBranch(condition != 0 ? 0 : 1, arguments, arguments.stream);
}

void IfInstance::runBranch(size_t index, const runtime::LaunchArguments& arguments, void* stream) {
  if (isTrial_ && op_.as<ops::If>()->isRefused(index)) index = 1 - index;  // the condition says nothing
  if (impossible_[index] != nullptr) std::rethrow_exception(impossible_[index]);
  auto& branch = branches_[index];
  const size_t count = branch.outputs().size();
  for (size_t i = 0; i < count; ++i) checkResult(branch, i, outputs_[i]);
  for (size_t i = count; i-- > 0;) {  // of several with one root the first has the memory
    if (branch.isComputed(i)) branch.place(branch.rootOf(i), arguments.outputs[i]);
  }
  const auto results = branch.run({arguments.inputs + 1, inputs_}, arguments.workspace, stream);
  for (size_t i = 0; i < count; ++i)
    moves_.add(results[i], arguments.outputs[i], bytesOfShape(branch.outputs()[i]), stream);
  moves_.launch(stream);
}

void IfInstance::capture(const runtime::LaunchArguments& arguments) {
  Condition condition(arguments.stream);
  decisions_->decide(BranchDecision{static_cast<const unsigned char*>(arguments.inputs[0]), condition.handle()},
                     arguments.stream);
  const auto body = [&](size_t index) {
    return [&, index](void* stream) {
      if (isPossible(index)) runBranch(index, arguments, stream);
    };
  };
  condition.choose(*inner_, body(0), body(1));
}

bool IfInstance::isDecidedByDevice() const {
  return !condition_ || cuda::isDecidedByDevice(branches_[*condition_ != 0 ? 0 : 1]);
}

bool IfInstance::callsHost() const { return cuda::callsHost(branches_[0]) || cuda::callsHost(branches_[1]); }

size_t IfInstance::launches() const { return std::max(cuda::launches(branches_[0]), cuda::launches(branches_[1])) + 1; }

void IfInstance::rethrow() const {
  for (const auto& branch : branches_) cuda::rethrow(branch);
}

}  // namespace tenon::backends::cuda
