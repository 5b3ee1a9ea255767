// The kernels of a binding: which of a step's runs, and what makes it ready.
#include <algorithm>

#include "core/error.h"
#include "runtime/binding.h"
#include "runtime/configure.h"
#include "runtime/engine_parts.h"
#include "runtime/preparation.h"

namespace tenon::runtime {

// An instance that has not run for a while is made ready again.
void Binding::chooseKernels(size_t first, size_t last) {
  const auto& kernels = engine_->parts().programs[programIndex_].others;
  for (size_t i = first; i < last; ++i) {
    const auto& step = program_.steps[i];
    if (step.others.empty()) continue;
    const int32_t which = plan::kernelFor(step, plan::openElements(program_, step, values_));
    if (which == kernelOf_[i]) continue;
    made_[i].values = nullptr;
    kernelOf_[i] = which;
    if (which == plan::kOwnKernel || instance(i) != nullptr) continue;
    const auto other = static_cast<size_t>(which);
    others_[i][other] = kernels[i][other].kernel->instantiate();
  }
}

// Steps that wait for a library wait together.
void Binding::prepareSteps(size_t first, size_t last) {
  std::vector<std::function<void()>> pieces;
  for (size_t i = first; i < last; ++i) {
    auto* const preparable = dynamic_cast<Preparable*>(instance(i));
    if (preparable == nullptr) continue;
    const auto shapes = shapesOf(program_.steps[i]);
    if (isMade(i, shapes)) continue;
    if (auto piece = preparable->preparation({shapes.inputs, shapes.outputs, &values_}))
      pieces.push_back(std::move(piece));
  }
  if (pieces.size() > 1) runTogether(std::move(pieces));
}

// Whether an instance is ready for these shapes: nothing that it has seen is another. Where lengths grow from execution
// to execution, most steps of a network do not see them.
bool Binding::isMade(size_t step, const StepShapes& shapes) const {
  const auto& made = made_[step];
  const auto same = [](const std::vector<TensorShape>& a, const std::vector<TensorShape>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const TensorShape& x, const TensorShape& y) {
      return x.dtype == y.dtype && x.dims == y.dims && x.layout == y.layout && x.pitch == y.pitch;
    });
  };
  if (made.values == nullptr || !same(made.shapes.inputs, shapes.inputs) || !same(made.shapes.outputs, shapes.outputs))
    return false;
  auto& names = readSymbols_[step];
  if (!names) ops::Operator::parse(program_.steps[step].kernel.op).collectSymbols(names.emplace());
  return std::all_of(names->begin(), names->end(), [&](const std::string& name) {
    const auto before = made.values->find(name);
    const auto now = values_.find(name);
    return before != made.values->end() && now != values_.end() && before->second == now->second;
  });
}

void Binding::configureStep(size_t index) {
  const auto& step = program_.steps[index];
  const auto empty = [&](int32_t tensor) { return bytes_[static_cast<size_t>(tensor)] == 0; };
  skipped_[index] = std::all_of(step.outputs.begin(), step.outputs.end(), empty);
  if (step.kind == plan::StepKind::kView) {
    skipped_[index] = 1;
    return;
  }
  if (step.kind == plan::StepKind::kCopy) {
    const auto from = static_cast<size_t>(step.inputs[0]);
    const auto to = static_cast<size_t>(step.outputs[0]);
    checkUser(bytes_[from] == bytes_[to], "step '{}' copies {} bytes of '{}' to {} bytes of '{}'", step.name,
              bytes_[from], program_.tensors[from].name, bytes_[to], program_.tensors[to].name);
    return;
  }
  auto shapes = shapesOf(step);
  if (!skipped_[index] && isMade(index, shapes)) return;
  workspaceBytes_[index] = 0;
  made_[index].values = nullptr;
  try {
    const auto& checked = engine_->parts().programs[programIndex_].checked[index];
    if (checked) checkOperator(*checked, values_, shapes.inputs, shapes.outputs);
    if (skipped_[index]) return;  // without results there is nothing to launch
    workspaceBytes_[index] = runtime::configure(*instance(index), {shapes.inputs, shapes.outputs, &values_});
    made_[index] = {std::move(shapes), valuesNow_};
  } catch (const UserError& error) {
    throw UserError("step '{}': {}", step.name, error.what());
  }
}

}  // namespace tenon::runtime
