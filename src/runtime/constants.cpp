// Who holds which constant, and what becomes of its bytes.
#include "runtime/constants.h"

#include <algorithm>

#include "core/platform/pages.h"
#include "core/storage.h"
#include "runtime/keeper.h"

namespace tenon::runtime {
namespace {

constexpr uint64_t kWorthReleasing = 1 << 20;  // bytes; less is copied

// Bytes that only the constant needs: a tensor of its size, row-major.
bool isWhole(const plan::ConstantRecord& constant) {
  return storageBytes(constant.dtype, constant.dims, Layout::kLinear) == constant.bytes;
}

std::shared_ptr<const void> copyOf(const plan::ConstantRecord& constant) {
  return plan::Blob::copyOf({static_cast<const std::byte*>(constant.data.get()), constant.bytes}).share(0);
}

}  // namespace

Constants::Constants(plan::Plan& plan, const PlanSource* source, bool onHost) : plan_(plan), source_(source) {
  if (source_ == nullptr) return;
  std::map<std::pair<const void*, uint64_t>, size_t> known;
  for (size_t i = 0; i < plan_.constants.size(); ++i) {
    const auto& constant = plan_.constants[i];
    const auto [at, isNew] = known.try_emplace({constant.data.get(), constant.bytes}, groups_.size());
    if (isNew) groups_.emplace_back();
    groupOfRecord_.push_back(at->second);
    auto& group = groups_[at->second];
    group.records.push_back(i);
    group.stays = group.stays || !onHost || constant.bytes < kWorthReleasing || !isWhole(constant);
  }
  for (const auto& program : plan_.programs) count(program);
  for (auto& group : groups_) {
    if (group.stays || group.uses == 0) keep(group);
  }
}

// Only operands of kernels that are the constant itself may be held; whatever else reads it reads it where it lies.
void Constants::count(const plan::Program& program) {
  for (size_t i = 0; i < program.tensors.size(); ++i) {
    const auto& tensor = program.tensors[i];
    if (auto* group = groupOf(program, static_cast<int32_t>(i));
        group != nullptr && (tensor.debug || tensor.onHost || tensor.storage == plan::Storage::kView)) {
      group->stays = true;
    }
  }
  for (const auto& step : program.steps) {
    for (const int32_t input : step.inputs) {
      auto* const group = groupOf(program, input);
      if (group == nullptr) continue;
      ++group->uses;
      group->stays = group->stays || step.kind != plan::StepKind::kLaunch;
    }
  }
}

Constants::Group* Constants::groupOf(const plan::Program& program, int32_t tensor) {
  if (source_ == nullptr || tensor < 0) return nullptr;
  const auto* record = &program.tensors[static_cast<size_t>(tensor)];
  if (record->storage == plan::Storage::kView) record = &program.tensors[static_cast<size_t>(record->index)];
  return record->storage == plan::Storage::kConstant ? &groups_[groupOfRecord_[static_cast<size_t>(record->index)]]
                                                     : nullptr;
}

const Constants::Group* Constants::groupOf(const plan::Program& program, int32_t tensor) const {
  return const_cast<Constants*>(this)->groupOf(program, tensor);
}

bool Constants::mayRelease(const plan::Program& program, const plan::Step& step) const {
  return std::any_of(step.inputs.begin(), step.inputs.end(), [&](int32_t input) {
    const auto* group = groupOf(program, input);
    return group != nullptr && !group->stays;
  });
}

bool Constants::settle(const plan::Program& program, const plan::Step& step,
                       const std::shared_ptr<const Kernel>& kernel, std::span<const PackedOperand> packed) {
  const auto* const keeper = dynamic_cast<const Keeper*>(kernel.get());
  std::vector<std::pair<Group*, HeldConstant>> holds;
  bool moved = false;
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    auto* const group = groupOf(program, step.inputs[i]);
    if (group == nullptr || group->stays) continue;
    HeldConstant held{group->records.front(), kernel, i, nullptr, 0};
    Hold hold = keeper == nullptr ? Hold::kNothing : keeper->holds(i);
    for (const auto& operand : packed) {
      if (operand.input != i) continue;
      held.packed = operand.constant;
      held.position = operand.position;
      hold = operand.constant->form.isRestorable ? Hold::kRestorable : Hold::kCopy;
    }
    if (hold == Hold::kRestorable) {
      holds.emplace_back(group, std::move(held));
      continue;
    }
    keep(*group);
    moved = moved || (hold == Hold::kNothing && source_->isLent);
  }
  if (moved) return false;
  for (auto& [group, held] : holds) {
    if (!group->stays) group->holders.push_back(std::move(held));
  }
  return true;
}

void Constants::done(const plan::Program& program, const plan::Step& step) {
  for (const int32_t input : step.inputs) {
    auto* const group = groupOf(program, input);
    if (group != nullptr && --group->uses == 0 && !group->stays) release(*group);
  }
}

// Their own layout is all that they may read from now on.
void Constants::releaseHolders(const Group& group) {
  for (const auto& holder : group.holders) {
    if (holder.packed == nullptr) dynamic_cast<const Keeper&>(*holder.kernel).release(holder.input);
  }
}

void Constants::keep(Group& group) {
  group.stays = true;
  if (!source_->isLent) return;
  releaseHolders(group);
  const auto data = copyOf(plan_.constants[group.records.front()]);
  for (const size_t record : group.records) plan_.constants[record].data = data;
}

void Constants::release(Group& group) {
  releaseHolders(group);
  const auto& constant = plan_.constants[group.records.front()];
  if (!source_->isLent) platform::discardPages(const_cast<void*>(constant.data.get()), constant.bytes);
  for (const size_t record : group.records) {
    plan_.constants[record].data = nullptr;
    held_.push_back(group.holders.front());
    held_.back().record = record;
  }
}

plan::Plan restored(const plan::Plan& plan, const std::vector<HeldConstant>& held) {
  plan::Plan whole = plan;
  for (const auto& [record, kernel, input, packed, position] : held) {
    auto& constant = whole.constants[record];
    const auto blob = plan::Blob::allocate(constant.bytes);
    if (packed != nullptr) {
      dynamic_cast<const Packer&>(*packed->packer).restore(packed->form, position, packed->address, blob.data());
    } else {
      dynamic_cast<const Keeper&>(*kernel).restore(input, blob.data());
    }
    constant.data = blob.share(0);
  }
  return whole;
}

}  // namespace tenon::runtime
