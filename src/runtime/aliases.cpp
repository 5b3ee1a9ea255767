// Read off the steps: the plan needs no word about it.
#include "runtime/aliases.h"

#include <algorithm>

#include "ops/op/cache_update.h"
#include "ops/op/plugin.h"

namespace tenon::runtime {
namespace {

// The pair of a step's result and operand, if the caller gives the memory of both.
void add(const plan::Program& program, int32_t output, int32_t input, std::vector<std::pair<int, int>>& pairs) {
  if (output < 0 || input < 0) return;
  const auto& written = program.tensors[static_cast<size_t>(output)];
  const auto& read = program.tensors[static_cast<size_t>(input)];
  if (read.storage == plan::Storage::kInput && written.storage == plan::Storage::kOutput)
    pairs.emplace_back(written.index, read.index);
}

// Whether a step other than this one reads the tensor, or a view of it.
bool isReadElsewhere(const plan::Program& program, const plan::Step& reader, int32_t tensor) {
  const auto isIt = [&](int32_t read) {
    if (read < 0) return false;
    const auto& record = program.tensors[static_cast<size_t>(read)];
    return read == tensor || (record.storage == plan::Storage::kView && record.index == tensor);
  };
  return std::ranges::any_of(program.steps, [&](const plan::Step& step) {
    return &step != &reader && std::ranges::any_of(step.inputs, isIt);
  });
}

}  // namespace

std::vector<std::pair<int, int>> aliasedIo(const plan::Program& program) {
  static const std::string kInPlace = ops::Operator(ops::CacheUpdate{true}).text();
  std::vector<std::pair<int, int>> result;
  for (const auto& step : program.steps) {
    const bool isUpdate = step.kind == plan::StepKind::kLaunch && step.kernel.op == kInPlace;
    if (isUpdate && !step.inputs.empty() && !step.outputs.empty())
      add(program, step.outputs[0], step.inputs[0], result);
  }
  return result;
}

std::vector<std::pair<int, int>> sharedIo(const plan::Program& program) {
  std::vector<std::pair<int, int>> result;
  for (const auto& step : program.steps) {
    if (step.kind != plan::StepKind::kLaunch || step.kernel.op.empty()) continue;
    const auto op = ops::Operator::parse(step.kernel.op);
    const auto* plugin = op.as<ops::Plugin>();
    if (plugin == nullptr) continue;
    for (const auto& alias : plugin->facts().aliases) {
      const auto output = static_cast<size_t>(alias.output);
      const auto input = static_cast<size_t>(alias.input);
      if (output < step.outputs.size() && input < step.inputs.size() &&
          !isReadElsewhere(program, step, step.inputs[input]))
        add(program, step.outputs[output], step.inputs[input], result);
    }
  }
  return result;
}

}  // namespace tenon::runtime
