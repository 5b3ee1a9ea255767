// Remembers by recipe: many candidates of one problem pack alike.
#include "compile/tune/packed_operands.h"

namespace tenon::compile {

std::vector<PackedOperands::Operand> PackedOperands::of(const runtime::Kernel& kernel,
                                                        std::span<const TensorView> constants, Layout output) {
  std::vector<Operand> result;
  for (const auto& form : runtime::packedForms(kernel, constants, output)) {
    auto key = form.recipe;
    for (const size_t input : form.inputs)
      key += fmt::format(" {} {}", fmt::ptr(constants[input].data), constants[input].bytes());
    auto known = known_.find(key);
    if (known == known_.end()) {
      runtime::DeviceMemory memory(device_, nullptr, form.bytes, "packed weights of a candidate");
      packTo(device_, kernel, form, runtime::sourcesOf(form, constants), memory.data());
      known = known_.emplace(std::move(key), std::move(memory)).first;
    }
    for (size_t i = 0; i < form.inputs.size(); ++i)
      result.push_back({form.inputs[i], i == 0 ? known->second.data() : nullptr, i == 0 ? form.bytes : 0});
  }
  return result;
}

}  // namespace tenon::compile
