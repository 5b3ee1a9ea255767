// Remembers by recipe: many candidates of one problem pack alike.
#include "compile/tune/packed_operands.h"

namespace tenon::compile {

PackedOperands::Packed& PackedOperands::find(std::string key) {
  const std::lock_guard lock(mutex_);
  return known_[std::move(key)];
}

std::vector<PackedOperands::Operand> PackedOperands::of(const runtime::Kernel& kernel,
                                                        std::span<const TensorView> constants, Layout output) {
  std::vector<Operand> result;
  for (const auto& form : runtime::packedForms(kernel, constants, output)) {
    auto key = form.recipe;
    for (const size_t input : form.inputs)
      key += fmt::format(" {} {}", fmt::ptr(constants[input].data), constants[input].bytes());
    auto& known = find(std::move(key));
    std::call_once(known.once, [&] {
      runtime::DeviceMemory memory(device_, nullptr, form.bytes, "packed weights of a candidate");
      packTo(device_, kernel, form, runtime::sourcesOf(form, constants), memory.data());
      known.memory = std::move(memory);
    });
    for (size_t i = 0; i < form.inputs.size(); ++i)
      result.push_back({form.inputs[i], i == 0 ? known.memory.data() : nullptr, i == 0 ? form.bytes : 0});
  }
  return result;
}

}  // namespace tenon::compile
