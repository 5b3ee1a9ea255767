// Who reads which constant in which layout, and one allocation for all of it.
#include "runtime/device_constants.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "core/error.h"
#include "core/storage.h"
#include "runtime/preparation.h"

namespace tenon::runtime {
namespace {

// Bounds the host memory of packed copies on their way to the device; a larger one goes alone.
class InFlight {
 public:
  explicit InFlight(uint64_t most) : most_(most) {}

  // Waits until there is room for so many bytes, which it has while it lives. Thread-safe.
  class Share {
   public:
    Share(InFlight& all, uint64_t bytes) : all_(all), bytes_(bytes) {
      std::unique_lock lock(all_.mutex_);
      all_.less_.wait(lock, [&] { return all_.bytes_ == 0 || all_.bytes_ + bytes_ <= all_.most_; });
      all_.bytes_ += bytes_;
    }
    ~Share() {
      {
        const std::lock_guard lock(all_.mutex_);
        all_.bytes_ -= bytes_;
      }
      all_.less_.notify_all();
    }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    InFlight& all_;
    const uint64_t bytes_;
  };

 private:
  const uint64_t most_;
  std::mutex mutex_;
  std::condition_variable less_;
  uint64_t bytes_ = 0;
};

}  // namespace

// Constants that begin at the same place but end elsewhere (empty ones, or parts of the caller's weights) are not
// equal.
DeviceConstants::DeviceConstants(const plan::Plan& plan, Device& device, AllocatorHook* allocator)
    : plan_(plan), device_(device), allocator_(allocator) {
  std::map<std::pair<const void*, uint64_t>, size_t> known;
  for (size_t i = 0; i < plan_.constants.size(); ++i) {
    const auto& constant = plan_.constants[i];
    const auto [at, isNew] = known.try_emplace({constant.data.get(), constant.bytes}, rowMajor_.size());
    if (isNew) rowMajor_.push_back({i});
    place_.push_back(at->second);
  }
}

std::string DeviceConstants::keyOf(const plan::Program& program, std::span<const int32_t> base, const plan::Step& step,
                                   const PackedForm& form) const {
  auto key = form.recipe + "\n" + step.kernel.backend;
  for (const size_t input : form.inputs) {
    const auto owner = static_cast<size_t>(base[static_cast<size_t>(step.inputs[input])]);
    key += fmt::format(" {}", place_[static_cast<size_t>(program.tensors[owner].index)]);
  }
  return key;
}

std::vector<PackedOperand> DeviceConstants::read(const plan::Program& program, std::span<const int32_t> base,
                                                 const plan::Step& step, const std::shared_ptr<const Kernel>& kernel,
                                                 std::span<const TensorView> constants) {
  std::vector<PackedOperand> result;
  std::vector<bool> isPacked(step.inputs.size());
  const auto layout = program.tensors[static_cast<size_t>(step.outputs.at(0))].layout;
  for (auto& form : packedForms(*kernel, constants, layout)) {
    auto& known = known_[keyOf(program, base, step, form)];
    if (known == nullptr) {
      auto sources = sourcesOf(form, constants);
      PackedConstant made{form, kernel, std::move(sources), nullptr, {}};
      if (device_.isHost()) {
        made.memory = DeviceMemory(device_, allocator_, form.bytes, "packed weights of the engine");
        made.address = made.memory.data();
        packTo(device_, *kernel, form, made.sources, made.address);
        made.sources.clear();
      }
      known = &packed_.emplace_back(std::move(made));
    }
    checkInternal(known->form.bytes == form.bytes, "the layout '{}' has {} bytes for one kernel and {} for another",
                  form.recipe, known->form.bytes, form.bytes);
    for (size_t i = 0; i < form.inputs.size(); ++i) {
      isPacked[form.inputs[i]] = true;
      result.push_back({form.inputs[i], i, known});
    }
  }
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (!isPacked[i]) readRowMajor(program, base, step.inputs[i]);
  }
  return result;
}

void DeviceConstants::readRowMajor(const plan::Program& program, std::span<const int32_t> base, int32_t tensor) {
  if (tensor < 0 || program.tensors[static_cast<size_t>(tensor)].onHost) return;
  const auto& owner = program.tensors[static_cast<size_t>(base[static_cast<size_t>(tensor)])];
  if (owner.storage == plan::Storage::kConstant) rowMajor_[place_[static_cast<size_t>(owner.index)]].isRead = true;
}

void DeviceConstants::place() {
  if (device_.isHost()) return;
  uint64_t total = 0;
  const auto reserve = [&](uint64_t bytes) {
    const uint64_t offset = total;
    total = addBytes(total, alignBytes(bytes, kMemoryAlignment));
    return offset;
  };
  std::vector<uint64_t> offsets;
  for (const auto& one : rowMajor_) offsets.push_back(one.isRead ? reserve(plan_.constants[one.constant].bytes) : 0);
  for (const auto& one : packed_) offsets.push_back(reserve(one.form.bytes));
  if (total == 0) return;
  memory_ = DeviceMemory(device_, allocator_, total, "weights of the engine");
  auto offset = offsets.begin();
  const auto next = [&] { return static_cast<std::byte*>(memory_.data()) + *offset++; };
  // Packing takes longer than copying: both on all threads, the largest first.
  struct Piece {
    uint64_t bytes;
    std::function<void()> work;
  };
  std::vector<Piece> pieces;
  constexpr uint64_t kMostInFlight = uint64_t{256} << 20;
  InFlight inFlight(kMostInFlight);
  for (auto& one : rowMajor_) {
    auto* const to = next();
    const auto& constant = plan_.constants[one.constant];
    if (!one.isRead || constant.bytes == 0) continue;
    one.address = to;
    pieces.push_back({constant.bytes, [this, to, &constant] {
                        device_.copy(to, constant.data.get(), constant.bytes, CopyKind::kHostToDevice, nullptr);
                      }});
  }
  for (auto& one : packed_) {
    one.address = next();
    pieces.push_back({one.form.bytes, [this, &one, &inFlight] {
                        const InFlight::Share share(inFlight, one.form.bytes);
                        packTo(device_, *one.packer, one.form, one.sources, one.address);
                        one.sources.clear();
                      }});
  }
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& x, const Piece& y) { return x.bytes > y.bytes; });
  std::vector<std::function<void()>> work;
  for (auto& piece : pieces) work.push_back(std::move(piece.work));
  runTogetherOrThrow(std::move(work));
  device_.synchronize(nullptr);
}

void* DeviceConstants::address(size_t constant) const {
  if (device_.isHost()) return const_cast<void*>(plan_.constants[constant].data.get());
  return rowMajor_[place_[constant]].address;
}

uint64_t DeviceConstants::bytes() const {
  if (!device_.isHost()) return memory_.bytes();
  uint64_t bytes = 0;
  for (const auto& one : rowMajor_) {
    const auto& constant = plan_.constants[one.constant];
    if (constant.data != nullptr) bytes += constant.bytes;
  }
  for (const auto& one : packed_) bytes += one.form.bytes;
  return bytes;
}

size_t DeviceConstants::rowMajorCount() const {
  size_t count = 0;
  for (const auto& one : rowMajor_) {
    const auto& constant = plan_.constants[one.constant];
    count += constant.bytes != 0 && (device_.isHost() ? constant.data != nullptr : one.isRead) ? 1 : 0;
  }
  return count;
}

}  // namespace tenon::runtime
