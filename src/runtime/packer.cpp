// Packing to the memory of a device.
#include "runtime/packer.h"

#include "core/large_memory.h"

namespace tenon::runtime {

std::vector<PackedForm> packedForms(const Kernel& kernel, std::span<const TensorView> constants, Layout output) {
  const auto* const packer = dynamic_cast<const Packer*>(&kernel);
  if (packer == nullptr) return {};
  auto forms = packer->packedForms(output);
  std::vector<const PackedForm*> seen(constants.size());
  for (const auto& form : forms) {
    checkInternal(!form.inputs.empty(), "the packed layout '{}' is made of nothing", form.recipe);
    for (const size_t input : form.inputs) {
      checkInternal(input < constants.size() && constants[input].data != nullptr &&
                        (seen[input] == nullptr || seen[input] == &form),
                    "a kernel wants operand {} packed as '{}', which is no constant or is packed in another way", input,
                    form.recipe);
      seen[input] = &form;
    }
  }
  return forms;
}

std::vector<const void*> sourcesOf(const PackedForm& form, std::span<const TensorView> constants) {
  std::vector<const void*> sources;
  for (const size_t input : form.inputs) sources.push_back(constants[input].data);
  return sources;
}

void packTo(Device& device, const Kernel& packer, const PackedForm& form, std::span<const void* const> sources,
            void* to) {
  if (form.bytes == 0) return;
  const auto& face = dynamic_cast<const Packer&>(packer);
  if (device.isHost()) {
    face.pack(form, sources, to);
    return;
  }
  LargeVector<std::byte> packed(form.bytes);
  face.pack(form, sources, packed.data());
  device.copy(to, packed.data(), packed.size(), CopyKind::kHostToDevice, nullptr);
  device.synchronize(nullptr);
}

}  // namespace tenon::runtime
